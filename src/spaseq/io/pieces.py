"""A file piece by piece through the parser of its format; what collects the quads is the caller's choice."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

from pyoxigraph import RdfFormat

from spaseq.io.jsonld import JsonLdReader
from spaseq.io.line_reader import LineReader
from spaseq.io.lines import End, PieceResult, QuadTaker, assemble_lines
from spaseq.io.options import ReadOptions
from spaseq.io.sources import ByteReader, Source
from spaseq.io.trig import TrigReader
from spaseq.settings import settings


class Parser(Protocol):
    """Reads a format piece by piece."""

    def step(self, data: bytes, first_line: int, end: End | None) -> PieceResult:
        """What a piece of input gives; what is not settled waits for more, unless this is the end."""


class _QuadLines:
    """N-Quads for any collector."""

    def __init__(self, taker: Callable[[], QuadTaker], stamps: frozenset[str]) -> None:
        self._taker = taker
        self._stamps = stamps

    def step(self, data: bytes, first_line: int, end: End | None) -> PieceResult:
        """Hand over the quads of all whole lines."""
        return assemble_lines(data, first_line, end, self._taker(), RdfFormat.N_QUADS, self._stamps)


def parser_of(source: Source, options: ReadOptions, taker: Callable[[], QuadTaker] | None = None) -> Parser:
    """The parser of a source's format; ``taker`` makes the collector of every piece, by default one of events."""
    match source.format:
        case "jsonld":
            return JsonLdReader(options, source.name, taker)
        case "trig":
            return TrigReader(options, source.name, taker)
        case _ if taker is not None:
            return _QuadLines(taker, options.stamps)
        case _:
            return LineReader(options, source.name, per_event_of(source, options))


def per_event_of(source: Source, options: ReadOptions) -> int:
    """How many triples make an event of a source, 0 where graphs do."""
    return (options.triples_per_event or 1) if source.format == "ntriples" else 0


def in_pieces(
    parser: Parser, reader: ByteReader, size: int, first: int | None = None
) -> Iterator[PieceResult]:
    """Feed a parser piece by piece; what is not settled is read again with more behind it.

    The first piece may have a size of its own.
    """
    line, data, wanted = 1, b"", first or size
    while True:
        more = reader.read(wanted)
        data += more
        end = End(reader.damage, reader.grows) if len(more) < wanted else None
        step = parser.step(data, line, end)
        yield step
        if end is not None:
            return
        data = data[step.consumed :]
        line += step.lines
        wanted = next_size(size, step.consumed, len(data))


def next_size(size: int, consumed: int, held: int) -> int:
    """How many bytes to read next: more and more while nothing is settled, but not far beyond the limit."""
    if consumed:
        return size
    left = settings().max_line_bytes - held
    return max(size, min(held, left) if left > 0 else held)


def hand_over(source: Source, options: ReadOptions, taker: QuadTaker) -> None:
    """Give every quad of a source to a collector, in the order of the file."""
    with source.open() as reader:
        for _ in in_pieces(parser_of(source, options, lambda: taker), reader, options.chunk_bytes):
            pass
