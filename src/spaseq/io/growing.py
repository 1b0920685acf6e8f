"""Files that grow while they are read: how far their events are complete, and the part between two such places.

What stands behind the last complete event may still be written: half a line, a graph without its timestamp. It
waits. Compressed files and Jelly, whose frames share tables, can be read from their beginning only: of those the
part that was read before is passed over.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import IO, BinaryIO, Final, cast

import numpy as np

from spaseq.io.bad_input import BadInput, OnBad
from spaseq.io.cuts import last_cut
from spaseq.io.handles import opened
from spaseq.io.jelly import LONGEST_FRAME, UNDECODABLE, is_delimited
from spaseq.io.jsonld import JsonLdReader
from spaseq.io.layouts import Clues
from spaseq.io.line_reader import LineReader
from spaseq.io.lines import End
from spaseq.io.options import ReadOptions
from spaseq.io.pieces import next_size, per_event_of
from spaseq.io.readers import read_sources
from spaseq.io.sources import ByteReader, DamagedFile, Source
from spaseq.io.trig import TrigReader
from spaseq.model.batch import EventBatch
from spaseq.model.dictionary import TermDictionary
from spaseq.settings import settings
from spaseq.stores import Place

SETTLE: Final = 2_000_000
"""Microseconds without change after which a followed file is taken to be complete."""

UNKNOWN: Final = -1
"""The count of a cut before which lines were not counted."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A place between two events: the bytes of text, and the lines (of Jelly: the frames) before it.

    ``prologue`` is what a TriG file has declared up to there, or where in an array of JSON-LD it is.
    """

    byte: int = 0
    count: int = 0
    prologue: str = ""


START: Final = Cut()
"""The beginning of a file."""


@dataclass(frozen=True, slots=True)
class FileSpan(Source):
    """The part of a file between two cuts, read like a file of its own."""

    begin: Cut = START
    end: int | None = None
    """Where it ends, in bytes of text; None: with the file."""

    @property
    def size(self) -> int:
        """About how many bytes it has."""
        return (self.path.stat().st_size if self.end is None else self.end) - self.begin.byte

    def open(self) -> ByteReader:
        """The bytes of this part, after what the parts before it have declared."""
        start = 0 if self.format == "jelly" else self.begin.byte
        if is_packed(self.path):
            whole = Source(self.path, self.format).open()
            blocks = _between(whole, start, self.end)
        else:
            whole = ByteReader(file := opened(self.path), None)
            file.seek(start)
            blocks = _between(whole, 0, None if self.end is None else self.end - start)
        prologue = self.begin.prologue.encode()
        return ByteReader(whole, _after(prologue, blocks), grows=self.end is not None)


def is_packed(path: Place) -> bool:
    """True if the file is compressed."""
    return path.suffix.lower() in (".gz", ".zst", ".zstd")


def _between(reader: ByteReader, start: int, stop: int | None) -> Iterator[bytes]:
    """The bytes of a reader from one place to another; damage before the end is reported."""
    while reader.offset < start and reader.read(min(settings().scanned_bytes, start - reader.offset)):
        pass
    left = 1 << 62 if stop is None else stop - start
    while left > 0 and (block := reader.read(min(settings().scanned_bytes, left))):
        left -= len(block)
        yield block
    if left > 0 and reader.damage is not None:
        raise DamagedFile(reader.damage)


def _after(prologue: bytes, blocks: Iterator[bytes]) -> Iterator[bytes]:
    if prologue:
        yield prologue
    yield from blocks


# --- reading --------------------------------------------------------------------------------------


def read_source(
    source: Source,
    stream: str,
    index: int,
    dictionary: TermDictionary,
    options: ReadOptions,
    on_bad: OnBad,
    clues: Clues | None = None,
) -> Iterator[EventBatch]:
    """The events of a file, or of a part of one; positions are those in the whole file."""
    if not isinstance(source, FileSpan):
        return read_sources([source], stream, index, dictionary, options, on_bad, clues)
    return read_part(source, source.begin, stream, index, dictionary, options, on_bad)


def read_part(
    source: Source,
    begin: Cut,
    stream: str,
    index: int,
    dictionary: TermDictionary,
    options: ReadOptions,
    on_bad: OnBad,
) -> Iterator[EventBatch]:
    """The events of a source that begins at a cut; of Jelly, which begins with its file, those behind it."""
    known = begin.count
    shift = 0 if source.format == "jelly" else known - begin.prologue.count("\n")

    def report(bad: BadInput) -> None:
        if source.format != "jelly":
            on_bad(replace(bad, position=bad.position + shift) if bad.unit == "line" else bad)
        elif bad.position > known:
            on_bad(bad)
        elif bad.reason.startswith(UNDECODABLE):
            reason = f"frame {bad.position} cannot be decoded, so nothing behind it can be read"
            on_bad(replace(bad, reason=reason, position=known + 1))

    for batch in read_sources([source], stream, index, dictionary, options, report):
        assert batch.positions is not None
        if source.format != "jelly":
            yield replace(batch, positions=batch.positions + shift) if shift else batch
        elif len(later := np.flatnonzero(batch.positions > known)):
            yield batch.take(later)


# --- how far events are complete ------------------------------------------------------------------


def complete_part(source: Source, begin: Cut, options: ReadOptions, low: int = 0) -> Cut:
    """The last cut of a file that may still grow; ``begin`` is an earlier one.

    Of an uncompressed N-Quads file ``low`` says up to where there is no cut but ``begin``.
    """
    if source.format == "nquads" and not is_packed(source.path):
        with source.path.open("rb", buffering=0) as file:
            start = max(begin.byte, low)
            byte = last_cut(file, start, file.seek(0, io.SEEK_END), *options.stamps)
            if byte == start:
                return begin
            return Cut(byte, begin.count + _lines_between(file, begin.byte, byte))
    with FileSpan(source.path, source.format, begin).open() as reader:
        if source.format == "jelly":
            return _frames(reader) or begin
        return _settled(source, reader, begin, options)[0]


def cut_at_end(source: Source, begin: Cut, options: ReadOptions) -> Cut | None:
    """The cut at the end of a file, None if it ends in the middle of an event or with something unreadable."""
    if source.format == "jelly":
        with source.open() as reader:
            size, damage = _size(reader), reader.damage
        with source.open() as reader:
            cut = _frames(reader) or Cut(size, 1)
        return cut if cut.byte == size and damage is None else None
    if source.format == "nquads" and not is_packed(source.path):  # all but its last event is complete
        begin = complete_part(source, begin, options)
    with FileSpan(source.path, source.format, begin).open() as reader:
        return _settled(source, reader, begin, options)[1]


def recounted(source: Source, cut: Cut, options: ReadOptions) -> Cut:
    """A cut with everything that is known of it: a file that was complete grows after all."""
    if cut.count != UNKNOWN:
        return cut
    whole = FileSpan(source.path, source.format, end=cut.byte)
    with whole.open() as reader:
        lines = sum(block.count(b"\n") for block in iter(lambda: reader.read(settings().scanned_bytes), b""))
    if source.format not in ("trig", "jsonld"):
        return Cut(cut.byte, lines)
    with whole.open() as reader:
        declared, end = _settled(source, reader, START, options)
        # What stands behind the last complete event declares nothing.
        return Cut(cut.byte, lines, (end or declared).prologue)


def _settled(source: Source, reader: ByteReader, begin: Cut, options: ReadOptions) -> tuple[Cut, Cut | None]:
    """The last cut of a text that may still grow, and the cut at its end if its last event is complete."""
    parser = _parser(source, options)
    line, data, wanted, consumed = 1, b"", options.chunk_bytes, 0
    cut = begin
    while True:
        more = reader.read(wanted)
        data += more
        step = parser.step(data, line, None)
        data, line, consumed = data[step.consumed :], line + step.lines, consumed + step.consumed
        cut = _cut(begin, consumed, line, parser) or cut
        if len(more) < wanted:
            break
        wanted = next_size(options.chunk_bytes, step.consumed, len(data))
    if reader.damage is not None:
        return cut, None
    step = parser.step(data, line, End())
    end = _cut(begin, consumed + len(data), line + step.lines, parser)
    return cut, None if step.bad and _may_be_mended(source, data, step.bad) else end


def _may_be_mended(source: Source, data: bytes, bad: Sequence[BadInput]) -> bool:
    """True unless the bad input at the end of a text stays bad whatever follows: whole lines that are wrong.

    Where triples are counted, more of them may belong to the last event.
    """
    whole = source.format == "nquads" and data.endswith(b"\n")
    return not whole or any(each.fault for each in bad)


def _parser(source: Source, options: ReadOptions) -> LineReader | TrigReader | JsonLdReader:
    match source.format:
        case "trig":
            return TrigReader(options, source.name)
        case "jsonld":
            return JsonLdReader(options, source.name)
        case _:
            return LineReader(options, source.name, per_event_of(source, options))


def _cut(begin: Cut, consumed: int, line: int, parser: LineReader | TrigReader | JsonLdReader) -> Cut | None:
    """The cut that a parser has come to; None where reading cannot begin again."""
    if isinstance(parser, JsonLdReader) and parser.inside:
        return None
    prologue = begin.prologue
    if consumed <= len(prologue.encode()):
        return begin
    declared = "" if isinstance(parser, LineReader) else parser.prologue
    return Cut(
        begin.byte + consumed - len(prologue.encode()),
        begin.count + line - 1 - prologue.count("\n"),
        declared,
    )


def _frames(reader: ByteReader) -> Cut | None:
    """The cut behind the last whole frame of a Jelly file; None for one frame without length, which ends with the file."""
    buffered = io.BufferedReader(reader, settings().scanned_bytes)
    stream = cast("BinaryIO", buffered)
    if not is_delimited(buffered.peek(3)):
        return None
    at, count = 0, 0
    while (head := _length(stream)) is not None and len(stream.read(head[1])) == head[1]:
        at, count = at + sum(head), count + 1
    return Cut(at, count)


def _length(stream: BinaryIO) -> tuple[int, int] | None:
    """How many bytes spell the length of the next frame, and the length; None if there is none that can be read."""
    length = 0
    for number in range(10):
        byte = stream.read(1)
        if not byte:
            return None
        length |= (byte[0] & 127) << (7 * number)
        if byte[0] < 128:
            return (number + 1, length) if length <= LONGEST_FRAME else None
    return None


def _size(reader: ByteReader) -> int:
    """How many bytes a reader has in all."""
    while reader.read(settings().scanned_bytes):
        pass
    return reader.offset


def _lines_between(file: IO[bytes] | io.FileIO, start: int, stop: int) -> int:
    file.seek(start)
    count = 0
    while start < stop and (block := file.read(min(settings().scanned_bytes, stop - start))):
        count += block.count(b"\n")
        start += len(block)
    return count
