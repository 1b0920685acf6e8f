"""What a row may do: begin a run, extend or guard one, or be remembered for a negation in first place."""

from __future__ import annotations

from spaseq.automaton.program import EXTENDS, STRICT, WAIT
from spaseq.automaton.tables import Candidates, DEAD, Rows, Store, Tables

from .codes import BEGINS, RECALLS
from .index import agrees, bucket_of, fits, outdated, overtaken, same_window, window_start
from .portable import portable


@portable
def held_back(tables: Tables, store: Store, rows: Rows, row: int, transition: int) -> bool:
    """True if a negated first step occurred since the window began, compatible with this row."""
    choice, time, key = rows.choice[row], rows.time[row], rows.key[row]
    since = window_start(tables, time)
    mask = len(store.buckets) - 1
    width = tables.sizes[4]
    for at in range(tables.choice_backs_at[choice], tables.choice_backs_at[choice + 1]):
        sub = tables.choice_backs[at]
        if tables.transition_begins[tables.sub_transition[sub]] != transition:
            continue
        entry = store.buckets[bucket_of(tables, sub, key, rows.slots, row, mask)]
        while entry >= 0:
            run = entry // width
            partial = store.run_partial[run]
            if (
                tables.transition_subs[tables.transition_subs_at[store.run_transition[run]] + entry % width]
                == sub
                and store.run_alive[run] == 1
                and store.key[partial] == key
                and since <= store.time[partial] < time
                and same_window(tables, store.low[partial], rows.low[row])
                and agrees(tables, store, partial, rows, row, choice, 0)
            ):
                return True
            entry = store.entry_next[entry]
    return False


@portable
def collect(tables: Tables, store: Store, rows: Rows, row: int, found: Candidates) -> int:
    """All candidates of a row; -1 if they do not fit. Forgets runs that time has passed."""
    choice, time, key = rows.choice[row], rows.time[row], rows.key[row]
    room = len(found.run)
    count = 0
    if not fits(tables, rows.low[row], rows.high[row]):
        return 0
    if tables.window[3] == 1 and time < tables.window[2]:
        return 0
    for at in range(tables.choice_begins_at[choice], tables.choice_begins_at[choice + 1]):
        transition = tables.choice_begins[at]
        if not held_back(tables, store, rows, row, transition):
            if count >= room:
                return -1
            found.run[count], found.target[count] = BEGINS, transition
            count += 1
    for at in range(tables.choice_recalls_at[choice], tables.choice_recalls_at[choice + 1]):
        if count >= room:
            return -1
        found.run[count], found.target[count] = RECALLS, tables.choice_recalls[at]
        count += 1
    mask = len(store.buckets) - 1
    width = tables.sizes[4]
    for at in range(tables.choice_subs_at[choice], tables.choice_subs_at[choice + 1]):
        sub = tables.choice_subs[at]
        bucket = bucket_of(tables, sub, key, rows.slots, row, mask)
        before = -1
        entry = store.buckets[bucket]
        while entry >= 0:
            following = store.entry_next[entry]
            run = entry // width
            transition = store.run_transition[run]
            partial = store.run_partial[run]
            forget = outdated(tables, store, run, time)
            if not forget:
                own = tables.transition_subs[tables.transition_subs_at[transition] + entry % width]
                if own == sub and store.key[partial] == key:
                    forget = overtaken(tables, store, run, rows.ordinal[row], rows.floor[row])
                    if not forget and concerns(tables, store, rows, row, run, sub):
                        if count >= room:
                            return -1
                        found.run[count], found.target[count] = run, sub
                        count += 1
            if forget:
                if store.run_alive[run] == 1 and tables.transition_operator[transition] != WAIT:
                    store.run_alive[run] = 0
                    store.counts[DEAD] += 1
                if before < 0:
                    store.buckets[bucket] = following
                else:
                    store.entry_next[before] = following
            else:
                before = entry
            entry = following
    return count


@portable
def concerns(tables: Tables, store: Store, rows: Rows, row: int, run: int, sub: int) -> bool:
    """True if a row may extend or guard a run: later, contiguous, in the window, compatible."""
    partial = store.run_partial[run]
    transition = store.run_transition[run]
    if rows.time[row] <= store.time[partial]:
        return False
    loops = tables.transition_loops[transition]
    if tables.sub_kind[sub] == EXTENDS:
        if (
            tables.transition_operator[transition] == STRICT
            and rows.ordinal[row] != store.ordinal[partial] + 1
        ):
            return False
        low = min(store.low[partial], rows.low[row])
        if not fits(tables, low, max(store.high[partial], rows.high[row])):
            return False
    return agrees(tables, store, partial, rows, row, rows.choice[row], loops)
