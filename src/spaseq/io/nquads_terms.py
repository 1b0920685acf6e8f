"""The terms of one line of N-Quads: looked at, and encoded if a query needs them.

Terms that no query needs are looked at as well, so that a line is valid or not for all queries alike. What is
cached of the line before and of the same line one event ago makes that cheap.
"""

from __future__ import annotations

from typing import Final

from spaseq.io.line_kernel import CLOSE, SAME_PREDICATE, SAME_SUBJECT
from spaseq.io.nquads_state import FIRST_LABEL, FULL, LABELS_FULL, STOPPED, Columns, LexerSettings, LexerState
from spaseq.io.term_kernel import (
    DOUBT,
    ROOM,
    encode_iri,
    encode_label,
    encode_literal,
    good_body,
    good_datatype,
    good_iri,
    good_language,
)
from spaseq.model.arena import Longs, Terms, equal_bytes, find_bytes
from spaseq.model.jit import Int, inlined, lean, load8

_NO_LABEL_ROOM: Final = -3
# What is cached of a line: texts that are good, and their ids, 0 if that was not asked for.
PREDICATE, PREDICATE_END, _PREDICATE_ID, _OBJECT, _OBJECT_END, _OBJECT_ID, _DATATYPE, _DATATYPE_END = range(8)
COLUMNS: Final = 8


@inlined
def same(one: Int, one_end: Int, other: Int, other_end: Int) -> bool:
    """Whether two texts are the same."""
    return one_end - one == other_end - other and equal_bytes(one, other, one_end - one)


@inlined
def _encode_resource(terms: Terms, labels: Terms, address: Int, stop: Int, good: bool) -> Int:
    """The id of an IRI, or the event's own number for a blank node."""
    if load8(address) == 60:
        return encode_iri(terms, address, stop, good)
    label = encode_label(labels, address, stop)
    return _NO_LABEL_ROOM if label == ROOM else FIRST_LABEL - label


@inlined
def failed(known: Int) -> bool:
    """Whether an id is the reason why there is none."""
    return bool(FIRST_LABEL < known < 0)


@lean
def fail(state: LexerState, known: Int) -> bool:
    """Stop for the reason that stands in place of an id."""
    state.status = STOPPED if known == DOUBT else (FULL if known == ROOM else LABELS_FULL)
    return False


@inlined
def good_literal(spans: Longs, known: Longs) -> bool:
    """Whether the line's literal is certainly one; its datatype is often that of the line before."""
    close, stop = spans[CLOSE], spans[5]
    if not good_body(spans[4], close):
        return False
    if close + 1 == stop:
        return True
    if load8(close + 1) == 64:
        return good_language(close + 2, stop)
    if not same(close + 3, stop, known[_DATATYPE], known[_DATATYPE_END]):
        if not good_datatype(close + 3, stop):
            return False
        known[_DATATYPE], known[_DATATYPE_END] = close + 3, stop
    return True


@inlined
def _good_resource(address: Int, stop: Int) -> bool:
    """Whether an IRI is certainly one; a blank node was looked at where it was cut."""
    return load8(address) != 60 or good_iri(address, stop)


@inlined
def _is_known(state: LexerState, address: Int, stop: Int) -> bool:
    """Whether this is the name that was looked at last: a graph, its timestamp and its triples often share one."""
    return same(address, stop, state.good, state.good_end)


@inlined
def good_name(state: LexerState, address: Int, stop: Int) -> bool:
    """Whether the name of a graph, or a subject, is certainly a term."""
    if _is_known(state, address, stop):
        return True
    if not _good_resource(address, stop):
        return False
    state.good, state.good_end = address, stop
    return True


@inlined
def graph_id(state: LexerState, spans: Longs, settings: LexerSettings, terms: Terms, labels: Terms) -> Int:
    """The id of the line's graph, 0 if names are not needed."""
    if settings.keep_names or load8(spans[6]) != 60:
        good = _is_known(state, spans[6], spans[7])
        return _encode_resource(terms, labels, spans[6], spans[7], good)
    return 0 if good_name(state, spans[6], spans[7]) else DOUBT


@inlined
def _predicate(settings: LexerSettings, terms: Terms, known: Longs, spans: Longs) -> Int:
    """The id of the line's predicate, 0 if no query needs it."""
    found: Int = 0
    if len(settings.needed):
        found = find_bytes(terms, spans[2], spans[3] - spans[2])
        if found == 0 and not good_iri(spans[2], spans[3]):  # perhaps another spelling of a needed one
            return DOUBT
        if found >= len(settings.needed) or not settings.needed[found]:
            found = 0
    else:
        found = encode_iri(terms, spans[2], spans[3], False)
        if failed(found):
            return found
    known[PREDICATE], known[PREDICATE_END], known[_PREDICATE_ID] = spans[2], spans[3], found
    return found


@inlined
def _subject(state: LexerState, terms: Terms, labels: Terms, spans: Longs, cut: Int) -> Int:
    """The id of the line's subject, 0 if no query needs it; often that of the line before."""
    needed = state.predicate > 0
    known: Int = 0
    if cut & SAME_SUBJECT or (
        load8(spans[0]) != 60 and same(spans[0], spans[1], state.subject, state.subject_end)
    ):
        known = state.subject_id
        if known != 0 or not needed:
            return known
    if needed:
        good = _is_known(state, spans[0], spans[1])
        known = _encode_resource(terms, labels, spans[0], spans[1], good)
    elif not good_name(state, spans[0], spans[1]):
        known = DOUBT
    if not failed(known):
        state.subject, state.subject_end, state.subject_id = spans[0], spans[1], known
    return known


@inlined
def _object(columns: Columns, state: LexerState, terms: Terms, labels: Terms, known: Longs) -> Int:
    """The id of the line's object, 0 if no query needs it; often that of the same line one event ago."""
    spans = columns.spans
    needed = state.predicate > 0
    found: Int = 0
    if same(spans[4], spans[5], known[_OBJECT], known[_OBJECT_END]):
        found = known[_OBJECT_ID]
        if found != 0 or not needed:
            return found
    if load8(spans[4]) == 34:
        if needed:
            found = encode_literal(terms, spans[4], spans[5], spans[CLOSE], columns.scratch)
        elif not good_literal(spans, known):
            found = DOUBT
    elif needed:
        found = _encode_resource(terms, labels, spans[4], spans[5], False)
    elif not _good_resource(spans[4], spans[5]):
        found = DOUBT
    if not failed(found):
        known[_OBJECT], known[_OBJECT_END], known[_OBJECT_ID] = spans[4], spans[5], found
    return found


@inlined
def look(
    columns: Columns,
    state: LexerState,
    settings: LexerSettings,
    terms: Terms,
    labels: Terms,
    row: Int,
    cut: Int,
) -> bool:
    """Look at the terms of the line, which is this one of its event, and encode them if a query needs them."""
    spans = columns.spans
    known = columns.memory[row & (len(columns.memory) - 1)]
    if cut & SAME_PREDICATE or same(spans[2], spans[3], known[PREDICATE], known[PREDICATE_END]):
        state.predicate = known[_PREDICATE_ID]
    else:
        state.predicate = _predicate(settings, terms, known, spans)
        if failed(state.predicate):
            return fail(state, state.predicate)
    subject = _subject(state, terms, labels, spans, cut)
    if failed(subject):
        return fail(state, subject)
    state.obj = _object(columns, state, terms, labels, known)
    if failed(state.obj):
        return fail(state, state.obj)
    return True
