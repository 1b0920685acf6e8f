"""State that was damaged or crafted is refused with the error that says so, or goes on; it never ends the process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import spaseq

SCRIPT = Path(__file__).with_name("fuzz_saved.py")


@pytest.mark.parametrize(("what", "bounds"), [("snapshots", 0), ("states", 1)])
def test_changed_state_is_refused_or_goes_on(what: str, bounds: int) -> None:
    """Bits flipped, bytes cut, numbers rewritten under a right checksum; compiled kernels with and without checks."""
    count = 250
    done = subprocess.run(
        [sys.executable, str(SCRIPT), what, str(bounds), str(count)],
        env={
            **os.environ,
            "PYTHONPATH": str(Path(spaseq.__file__).parents[1]),
            "SPASEQ_SETTINGS": f"compiled_rows=1,promoted_terms=3,part_runs=2,check_bounds={bounds}",
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    told = json.loads(done.stdout)
    assert sum(told.values()) == count
    assert min(told["refused"], told["worked"]) > count / 10
