"""The effects of a row: new partial matches, new runs, matches."""

from __future__ import annotations

from spaseq.automaton.sequence_program import GUARDS, RECALL, WAIT
from spaseq.automaton.tables import (
    ALIVE,
    BLOCKED,
    BY,
    CHOICE,
    CHOICE_ASSIGNS,
    CHOICE_COUNTS,
    CHOICE_REPETITION,
    CHOICE_SLOTS,
    DEADLINE,
    HIGH,
    IN,
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
    PUSHES,
    REPEATS,
    ROW_CHOICE,
    ROW_HIGH,
    ROW_KEY,
    ROW_LOW,
    ROW_ORDINAL,
    ROW_TIME,
    RUNS,
    SHIFT,
    SITUATION_UNBINDS,
    START,
    STATE_LEAVING,
    SUB_CHANNEL,
    SUB_KIND,
    TIME,
    TRACK_FUNCTION,
    TRACK_SLOT,
    TRANSITION_ADDS,
    TRANSITION_BOUNDS,
    TRANSITION_GUARDED,
    TRANSITION_OPERATOR,
    TRANSITION_SETS,
    TRANSITION_SITUATION,
    TRANSITION_SUBS,
    TRANSITION_TARGET,
    TRANSITION_WITHIN,
    UNTIL,
    USED,
    WAITING,
    Candidates,
    Rows,
    RunStore,
    Tables,
)

from .codes import RECALLS, YES
from .index import bucket_of, previous, window_end
from .portable import Array, inlined, portable


@inlined
def has_room(tables: Tables, store: RunStore, count: int) -> bool:
    """True if the outcome of this many candidates fits in the arrays, matches apart."""
    most = tables.sizes[MOST] * count
    return bool(
        store.counts[PARTIALS] + count <= len(store.partials)
        and store.counts[RUNS] + most <= len(store.runs)
        and store.counts[WAITING] + most <= len(store.waiting)
    )


@portable
def apply(tables: Tables, store: RunStore, rows: Rows, row: int, found: Candidates, count: int) -> None:
    """Do what the candidates with a positive verdict ask for."""
    apply_inline(tables, store, rows, row, found, count)


@inlined
def apply_inline(
    tables: Tables, store: RunStore, rows: Rows, row: int, found: Candidates, count: int
) -> None:
    """The same inside another kernel: passing all arrays costs as much as a row without candidates."""
    time = rows.times[row, ROW_TIME]
    for number in range(count):
        if found.cells[number, 2] != YES:
            continue
        run, target = found.cells[number, 0], found.cells[number, 1]
        if run >= 0 and tables.subs[target, SUB_KIND] == GUARDS:
            store.runs[run, BLOCKED] = min(store.runs[run, BLOCKED], time)
            continue
        transition = store.runs[run, IN] if run >= 0 else target
        partial = extend(tables, store, rows, row, run, transition, found, number)
        if run == RECALLS:
            wait(tables, store, partial, transition)
        else:
            if run >= 0:
                store.runs[run, USED] = min(store.runs[run, USED], time)
            move_on(tables, store, partial, tables.transitions[transition, TRANSITION_TARGET])


@inlined
def extend(
    tables: Tables,
    store: RunStore,
    rows: Rows,
    row: int,
    run: int,
    transition: int,
    found: Candidates,
    number: int,
) -> int:
    """A new partial: the run's, if there is one, with the row joined to it."""
    new = store.counts[PARTIALS]
    store.counts[PARTIALS] += 1
    choice, time = rows.ids[row, ROW_CHOICE], rows.times[row, ROW_TIME]
    parent = store.runs[run, OF] if run >= 0 else -1
    store.partials[new, PARENT], store.partials[new, CHOICE] = parent, choice
    store.partials[new, KEY], store.partials[new, BY] = rows.ids[row, ROW_KEY], transition
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
        copy_row(store.slots, parent, new)
    else:
        store.partials[new, START], store.partials[new, DEADLINE] = time, window_end(tables, time)
        store.partials[new, LOW], store.partials[new, HIGH] = (
            rows.times[row, ROW_LOW],
            rows.times[row, ROW_HIGH],
        )
        clear_row(store.slots, new)
    if tables.sizes[REPEATS] == 1:
        begin_iterations(tables, store, new, parent, transition)
    fill(tables, store, rows, row, new, found, number)
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
def begin_iterations(tables: Tables, store: RunStore, new: int, parent: int, transition: int) -> None:
    """Unbind and count what the iterations that begin on the way ask for."""
    situation = tables.transitions[transition, TRANSITION_SITUATION]
    for track in range(tables.sizes[N_TRACKS]):
        if tables.tracks[track, TRACK_FUNCTION] == PREV:
            store.slots[new, tables.sizes[N_SLOTS] + track] = previous(
                tables, store, parent, situation, track
            )
    for at in range(
        tables.situations[situation, SITUATION_UNBINDS], tables.situations[situation, SITUATION_UNBINDS + 1]
    ):
        store.slots[new, tables.flat[at]] = 0
    loops = tables.sizes[N_SLOTS] + tables.sizes[N_TRACKS] + tables.sizes[N_COUNTERS]
    for at in range(
        tables.transitions[transition, TRANSITION_SETS], tables.transitions[transition, TRANSITION_SETS + 1]
    ):
        store.slots[new, loops + tables.flat[at]] = 1
    for at in range(
        tables.transitions[transition, TRANSITION_ADDS], tables.transitions[transition, TRANSITION_ADDS + 1]
    ):
        store.slots[new, loops + tables.flat[at]] += 1


@inlined
def fill(
    tables: Tables, store: RunStore, rows: Rows, row: int, new: int, found: Candidates, number: int
) -> None:
    """Bind the slots of a new partial, and bring its functions over iterations up to date."""
    choice = rows.ids[row, ROW_CHOICE]
    for slot in range(tables.sizes[N_SLOTS]):
        if rows.slots[row, slot] != 0:
            store.slots[new, slot] = rows.slots[row, slot]
    first = tables.choices[choice, CHOICE_ASSIGNS]
    for at in range(first, tables.choices[choice, CHOICE_ASSIGNS + 1]):
        if found.cells[number, 3 + at - first] != 0:
            store.slots[new, tables.flat[at]] = found.cells[number, 3 + at - first]
    for counter in range(tables.sizes[N_COUNTERS]):
        store.slots[new, tables.sizes[N_SLOTS] + tables.sizes[N_TRACKS] + counter] += tables.flat[
            tables.choices[choice, CHOICE_COUNTS] + counter
        ]
    if tables.choices[choice, CHOICE_REPETITION] < 0:
        return
    for track in range(tables.sizes[N_TRACKS]):
        function, slot = tables.tracks[track, TRACK_FUNCTION], tables.tracks[track, TRACK_SLOT]
        value = store.slots[new, slot] if takes_part(tables, choice, slot) else 0
        carried = store.slots[new, tables.sizes[N_SLOTS] + track]
        if function != PREV and value != 0 and (function == LAST or carried == 0):
            store.slots[new, tables.sizes[N_SLOTS] + track] = value


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
def move_on(tables: Tables, store: RunStore, partial: int, state: int) -> None:
    """A run for every transition that leaves a state, or a match where none is needed."""
    for at in range(tables.states[state, STATE_LEAVING], tables.states[state, STATE_LEAVING + 1]):
        transition = tables.flat[at]
        if not enough(tables, store, partial, transition):
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
def enough(tables: Tables, store: RunStore, partial: int, transition: int) -> bool:
    """True if a partial has the iterations that a transition asks for."""
    if tables.sizes[REPEATS] == 0:
        return True
    loops = tables.sizes[N_SLOTS] + tables.sizes[N_TRACKS] + tables.sizes[N_COUNTERS]
    for at in range(
        tables.transitions[transition, TRANSITION_BOUNDS],
        tables.transitions[transition, TRANSITION_BOUNDS + 1],
        3,
    ):
        count = store.slots[partial, loops + tables.flat[at]]
        if count < tables.flat[at + 1] or count >= tables.flat[at + 2]:
            return False
    return True


@inlined
def wait(tables: Tables, store: RunStore, partial: int, transition: int) -> None:
    """A new run, entered under all its subscriptions."""
    run = store.counts[RUNS]
    store.counts[RUNS] += 1
    store.runs[run, OF], store.runs[run, IN] = partial, transition
    store.runs[run, USED] = store.runs[run, BLOCKED] = NEVER
    store.runs[run, ALIVE] = 1
    operator = tables.transitions[transition, TRANSITION_OPERATOR]
    until = store.partials[partial, DEADLINE]
    if tables.sizes[PUSHES] == 0 and operator != WAIT:
        until = NEVER
    if operator != RECALL and tables.transitions[transition, TRANSITION_WITHIN] != NEVER:
        until = min(until, store.partials[partial, TIME] + tables.transitions[transition, TRANSITION_WITHIN])
    store.runs[run, UNTIL] = until
    if operator == WAIT:
        store.waiting[store.counts[WAITING]] = run
        store.counts[WAITING] += 1
    enter(tables, store, run)


@inlined
def enter(tables: Tables, store: RunStore, run: int) -> None:
    """Put a run into the bucket of each of its subscriptions."""
    mask = len(store.buckets) - 1
    partial, transition = store.runs[run, OF], store.runs[run, IN]
    first = tables.transitions[transition, TRANSITION_SUBS]
    for at in range(first, tables.transitions[transition, TRANSITION_SUBS + 1]):
        channel = tables.subs[tables.flat[at], SUB_CHANNEL]
        bucket = bucket_of(tables, channel, store.partials[partial, KEY], store.slots, partial, mask)
        entry = (run << tables.sizes[SHIFT]) + (at - first)
        store.entries[entry] = store.buckets[bucket]
        store.buckets[bucket] = entry
