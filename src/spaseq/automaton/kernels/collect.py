"""What a row may do: begin a run, extend or guard one, or be remembered for a negation in first place."""

from __future__ import annotations

from spaseq.automaton.program import EXTENDS, STRICT, WAIT
from spaseq.automaton.tables import (
    ALIVE,
    CHOICE_BACKS,
    CHOICE_BEGINS,
    CHOICE_RECALLS,
    CHOICE_SUBS,
    DEAD,
    DEADLINE,
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
    SUB_KIND,
    SUB_TRANSITION,
    TIME,
    TRANSITION_BEGINS,
    TRANSITION_LOOPS,
    TRANSITION_OPERATOR,
    TRANSITION_SUBS,
    Candidates,
    Rows,
    Store,
    Tables,
)

from .codes import BEGINS, RECALLS
from .index import agrees, bucket_of, fits, outdated, overtaken, same_window, window_start
from .portable import inlined


@inlined
def held_back(tables: Tables, store: Store, rows: Rows, row: int, transition: int) -> bool:
    """True if a negated first step occurred since the window began, compatible with this row."""
    choice, time, key = rows.ids[row, ROW_CHOICE], rows.times[row, ROW_TIME], rows.ids[row, ROW_KEY]
    since = window_start(tables, time)
    mask = len(store.buckets) - 1
    shift = tables.sizes[SHIFT]
    for at in range(tables.choices[choice, CHOICE_BACKS], tables.choices[choice, CHOICE_BACKS + 1]):
        sub = tables.flat[at]
        if tables.transitions[tables.subs[sub, SUB_TRANSITION], TRANSITION_BEGINS] != transition:
            continue
        entry = store.buckets[bucket_of(tables, sub, key, rows.slots, row, mask)]
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
                and agrees(tables, store, partial, rows, row, choice, 0)
            ):
                return True
            entry = store.entries[entry]
    return False


@inlined
def collect(tables: Tables, store: Store, rows: Rows, row: int, found: Candidates) -> int:
    """All candidates of a row; -1 if they do not fit. Forgets runs that time has passed."""
    choice, time, key = rows.ids[row, ROW_CHOICE], rows.times[row, ROW_TIME], rows.ids[row, ROW_KEY]
    room = len(found.cells)
    count = 0
    if not fits(tables, rows.times[row, ROW_LOW], rows.times[row, ROW_HIGH]):
        return 0
    if tables.window[3] == 1 and time < tables.window[2]:
        return 0
    for at in range(tables.choices[choice, CHOICE_BEGINS], tables.choices[choice, CHOICE_BEGINS + 1]):
        transition = tables.flat[at]
        if not held_back(tables, store, rows, row, transition):
            if count >= room:
                return -1
            found.cells[count, 0], found.cells[count, 1] = BEGINS, transition
            count += 1
    for at in range(tables.choices[choice, CHOICE_RECALLS], tables.choices[choice, CHOICE_RECALLS + 1]):
        if count >= room:
            return -1
        found.cells[count, 0], found.cells[count, 1] = RECALLS, tables.flat[at]
        count += 1
    mask = len(store.buckets) - 1
    shift = tables.sizes[SHIFT]
    for at in range(tables.choices[choice, CHOICE_SUBS], tables.choices[choice, CHOICE_SUBS + 1]):
        sub = tables.flat[at]
        bucket = bucket_of(tables, sub, key, rows.slots, row, mask)
        before = -1
        entry = store.buckets[bucket]
        while entry >= 0:
            following = store.entries[entry]
            run = entry >> shift
            transition = store.runs[run, IN]
            partial = store.runs[run, OF]
            forget = outdated(tables, store, run, time)
            if not forget:
                own = tables.flat[
                    tables.transitions[transition, TRANSITION_SUBS] + (entry & ((1 << shift) - 1))
                ]
                if own == sub and store.partials[partial, KEY] == key:
                    forget = overtaken(
                        tables, store, run, rows.times[row, ROW_ORDINAL], rows.times[row, ROW_FLOOR]
                    )
                    if not forget and concerns(tables, store, rows, row, run, sub):
                        if count >= room:
                            return -1
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
    return count


@inlined
def concerns(tables: Tables, store: Store, rows: Rows, row: int, run: int, sub: int) -> bool:
    """True if a row may extend or guard a run: later, contiguous, in the window, compatible."""
    partial = store.runs[run, OF]
    transition = store.runs[run, IN]
    time = rows.times[row, ROW_TIME]
    if time <= store.partials[partial, TIME] or time > store.partials[partial, DEADLINE]:
        return False
    loops = tables.transitions[transition, TRANSITION_LOOPS]
    if tables.subs[sub, SUB_KIND] == EXTENDS:
        if (
            tables.transitions[transition, TRANSITION_OPERATOR] == STRICT
            and rows.times[row, ROW_ORDINAL] != store.partials[partial, ORDINAL] + 1
        ):
            return False
        low = min(store.partials[partial, LOW], rows.times[row, ROW_LOW])
        if not fits(tables, low, max(store.partials[partial, HIGH], rows.times[row, ROW_HIGH])):
            return False
    return agrees(tables, store, partial, rows, row, rows.ids[row, ROW_CHOICE], loops)
