"""Which engine a command uses, and whether Spark is worth its start."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

from spaseq.cli.query_files import say
from spaseq.errors import InvalidArgument

if TYPE_CHECKING:
    from spaseq.io.sources import Source

NEEDED = ("pyspark", "pandas")
"""What Spark needs beyond this package: the extra `spark`."""
CURE = "pip install 'spaseq[spark]'"


def chosen_engine(
    asked: str | None, master: str | None = None, *, quiet: bool = False
) -> Literal["spark", "local"]:
    """The engine that was asked for; by default Spark if it is installed, else this process, with a note."""
    if asked == "local":
        return "local"
    missing = [name for name in NEEDED if find_spec(name) is None]
    if not missing:
        return "spark"
    if asked == "spark" or master is not None:
        raise InvalidArgument(
            f"Spark is not installed ({' and '.join(missing)} missing): {CURE}, or use `--engine local`, which needs none"
        )
    if not quiet:
        say(
            "note",
            f"running in this process, as with `--engine local`: Spark is not installed ({CURE} adds it)",
        )
    return "local"


def input_bytes(sources: Mapping[str, Iterable[Source]]) -> int:
    """The size of all files, as they lie on the disk; a pipe counts as infinitely large."""
    paths = [source.path for each in sources.values() for source in each]
    return sum(path.stat().st_size if path.is_file() else sys.maxsize for path in paths)
