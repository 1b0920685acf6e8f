"""Doing it: new partial matches, new runs, matches."""

from __future__ import annotations

from spaseq.automaton.program import GUARDS, WAIT
from spaseq.automaton.tables import (
    ALIVE,
    BLOCKED,
    CHOICE,
    CHOICE_ASSIGNS,
    CHOICE_COUNTS,
    CHOICE_REBINDS,
    CHOICE_SLOTS,
    CHOICE_STEP,
    DEADLINE,
    HIGH,
    IN,
    ITERATION,
    KEY,
    LAST,
    LOW,
    MATCHES,
    MOST,
    N_COUNTERS,
    N_SLOTS,
    N_TRACKS,
    NEVER,
    OF,
    ORDINAL,
    PARENT,
    PARTIALS,
    PREV,
    ROOTED,
    ROW_CHOICE,
    ROW_HIGH,
    ROW_KEY,
    ROW_LOW,
    ROW_ORDINAL,
    ROW_TIME,
    RUNS,
    SHIFT,
    START,
    STEP_LEAVING,
    STEP_REPEATED,
    SUB_KIND,
    TIME,
    TRACK_FUNCTION,
    TRACK_SLOT,
    TRANSITION_GUARDED,
    TRANSITION_HIGH,
    TRANSITION_LOOPS,
    TRANSITION_LOW,
    TRANSITION_OPERATOR,
    TRANSITION_ROOTED,
    TRANSITION_SUBS,
    USED,
    WAITING,
    Candidates,
    Rows,
    Store,
    Tables,
)

from .codes import RECALLS, YES
from .index import bucket_of, window_end
from .portable import Array, inlined, portable


@inlined
def has_room(tables: Tables, store: Store, count: int) -> bool:
    """True if the outcome of this many candidates fits in the arrays."""
    if count == 0:
        return True
    most = tables.sizes[MOST]
    return bool(
        store.counts[PARTIALS] + count <= len(store.partials)
        and store.counts[RUNS] + count * most <= len(store.runs)
        and store.counts[MATCHES] + count * most <= len(store.matches)
        and store.counts[WAITING] + count * most <= len(store.waiting)
    )


@portable
def apply(tables: Tables, store: Store, rows: Rows, row: int, found: Candidates, count: int) -> None:
    """Do what the candidates with a positive verdict ask for."""
    time = rows.times[row, ROW_TIME]
    for number in range(count):
        if found.cells[number, 2] != YES:
            continue
        run, target = found.cells[number, 0], found.cells[number, 1]
        if run >= 0 and tables.subs[target, SUB_KIND] == GUARDS:
            store.runs[run, BLOCKED] = min(store.runs[run, BLOCKED], time)
            continue
        partial = extend(tables, store, rows, row, run, found, number)
        if run == RECALLS:
            wait(tables, store, partial, target)
        else:
            if run >= 0:
                store.runs[run, USED] = min(store.runs[run, USED], time)
            move_on(tables, store, partial, tables.choices[rows.ids[row, ROW_CHOICE], CHOICE_STEP])


@inlined
def extend(
    tables: Tables, store: Store, rows: Rows, row: int, run: int, found: Candidates, number: int
) -> int:
    """A new partial: the run's, if there is one, with the row joined to it."""
    new = store.counts[PARTIALS]
    store.counts[PARTIALS] += 1
    choice, time = rows.ids[row, ROW_CHOICE], rows.times[row, ROW_TIME]
    step = tables.choices[choice, CHOICE_STEP]
    repeated = tables.steps[step, STEP_REPEATED]
    parent = store.runs[run, OF] if run >= 0 else -1
    loops = tables.transitions[store.runs[run, IN], TRANSITION_LOOPS] if run >= 0 else 0
    store.partials[new, PARENT], store.partials[new, CHOICE], store.partials[new, KEY] = (
        parent,
        choice,
        rows.ids[row, ROW_KEY],
    )
    store.partials[new, TIME], store.partials[new, ORDINAL] = time, rows.times[row, ROW_ORDINAL]
    for width in range(rows.events.shape[1]):
        store.events[new, width] = rows.events[row, width]
    if parent >= 0:
        store.partials[new, START], store.partials[new, DEADLINE] = (
            store.partials[parent, START],
            store.partials[parent, DEADLINE],
        )
        store.partials[new, LOW] = min(store.partials[parent, LOW], rows.times[row, ROW_LOW])
        store.partials[new, HIGH] = max(store.partials[parent, HIGH], rows.times[row, ROW_HIGH])
        store.partials[new, ROOTED] = store.partials[parent, ROOTED] if loops == 1 else 0
        store.partials[new, ITERATION] = store.partials[parent, ITERATION] + 1 if loops == 1 else repeated
        copy_row(store.slots, parent, new)
    else:
        store.partials[new, START], store.partials[new, DEADLINE] = time, window_end(tables, time)
        store.partials[new, LOW], store.partials[new, HIGH] = (
            rows.times[row, ROW_LOW],
            rows.times[row, ROW_HIGH],
        )
        store.partials[new, ROOTED], store.partials[new, ITERATION] = 1, repeated
        clear_row(store.slots, new)
    fill(tables, store, rows, row, new, parent, loops, found, number)
    return int(new)


@inlined
def copy_row(table: Array, source: int, target: int) -> None:
    """One row becomes like another."""
    for column in range(table.shape[1]):
        table[target, column] = table[source, column]


@inlined
def clear_row(table: Array, target: int) -> None:
    """A row of zeros."""
    for column in range(table.shape[1]):
        table[target, column] = 0


@inlined
def fill(
    tables: Tables,
    store: Store,
    rows: Rows,
    row: int,
    new: int,
    parent: int,
    loops: int,
    found: Candidates,
    number: int,
) -> None:
    """Bind the slots of a new partial, and bring its functions over iterations up to date."""
    choice = rows.ids[row, ROW_CHOICE]
    if loops == 1:
        for at in range(tables.choices[choice, CHOICE_REBINDS], tables.choices[choice, CHOICE_REBINDS + 1]):
            store.slots[new, tables.flat[at]] = 0
    for slot in range(tables.sizes[N_SLOTS]):
        if rows.slots[row, slot] != 0:
            store.slots[new, slot] = rows.slots[row, slot]
    first = tables.choices[choice, CHOICE_ASSIGNS]
    for at in range(first, tables.choices[choice, CHOICE_ASSIGNS + 1]):
        if found.cells[number, 3 + at - first] != 0:
            store.slots[new, tables.flat[at]] = found.cells[number, 3 + at - first]
    if tables.steps[tables.choices[choice, CHOICE_STEP], STEP_REPEATED] == 0:
        return
    for track in range(tables.sizes[N_TRACKS]):
        function, slot = tables.tracks[track, TRACK_FUNCTION], tables.tracks[track, TRACK_SLOT]
        value = store.slots[new, slot] if takes_part(tables, choice, slot) else 0
        if function == PREV:
            store.slots[new, tables.sizes[N_SLOTS] + track] = store.slots[parent, slot] if loops == 1 else 0
        elif value != 0 and (function == LAST or store.slots[new, tables.sizes[N_SLOTS] + track] == 0):
            store.slots[new, tables.sizes[N_SLOTS] + track] = value
    for counter in range(tables.sizes[N_COUNTERS]):
        store.slots[new, tables.sizes[N_SLOTS] + tables.sizes[N_TRACKS] + counter] += tables.flat[
            tables.choices[choice, CHOICE_COUNTS] + counter
        ]


@inlined
def takes_part(tables: Tables, choice: int, slot: int) -> bool:
    """True if occurrences of the choice may bind the slot."""
    for at in range(tables.choices[choice, CHOICE_SLOTS], tables.choices[choice, CHOICE_SLOTS + 1]):
        if tables.flat[at] == slot:
            return True
    for at in range(tables.choices[choice, CHOICE_ASSIGNS], tables.choices[choice, CHOICE_ASSIGNS + 1]):
        if tables.flat[at] == slot:
            return True
    return False


@inlined
def move_on(tables: Tables, store: Store, partial: int, step: int) -> None:
    """A run for every transition that leaves the completed step, or a match where none is needed."""
    for at in range(tables.steps[step, STEP_LEAVING], tables.steps[step, STEP_LEAVING + 1]):
        transition = tables.flat[at]
        iteration = store.partials[partial, ITERATION]
        if tables.transitions[transition, TRANSITION_LOOPS] == 1:
            if tables.transitions[transition, TRANSITION_ROOTED] != store.partials[partial, ROOTED]:
                continue
            if iteration >= tables.transitions[transition, TRANSITION_HIGH]:
                continue
        elif iteration < tables.transitions[transition, TRANSITION_LOW]:
            continue
        if (
            tables.transitions[transition, TRANSITION_OPERATOR] == WAIT
            and tables.transitions[transition, TRANSITION_GUARDED] == 0
        ):
            match = store.counts[MATCHES]
            store.matches[match, 0], store.matches[match, 1] = partial, store.partials[partial, TIME]
            store.counts[MATCHES] += 1
        else:
            wait(tables, store, partial, transition)


@inlined
def wait(tables: Tables, store: Store, partial: int, transition: int) -> None:
    """A new run, entered under all its subscriptions."""
    run = store.counts[RUNS]
    store.counts[RUNS] += 1
    store.runs[run, OF], store.runs[run, IN] = partial, transition
    store.runs[run, USED] = store.runs[run, BLOCKED] = NEVER
    store.runs[run, ALIVE] = 1
    if tables.transitions[transition, TRANSITION_OPERATOR] == WAIT:
        store.waiting[store.counts[WAITING]] = run
        store.counts[WAITING] += 1
    enter(tables, store, run)


@inlined
def enter(tables: Tables, store: Store, run: int) -> None:
    """Put a run into the bucket of each of its subscriptions."""
    mask = len(store.buckets) - 1
    partial, transition = store.runs[run, OF], store.runs[run, IN]
    first = tables.transitions[transition, TRANSITION_SUBS]
    for at in range(first, tables.transitions[transition, TRANSITION_SUBS + 1]):
        sub = tables.flat[at]
        bucket = bucket_of(tables, sub, store.partials[partial, KEY], store.slots, partial, mask)
        entry = (run << tables.sizes[SHIFT]) + (at - first)
        store.entries[entry] = store.buckets[bucket]
        store.buckets[bucket] = entry
