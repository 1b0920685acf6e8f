"""Adds the language and the operator of `tests/toys` to spaseq: to this process, or to a copy for other processes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import spaseq
from spaseq import languages, operators
from spaseq.languages.registry import find_language, language_names

TOYS = Path(__file__).resolve().parent.parent / "toys"
ADDED = ((languages, "tally"), (operators, "tally.py"))


@contextmanager
def added() -> Iterator[None]:
    """The toys as parts of spaseq in this process."""
    before = [(package, list(package.__path__)) for package, _ in ADDED]
    for package, _ in ADDED:
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
    for name in list(sys.modules):
        if name.startswith(("spaseq.languages.tally", "spaseq.operators.tally")):
            del sys.modules[name]


def copy(folder: Path) -> Path:
    """A folder for PYTHONPATH with all of spaseq, as links, and the toys where the recipes put them."""
    source, target = Path(spaseq.__file__).parent, folder / "spaseq"
    target.mkdir(parents=True)
    for entry in source.iterdir():
        if entry.name not in ("languages", "operators", "__pycache__"):
            (target / entry.name).symlink_to(entry)
    for package, toy in ADDED:
        name = package.__name__.rsplit(".", 1)[-1]
        (target / name).mkdir()
        for entry in (*(source / name).iterdir(), TOYS / name / toy):
            if entry.name != "__pycache__":
                (target / name / entry.name).symlink_to(entry)
    return folder
