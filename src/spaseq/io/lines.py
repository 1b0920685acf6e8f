"""N-Quads and N-Triples by pyoxigraph, line by line where it must be: the small and the exact path."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from pyoxigraph import Quad, RdfFormat, parse

from spaseq.io.assemble import Damage, Mark, RawEvent
from spaseq.io.bad_input import BadInput

_LAST_TERM = re.compile(r"(<[^<>\"{}|^`\\\s]*>|_:[^\s<>\"]+)\s*\.?\s*(?:#.*)?\Z")
_FIRST_TERM = re.compile(r"\s*(<[^<>\"{}|^`\\\s]*>|_:[^\s<>\"]+)\s*<([^<>\s]*)")
_POSITION = re.compile(r"^Parser error (?:at|between) .*?: | \(line [0-9]+\)\Z")


@dataclass(frozen=True, slots=True)
class Step:
    """What a piece of input gave: events and bad input, and how much of it is settled."""

    events: list[RawEvent]
    bad: list[BadInput]
    consumed: int
    lines: int


class Assembler(Protocol):
    """What collects quads into events."""

    events: list[RawEvent]
    bad: list[tuple[int, BadInput]]

    def quad(self, quad: Quad, at: Mark) -> None:
        """Take one quad."""

    def damaged(self, damage: Damage) -> None:
        """Take something unreadable."""

    def end(self) -> None:
        """Settle what is open."""

    def settled(self, end: int) -> int:
        """The offset before which everything is settled."""


class QuadTaker(Assembler, Protocol):
    """An assembler of formats in which several quads have one text."""

    def quad(self, quad: Quad, at: Mark, text: str | None = None) -> None:
        """Take one quad; ``text`` is how it was written, if that is not a quad."""


def message_of(error: SyntaxError) -> str:
    """The words of pyoxigraph without its own count of lines, which starts anew in every piece."""
    return _POSITION.sub("", str(error))


def parse_line(line: bytes, syntax: RdfFormat = RdfFormat.N_QUADS) -> list[Quad]:
    """The quads of one line, none for a comment; a `SyntaxError` words what is wrong."""
    return list(parse(line, format=syntax))


def damage_of(line: bytes, reason: str, at: Mark, predicate: str) -> Damage:
    """An unreadable line, with the names of graphs it may have belonged to."""
    text = line.decode("utf-8", "replace").rstrip("\r\n")
    names = set()
    last, first = _LAST_TERM.search(text), _FIRST_TERM.match(text)
    if last is not None:
        names.add(last[1])
    if first is not None and first[2] == predicate:
        names.add(first[1])
    return Damage(reason, at, text, frozenset(names), not line.endswith(b"\n"))


def line_quads(
    data: bytes, first_line: int, syntax: RdfFormat, predicate: str
) -> Iterator[tuple[Quad, Mark] | Damage]:
    """The quads of some whole lines, each with its line and offset; unreadable lines as damage."""
    lines = data.splitlines(keepends=True) if b"\r" not in data else _lines(data)
    marks: list[tuple[bytes, Mark]] = []
    offset = 0
    for number, line in enumerate(lines, first_line):
        content = line.lstrip()
        if content and (not content.startswith(b"#") or b"\r" in content.rstrip()):
            marks.append((line, Mark(number, offset)))
        offset += len(line)
    try:
        quads = list(parse(data, format=syntax))
    except SyntaxError:
        quads = []
    if len(quads) == len(marks):
        for quad, (_, at) in zip(quads, marks, strict=True):
            yield quad, at
        return
    for line, at in marks:
        try:
            for quad in parse_line(line, syntax):
                yield quad, at
        except SyntaxError as error:
            yield damage_of(line, message_of(error), at, predicate)


def _lines(data: bytes) -> list[bytes]:
    """Lines that end in a line feed; a lone carriage return stays inside, pyoxigraph ends a line there too."""
    return re.findall(rb"[^\n]*\n|[^\n]+\Z", data)


@dataclass(frozen=True, slots=True)
class End:
    """How an input ends; ``damage`` says why it ends too early."""

    damage: str | None = None


def assemble_lines(
    data: bytes, first_line: int, end: End | None, assembler: Assembler, syntax: RdfFormat, predicate: str
) -> Step:
    """Events of a piece of N-Quads or N-Triples; a last line without its end waits for more."""
    whole = data if end is not None and end.damage is None else data[: data.rfind(b"\n") + 1]
    for item in line_quads(whole, first_line, syntax, predicate):
        if isinstance(item, Damage):
            assembler.damaged(item)
        else:
            assembler.quad(*item)
    if end is not None and end.damage is not None:
        at = Mark(first_line + whole.count(b"\n"), len(whole))
        assembler.damaged(damage_of(data[len(whole) :], end.damage, at, predicate))
    return step_of(data, assembler, len(whole), end)


def tell_damage(assembler: Assembler, end: End | None, at: Mark) -> None:
    """Tell an assembler that the input ended too early."""
    if end is not None and end.damage is not None:
        assembler.damaged(Damage(end.damage, at, "", cut=True))


def step_of(data: bytes, assembler: Assembler, reached: int, end: End | None) -> Step:
    """What an assembler has settled once it was given a piece of input up to ``reached``."""
    if end is not None:
        assembler.end()
    consumed = len(data) if end is not None else assembler.settled(reached)
    bad = sorted((item for item in assembler.bad if item[0] < consumed or end), key=lambda item: item[0])
    return Step(assembler.events, [item for _, item in bad], consumed, data.count(b"\n", 0, consumed))
