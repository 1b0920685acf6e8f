"""N-Quads bytes to columns of ids: lexing, encoding and cutting into events in one pass.

The same rules as `spaseq.io.assemble`, for input without fault. At the first thing that is unusual the
kernel stops (`STOPPED`): what came before is settled, and the reader hands the next lines to pyoxigraph. Every
term of a line is looked at before the line changes anything, also those that no query needs: a bad line may belong
to the event that is open.
"""

from __future__ import annotations

import numpy as np

from spaseq.io.line_kernel import NOTHING, SAME_GRAPH, SAME_PREDICATE, TROUBLE, cut_line, find_line_end
from spaseq.io.nquads_state import (
    BLANK,
    FIRST,
    GOING,
    INSIDE,
    LAST,
    NAME,
    NAME_END,
    NAME_START,
    POSITION,
    STAMP_END,
    STAMP_LINE,
    STAMP_START,
    STOPPED,
    TIME,
    Columns,
    LexerSettings,
    LexerState,
)
from spaseq.io.nquads_terms import (
    PREDICATE,
    PREDICATE_END,
    fail,
    failed,
    good_literal,
    good_name,
    graph_id,
    look,
    same,
)
from spaseq.io.stamp_kernel import read_stamp
from spaseq.model.arena import Bytes, Longs, Terms
from spaseq.model.jit import Int, folded, inlined, lean, load8


@lean
def _stop(state: LexerState) -> bool:
    state.status = STOPPED
    return False


@inlined
def triple_hash(secret: Longs, subject: Int, predicate: Int, obj: Int) -> np.uint64:
    """A 64-bit hash of three ids; without the secret, colliding triples cannot be chosen."""
    seed, key = np.uint64(secret[0]), np.uint64(secret[1])
    mixed = folded(seed ^ np.uint64(subject), key)
    mixed = folded(mixed ^ np.uint64(predicate), key)
    return folded(mixed ^ np.uint64(obj), key)


@inlined
def _drop_repeats(columns: Columns, secret: Longs, first: Int, stop: Int) -> Int:
    """Keep the first of equal triples of one event; the new end."""
    subjects, predicates, objects = columns.subjects, columns.predicates, columns.objects
    count = stop - first
    end = first
    if count <= len(columns.memory):
        for i in range(first, stop):
            j = first
            while j < end and not (
                objects[j] == objects[i] and subjects[j] == subjects[i] and predicates[j] == predicates[i]
            ):
                j += 1
            if j == end:
                subjects[end], predicates[end], objects[end] = subjects[i], predicates[i], objects[i]
                end += 1
        return end
    size = 64
    while size < 2 * count:
        size *= 2
    table = columns.table[:size]
    table[:] = -1
    for i in range(first, stop):
        mixed = triple_hash(secret, subjects[i], predicates[i], objects[i])
        slot = np.int64(mixed & np.uint64(size - 1))
        while table[slot] >= 0:
            j = table[slot]
            if objects[j] == objects[i] and subjects[j] == subjects[i] and predicates[j] == predicates[i]:
                break
            slot = (slot + 1) & (size - 1)
        if table[slot] < 0:
            table[slot] = end
            subjects[end], predicates[end], objects[end] = subjects[i], predicates[i], objects[i]
            end += 1
    return end


@lean
def _finish(columns: Columns, state: LexerState, settings: LexerSettings, base: Int) -> None:
    """Write down the open graph as an event, with the timestamp that is its own."""
    state.triples = _drop_repeats(columns, settings.secret, state.first_triple, state.triples)
    row = columns.events[state.events]
    before = state.before > 0
    stamp, stamp_end = state.after_from, state.after_to
    row[STAMP_LINE] = state.after_line
    if before:
        stamp, stamp_end = state.before_from, state.before_to
        row[STAMP_LINE] = state.before_line
    elif state.after == 0:
        stamp, stamp_end = state.inside_from, state.inside_to
        row[STAMP_LINE] = state.inside_line
    row[TIME] = read_stamp(stamp, stamp_end, settings.scale)
    row[POSITION] = state.first_line
    row[FIRST], row[LAST] = state.first_triple, state.triples
    row[NAME] = state.name_id
    row[NAME_START], row[NAME_END] = state.name - base, state.name_end - base
    row[STAMP_START], row[STAMP_END] = stamp - base, stamp_end - base
    row[BLANK] = state.has_blank
    row[INSIDE] = 1 if state.before + state.after == 0 else 0
    state.events += 1
    state.is_open = 0


@lean
def _close(columns: Columns, state: LexerState, settings: LexerSettings, base: Int) -> bool:
    """Finish the open graph, if there is one; stop if it has not exactly one timestamp."""
    if state.is_open:
        beside = state.before + state.after
        if beside > 1 or (beside == 0 and state.inside != 1):
            return _stop(state)
        _finish(columns, state, settings, base)
    return True


@inlined
def _is_stamp(spans: Longs, settings: LexerSettings) -> bool:
    predicate = settings.stamp_predicate.ctypes.data
    return same(spans[2], spans[3], predicate, predicate + len(settings.stamp_predicate) - 16)


@inlined
def _take_stamp(columns: Columns, state: LexerState, settings: LexerSettings, base: Int) -> bool:
    """A triple of the default graph: the timestamp of the graph before or of the next one, or trouble."""
    spans = columns.spans
    if not _is_stamp(spans, settings) or load8(spans[4]) != 34:
        return _stop(state)
    if not good_literal(spans, columns.stamp):
        return _stop(state)
    if state.is_open and same(spans[0], spans[1], state.name, state.name_end):
        state.after += 1
        if state.after == 1:
            state.after_from, state.after_to = spans[4], spans[5]
            state.after_line, state.after_at = state.line, state.at
        elif state.after == 2:
            state.second_from, state.second_to = spans[4], spans[5]
            state.second_line, state.second_at = state.line, state.at
        return True
    if state.waiting or not good_name(state, spans[0], spans[1]):
        return _stop(state)
    if not _close(columns, state, settings, base):
        return False
    state.waiting = 1
    state.waiting_from, state.waiting_to = spans[4], spans[5]
    state.waiting_line, state.waiting_at = state.line, state.at
    state.waiting_name, state.waiting_name_end = spans[0], spans[1]
    return True


@lean
def _split(columns: Columns, state: LexerState, settings: LexerSettings, base: Int) -> bool:
    """The same name again after a timestamp: a new event, which may own some of the timestamps."""
    if state.before > 1:
        return _stop(state)
    _finish(columns, state, settings, base)
    state.is_open = 1
    if state.before == 1:
        state.before = state.after
        state.before_from, state.before_to = state.after_from, state.after_to
        state.before_line = state.start_line = state.after_line
        state.start = state.after_at
    elif state.after > 1:
        state.before = state.after - 1
        state.before_from, state.before_to = state.second_from, state.second_to
        state.before_line = state.start_line = state.second_line
        state.start = state.second_at
    else:
        state.start, state.start_line = state.at, state.line
    state.after = state.inside = 0
    state.has_blank = 1 if state.name_id < 0 else 0
    state.first_line, state.first_triple, state.rows = state.line, state.triples, 0
    return True


@inlined
def _open(columns: Columns, state: LexerState, settings: LexerSettings, name_id: Int, base: Int) -> bool:
    """The first quad of another graph."""
    spans = columns.spans
    if not _close(columns, state, settings, base):
        return False
    state.start, state.start_line = state.at, state.line
    state.before = state.after = state.inside = 0
    if state.waiting:
        if not same(spans[6], spans[7], state.waiting_name, state.waiting_name_end):
            return _stop(state)
        state.before = 1
        state.before_from, state.before_to = state.waiting_from, state.waiting_to
        state.before_line = state.start_line = state.waiting_line
        state.start = state.waiting_at
        state.waiting = 0
    state.is_open = 1
    state.name, state.name_end, state.name_id = spans[6], spans[7], name_id
    state.first_line, state.first_triple, state.rows = state.line, state.triples, 0
    state.has_blank = 1 if name_id < 0 else 0
    return True


@inlined
def _append(columns: Columns, state: LexerState) -> None:
    """Add the line's triple to the open graph, if a query needs it."""
    state.rows += 1
    if state.predicate > 0:
        if state.subject_id < 0 or state.obj < 0:
            state.has_blank = 1
        row = state.triples
        columns.subjects[row], columns.objects[row] = state.subject_id, state.obj
        columns.predicates[row] = state.predicate
        state.triples = row + 1


@inlined
def _take_quad(
    columns: Columns,
    state: LexerState,
    settings: LexerSettings,
    terms: Terms,
    labels: Terms,
    base: Int,
    cut: Int,
) -> bool:
    """A quad of the open graph, or the first of another event."""
    spans = columns.spans
    again = state.is_open and (
        cut & SAME_GRAPH or (load8(spans[6]) != 60 and same(spans[6], spans[7], state.name, state.name_end))
    )
    known = again and state.after == 0
    if not known:
        cut &= ~SAME_PREDICATE  # it was compared with another line
    name_id: Int = state.name_id
    if not again:
        name_id = graph_id(state, spans, settings, terms, labels)
        if failed(name_id):
            return fail(state, name_id)
    if not look(columns, state, settings, terms, labels, state.rows if known else 0, cut):
        return False
    if not again:
        if not _open(columns, state, settings, name_id, base):
            return False
    elif not known and not _split(columns, state, settings, base):
        return False
    if _is_stamp(spans, settings):
        _take_inside(state, spans)
    _append(columns, state)
    return True


@lean
def _take_inside(state: LexerState, spans: Longs) -> None:
    """A timestamp inside the open graph, which counts if there is none beside it."""
    if state.inside == 0:
        state.inside = 1 if load8(spans[4]) == 34 else 2
        state.inside_from, state.inside_to, state.inside_line = spans[4], spans[5], state.line
    elif not same(spans[4], spans[5], state.inside_from, state.inside_to):
        state.inside = 2


@lean
def _take_counted(
    columns: Columns,
    state: LexerState,
    settings: LexerSettings,
    terms: Terms,
    labels: Terms,
    base: Int,
    cut: Int,
) -> bool:
    """A line without graph, where triples are counted into events as `spaseq.io.count` counts them."""
    spans = columns.spans
    stamp = _is_stamp(spans, settings)
    full = state.is_open and state.rows == settings.per_event
    if spans[6] or (full and not stamp) or (stamp and (state.before or load8(spans[4]) != 34)):
        return _stop(state)
    if stamp:
        if not (good_literal(spans, columns.stamp) and good_name(state, spans[0], spans[1])):
            return _stop(state)
    elif not look(columns, state, settings, terms, labels, state.rows if state.is_open else 0, cut):
        return False
    if not state.is_open:
        state.is_open = 1
        state.start, state.start_line, state.first_line = state.at, state.line, state.line
        state.before = state.after = 0
        state.name, state.name_end, state.name_id, state.has_blank = base, base, 0, 0
        state.first_triple, state.rows = state.triples, 0
    if stamp:
        state.before = 1
        state.before_from, state.before_to, state.before_line = spans[4], spans[5], state.line
    else:
        _append(columns, state)
    if state.before and state.rows == settings.per_event:
        _finish(columns, state, settings, base)
        state.before = 0
    return True


@inlined
def _expect(columns: Columns, state: LexerState) -> None:
    """What may come again: the subject, the predicate of the same line one event ago, and the graph."""
    known = columns.memory[(state.rows if state.is_open else 0) & (len(columns.memory) - 1)]
    expected = columns.expected
    expected[0], expected[1] = state.subject, state.subject_end
    expected[2], expected[3] = known[PREDICATE], known[PREDICATE_END]
    expected[4], expected[5] = 0, 0
    if state.is_open:
        expected[4], expected[5] = state.name, state.name_end


@lean
def lex_events(
    data: Bytes, begin: Int, size: Int, final: bool, settings: LexerSettings, terms: Terms, labels: Terms,
    columns: Columns, state: LexerState,
) -> None:  # fmt: skip
    """Read ``data[begin : size]``, whole lines only unless it is the final piece; ``state`` is all zeros."""
    base = data.ctypes.data
    end = base + size
    columns.memory[:] = 0
    columns.stamp[:] = 0
    spans = columns.spans
    state.at = base + begin
    while state.at < end:
        stop = find_line_end(state.at, end)
        if stop == end and not final:
            break
        if stop - state.at >= settings.long_line:
            state.status = STOPPED
            break
        _expect(columns, state)
        cut = cut_line(state.at, stop, spans, columns.expected)
        if cut == TROUBLE:
            state.status = STOPPED
            break
        if cut != NOTHING:
            if settings.per_event:
                good = _take_counted(columns, state, settings, terms, labels, base, cut)
            elif spans[6] == 0:
                good = _take_stamp(columns, state, settings, base)
            else:
                good = _take_quad(columns, state, settings, terms, labels, base, cut)
            if not good:
                break
        state.at = stop + 1
        state.line += 1
    _settle(columns, state, settings, base, end, final)


@lean
def _settle(
    columns: Columns, state: LexerState, settings: LexerSettings, base: Int, end: Int, final: bool
) -> None:
    """Say how far everything is settled: up to the open graph, or to the end if this is the final piece."""
    if final and state.status == GOING:
        unfinished = state.is_open if settings.per_event else state.waiting
        if unfinished or not _close(columns, state, settings, base):
            state.status = STOPPED
    state.consumed, state.lines = min(state.at, end) - base, state.line
    if state.is_open:
        state.triples = state.first_triple
        state.consumed, state.lines = state.start - base, state.start_line
    elif state.waiting:
        state.consumed, state.lines = state.waiting_at - base, state.waiting_line
