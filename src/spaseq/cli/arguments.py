"""Reading ``NAME=PATH`` from the command line; IRIs may contain ``=`` themselves."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

from spaseq.errors import InvalidArgument


def pair(text: str, option: str, known: Collection[str]) -> tuple[str, str]:
    """The two sides of ``NAME=PATH``: cut where the name is known, else where the path exists, else first.

    >>> pair("http://ex.org/?a=b=power.nq", "--stream", {"http://ex.org/?a=b"})
    ('http://ex.org/?a=b', 'power.nq')
    """
    cuts = [index for index, char in enumerate(text) if char == "="]
    candidates = [(text[:cut], text[cut + 1 :]) for cut in cuts if cut and cut + 1 < len(text)]
    if not candidates:
        raise InvalidArgument(f"`{option} {text}` is not of the form {option} NAME=PATH")
    rules: tuple[Callable[[tuple[str, str]], bool], ...] = (
        lambda sides: sides[0] in known,
        lambda sides: Path(sides[1]).exists(),
        lambda _: True,
    )
    return next(sides for rule in rules for sides in candidates if rule(sides))


def language_of(path: str, asked: str | None) -> str:
    """The language of a query file: as asked, else by its extension."""
    if asked is not None:
        return asked
    by_extension = {".epsparql": "epsparql", ".rsepql": "rsepql", ".rspql": "rsepql"}
    return by_extension.get(Path(path).suffix.lower(), "spaseq")
