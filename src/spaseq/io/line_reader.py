"""Pieces of N-Quads and of N-Triples into events by pyoxigraph: for small inputs, and where the kernel stops."""

from __future__ import annotations

from pyoxigraph import RdfFormat

from spaseq.io.assemble import GraphAssembler
from spaseq.io.count import TripleCounter
from spaseq.io.lines import End, PieceResult, assemble_lines, check_length, whole_lines
from spaseq.io.options import ReadOptions


def assemble(
    data: bytes, first_line: int, end: End | None, options: ReadOptions, source: str, per_event: int = 0
) -> PieceResult:
    """The events of a piece of N-Quads or, if so many triples make an event, of N-Triples."""
    predicate, unit = options.timestamp_predicate, options.time_unit
    if end is None:
        whole = whole_lines(data)
        check_length(len(data) - whole, source, first_line + data.count(b"\n", 0, whole))
    if per_event:
        counter = TripleCounter(predicate, unit, source, per_event, options.ends)
        return assemble_lines(data, first_line, end, counter, RdfFormat.N_TRIPLES, options.stamps)
    assembler = GraphAssembler(predicate, unit, source, ends=options.ends)
    return assemble_lines(data, first_line, end, assembler, RdfFormat.N_QUADS, options.stamps)


class LineReader:
    """N-Quads or N-Triples piece by piece."""

    __slots__ = ("_options", "_per_event", "_source")

    def __init__(self, options: ReadOptions, source: str, per_event: int = 0) -> None:
        self._options = options
        self._source = source
        self._per_event = per_event

    def step(self, data: bytes, first_line: int, end: End | None) -> PieceResult:
        """Events of a piece of input."""
        return assemble(data, first_line, end, self._options, self._source, self._per_event)
