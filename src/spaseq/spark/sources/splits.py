"""Byte sources that are no whole files: a part of an N-Quads file, and a value in memory.

A large N-Quads file is read in parts, which end at cuts (`spaseq.io.cuts`). Every reader finds the same cuts, so no
event is divided and none is read twice.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from spaseq.errors import SpaseqError
from spaseq.io.cuts import cut_after
from spaseq.io.growing import START, Cut, FileSpan
from spaseq.io.sources import ByteReader, Format, Source
from spaseq.settings import settings
from spaseq.stores import Place, place_of


class MissingInput(SpaseqError):
    """A file of events that was there when the query was planned."""


@contextmanager
def still_there(path: Place) -> Iterator[None]:
    """Say what it means if a file of events is not there: the driver has found it, and its events were promised."""
    try:
        yield
    except FileNotFoundError:
        if path.exists():
            raise  # it was another file
        raise MissingInput(
            f"`{path}` was there when the query was planned and is not found now: it was removed or renamed since then, or a worker does "
            "not see the folder that the driver sees (docs/how-to/run-on-a-cluster.md)"
        ) from None


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
    """The events of an N-Quads file that begin after ``start`` and not after ``stop``; all others are whole.

    ``begin`` and ``end`` are exact: of a file that grows only what lies between them is read.
    """

    start: int = 0
    stop: int | None = None
    """None: to the end."""
    predicate: str = ""
    """The timestamp predicate, which identifies an event's lines in the default graph."""
    begin: Cut = START
    end: int | None = None
    order: int | None = None
    """Which part of the whole input it is, where parts are not read in their order."""

    @staticmethod
    def whole_of(source: Source, predicate: str) -> Split:
        if isinstance(source, FileSpan):
            return Split(source.path, source.format, predicate=predicate, begin=source.begin, end=source.end)
        return Split(
            source.path, source.format, predicate=predicate, layout=source.layout, shown=source.shown
        )

    @property
    def name(self) -> str:
        """Where lines are counted from."""
        return self.file if self.counted else f"{self.file} from byte {self.start}"

    @property
    def file(self) -> str:
        """The name of the whole file."""
        return self.shown or str(self.path)

    @property
    def counted(self) -> bool:
        """True if it is known how many lines come before it."""
        return self.start <= self.begin.byte

    @property
    def size(self) -> int:
        """About how many bytes it has."""
        with still_there(self.path):
            stop = self.stop or (self.path.stat().st_size if self.end is None else self.end)
        return stop - max(self.start, self.begin.byte)

    def open(self) -> ByteReader:
        if self.counted and self.stop is None:
            if self.begin == START and self.end is None:
                return Source(self.path, self.format).open()
            return FileSpan(self.path, self.format, self.begin, self.end).open()
        file = self.path.open("rb", buffering=0)
        first = self.begin.byte if self.counted else cut_after(file, self.start, self.predicate)
        last = None if self.stop is None else cut_after(file, self.stop, self.predicate)
        ends = [place for place in (last, self.end) if place is not None]
        file.seek(first)
        return ByteReader(cast("io.RawIOBase", file), None, most=min(ends) - first if ends else None)

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

    def to_list(self) -> list[Any]:
        """The part as JSON knows it."""
        begin = self.begin
        cut = None if begin == START else [begin.byte, begin.count, begin.prologue]
        place = [str(self.path), self.format, self.start, self.stop, cut, self.end]
        return [*place, self.layout, self.shown, self.order]

    @staticmethod
    def from_list(saved: list[Any], predicate: str) -> Split:
        """The part that `to_list` wrote."""
        path, syntax, start, stop, cut, end, layout, *more = saved
        begin, shown = Cut(*cut) if cut else START, more[0] if more else ""
        order = more[1] if len(more) > 1 else None  # an earlier release noted none
        return Split(
            place_of(path), syntax, start, stop, predicate, begin, end, order, layout=layout, shown=shown
        )
