"""Quads without events, for the W3C's suites: the same line lexer, term encoder and statement cutter as events are read with."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from pyoxigraph import DefaultGraph, Quad, RdfFormat, parse

from spaseq.io.line_kernel import CLOSE, NOTHING, SPANS, TROUBLE, cut_line, find_line_end
from spaseq.io.lines import message_of, parse_line, parsed
from spaseq.io.term_kernel import DOUBT, ROOM, encode_iri, encode_label, encode_literal
from spaseq.io.trig import Declarations, statements
from spaseq.model.arena import PADDING, Bytes, Longs, Terms
from spaseq.model.dictionary import TermDictionary
from spaseq.model.jit import Int, lean, load8


@lean
def _encode(terms: Terms, address: Int, stop: Int, close: Int, scratch: Bytes) -> Int:
    lead = load8(address)
    if lead == 60:
        return encode_iri(terms, address, stop, False)
    if lead == 34:
        return encode_literal(terms, address, stop, close, scratch)
    return encode_label(terms, address, stop)


@lean
def _lex_line(
    data: Bytes,
    begin: Int,
    stop: Int,
    terms: Terms,
    scratch: Bytes,
    spans: Longs,
    expected: Longs,
    ids: Longs,
) -> Int:
    """Encode the terms of one line; `NOTHING`, 1, or why pyoxigraph must read it."""
    base = data.ctypes.data
    cut = cut_line(base + begin, base + stop, spans, expected)
    if cut in (NOTHING, TROUBLE):
        return cut
    for i in range(4):
        ids[i] = 0
        if spans[2 * i]:
            ids[i] = _encode(terms, spans[2 * i], spans[2 * i + 1], spans[CLOSE], scratch)
            if ids[i] in (DOUBT, ROOM):
                return TROUBLE
    return cut


@lean
def _line_end(data: Bytes, begin: Int, size: Int) -> Int:
    base = data.ctypes.data
    return find_line_end(base + begin, base + size) - base


def lex_quads(data: bytes, syntax: RdfFormat) -> list[Quad]:
    """The quads of a text by the kernel, line by line; a `SyntaxError` words what is wrong and has the line."""
    dictionary = TermDictionary()
    padded: npt.NDArray[np.uint8] = np.frombuffer(data + bytes(PADDING), np.uint8)
    spans, expected, ids = np.zeros(SPANS, np.int64), np.zeros(6, np.int64), np.zeros(4, np.int64)
    scratch = np.zeros(6 * len(data) + 64, np.uint8)
    arena = dictionary.promote()
    quads: list[Quad] = []
    at, number = 0, 0
    while at < len(data):
        number += 1
        stop = int(_line_end(padded, at, len(data)))
        arena.reserve(4, 6 * (stop - at) + PADDING)
        cut = _lex_line(padded, at, stop, arena.terms, scratch, spans, expected, ids)
        if cut == TROUBLE or (syntax == RdfFormat.N_TRIPLES and ids[3]):
            quads.extend(_by_pyoxigraph(data[at:stop], syntax, number))
        elif cut != NOTHING:
            subject, predicate, obj = (dictionary.decode(int(known)) for known in ids[:3])
            graph = dictionary.decode(int(ids[3])) if ids[3] else DefaultGraph()
            quads.append(Quad(subject, predicate, obj, graph))  # type: ignore[arg-type]
        at = stop + 1
    return quads


def _by_pyoxigraph(line: bytes, syntax: RdfFormat, number: int) -> list[Quad]:
    try:
        return parse_line(line, syntax)
    except SyntaxError as error:
        found = SyntaxError(f"line {number}: {message_of(error)}")
        found.lineno = number
        raise found from None


def trig_quads(data: bytes, base_iri: str | None = None) -> Iterator[Quad]:
    """The quads of a TriG text, statement by statement; a `SyntaxError` has the line of its statement."""
    declared = Declarations(base_iri)
    for statement in statements(data, True):
        text = data[statement.start : statement.end]
        prologue = declared.text
        try:
            yield from parsed(prologue + text, RdfFormat.TRIG, base_iri)
        except SyntaxError as error:
            line = data.count(b"\n", 0, statement.start) + 1
            found = SyntaxError(f"line {line}: {message_of(error)}")
            found.lineno = line
            raise found from None
        if statement.declares:
            declared.add(text)


def read_quads(
    data: bytes, file_format: str = "nquads", *, compiled: bool = False, base_iri: str | None = None
) -> Iterator[Quad]:
    """The quads of a text, without any thought of events; a `SyntaxError` has the line.

    ``compiled`` reads N-Quads and N-Triples with the byte kernel, as large inputs are.
    """
    if file_format == "trig":
        return trig_quads(data, base_iri)
    syntax = RdfFormat.N_QUADS if file_format == "nquads" else RdfFormat.N_TRIPLES
    if compiled:
        return iter(lex_quads(data, syntax))
    return iter(parse(data, format=syntax))
