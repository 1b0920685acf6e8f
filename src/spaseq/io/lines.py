"""N-Quads and N-Triples by pyoxigraph, line by line where it must be: the small and the exact path."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from pyoxigraph import Quad, RdfFormat, parse

from spaseq.io.assemble import Damage, RawEvent, StartMark
from spaseq.io.bad_input import BadInput
from spaseq.settings import limit_reached, settings

_LAST_TERM = re.compile(r"(<[^<>\"{}|^`\\\s]*>|_:[^\s<>\"]+)\s*(\.?)\s*(?:#.*)?\Z")
_FIRST_TERM = re.compile(r"\s*(<[^<>\"{}|^`\\\s]*>|_:[^\s<>\"]+)\s*<([^<>\s]*)")
_PART = re.compile(r'"(?:[^"\\]|\\.)*"\S*|\S+')
_TERM_START = re.compile(r'<|_:|"[^"]*"?')
_TRIPLE_END = re.compile(r'"(?:@[\w-]*|\^\^<[^<>"]*>?)?\s*\.\s*(?:#.*)?\Z')
"""A literal and a dot: the end of a triple in the default graph, such as a timestamp."""
_POSITION = re.compile(r"^Parser error (?:at|between) .*?: | \(line [0-9]+\)\Z")


@dataclass(frozen=True, slots=True)
class PieceResult:
    """What a piece of input gave: events and bad input, and how much of it is settled."""

    events: list[RawEvent]
    bad: list[BadInput]
    consumed: int
    lines: int


class QuadCollector(Protocol):
    """What collects quads into events."""

    events: list[RawEvent]
    bad: list[tuple[int, BadInput]]

    def quad(self, quad: Quad, at: StartMark) -> None:
        """Take one quad."""

    def damaged(self, damage: Damage) -> None:
        """Take something unreadable."""

    def end(self) -> None:
        """Settle what is open."""

    def settled(self, end: int) -> int:
        """The offset before which everything is settled."""


class QuadTaker(QuadCollector, Protocol):
    """An assembler of formats in which several quads have one text."""

    def quad(self, quad: Quad, at: StartMark, text: str | None = None) -> None:
        """Take one quad; ``text`` is how it was written, if that is not a quad."""


def message_of(error: SyntaxError) -> str:
    """The words of pyoxigraph without its own count of lines, which starts again in every piece."""
    return _POSITION.sub("", str(error))


def parsed(data: bytes, syntax: RdfFormat, base_iri: str | None = None) -> list[Quad]:
    """The quads of a text; a `SyntaxError` words what is wrong."""
    try:
        return list(parse(data, format=syntax, base_iri=base_iri))
    except MemoryError as error:
        if "buffer" not in str(error):
            raise
        raise SyntaxError("a term is too long: pyoxigraph's buffer has 16 MiB") from None


def parse_line(line: bytes, syntax: RdfFormat = RdfFormat.N_QUADS) -> list[Quad]:
    """The quads of one line, none for a comment; a `SyntaxError` words what is wrong."""
    return parsed(line, syntax)


def damage_of(line: bytes, reason: str, at: StartMark, stamps: Collection[str]) -> Damage:
    """An unreadable line, with the names of graphs it may have belonged to.

    A line that has a subject, a predicate and an object but names no graph may belong to one beside it.
    """
    text = line.decode("utf-8", "replace").rstrip("\r\n")
    names = set()
    last, first = _LAST_TERM.search(text), _FIRST_TERM.match(text)
    if last is not None and (last[2] or len(_PART.findall(text, 0, last.start())) >= 3) and _is_name(last[1]):
        names.add(last[1])
    if first is not None and first[2] in stamps:
        names.add(first[1])
    resembles_quad = len(_TERM_START.findall(text)) >= 3 and _TRIPLE_END.search(text) is None
    if any(f"<{stamp}>" in text for stamp in stamps) and len(_PART.findall(text)) <= 4:  # a timestamp
        resembles_quad = False
    suspect = None if names or not resembles_quad else (first[1] if first is not None else "")
    cut = not line.endswith((b"\n", b"\r"))
    return Damage(reason, at, text, frozenset(names), cut, suspect=suspect)


def _is_name(text: str) -> bool:
    try:
        return bool(parse_line(f"<urn:x> <urn:x> <urn:x> {text} .".encode()))
    except SyntaxError:
        return False


def line_quads(
    data: bytes, first_line: int, syntax: RdfFormat, stamps: Collection[str]
) -> Iterator[tuple[Quad, StartMark] | Damage]:
    """The quads of some whole lines, each with its line and offset; unreadable lines as damage.

    As for pyoxigraph, a carriage return ends a line, too; what is counted are line feeds.
    """
    marks: list[tuple[bytes, StartMark]] = []
    number, offset = first_line, 0
    for line in data.splitlines(keepends=True):
        content = line.lstrip(b" \t\r\n")
        if content and not content.startswith(b"#"):
            marks.append((line, StartMark(number, offset)))
        offset += len(line)
        number += line.endswith(b"\n")
    quads: list[Quad] = []
    # Whether pyoxigraph takes a long line depends on what is in its buffer, so it gets such a line alone.
    if all(len(line) < settings().long_line_bytes for line, _ in marks):
        with suppress(SyntaxError):
            quads = parsed(data, syntax)
    if len(quads) == len(marks):  # a line has no more than one quad, and a quad no more than one line
        for quad, (_, at) in zip(quads, marks, strict=True):
            yield quad, at
        return
    for line, at in marks:
        try:
            for quad in parse_line(line, syntax):
                yield quad, at
        except SyntaxError as error:
            yield damage_of(line, message_of(error), at, stamps)


def whole_lines(data: bytes) -> int:
    """Where the last line ends whose end is certain: behind a carriage return a line feed may follow."""
    return max(data.rfind(b"\n"), data.rfind(b"\r", 0, max(len(data) - 1, 0))) + 1


def check_length(size: int, source: str, line: int, what: str = "a line") -> None:
    """Raise `LimitReached` if something that has no end yet is too long to wait for it."""
    if size >= settings().max_line_bytes:
        raise limit_reached(f"{source}:{line}: {what} has no end after {size:,} bytes", "max_line_bytes")


@dataclass(frozen=True, slots=True)
class End:
    """How an input ends; ``damage`` says why it ends too early, ``grows`` that more may follow some day."""

    damage: str | None = None
    grows: bool = False


def assemble_lines(
    data: bytes,
    first_line: int,
    end: End | None,
    assembler: QuadCollector,
    syntax: RdfFormat,
    stamps: Collection[str],
) -> PieceResult:
    """Events of a piece of N-Quads or N-Triples; a last line without its end waits for more."""
    whole = data if end is not None and end.damage is None else data[: whole_lines(data)]
    for item in line_quads(whole, first_line, syntax, stamps):
        if isinstance(item, Damage):
            assembler.damaged(item)
        else:
            assembler.quad(*item)
    if end is not None and end.damage is not None:
        at = StartMark(first_line + whole.count(b"\n"), len(whole))
        assembler.damaged(damage_of(data[len(whole) :], end.damage, at, stamps))
    return step_of(data, assembler, len(whole), end)


def tell_damage(assembler: QuadCollector, end: End | None, at: StartMark) -> None:
    """Tell an assembler that the input ended too early."""
    if end is not None and end.damage is not None:
        assembler.damaged(Damage(end.damage, at, "", cut=True, apart=True))


def step_of(data: bytes, assembler: QuadCollector, reached: int, end: End | None) -> PieceResult:
    """What an assembler has settled once it was given a piece of input up to ``reached``."""
    events, bad, consumed = assembler.events, assembler.bad, len(data)
    if end is not None:
        assembler.end()
    else:
        consumed = assembler.settled(reached)
        events = [event for event in events if event.offset < consumed]
        bad = [item for item in bad if item[0] < consumed]
    faults = [item for _, item in sorted(bad, key=lambda item: item[0])]
    return PieceResult(events, faults, consumed, data.count(b"\n", 0, consumed))
