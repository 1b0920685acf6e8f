"""What a row may do: begin a run, extend or guard one, or be kept for a negation in first place."""

from __future__ import annotations

from spaseq.automaton.sequence_program import EXTENDS, STRICT, WAIT
from spaseq.automaton.tables import (
    ALIVE,
    AT,
    BEFORE,
    CHOICE_BACKS,
    CHOICE_BEGINS,
    CHOICE_CHANNELS,
    CHOICE_RECALLS,
    DEAD,
    DEADLINE,
    ENTRY,
    HIGH,
    IN,
    KEY,
    LOW,
    OF,
    ORDINAL,
    ROW_CHOICE,
    ROW_FLOOR,
    ROW_HIGH,
    ROW_KEY,
    ROW_LOW,
    ROW_ORDINAL,
    ROW_TIME,
    SHIFT,
    SUB_AFTER,
    SUB_CHANNEL,
    SUB_KIND,
    SUB_SITUATION,
    SUB_STRICT,
    SUB_TRANSITION,
    SUB_WITHIN,
    TIME,
    TRANSITION_BEGINS,
    TRANSITION_OPERATOR,
    TRANSITION_SUBS,
    WORK,
    Candidates,
    Rows,
    RunStore,
    Tables,
)

from .codes import BEGINS, RECALLS
from .index import agrees, bucket_of, fits, outdated, overtaken, same_window, window_start
from .portable import inlined


@inlined
def held_back(tables: Tables, store: RunStore, rows: Rows, row: int, transition: int) -> bool:
    """True if a negated first step occurred since the window began, compatible with this row."""
    choice, time, key = rows.ids[row, ROW_CHOICE], rows.times[row, ROW_TIME], rows.ids[row, ROW_KEY]
    since = window_start(tables, time)
    mask = len(store.buckets) - 1
    shift = tables.sizes[SHIFT]
    for at in range(tables.choices[choice, CHOICE_BACKS], tables.choices[choice, CHOICE_BACKS + 1]):
        sub = tables.flat[at]
        if tables.transitions[tables.subs[sub, SUB_TRANSITION], TRANSITION_BEGINS] != transition:
            continue
        entry = store.buckets[bucket_of(tables, tables.subs[sub, SUB_CHANNEL], key, rows.slots, row, mask)]
        while entry >= 0:
            run = entry >> shift
            partial = store.runs[run, OF]
            if (
                tables.flat[
                    tables.transitions[store.runs[run, IN], TRANSITION_SUBS] + (entry & ((1 << shift) - 1))
                ]
                == sub
                and store.runs[run, ALIVE] == 1
                and store.partials[partial, KEY] == key
                and since <= store.partials[partial, TIME] < time
                and same_window(tables, store.partials[partial, LOW], rows.times[row, ROW_LOW])
                and agrees(tables, store, partial, rows, row, choice, tables.subs[sub, SUB_SITUATION])
            ):
                return True
            entry = store.entries[entry]
    return False


@inlined
def collect(tables: Tables, store: RunStore, rows: Rows, row: int, found: Candidates) -> int:
    """The candidates of a row, or of its next portion if they are too many. Removes expired runs."""
    choice, time, key = rows.ids[row, ROW_CHOICE], rows.times[row, ROW_TIME], rows.ids[row, ROW_KEY]
    cursor = found.cursor
    count = 0
    begin = cursor[AT]
    if begin < 0:
        if not fits(tables, rows.times[row, ROW_LOW], rows.times[row, ROW_HIGH]):
            return 0
        if tables.window[3] == 1 and time < tables.window[2]:
            return 0
        count = first_candidates(tables, store, rows, row, found)
        begin = tables.choices[choice, CHOICE_CHANNELS]
    mask = len(store.buckets) - 1
    shift = tables.sizes[SHIFT]
    work = cursor[WORK]
    for at in range(begin, tables.choices[choice, CHOICE_CHANNELS + 1]):
        channel = tables.flat[at]
        bucket = bucket_of(tables, channel, key, rows.slots, row, mask)
        before = -1
        entry = store.buckets[bucket]
        if at == cursor[AT]:
            before = cursor[BEFORE]
            if before >= 0:
                entry = store.entries[before]
            while entry > cursor[ENTRY]:
                before = entry
                entry = store.entries[entry]
        # Cells may be full at the end of a channel: then the next one waits for the next portion.
        while entry >= 0 and work > 0 and count < len(found.cells):
            work -= 1
            following = store.entries[entry]
            run = entry >> shift
            transition = store.runs[run, IN]
            partial = store.runs[run, OF]
            forget = outdated(tables, store, run, time)
            if not forget:
                sub = tables.flat[
                    tables.transitions[transition, TRANSITION_SUBS] + (entry & ((1 << shift) - 1))
                ]
                if tables.subs[sub, SUB_CHANNEL] == channel and store.partials[partial, KEY] == key:
                    forget = overtaken(
                        tables, store, run, rows.times[row, ROW_ORDINAL], rows.times[row, ROW_FLOOR]
                    )
                    if not forget and concerns(tables, store, rows, row, run, sub):
                        found.cells[count, 0], found.cells[count, 1] = run, sub
                        count += 1
            if forget:
                if (
                    store.runs[run, ALIVE] == 1
                    and tables.transitions[transition, TRANSITION_OPERATOR] != WAIT
                ):
                    store.runs[run, ALIVE] = 0
                    store.counts[DEAD] += 1
                if before < 0:
                    store.buckets[bucket] = following
                else:
                    store.entries[before] = following
            else:
                before = entry
            entry = following
        if entry >= 0:
            cursor[AT], cursor[ENTRY], cursor[BEFORE], cursor[WORK] = at, entry, before, work
            return count
    cursor[AT], cursor[WORK] = -1, work
    return count


@inlined
def first_candidates(tables: Tables, store: RunStore, rows: Rows, row: int, found: Candidates) -> int:
    """The candidates of a row that have no run yet; there are always cells for them."""
    choice = rows.ids[row, ROW_CHOICE]
    count = 0
    for at in range(tables.choices[choice, CHOICE_BEGINS], tables.choices[choice, CHOICE_BEGINS + 1]):
        transition = tables.flat[at]
        if not held_back(tables, store, rows, row, transition):
            found.cells[count, 0], found.cells[count, 1] = BEGINS, transition
            count += 1
    for at in range(tables.choices[choice, CHOICE_RECALLS], tables.choices[choice, CHOICE_RECALLS + 1]):
        found.cells[count, 0], found.cells[count, 1] = RECALLS, tables.flat[at]
        count += 1
    return count


@inlined
def concerns(tables: Tables, store: RunStore, rows: Rows, row: int, run: int, sub: int) -> bool:
    """True if a row may extend or guard a run: later, in its gap, contiguous, in the window, compatible."""
    partial = store.runs[run, OF]
    passed = rows.times[row, ROW_TIME] - store.partials[partial, TIME]
    if passed <= 0 or rows.times[row, ROW_TIME] > store.partials[partial, DEADLINE]:
        return False
    if passed < tables.subs[sub, SUB_AFTER] or passed > tables.subs[sub, SUB_WITHIN]:
        return False
    extends = tables.subs[sub, SUB_KIND] == EXTENDS
    strict = tables.subs[sub, SUB_STRICT] == 1 or (
        extends and tables.transitions[store.runs[run, IN], TRANSITION_OPERATOR] == STRICT
    )
    if strict and rows.times[row, ROW_ORDINAL] != store.partials[partial, ORDINAL] + 1:
        return False
    if extends:
        low = min(store.partials[partial, LOW], rows.times[row, ROW_LOW])
        if not fits(tables, low, max(store.partials[partial, HIGH], rows.times[row, ROW_HIGH])):
            return False
    return agrees(
        tables, store, partial, rows, row, rows.ids[row, ROW_CHOICE], tables.subs[sub, SUB_SITUATION]
    )
