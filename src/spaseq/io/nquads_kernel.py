"""N-Quads bytes to columns of ids: lexing, encoding and cutting into events in one pass.

The same rules as `spaseq.io.assemble`, for input without fault. At the first thing that is unusual the
kernel stops (`STOPPED`): what came before is settled, and the reader hands the next lines to pyoxigraph.
"""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from spaseq.io.line_kernel import NOTHING, TROUBLE, cut_line, find_line_end
from spaseq.io.stamp_kernel import read_stamp
from spaseq.io.term_kernel import DOUBT, ROOM, encode_iri, encode_label, encode_literal, good_iri
from spaseq.model.arena import Bytes, Longs, Terms, equal_bytes, find_bytes
from spaseq.model.jit import Int, inlined, lean, load8

GOING: Final = 0
STOPPED: Final = 1
FULL: Final = 2
"""The dictionary must grow; everything is to be read again."""
LABELS_FULL: Final = 3
"""The dictionary of blank node labels must grow; everything is to be read again."""

FIRST_LABEL: Final = -10
"""A blank node is this number minus the id of its label: it is the event's own, not yet a term."""
_NO_LABEL_ROOM: Final = -3
Ids = npt.NDArray[np.int32]

# Columns of the array that describes events.
TIME, POSITION, FIRST, LAST, NAME, NAME_START, NAME_END, STAMP_START, STAMP_END, STAMP_LINE, BLANK = range(11)
INSIDE: Final = 11
EVENT_COLUMNS: Final = 12


class Settings(NamedTuple):
    """What stays the same for a whole source; ``needed[id]`` says which predicates matter, empty means all.

    ``per_event`` is how many triples make an event, 0 where graphs do.
    """

    stamp_predicate: Bytes
    scale: int
    keep_names: bool
    needed: npt.NDArray[np.bool_]
    per_event: int


class Columns(NamedTuple):
    """What the kernel fills: triples, and a row per event; ``memory`` is what neighbouring events repeat."""

    subjects: Ids
    predicates: Ids
    objects: Ids
    events: npt.NDArray[np.int64]
    spans: Longs
    memory: npt.NDArray[np.int64]
    scratch: Bytes
    table: Longs


class State(Protocol):
    """Where the kernel is: a record of `STATE`.

    The open graph has a name, a start, and timestamps before and after it (the first of them, and how many;
    after it also the second) and inside it (the first, and 2 if there is another value). A waiting timestamp is one whose graph has not come yet. Positions are
    addresses while the kernel runs; ``consumed`` is an offset, ``lines`` counts from where it began.
    """

    at: Int
    line: Int
    events: Int
    triples: Int
    is_open: Int
    name: Int
    name_end: Int
    name_id: Int
    start: Int
    start_line: Int
    first_line: Int
    first_triple: Int
    has_blank: Int
    rows: Int
    before: Int
    before_from: Int
    before_to: Int
    before_line: Int
    after: Int
    after_from: Int
    after_to: Int
    after_line: Int
    after_at: Int
    second_from: Int
    second_to: Int
    second_line: Int
    second_at: Int
    inside: Int
    inside_from: Int
    inside_to: Int
    inside_line: Int
    waiting: Int
    waiting_from: Int
    waiting_to: Int
    waiting_line: Int
    waiting_at: Int
    waiting_name: Int
    waiting_name_end: Int
    subject: Int
    subject_end: Int
    subject_id: Int
    consumed: Int
    lines: Int
    status: Int


STATE: Final = np.dtype([(field, np.int64) for field in State.__annotations__])


@inlined
def _same(one: Int, one_end: Int, other: Int, other_end: Int) -> bool:
    return one_end - one == other_end - other and equal_bytes(one, other, one_end - one)


@inlined
def _encode_resource(terms: Terms, labels: Terms, address: Int, stop: Int) -> Int:
    """The id of an IRI, or the event's own number for a blank node."""
    if load8(address) == 60:
        return encode_iri(terms, address, stop)
    label = encode_label(labels, address, stop)
    return _NO_LABEL_ROOM if label == ROOM else FIRST_LABEL - label


@inlined
def _failed(known: Int) -> bool:
    return bool(FIRST_LABEL < known < 0)


@lean
def _fail(state: State, known: Int) -> bool:
    """Stop for the reason that stands in place of an id."""
    state.status = STOPPED if known == DOUBT else (FULL if known == ROOM else LABELS_FULL)
    return False


@lean
def _stop(state: State) -> bool:
    state.status = STOPPED
    return False


@inlined
def _drop_repeats(columns: Columns, first: Int, stop: Int) -> Int:
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
        mixed = np.uint64(subjects[i]) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ np.uint64(predicates[i])) * np.uint64(0xD6E8FEB86659FD93)
        mixed = (mixed ^ np.uint64(objects[i])) * np.uint64(0x9E3779B97F4A7C15)
        slot = np.int64((mixed >> np.uint64(20)) & np.uint64(size - 1))
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
def _finish(columns: Columns, state: State, settings: Settings, base: Int) -> None:
    """Write down the open graph as an event, with the timestamp that is its own."""
    state.triples = _drop_repeats(columns, state.first_triple, state.triples)
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
def _close(columns: Columns, state: State, settings: Settings, base: Int) -> bool:
    """Finish the open graph, if there is one; stop if it has not exactly one timestamp."""
    if state.is_open:
        beside = state.before + state.after
        if beside > 1 or (beside == 0 and state.inside != 1):
            return _stop(state)
        _finish(columns, state, settings, base)
    return True


@inlined
def _is_stamp(spans: Longs, settings: Settings) -> bool:
    predicate = settings.stamp_predicate.ctypes.data
    return _same(spans[2], spans[3], predicate, predicate + len(settings.stamp_predicate) - 16)


@inlined
def _take_stamp(columns: Columns, state: State, settings: Settings, base: Int) -> bool:
    """A triple of the default graph: the timestamp of the graph before or of the next one, or trouble."""
    spans = columns.spans
    if not _is_stamp(spans, settings) or load8(spans[4]) != 34:
        return _stop(state)
    if state.is_open and _same(spans[0], spans[1], state.name, state.name_end):
        state.after += 1
        if state.after == 1:
            state.after_from, state.after_to = spans[4], spans[5]
            state.after_line, state.after_at = state.line, state.at
        elif state.after == 2:
            state.second_from, state.second_to = spans[4], spans[5]
            state.second_line, state.second_at = state.line, state.at
        return True
    if state.waiting:
        return _stop(state)
    if not _close(columns, state, settings, base):
        return False
    state.waiting = 1
    state.waiting_from, state.waiting_to = spans[4], spans[5]
    state.waiting_line, state.waiting_at = state.line, state.at
    state.waiting_name, state.waiting_name_end = spans[0], spans[1]
    return True


@lean
def _split(columns: Columns, state: State, settings: Settings, base: Int) -> bool:
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
def _open(columns: Columns, state: State, settings: Settings, terms: Terms, labels: Terms, base: Int) -> bool:
    """The first quad of another graph."""
    spans = columns.spans
    if not _close(columns, state, settings, base):
        return False
    state.start, state.start_line = state.at, state.line
    state.before = state.after = state.inside = 0
    if state.waiting:
        if not _same(spans[6], spans[7], state.waiting_name, state.waiting_name_end):
            return _stop(state)
        state.before = 1
        state.before_from, state.before_to = state.waiting_from, state.waiting_to
        state.before_line = state.start_line = state.waiting_line
        state.start = state.waiting_at
        state.waiting = 0
    state.is_open = 1
    state.name, state.name_end = spans[6], spans[7]
    state.first_line, state.first_triple, state.rows = state.line, state.triples, 0
    state.name_id = 0
    if settings.keep_names or load8(spans[6]) != 60:
        state.name_id = _encode_resource(terms, labels, spans[6], spans[7])
        if _failed(state.name_id):
            return _fail(state, state.name_id)
    elif not good_iri(spans[6], spans[7]):
        return _stop(state)
    state.has_blank = 1 if state.name_id < 0 else 0
    return True


@inlined
def _predicate(state: State, settings: Settings, terms: Terms, known: Longs, spans: Longs) -> Int:
    """The id of the line's predicate, 0 if no query needs it; often that of the same line one event ago."""
    if _same(spans[2], spans[3], known[0], known[1]):
        return np.int64(known[2])
    found: Int = 0
    if len(settings.needed):
        found = find_bytes(terms, spans[2], spans[3] - spans[2])
        if found == 0 and not good_iri(spans[2], spans[3]):  # perhaps another spelling of a needed one
            _stop(state)
        if found >= len(settings.needed) or not settings.needed[found]:
            found = 0
    else:
        found = encode_iri(terms, spans[2], spans[3])
        if _failed(found):
            _fail(state, found)
            return found
    known[0], known[1], known[2] = spans[2], spans[3], found
    return found


@lean
def _take_inside(state: State, spans: Longs) -> None:
    """A timestamp inside the open graph, which counts if there is none beside it."""
    if state.inside == 0:
        state.inside = 1 if load8(spans[4]) == 34 else 2
        state.inside_from, state.inside_to, state.inside_line = spans[4], spans[5], state.line
    elif not _same(spans[4], spans[5], state.inside_from, state.inside_to):
        state.inside = 2


@inlined
def _take_triple(columns: Columns, state: State, settings: Settings, terms: Terms, labels: Terms) -> bool:
    """Encode the line's triple into the open graph."""
    spans = columns.spans
    known = columns.memory[state.rows & (len(columns.memory) - 1)]
    state.rows += 1
    predicate = _predicate(state, settings, terms, known, spans)
    if predicate <= 0:
        return state.status == GOING
    if not _same(spans[0], spans[1], state.subject, state.subject_end):
        subject = _encode_resource(terms, labels, spans[0], spans[1])
        if _failed(subject):
            return _fail(state, subject)
        state.subject, state.subject_end, state.subject_id = spans[0], spans[1], subject
    obj: Int = known[5]
    if not _same(spans[4], spans[5], known[3], known[4]):
        if load8(spans[4]) == 34:
            obj = encode_literal(terms, spans[4], spans[5], columns.scratch)
        else:
            obj = _encode_resource(terms, labels, spans[4], spans[5])
        if _failed(obj):
            return _fail(state, obj)
        known[3], known[4], known[5] = spans[4], spans[5], obj
    if state.subject_id < 0 or obj < 0:
        state.has_blank = 1
    row = state.triples
    columns.subjects[row], columns.predicates[row], columns.objects[row] = state.subject_id, predicate, obj
    state.triples = row + 1
    return True


@lean
def _take_counted(
    columns: Columns, state: State, settings: Settings, terms: Terms, labels: Terms, base: Int
) -> bool:
    """A line without graph, where triples are counted into events as `spaseq.io.count` counts them."""
    spans = columns.spans
    stamp = _is_stamp(spans, settings)
    full = state.is_open and state.rows == settings.per_event
    if (full and not stamp) or (stamp and (state.before or load8(spans[4]) != 34)):
        return _stop(state)
    if stamp and load8(spans[0]) == 60 and not good_iri(spans[0], spans[1]):
        return _stop(state)
    if not state.is_open:
        state.is_open = 1
        state.start, state.start_line, state.first_line = state.at, state.line, state.line
        state.before = state.after = 0
        state.name, state.name_end, state.name_id, state.has_blank = base, base, 0, 0
        state.first_triple, state.rows = state.triples, 0
    if stamp:
        state.before = 1
        state.before_from, state.before_to, state.before_line = spans[4], spans[5], state.line
    elif not _take_triple(columns, state, settings, terms, labels):
        return False
    if state.before and state.rows == settings.per_event:
        _finish(columns, state, settings, base)
        state.before = 0
    return True


@lean
def lex_events(
    data: Bytes, begin: Int, size: Int, final: bool, settings: Settings, terms: Terms, labels: Terms,
    columns: Columns, state: State,
) -> None:  # fmt: skip
    """Read ``data[begin : size]``, whole lines only unless it is the final piece; ``state`` is all zeros."""
    base = data.ctypes.data
    end = base + size
    columns.memory[:] = 0
    spans = columns.spans
    state.at = base + begin
    while state.at < end:
        stop = find_line_end(state.at, end)
        if stop == end and not final:
            break
        cut = cut_line(state.at, stop, spans)
        if cut == TROUBLE:
            state.status = STOPPED
            break
        if cut != NOTHING:
            if settings.per_event:
                good = spans[6] == 0 and _take_counted(columns, state, settings, terms, labels, base)
                state.status = state.status if good or state.status else STOPPED
            elif spans[6] == 0:
                good = _take_stamp(columns, state, settings, base)
            else:
                if not (state.is_open and _same(spans[6], spans[7], state.name, state.name_end)):
                    good = _open(columns, state, settings, terms, labels, base)
                else:
                    good = state.after == 0 or _split(columns, state, settings, base)
                if good and _is_stamp(spans, settings):
                    _take_inside(state, spans)
                good = good and _take_triple(columns, state, settings, terms, labels)
            if not good:
                break
        state.at = stop + 1
        state.line += 1
    _settle(columns, state, settings, base, end, final)


@lean
def _settle(columns: Columns, state: State, settings: Settings, base: Int, end: Int, final: bool) -> None:
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
