"""From mapping tables to occurrences: the rows that the automaton reads, in time order.

Here every event gets its instant's number and its position, separately for each partition (semantics
1.8, 1.9), and GPMs that must match together are joined at each instant. An instant may arrive in several
pieces; the rows of the last one are kept until time moves on, so that a conjunction finds its partner.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from spaseq.algebra.visibility import certain
from spaseq.automaton.sequence_program import Choice, SequenceProgram
from spaseq.automaton.state import Keys
from spaseq.automaton.tables import (
    COUNT,
    ROW_CHOICE,
    ROW_FLOOR,
    ROW_HIGH,
    ROW_KEY,
    ROW_LOW,
    ROW_ORDINAL,
    ROW_TIME,
    Ints,
    Longs,
    Rows,
)
from spaseq.model.mappings import MappingTable
from spaseq.model.ordered import numbers_from
from spaseq.model.packing import INSTANT, Field
from spaseq.settings import settings

Mask = npt.NDArray[np.bool_]
Column = Longs | Ints


@dataclass(frozen=True, slots=True)
class Pairs:
    """Events and the partitions they belong to, by event."""

    event: Longs
    key: Ints
    place: Longs
    """The columns of `Rows.times` behind the time; the least and the greatest position are the same."""


def _uncounted(event: Longs, key: Ints) -> Pairs:
    """Pairs for a query that asks neither what lies between events nor how many there are."""
    return Pairs(event, key, np.zeros((len(event), 4), np.int64))


def numbered(keys: Keys, times: Longs, event: Longs, key: Ints) -> Pairs:
    """Count instants and positions on, per partition; ``event`` ascends and so do their times."""
    if len(event) < settings().looped_pairs:
        return _numbered_one_by_one(keys, times, event, key)
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
    place = np.empty((len(order), 4), np.int64)
    place[order] = np.column_stack((ordinal, position, position, floors))
    return Pairs(event, key, place)


def _numbered_one_by_one(keys: Keys, times: Longs, event: Longs, key: Ints) -> Pairs:
    """The same for a few events, where columns cost more than they save."""
    place = np.empty((len(event), 4), np.int64)
    for row, (number, time) in enumerate(zip(key.tolist(), times[event].tolist(), strict=True)):
        position = keys.position[number]
        if time > keys.time[number]:
            keys.time[number], keys.floor[number] = time, position
            keys.ordinal[number] += 1
        place[row] = keys.ordinal[number], position, position, keys.floor[number]
        keys.position[number] = position + 1
    return Pairs(event, key, place)


@dataclass(frozen=True, slots=True)
class Occurrences:
    """Occurrences of one GPM or of several that were joined: `Rows` without a choice."""

    key: Ints
    times: Longs
    """As in `Rows`."""
    slots: Ints
    events: Longs
    new: Mask

    def __len__(self) -> int:
        return len(self.key)

    @property
    def time(self) -> Longs:
        return self.times[:, ROW_TIME]

    def take(self, rows: npt.NDArray[np.integer] | Mask) -> Occurrences:
        return Occurrences(
            self.key[rows], self.times[rows], self.slots[rows], self.events[rows], self.new[rows]
        )


OPEN_FIELDS: Final[dict[str, Field]] = {
    "key": Field(np.int32, ("open",), (0, "keys")),
    "times": Field(
        np.int64,
        ("open", 5),
        columns={ROW_TIME: INSTANT, ROW_ORDINAL: COUNT, ROW_LOW: COUNT, ROW_HIGH: COUNT, ROW_FLOOR: COUNT},
    ),
    "slots": Field(np.int32, ("open", "slots"), (0, "ids")),
    "events": Field(np.int64, ("open", 1), (0, "serials")),
    "new": Field(np.bool_, ("open",)),
}
"""What the saved occurrences of an open instant must be like."""


@dataclass(frozen=True, slots=True)
class RowPlaces:
    """Where the rows of a mapping table stand; tables of the same events and keys share them, as steps often do."""

    of: MappingTable
    row: Longs
    """Which row of the table: one stands in every partition that it may belong to."""
    key: Ints
    times: Longs
    events: Longs


@dataclass(slots=True)
class Assembler:
    """Makes rows of mapping tables; keeps the rows of the instant that is still open."""

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
        single: dict[str, Occurrences] = {}
        places: RowPlaces | None = None
        for name, table in tables.items():
            if places is None or not self._share(places.of, table):
                places = self._places(table, times, serials, pairs)
            single[name] = self._single(table, places)
        joined = [self._choice(choice, single) for choice in self.program.choices]
        self._remember(single, times)
        return self._ordered(joined)

    def _share(self, one: MappingTable, other: MappingTable) -> bool:
        """True if the rows of two tables stand in the same places."""
        return np.array_equal(one.events, other.events) and all(
            np.array_equal(one.column(name), other.column(name)) for name in self.program.query.partition
        )

    def _places(self, table: MappingTable, times: Longs, serials: Longs, pairs: Pairs) -> RowPlaces:
        """Where the rows of a table stand."""
        row = pair = np.arange(len(table))
        if not self.program.query.partition:
            pair = table.events
        elif not _one_to_one(pairs.event, table.events):
            row, pair = self._in_partitions(table, pairs)
        event = pairs.event[pair]
        instants = np.empty((len(row), 5), np.int64)
        instants[:, ROW_TIME] = times[event]
        instants[:, ROW_TIME + 1 :] = pairs.place[pair]
        return RowPlaces(table, row, pairs.key[pair], instants, serials[event].reshape(-1, 1))

    def _in_partitions(self, table: MappingTable, pairs: Pairs) -> tuple[Longs, Longs]:
        """Each row with the partition whose key it binds; one that leaves its key open, with all of its event."""
        if not len(pairs.event):
            return pairs.event, pairs.event
        keys = [table.column(name) for name in self.program.query.partition]
        values = self.keys.values[pairs.key]
        bound = np.logical_and.reduce([ids != 0 for ids in keys])
        rows = np.flatnonzero(bound)
        columns = [(ids[rows], values[:, place]) for place, ids in enumerate(keys)]
        at, pair = _matching([(table.events[rows], pairs.event), *columns])
        row = rows[at]
        if len(rows) == len(table):
            return row, pair
        rows = np.flatnonzero(~bound)
        at, more = _matching([(table.events[rows], pairs.event)])
        agree = np.ones(len(at), np.bool_)
        for place, ids in enumerate(keys):
            mine = ids[rows[at]]
            agree &= (mine == 0) | (mine == values[more, place])
        row, pair = np.concatenate([row, rows[at[agree]]]), np.concatenate([pair, more[agree]])
        order = np.argsort(row, kind="stable")
        return row[order], pair[order]

    def _single(self, table: MappingTable, places: RowPlaces) -> Occurrences:
        """The occurrences of one GPM in every partition of its events."""
        partition, row = self.program.query.partition, places.row
        slots = np.zeros((len(row), max(len(self.program.variables), 1)), np.int32)
        for name, ids in table.columns.items():
            if name in self.program.variables:
                slots[:, self.program.slot(name)] = ids[row]
        keep = np.ones(len(row), np.bool_)
        if partition and len(row):
            values = self.keys.values[places.key]
            for slot in range(len(partition)):
                keep &= (slots[:, slot] == 0) | (slots[:, slot] == values[:, slot])
                slots[:, slot] = values[:, slot]
        found = Occurrences(places.key, places.times, slots, places.events, np.ones(len(row), np.bool_))
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

    @property
    def open_keys(self) -> Ints:
        """The partitions with rows in the instant that is still open."""
        return np.concatenate([np.zeros(0, np.int32), *(found.key for found in self.open.values())])

    def renumber(self, numbers: Ints) -> None:
        """Follow a renumbering of partitions (old number to new)."""
        for name, found in self.open.items():
            self.open[name] = replace(found, key=numbers[found.key])

    def remap(self, mapping: Ints) -> None:
        """Follow a compaction of the dictionary (old id to new id)."""
        for name, found in self.open.items():
            self.open[name] = replace(found, slots=mapping[found.slots])

    def _ordered(self, joined_: list[Occurrences]) -> Rows:
        if _in_step(joined_):
            return _alternating(joined_, self.program.width)
        choice = np.repeat(np.arange(len(joined_), dtype=np.int32), [len(part) for part in joined_])
        width = self.program.width
        whole = stacked([_padded(part, width) for part in joined_])
        ids = np.column_stack([choice, whole.key])
        if len(whole) > 1 and bool((whole.time[1:] < whole.time[:-1]).any()):
            order = np.argsort(whole.time, kind="stable")
            whole, ids = whole.take(order), ids[order]
        return Rows(ids, whole.times, np.ascontiguousarray(whole.slots), np.ascontiguousarray(whole.events))


def _one_to_one(left: Longs, right: Longs) -> bool:
    """True if both name the same events, each once."""
    if len(left) != len(right):
        return False
    return bool((left == right).all()) and bool((left[1:] > left[:-1]).all())


def _in_step(parts: list[Occurrences]) -> bool:
    """True if all parts occur at the same instants, each once: the steps of a sequence often ask the same."""
    first = parts[0].time
    return (
        len(parts) > 1
        and all(len(part) == len(first) for part in parts)
        and bool((first[1:] > first[:-1]).all())
        and all(part.times is parts[0].times or bool((part.time == first).all()) for part in parts[1:])
    )


def _alternating(parts: list[Occurrences], width: int) -> Rows:
    """The rows of parts that are in step, in order of time, without sorting them."""
    first, many, count = parts[0], len(parts), len(parts) * len(parts[0])
    slots = np.empty((count, first.slots.shape[1]), np.int32)
    ids = np.empty((count, 2), np.int32)
    for number, part in enumerate(parts):
        ids[number::many, ROW_CHOICE] = number
        slots[number::many] = part.slots
    if all(part.times is first.times for part in parts):
        # And so are keys and events: the parts share their places.
        ids[:, ROW_KEY] = np.repeat(first.key, many)
        events = np.repeat(_padded(first, width).events, many, axis=0)
        return Rows(ids, np.repeat(first.times, many, axis=0), slots, events)
    rows = Rows(
        ids, np.empty((count, first.times.shape[1]), np.int64), slots, np.full((count, width), -1, np.int64)
    )
    for number, part in enumerate(parts):
        ids[number::many, ROW_KEY] = part.key
        rows.times[number::many] = part.times
        rows.events[number::many, : part.events.shape[1]] = part.events
    return rows


def _padded(part: Occurrences, width: int) -> Occurrences:
    """The same with columns for as many events as the widest choice takes."""
    if part.events.shape[1] == width:
        return part
    wide = np.full((len(part), width), -1, np.int64)
    wide[:, : part.events.shape[1]] = part.events
    return replace(part, events=wide)


def stacked(parts: list[Occurrences]) -> Occurrences:
    """One table after the other."""
    if len(parts) == 1:
        return parts[0]
    return Occurrences(
        np.concatenate([part.key for part in parts]),
        np.concatenate([part.times for part in parts]),
        np.concatenate([part.slots for part in parts]),
        np.concatenate([part.events for part in parts]),
        np.concatenate([part.new for part in parts]),
    )


def joined(left: Occurrences, right: Occurrences, slots: tuple[int, ...]) -> Occurrences:
    """Compatible mappings at one instant of one partition (conjunction, Def 8)."""
    i, j = _matching(
        [
            (left.time, right.time),
            (left.key, right.key),
            *((left.slots[:, slot], right.slots[:, slot]) for slot in slots),
        ]
    )
    a_slots, b_slots = left.slots[i], right.slots[j]
    agree = ((a_slots == 0) | (b_slots == 0) | (a_slots == b_slots)).all(axis=1)
    i, j, a_slots, b_slots = i[agree], j[agree], a_slots[agree], b_slots[agree]
    times = left.times[i]
    times[:, ROW_LOW] = np.minimum(times[:, ROW_LOW], right.times[j, ROW_LOW])
    times[:, ROW_HIGH] = np.maximum(times[:, ROW_HIGH], right.times[j, ROW_HIGH])
    return Occurrences(
        left.key[i],
        times,
        np.where(a_slots != 0, a_slots, b_slots),
        np.concatenate([left.events[i], right.events[j]], axis=1),
        left.new[i] | right.new[j],
    )


def _matching(columns: list[tuple[Column, Column]]) -> tuple[Longs, Longs]:
    """All pairs of a left and a right row that are equal in every column, by left row."""
    left, right = columns[0]
    for a, b in columns[1:]:
        left, right = _paired((left, right), (a, b))
    order = np.argsort(right, kind="stable")
    at = np.searchsorted(right[order], left)
    many = np.searchsorted(right[order], left, side="right") - at
    i = np.repeat(np.arange(len(left)), many)
    return i, order[numbers_from(at, many)]


def _paired(one: tuple[Column, Column], other: tuple[Column, Column]) -> tuple[Longs, Longs]:
    """Two columns of left and right rows as one: a number for every pair of values."""
    first: Longs = np.concatenate(one).astype(np.int64, copy=False)
    second: Longs = np.concatenate(other).astype(np.int64, copy=False)
    if any(column.max(initial=0) >= 2**31 or column.min(initial=0) < 0 for column in (first, second)):
        # Numbers of values instead of values: they cannot overflow.
        first = np.unique(first, return_inverse=True)[1].reshape(-1)
        second = np.unique(second, return_inverse=True)[1].reshape(-1)
    both = (first << 32) | second
    return both[: len(one[0])], both[len(one[0]) :]
