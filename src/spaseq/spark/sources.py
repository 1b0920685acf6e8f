"""Byte sources that are no whole files: a part of an N-Quads file, and a value in memory.

A large N-Quads file is read in parts. All lines of an event name its graph: its quads as their fourth term, its
timestamp as its subject. So where the name changes from one line to the next, an event ends, and there a file
may be cut (`cut_after`). Every reader finds the same cuts, so no event is cut and none is read twice.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, cast

from pyoxigraph import DefaultGraph, NamedNode

from spaseq.io.lines import parse_line
from spaseq.io.sources import ByteReader, Format, Source

_BLOCK: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class ValueSource(Source):
    """Bytes in memory, read like a file."""

    data: bytes = b""

    @staticmethod
    def of(data: bytes, syntax: str, name: str) -> ValueSource:
        return ValueSource(Path(name), cast(Format, syntax), data)

    def open(self) -> ByteReader:
        return ByteReader(cast(io.FileIO, io.BytesIO(self.data)), iter([self.data]))


@dataclass(frozen=True, slots=True)
class Split(Source):
    """The events of an N-Quads file that begin after ``start`` and not after ``stop``; all others are whole."""

    start: int = 0
    stop: int | None = None
    """None: to the end."""
    predicate: str = ""
    """The timestamp predicate, which tells an event's lines in the default graph."""

    @staticmethod
    def whole_of(source: Source, predicate: str) -> Split:
        return Split(source.path, source.format, predicate=predicate)

    @property
    def name(self) -> str:
        """Where lines are counted from."""
        return str(self.path) if self.start == 0 else f"{self.path} from byte {self.start}"

    @property
    def whole(self) -> bool:
        return self.start == 0 and self.stop is None

    def open(self) -> ByteReader:
        if self.whole:
            return Source(self.path, self.format).open()
        file = self.path.open("rb", buffering=0)
        begin = cut_after(file, self.start, self.predicate)
        end = None if self.stop is None else cut_after(file, self.stop, self.predicate)
        return ByteReader(file, _between(file, begin, end))

    def line(self) -> int:
        """How many lines stand before this part; for messages only, since it reads them all."""
        with self.path.open("rb") as file:
            left = cut_after(file, self.start, self.predicate)
            file.seek(0)
            count = 0
            while left > 0 and (block := file.read(min(left, _BLOCK))):
                count += block.count(b"\n")
                left -= len(block)
            return count


def _between(file: BinaryIO | io.FileIO, begin: int, end: int | None) -> Iterator[bytes]:
    file.seek(begin)
    left = 1 << 62 if end is None else end - begin
    while left > 0 and (block := file.read(min(left, _BLOCK))):
        left -= len(block)
        yield block


def cut_after(file: BinaryIO | io.FileIO, offset: int, predicate: str) -> int:
    """The first cut at a line that follows the one in which ``offset`` lies; the file's size if there is none.

    A cut lies between two lines that are both readable and name different graphs.
    """
    if offset <= 0:
        return 0
    stamp = NamedNode(predicate)
    file.seek(offset)
    at = offset
    lines = _lines(file)
    at += len(next(lines, b""))
    before: str | None = None
    for line in lines:
        name = _graph_of(line, stamp)
        if name is not None:
            if before is not None and name and before and name != before:
                return at
            before = name
        at += len(line)
    return at


def _lines(file: BinaryIO | io.FileIO) -> Iterator[bytes]:
    rest = b""
    while block := file.read(1 << 16):
        *whole, rest = (rest + block).split(b"\n")
        for line in whole:
            yield line + b"\n"
    if rest:
        yield rest


def _graph_of(line: bytes, stamp: NamedNode) -> str | None:
    """The graph that a line belongs to: "" if that cannot be told, None if there is nothing in the line."""
    text = line.strip()
    if not text or text.startswith(b"#"):
        return None
    try:
        quads = parse_line(text)
    except SyntaxError:
        return ""
    if len(quads) != 1:
        return ""
    quad = quads[0]
    if not isinstance(quad.graph_name, DefaultGraph):
        return str(quad.graph_name)
    return str(quad.subject) if quad.predicate == stamp else ""
