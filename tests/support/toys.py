"""Adds the language, the operator and the source of `tests/toys` to spaseq: to this process, or to a copy for others."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import spaseq
from spaseq import languages, operators
from spaseq.io import connectors
from spaseq.io.event_source import schemes
from spaseq.languages.registry import find_language, language_names

TOYS = Path(__file__).resolve().parent.parent / "toys"
ADDED = (languages, operators, connectors)


@contextmanager
def added() -> Iterator[None]:
    """The toys as parts of spaseq in this process."""
    before = [(package, list(package.__path__)) for package in ADDED]
    for package in ADDED:
        package.__path__.append(str(TOYS / package.__name__.rsplit(".", 1)[-1]))
    _forget()
    try:
        yield
    finally:
        for package, path in before:
            package.__path__[:] = path
        _forget()


def _forget() -> None:
    language_names.cache_clear()
    find_language.cache_clear()
    schemes.cache_clear()
    for name in list(sys.modules):
        if name.startswith(
            ("spaseq.languages.tally", "spaseq.operators.tally", "spaseq.io.connectors.ticks")
        ):
            del sys.modules[name]


def copy(folder: Path) -> Path:
    """A folder for PYTHONPATH with all of spaseq, and the toys where the recipes put them."""
    shutil.copytree(
        Path(spaseq.__file__).parent,
        folder / "spaseq",
        ignore=shutil.ignore_patterns("__pycache__", "examples"),
    )
    for package in ADDED:
        toys = TOYS / package.__name__.rsplit(".", 1)[-1]
        shutil.copytree(toys, folder.joinpath(*package.__name__.split(".")), dirs_exist_ok=True)
    return folder
