"""Byte sources that are no whole files: a part of an N-Quads file, and a value in memory.

A large N-Quads file is read in parts, which end at cuts (`spaseq.io.cuts`). Every reader finds the same cuts, so no
event is divided and none is read twice.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from spaseq.io.cuts import cut_after
from spaseq.io.sources import ByteReader, Format, Source
from spaseq.settings import settings


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
            while left > 0 and (block := file.read(min(left, settings().scanned_bytes))):
                count += block.count(b"\n")
                left -= len(block)
            return count


def _between(file: BinaryIO | io.FileIO, begin: int, end: int | None) -> Iterator[bytes]:
    file.seek(begin)
    left = 1 << 62 if end is None else end - begin
    while left > 0 and (block := file.read(min(left, settings().scanned_bytes))):
        left -= len(block)
        yield block
