"""Parsing command line values: ``NAME=PATH``, where IRIs may contain ``=`` themselves, sizes."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Final

import click

from spaseq.errors import InvalidArgument

_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


class SizeOption(click.ParamType[int]):
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


_MAPPINGS: Final = {"streams": "--stream", "knowledge": "--kb", "on_late": "--on-bad-input"}
_NAMES: Final = (
    "end_predicate", "format", "idle_after", "lateness", "layout", "max_lead", "max_memory", "max_runs", "on_bad_input", "policy",
    "quarantine", "rdfs", "rule_limit", "settle", "start_predicate", "time_unit", "timestamp_predicate", "triples_per_event",
)  # fmt: skip
"""Arguments of the Python API that errors name, and options of the command line under the same name."""
_ARGUMENT: Final = re.compile(rf'\b({"|".join((*_MAPPINGS, *_NAMES))})=(?:\{{"([^"]*)": …\}}|"([^"]*)")?')


def in_options(text: str) -> str:
    """An error of the Python API with options of the command line in place of its arguments.

    >>> in_options('say `streams={"S": …}` and `time_unit="s"`, more than max_runs=5')
    'say `--stream S=PATH` and `--time-unit s`, more than --max-runs 5'
    >>> in_options('`on_late="skip"` goes on without it')
    '`--on-bad-input skip` goes on without it'
    >>> in_options("raise the limit (`rule_limit=`)")
    'raise the limit (`--rule-limit`)'
    """

    def option(found: re.Match[str]) -> str:
        name = _MAPPINGS.get(found[1]) or "--" + found[1].replace("_", "-")
        value = f"{found[2]}=PATH" if found[2] is not None else found[3] or ""
        at_the_end = not value and text[found.end() : found.end() + 1] in ("`", "")
        return name if at_the_end else f"{name} {value}"

    return _ARGUMENT.sub(option, text)


def labels(paths: Sequence[str]) -> list[str]:
    """A name for each query file: its stem; the path where stems are equal, with a number where paths are.

    >>> labels(["rise.spaseq", "old/fall.spaseq", "new/fall.spaseq", "rise.spaseq"])
    ['rise', 'old/fall', 'new/fall', 'rise-2']
    """
    stems = [Path(path).stem for path in paths]
    found: list[str] = []
    for path, stem in zip(paths, stems, strict=True):
        others = {other for other, its in zip(paths, stems, strict=True) if its == stem}
        name = stem if len(others) == 1 else str(Path(path).with_suffix(""))
        number, label = 1, name
        while label in found:
            number += 1
            label = f"{name}-{number}"
        found.append(label)
    return found
