"""From mapping tables to occurrences: the rows that the automaton reads, in time order.

Here every event gets its instant's number and its position, separately for each partition (SEMANTICS
1.8, 1.9), and GPMs that must match together are joined at each instant. An instant may arrive in several
pieces; the rows of the last one are kept until time moves on, so that a conjunction finds its partner.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from spaseq.algebra.visibility import certain
from spaseq.automaton.program import Choice, SequenceProgram
from spaseq.automaton.state import Keys
from spaseq.automaton.tables import Ints, Longs, Rows
from spaseq.model.mappings import MappingTable

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Pairs:
    """Events and the partitions they belong to, by event: which instant, which position."""

    event: Longs
    key: Ints
    ordinal: Longs
    position: Longs
    floor: Longs


def _uncounted(event: Longs, key: Ints) -> Pairs:
    """Pairs for a query that asks neither what lies between events nor how many there are."""
    zeros = np.zeros(len(event), np.int64)
    return Pairs(event, key, zeros, zeros, zeros)


def numbered(keys: Keys, times: Longs, event: Longs, key: Ints) -> Pairs:
    """Count instants and positions on, per partition; ``event`` ascends and so do their times."""
    if len(event) == 0:
        empty = np.zeros(0, np.int64)
        return Pairs(event, key, empty, empty, empty)
    order = np.argsort(key, kind="stable")
    group, time = key[order], times[event[order]]
    first = np.ones(len(order), np.bool_)
    first[1:] = group[1:] != group[:-1]
    fresh = np.ones(len(order), np.bool_)
    fresh[1:] = first[1:] | (time[1:] != time[:-1])
    fresh[first] = time[first] > keys.time[group[first]]
    starts = np.flatnonzero(first)
    lengths = np.diff(np.append(starts, len(order)))
    count = np.cumsum(fresh)
    before: Longs = np.repeat(count[starts] - fresh[starts], lengths)
    ordinal = keys.ordinal[group] + count - before
    position = keys.position[group] + np.arange(len(order)) - np.repeat(starts, lengths)
    begun = np.where(fresh, position, keys.floor[group])
    floors = begun[np.maximum.accumulate(np.where(fresh | first, np.arange(len(order)), 0))]
    ends = starts + lengths - 1
    keys.time[group[ends]], keys.ordinal[group[ends]] = time[ends], ordinal[ends]
    keys.position[group[ends]], keys.floor[group[ends]] = position[ends] + 1, floors[ends]
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    return Pairs(event, key, ordinal[back], position[back], floors[back])


@dataclass(frozen=True, slots=True)
class Occurrences:
    """Occurrences of one GPM or of several that were joined: `Rows` without a choice."""

    key: Ints
    time: Longs
    ordinal: Longs
    low: Longs
    high: Longs
    floor: Longs
    slots: Ints
    events: Longs
    new: Mask

    def __len__(self) -> int:
        return len(self.key)

    def take(self, rows: npt.NDArray[np.integer] | Mask) -> Occurrences:
        return Occurrences(*(getattr(self, name)[rows] for name in _COLUMNS))


_COLUMNS = ("key", "time", "ordinal", "low", "high", "floor", "slots", "events", "new")


@dataclass(slots=True)
class Assembler:
    """Makes rows of mapping tables; remembers the rows of the instant that is still open."""

    program: SequenceProgram
    keys: Keys
    open: dict[str, Occurrences] = field(default_factory=dict)

    def rows(
        self,
        tables: Mapping[str, MappingTable],
        times: Longs,
        serials: Longs,
        partition: tuple[Longs, Ints] | None,
    ) -> Rows:
        """The rows of a batch whose events are in time order.

        ``partition`` gives the (event, key number) pairs, by event; None means that there is one.
        """
        if partition is None:
            self.keys.number(())
            partition = (np.arange(len(times)), np.zeros(len(times), np.int32))
        pairs = (
            numbered(self.keys, times, *partition) if self.program.counts_instants else _uncounted(*partition)
        )
        single = {name: self._single(table, times, serials, pairs) for name, table in tables.items()}
        joined = [self._choice(choice, single) for choice in self.program.choices]
        self._remember(single, times)
        return self._ordered(joined)

    def _single(self, table: MappingTable, times: Longs, serials: Longs, pairs: Pairs) -> Occurrences:
        """The occurrences of one GPM in every partition of its events."""
        if self.program.query.partition:
            at = np.searchsorted(pairs.event, table.events)
            many = np.searchsorted(pairs.event, table.events, side="right") - at
            row = np.repeat(np.arange(len(table)), many)
            pair = np.repeat(at, many) + np.arange(len(row)) - np.repeat(np.cumsum(many) - many, many)
        else:
            row, pair = np.arange(len(table)), table.events
        slots = np.zeros((len(row), max(len(self.program.variables), 1)), np.int32)
        for name, ids in table.columns.items():
            if name in self.program.variables:
                slots[:, self.program.slot(name)] = ids[row]
        keep = np.ones(len(row), np.bool_)
        if self.program.query.partition and len(row):
            values = self.keys.values[pairs.key[pair]]
            for slot in range(len(self.program.query.partition)):
                keep &= (slots[:, slot] == 0) | (slots[:, slot] == values[:, slot])
                slots[:, slot] = values[:, slot]
        event = pairs.event[pair]
        position = pairs.position[pair]
        found = Occurrences(
            pairs.key[pair],
            times[event],
            pairs.ordinal[pair],
            position,
            position,
            pairs.floor[pair],
            slots,
            serials[event].reshape(-1, 1),
            np.ones(len(row), np.bool_),
        )
        return found if bool(keep.all()) else found.take(keep)

    def _choice(self, choice: Choice, single: Mapping[str, Occurrences]) -> Occurrences:
        if len(choice.gpms) == 1:
            return single[choice.gpms[0]]
        parts = [self._with_open(name, single[name]) for name in choice.gpms]
        found = parts[0]
        for number, part in enumerate(parts[1:], 1):
            found = joined(found, part, self._certain(choice, number))
        # What was complete before has been seen before.
        return found.take(found.new)

    def _certain(self, choice: Choice, number: int) -> tuple[int, ...]:
        """Slots that both sides of the join certainly bind."""
        by_name = {gpm.name: gpm for gpm in self.program.query.gpms}
        left = {name for gpm in choice.gpms[:number] for name in certain(by_name[gpm])}
        both = left & certain(by_name[choice.gpms[number]])
        return tuple(sorted(self.program.slot(name) for name in both))

    def _with_open(self, name: str, now: Occurrences) -> Occurrences:
        kept = self.open.get(name)
        return now if kept is None else stacked([kept, now])

    def _remember(self, single: Mapping[str, Occurrences], times: Longs) -> None:
        """Keep the rows of the last instant for conjunctions."""
        if len(times) == 0:
            return
        last = times[-1]
        wanted = {name for choice in self.program.choices if len(choice.gpms) > 1 for name in choice.gpms}
        for name in wanted:
            found = self._with_open(name, single[name])
            found = found.take(found.time == last)
            self.open[name] = replace(found, new=np.zeros(len(found), np.bool_))

    def remap(self, mapping: Ints) -> None:
        """Follow a compaction of the dictionary (old id to new id)."""
        for name, found in self.open.items():
            self.open[name] = replace(found, slots=mapping[found.slots])

    def _ordered(self, joined_: list[Occurrences]) -> Rows:
        choice = np.repeat(np.arange(len(joined_), dtype=np.int32), [len(part) for part in joined_])
        width = self.program.width
        whole = stacked([replace(part, events=_padded(part.events, width)) for part in joined_])
        order = np.argsort(whole.time, kind="stable")
        whole = whole.take(order)
        times = (whole.time, whole.ordinal, whole.low, whole.high, whole.floor)
        return Rows(
            np.column_stack([choice[order], whole.key]),
            np.column_stack(times),
            np.ascontiguousarray(whole.slots),
            np.ascontiguousarray(whole.events),
        )


def _padded(events: Longs, width: int) -> Longs:
    if events.shape[1] == width:
        return events
    wide = np.full((len(events), width), -1, np.int64)
    wide[:, : events.shape[1]] = events
    return wide


def stacked(parts: list[Occurrences]) -> Occurrences:
    """One table after the other."""
    if len(parts) == 1:
        return parts[0]
    return Occurrences(*(np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS))


def joined(left: Occurrences, right: Occurrences, slots: tuple[int, ...]) -> Occurrences:
    """Compatible mappings at one instant of one partition (conjunction, Def 8)."""
    columns = [(left.time, right.time), (left.key, right.key)]
    columns += [(left.slots[:, slot], right.slots[:, slot]) for slot in slots]
    left_code, right_code = np.zeros(len(left), np.int64), np.zeros(len(right), np.int64)
    for a, b in columns:
        # Numbers of value pairs instead of values: they cannot overflow.
        _, code = np.unique(np.concatenate([a, b]), return_inverse=True)
        both = np.concatenate([left_code, right_code]) * (int(code.max(initial=0)) + 1) + code
        _, both = np.unique(both, return_inverse=True)
        left_code, right_code = both[: len(left)], both[len(left) :]
    order = np.argsort(right_code, kind="stable")
    at = np.searchsorted(right_code[order], left_code)
    many = np.searchsorted(right_code[order], left_code, side="right") - at
    i = np.repeat(np.arange(len(left)), many)
    j = order[np.repeat(at, many) + np.arange(len(i)) - np.repeat(np.cumsum(many) - many, many)]
    a_slots, b_slots = left.slots[i], right.slots[j]
    agree = ((a_slots == 0) | (b_slots == 0) | (a_slots == b_slots)).all(axis=1)
    i, j, a_slots, b_slots = i[agree], j[agree], a_slots[agree], b_slots[agree]
    return Occurrences(
        left.key[i],
        left.time[i],
        left.ordinal[i],
        np.minimum(left.low[i], right.low[j]),
        np.maximum(left.high[i], right.high[j]),
        left.floor[i],
        np.where(a_slots != 0, a_slots, b_slots),
        np.concatenate([left.events[i], right.events[j]], axis=1),
        left.new[i] | right.new[j],
    )
