"""Where runs are found and when they are over: buckets by join values, windows, compatibility."""

from __future__ import annotations

import numpy as np

from spaseq.automaton.sequence_program import NEXT, STRICT
from spaseq.automaton.tables import (
    ALIVE,
    BLOCKED,
    CHANNEL_SLOTS,
    CHOICE_SLOTS,
    IN,
    INDEXED,
    LOW,
    N_SLOTS,
    NEVER,
    OF,
    ORDINAL,
    SITUATION_AGAIN,
    SITUATION_BEGINS,
    SITUATION_UNBINDS,
    SLIDING,
    SLIDING_EVENTS,
    TRACK_REPETITION,
    TRACK_SLOT,
    TRANSITION_OPERATOR,
    TUMBLING,
    TUMBLING_EVENTS,
    UNTIL,
    USED,
    Rows,
    RunStore,
    Tables,
)

from .portable import Array, inlined


@inlined
def bucket_of(tables: Tables, channel: int, key: int, slots: Array, row: int, mask: int) -> int:
    """The bucket of a channel for the join values in one row of slots."""
    if tables.sizes[INDEXED] == 0:
        return 0
    hashed = np.uint64(channel + 1) * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(key + 1)
    for at in range(tables.channels[channel, CHANNEL_SLOTS], tables.channels[channel, CHANNEL_SLOTS + 1]):
        hashed = (hashed ^ np.uint64(slots[row, tables.flat[at]])) * np.uint64(0xFF51AFD7ED558CCD)
        hashed ^= hashed >> np.uint64(29)
    hashed *= np.uint64(0xC4CEB9FE1A85EC53)
    # Through int64: Numba would make a float of the two kinds of integers that this function returns.
    return int(np.int64((hashed >> np.uint64(32)) & np.uint64(mask)))


@inlined
def outdated(tables: Tables, store: RunStore, run: int, time: int) -> bool:
    """True if no event at this instant or later can concern the run, whatever its partition."""
    if store.runs[run, ALIVE] == 0:
        return True
    if store.runs[run, BLOCKED] < time:
        return True
    if tables.transitions[store.runs[run, IN], TRANSITION_OPERATOR] == NEXT and store.runs[run, USED] < time:
        return True
    return bool(store.runs[run, UNTIL] < time)


@inlined
def overtaken(tables: Tables, store: RunStore, run: int, ordinal: int, floor: int) -> bool:
    """True if, within its partition, time has moved past what the run can still take."""
    partial = store.runs[run, OF]
    operator = tables.transitions[store.runs[run, IN], TRANSITION_OPERATOR]
    if operator == STRICT and ordinal > store.partials[partial, ORDINAL] + 1:
        return True
    kind = tables.window[0]
    if kind == SLIDING_EVENTS:
        return bool(floor - store.partials[partial, LOW] >= tables.window[1])
    if kind == TUMBLING_EVENTS:
        return bool(floor // tables.window[1] > store.partials[partial, LOW] // tables.window[1])
    return False


@inlined
def agrees(
    tables: Tables, store: RunStore, partial: int, rows: Rows, row: int, choice: int, situation: int
) -> bool:
    """True if the mapping of a row is compatible with that of a partial, as far as it is still bound."""
    for at in range(tables.choices[choice, CHOICE_SLOTS], tables.choices[choice, CHOICE_SLOTS + 1]):
        slot = tables.flat[at]
        known, new = store.slots[partial, slot], rows.slots[row, slot]
        if known != 0 and new != 0 and known != new and not unbinds(tables, situation, slot):
            return False
    return True


@inlined
def unbinds(tables: Tables, situation: int, slot: int) -> bool:
    """True if a slot is unbound in a situation, because an iteration of its home began."""
    for at in range(
        tables.situations[situation, SITUATION_UNBINDS], tables.situations[situation, SITUATION_UNBINDS + 1]
    ):
        if tables.flat[at] == slot:
            return True
    return False


@inlined
def previous(tables: Tables, store: RunStore, partial: int, situation: int, track: int) -> int:
    """PREV of a slot in a situation: the value at the end of the iteration before, if there was one."""
    repetition = tables.tracks[track, TRACK_REPETITION]
    if partial < 0 or begins(tables, situation, repetition):
        return 0
    if tables.situations[situation, SITUATION_AGAIN] == repetition:
        return int(store.slots[partial, tables.tracks[track, TRACK_SLOT]])
    return int(store.slots[partial, tables.sizes[N_SLOTS] + track])


@inlined
def begins(tables: Tables, situation: int, repetition: int) -> bool:
    """True if the first iteration of a repetition begins in a situation."""
    for at in range(
        tables.situations[situation, SITUATION_BEGINS], tables.situations[situation, SITUATION_BEGINS + 1]
    ):
        if tables.flat[at] == repetition:
            return True
    return False


@inlined
def fits(tables: Tables, low: int, high: int) -> bool:
    """True if positions lie in one window of EVENTS."""
    if tables.window[0] == SLIDING_EVENTS:
        return bool(high - low < tables.window[1])
    if tables.window[0] == TUMBLING_EVENTS:
        return bool(high // tables.window[1] == low // tables.window[1])
    return True


@inlined
def window_end(tables: Tables, time: int) -> int:
    """The last instant of the window of a run that starts at this time."""
    kind, size, origin = tables.window[0], tables.window[1], tables.window[2]
    if kind == SLIDING:
        return int(time + size)
    if kind == TUMBLING:
        return int(origin + ((time - origin) // size + 1) * size)
    return int(NEVER)


@inlined
def window_start(tables: Tables, time: int) -> int:
    """The first instant at which a negated first step matters to a run that starts at this time."""
    kind, size, origin = tables.window[0], tables.window[1], tables.window[2]
    if kind == SLIDING:
        return int(time - size)
    if kind == TUMBLING:
        return int(origin + ((time - origin) // size) * size)
    return int(-NEVER)


@inlined
def same_window(tables: Tables, earlier: int, later: int) -> bool:
    """For tumbling windows of EVENTS: whether two positions share one; otherwise true."""
    if tables.window[0] == TUMBLING_EVENTS:
        return bool(earlier // tables.window[1] == later // tables.window[1])
    return True
