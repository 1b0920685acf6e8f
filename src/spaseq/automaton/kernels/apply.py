"""Doing it: new partial matches, new runs, matches."""

from __future__ import annotations

from spaseq.automaton.program import GUARDS, WAIT
from spaseq.automaton.tables import (
    Candidates,
    LAST,
    MATCHES,
    NEVER,
    PARTIALS,
    PREV,
    RUNS,
    Rows,
    Store,
    Tables,
    WAITING,
)

from .codes import RECALLS, YES
from .index import bucket_of, window_end
from .portable import Array, portable


@portable
def has_room(tables: Tables, store: Store, count: int) -> bool:
    """True if the outcome of this many candidates fits in the arrays."""
    most = 1
    for step in range(len(tables.leaving_at) - 1):
        most = max(most, tables.leaving_at[step + 1] - tables.leaving_at[step])
    return bool(
        store.counts[PARTIALS] + count <= len(store.parent)
        and store.counts[RUNS] + count * most <= len(store.run_partial)
        and store.counts[MATCHES] + count * most <= len(store.match_partial)
        and store.counts[WAITING] + count * most <= len(store.waiting)
    )


@portable
def apply(tables: Tables, store: Store, rows: Rows, row: int, found: Candidates, count: int) -> None:
    """Do what the candidates with a positive verdict ask for."""
    time = rows.time[row]
    for number in range(count):
        if found.verdict[number] != YES:
            continue
        run, target = found.run[number], found.target[number]
        if run >= 0 and tables.sub_kind[target] == GUARDS:
            store.run_blocked[run] = min(store.run_blocked[run], time)
            continue
        partial = extend(tables, store, rows, row, run, found, number)
        if run == RECALLS:
            wait(tables, store, partial, target)
        else:
            if run >= 0:
                store.run_used[run] = min(store.run_used[run], time)
            move_on(tables, store, partial, tables.choice_step[rows.choice[row]])


@portable
def extend(
    tables: Tables, store: Store, rows: Rows, row: int, run: int, found: Candidates, number: int
) -> int:
    """A new partial: the run's, if there is one, with the row joined to it."""
    new = store.counts[PARTIALS]
    store.counts[PARTIALS] += 1
    choice, time = rows.choice[row], rows.time[row]
    step = tables.choice_step[choice]
    repeated = tables.step_repeated[step]
    parent = store.run_partial[run] if run >= 0 else -1
    loops = tables.transition_loops[store.run_transition[run]] if run >= 0 else 0
    store.parent[new], store.choice[new], store.key[new] = parent, choice, rows.key[row]
    store.time[new], store.ordinal[new] = time, rows.ordinal[row]
    for width in range(rows.events.shape[1]):
        store.events[new, width] = rows.events[row, width]
    if parent >= 0:
        store.start[new], store.deadline[new] = store.start[parent], store.deadline[parent]
        store.low[new] = min(store.low[parent], rows.low[row])
        store.high[new] = max(store.high[parent], rows.high[row])
        store.rooted[new] = store.rooted[parent] if loops == 1 else 0
        store.iteration[new] = store.iteration[parent] + 1 if loops == 1 else repeated
        copy_row(store.slots, parent, new)
        copy_row(store.tracks, parent, new)
        copy_row(store.counters, parent, new)
    else:
        store.start[new], store.deadline[new] = time, window_end(tables, time)
        store.low[new], store.high[new] = rows.low[row], rows.high[row]
        store.rooted[new], store.iteration[new] = 1, repeated
        clear_row(store.slots, new)
        clear_row(store.tracks, new)
        clear_row(store.counters, new)
    fill(tables, store, rows, row, new, parent, loops, found, number)
    return int(new)


@portable
def copy_row(table: Array, source: int, target: int) -> None:
    for column in range(table.shape[1]):
        table[target, column] = table[source, column]


@portable
def clear_row(table: Array, target: int) -> None:
    for column in range(table.shape[1]):
        table[target, column] = 0


@portable
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
    choice = rows.choice[row]
    if loops == 1:
        for at in range(tables.choice_rebinds_at[choice], tables.choice_rebinds_at[choice + 1]):
            store.slots[new, tables.choice_rebinds[at]] = 0
    for slot in range(tables.sizes[0]):
        if rows.slots[row, slot] != 0:
            store.slots[new, slot] = rows.slots[row, slot]
    first = tables.choice_assigns_at[choice]
    for at in range(first, tables.choice_assigns_at[choice + 1]):
        if found.assigned[number, at - first] != 0:
            store.slots[new, tables.choice_assigns[at]] = found.assigned[number, at - first]
    if tables.step_repeated[tables.choice_step[choice]] == 0:
        return
    for track in range(tables.sizes[1]):
        function, slot = tables.track_function[track], tables.track_slot[track]
        value = store.slots[new, slot] if takes_part(tables, choice, slot) else 0
        if function == PREV:
            store.tracks[new, track] = store.slots[parent, slot] if loops == 1 else 0
        elif value != 0 and (function == LAST or store.tracks[new, track] == 0):
            store.tracks[new, track] = value
    for counter in range(tables.sizes[2]):
        store.counters[new, counter] += tables.choice_counts[choice, counter]


@portable
def takes_part(tables: Tables, choice: int, slot: int) -> bool:
    """True if occurrences of the choice may bind the slot."""
    for at in range(tables.choice_slots_at[choice], tables.choice_slots_at[choice + 1]):
        if tables.choice_slots[at] == slot:
            return True
    for at in range(tables.choice_assigns_at[choice], tables.choice_assigns_at[choice + 1]):
        if tables.choice_assigns[at] == slot:
            return True
    return False


@portable
def move_on(tables: Tables, store: Store, partial: int, step: int) -> None:
    """A run for every transition that leaves the completed step, or a match where none is needed."""
    for at in range(tables.leaving_at[step], tables.leaving_at[step + 1]):
        transition = tables.leaving[at]
        iteration = store.iteration[partial]
        if tables.transition_loops[transition] == 1:
            if tables.transition_rooted[transition] != store.rooted[partial]:
                continue
            if iteration >= tables.transition_high[transition]:
                continue
        elif iteration < tables.transition_low[transition]:
            continue
        if tables.transition_operator[transition] == WAIT and tables.transition_guarded[transition] == 0:
            match = store.counts[MATCHES]
            store.match_partial[match], store.match_time[match] = partial, store.time[partial]
            store.counts[MATCHES] += 1
        else:
            wait(tables, store, partial, transition)


@portable
def wait(tables: Tables, store: Store, partial: int, transition: int) -> None:
    """A new run, entered under all its subscriptions."""
    run = store.counts[RUNS]
    store.counts[RUNS] += 1
    store.run_partial[run], store.run_transition[run] = partial, transition
    store.run_used[run] = store.run_blocked[run] = NEVER
    store.run_alive[run] = 1
    if tables.transition_operator[transition] == WAIT:
        store.waiting[store.counts[WAITING]] = run
        store.counts[WAITING] += 1
    enter(tables, store, run)


@portable
def enter(tables: Tables, store: Store, run: int) -> None:
    """Put a run into the bucket of each of its subscriptions."""
    mask = len(store.buckets) - 1
    partial, transition = store.run_partial[run], store.run_transition[run]
    first = tables.transition_subs_at[transition]
    for at in range(first, tables.transition_subs_at[transition + 1]):
        sub = tables.transition_subs[at]
        bucket = bucket_of(tables, sub, store.key[partial], store.slots, partial, mask)
        entry = run * tables.sizes[4] + (at - first)
        store.entry_next[entry] = store.buckets[bucket]
        store.buckets[bucket] = entry
