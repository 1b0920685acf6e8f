"""Seeds of random tests: a few fixed ones by default, as many and others as the environment says.

``SPASEQ_FUZZ_CASES`` is how many there are, ``SPASEQ_FUZZ_SEED`` the first. A test that fails says its seed.
"""

from __future__ import annotations

import os


def seeds(cases: int) -> range:
    """The seeds of a run; ``cases`` are as many as an ordinary run can afford.

    >>> list(seeds(3))
    [1, 2, 3]
    """
    first = int(os.environ.get("SPASEQ_FUZZ_SEED", "1"))
    return range(first, first + int(os.environ.get("SPASEQ_FUZZ_CASES", str(cases))))


def repeated(seed: int) -> str:
    """How to repeat a case that failed."""
    return f"repeat it with SPASEQ_FUZZ_SEED={seed} SPASEQ_FUZZ_CASES=1"
