"""Reading what people type: ``NAME=PATH``, where IRIs may contain ``=`` themselves, languages, sizes."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final

import click

from spaseq.errors import InvalidArgument

_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


class Size(click.ParamType[int]):
    """A number of bytes with an optional unit: ``2G``, ``500M``, ``1048576``."""

    name = "size"

    def convert(self, value: str | int, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number of bytes."""
        if isinstance(value, int):
            return value
        text = value.strip().lower().removesuffix("b").removesuffix("i")
        number, unit = (text[:-1], text[-1]) if text and text[-1] in _UNITS else (text, "")
        if not number.isdecimal() or int(number) == 0:
            self.fail(f"`{value}` is not a size; write for example `500M` or `2G`", param, ctx)
        return int(number) * _UNITS[unit]


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
