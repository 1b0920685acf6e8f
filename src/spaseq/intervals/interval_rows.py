"""Solutions with intervals, as columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from spaseq.algebra.intervals import Policy
from spaseq.columnar.growing import GrowingTable
from spaseq.columnar.keeping import Keeper
from spaseq.columnar.row_numbers import KeyIndex, by_name, id_matrix, keys_of
from spaseq.model.ordered import numbers_from
from spaseq.settings import settings

Ids = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Rows = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]

LAST: Final = 2**63 - 1
"""Later than any instant."""
NEVER_STARTED: Final = 2**62
NEVER_ENDED: Final = -(2**62)
"""The interval of a timeless solution: the least upper bound with another one is that other one, and it ends before all instants."""

_MIX: Final = np.int64(0x1E3779B97F4A7C15)


@dataclass(frozen=True, slots=True)
class IntervalRows:
    """Solutions as columns of ids, each with the first and the last instant of what it rests on."""

    columns: dict[str, Ids]
    start: Longs
    end: Longs

    def __len__(self) -> int:
        return len(self.start)

    @property
    def timed(self) -> Mask:
        """Which of them have an interval."""
        found: Mask = self.start <= self.end
        return found

    def take(self, rows: Rows | Mask) -> IntervalRows:
        """Some of the rows."""
        columns = {name: column[rows] for name, column in self.columns.items()}
        return IntervalRows(columns, self.start[rows], self.end[rows])

    def part(self, first: int, past: int) -> IntervalRows:
        """The rows from one to before another, without a copy of them."""
        columns = {name: column[first:past] for name, column in self.columns.items()}
        return IntervalRows(columns, self.start[first:past], self.end[first:past])

    def by_end(self) -> IntervalRows:
        """The rows in order of their ends."""
        if (self.end[1:] >= self.end[:-1]).all():
            return self
        return self.take(np.argsort(self.end, kind="stable"))

    def with_columns(self, columns: dict[str, Ids]) -> IntervalRows:
        """The same rows with other columns."""
        return IntervalRows(columns, self.start, self.end)

    def named(self, names: Sequence[str]) -> IntervalRows:
        """The same rows with these columns; one that is missing is unbound."""
        unbound = np.zeros(len(self), np.int32)
        return self.with_columns({name: self.columns.get(name, unbound) for name in names})

    def matrix(self, names: Sequence[str]) -> Ids:
        """The named columns side by side; one that is missing is unbound."""
        return id_matrix(self.columns, names, len(self))


def no_rows(names: Sequence[str]) -> IntervalRows:
    """No row, with these columns."""
    nothing = np.zeros(0, np.int64)
    return IntervalRows(dict.fromkeys(names, np.zeros(0, np.int32)), nothing, nothing)


def timeless(columns: Mapping[str, Ids], count: int) -> IntervalRows:
    """Rows that rest on no occurrence."""
    start, end = (np.full(count, value, np.int64) for value in (NEVER_STARTED, NEVER_ENDED))
    return IntervalRows(dict(columns), start, end)


def stacked(parts: Sequence[IntervalRows], names: Sequence[str]) -> IntervalRows:
    """The rows of all parts; an absent column is unbound."""
    full = [part.named(names) for part in parts if len(part)]
    if len(full) <= 1:
        return full[0] if full else no_rows(names)
    return IntervalRows(
        {name: np.concatenate([part.columns[name] for part in full]) for name in names},
        np.concatenate([part.start for part in full]),
        np.concatenate([part.end for part in full]),
    )


def distinct_rows(ids: Ids, start: Longs, end: Longs) -> Rows:
    """The numbers of the first of equal rows, ascending."""
    if len(start) < 2:
        return np.arange(len(start))
    order = np.lexsort((*ids.T, start, end))
    first = np.ones(len(order), np.bool_)
    first[1:] = (end[order[1:]] != end[order[:-1]]) | (start[order[1:]] != start[order[:-1]])
    for column in ids.T:
        first[1:] |= column[order[1:]] != column[order[:-1]]
    return np.sort(order[first])


def each_row_once(rows: IntervalRows) -> IntervalRows:
    """The first of equal rows."""
    first = distinct_rows(rows.matrix(tuple(rows.columns)), rows.start, rows.end)
    return rows if len(first) == len(rows) else rows.take(first)


class SolutionSet(GrowingTable):
    """Lets every solution through once, however often it comes: (μ, I) is a set.

    A few new ones are looked up among many known ones by a hash; otherwise all are sorted together.
    """

    IDS = ("_ids",)
    ARRAYS = ("_start", "_end")
    INDEXES = ("_index",)

    _indexed: int
    """How many rows the index has."""
    _earliest: int
    """Before all ends."""

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._ids = np.zeros((0, len(names)), np.int32)
        self._start = np.zeros(0, np.int64)
        self._end = np.zeros(0, np.int64)
        self.rebuild()

    def new(self, rows: IntervalRows, horizon: int) -> IntervalRows:
        """Those of some rows that were not there before; rows that end before the horizon will not come again."""
        if len(rows):
            few = len(rows) * settings().sorted_share < self._count
            rows = self._looked_up(rows) if few else self._sorted(rows)
        self.forget(horizon)
        return rows

    def _sorted(self, rows: IntervalRows) -> IntervalRows:
        ids, start, end = rows.matrix(self._names), rows.start, rows.end
        if self._count:
            self.trim()
            ids = np.concatenate([self._ids, ids])
            start, end = np.concatenate([self._start, start]), np.concatenate([self._end, end])
        first = distinct_rows(ids, start, end)
        fresh = first[first >= self._count] - self._count
        self._ids, self._start, self._end = ids[first], start[first], end[first]
        self.rebuild()
        return rows if len(fresh) == len(rows) else rows.take(fresh)

    def _looked_up(self, rows: IntervalRows) -> IntervalRows:
        ids = rows.matrix(self._names)
        first = distinct_rows(ids, rows.start, rows.end)
        if len(first) < len(rows):
            rows, ids = rows.take(first), ids[first]
        self._index_new()
        asked, known = self._index.find(interval_keys(rows.start, rows.end, keys_of(ids)))
        if len(asked):
            same = (rows.start[asked] == self._start[known]) & (rows.end[asked] == self._end[known])
            same &= (ids[asked] == self._ids[known]).all(axis=1)
            fresh = np.ones(len(rows), np.bool_)
            fresh[asked[same]] = False
            rows, ids = rows.take(fresh), ids[fresh]
        self._add(ids, rows)
        return rows

    def _add(self, ids: Ids, rows: IntervalRows) -> None:
        if len(rows):
            self._append(ids, rows.start, rows.end)
            self._earliest = min(self._earliest, int(rows.end.min()))

    def _index_new(self) -> None:
        """Index what came since the last search."""
        first, past = self._indexed, self._count
        ids, start, end = self._ids[first:past], self._start[first:past], self._end[first:past]
        self._index.add(interval_keys(start, end, keys_of(ids)), first)
        self._indexed = past

    def remember(self, rows: IntervalRows, horizon: int) -> IntervalRows:
        """Rows that are known to be new, all of them; for as long as equal ones may come."""
        self.forget(horizon)
        late = rows.end >= horizon
        if late.any():
            kept = rows.take(late)
            self._add(kept.matrix(self._names), kept)
        return rows

    def forget(self, horizon: int) -> None:
        """Rows that end before the horizon will not come again."""
        if self._earliest < horizon:
            self._keep(self._end[: self._count] >= horizon)

    def rebuild(self) -> None:
        """Index the rows anew, when some are looked up."""
        super().rebuild()
        self._index = KeyIndex()
        self._indexed = 0
        self._earliest = int(self._end.min(initial=LAST))


def interval_keys(start: Longs, end: Longs, keys: Longs | None = None) -> Longs:
    """A number for every interval, and key if there are any; equal ones have the same."""
    mixed = start if keys is None else keys * _MIX + start
    return mixed * _MIX + end


class EndIndex:
    """The rows of a growing table by key, then by end: sorted runs, each at most half as long as the one before it."""

    def __init__(self) -> None:
        self._runs: list[tuple[Longs, Longs, Rows]] = []

    def add(self, keys: Longs, end: Longs, rows: Rows) -> None:
        """Index further rows, by their numbers."""
        if not len(keys):
            return
        order = np.lexsort((end, keys))
        self._runs.append((keys[order], end[order], rows[order]))
        while len(self._runs) > 1 and len(self._runs[-2][0]) < 2 * len(self._runs[-1][0]):
            pairs = zip(self._runs[-2], self._runs[-1], strict=True)
            both, ends, rows = (np.concatenate(pair) for pair in pairs)
            order = np.lexsort((ends, both))
            self._runs[-2:] = [(both[order], ends[order], rows[order])]

    def drop(self, kept: Mask, numbers: Rows) -> None:
        """Leave out rows; the others have new numbers."""
        for place, (keys, end, rows) in enumerate(self._runs):
            still = kept[rows]
            self._runs[place] = (keys[still], end[still], numbers[rows[still]])

    def find(
        self, keys: Longs, earliest: Longs, before: Longs, policy: Policy = Policy.UNRESTRICTED
    ) -> Iterator[tuple[Rows, Rows]]:
        """RowPairs of (position among the keys asked for, row) with equal keys and ``earliest <= end < before``, some at a time.

        A policy leaves out those that some other one of the same key ends before, or after.
        """
        for known, ends, rows in self._runs:
            first = np.searchsorted(known, keys)
            past = np.searchsorted(known, keys, side="right")
            if not (past > first).any():
                continue
            first, past = _search(ends, first, past, earliest), _search(ends, first, past, before)
            if policy is Policy.RECENT:
                first = _search(ends, first, past, ends[np.maximum(past - 1, 0)])
            elif policy is Policy.CHRONOLOGICAL:
                past = _search(ends, first, past, ends[np.minimum(first, len(ends) - 1)] + 1)
            many = np.maximum(past - first, 0)
            for low, high in portions(many):
                own = many[low:high]
                asked = np.repeat(np.arange(low, high), own)
                yield asked, rows[numbers_from(first[low:high], own)]

    def count(self, keys: Longs, before: Longs) -> Rows:
        """How many rows have each of some keys and end before an instant."""
        many = np.zeros(len(keys), np.intp)
        for known, ends, _ in self._runs:
            first, past = np.searchsorted(known, keys), np.searchsorted(known, keys, side="right")
            many += _search(ends, first, past, before) - first
        return many


def _search(ends: Longs, first: Rows, past: Rows, wanted: Longs) -> Rows:
    """Where ``wanted`` stands in ``ends[first:past]``, which ascends: the place of the first that is not less, for many at once."""
    low, high = first.copy(), past.copy()
    for _ in range(int((past - first).max(initial=0)).bit_length()):
        middle = (low + high) >> 1
        less = (low < high) & (ends[np.minimum(middle, len(ends) - 1)] < wanted)
        low, high = np.where(less, middle + 1, low), np.where(less, high, middle)
    return low


def portions(many: Rows) -> Iterator[tuple[int, int]]:
    """Stretches of rows with not too many partners together; a row's partners stay together."""
    total, most = np.cumsum(many), settings().joined_pairs
    low = 0
    while low < len(many):
        begun = int(total[low - 1]) if low else 0
        if begun == total[-1]:
            return
        high = max(int(np.searchsorted(total, begun + most, side="right")), low + 1)
        yield low, high
        low = high


class IntervalTable(Keeper):
    """Rows that later ones are joined with, by the ids of some columns, and by their interval if asked for.

    Finds by interval, or by more than two columns, are finds of a hash: whoever asks compares.
    """

    IDS = ("ids",)
    ARRAYS = ("start", "end")

    def __init__(self, names: Sequence[str], key: Sequence[str], *, by_interval: bool = False) -> None:
        self.names = tuple(names)
        self._by_interval = by_interval
        self._key = [self.names.index(name) for name in key]
        self.ids = np.zeros((0, len(self.names)), np.int32)
        self.start = np.zeros(0, np.int64)
        self.end = np.zeros(0, np.int64)
        self._index = EndIndex()
        self._kept = 0
        self.timeless = False
        """Whether some of them have no time."""
        self._count = 0
        self._indexed = 0

    def __len__(self) -> int:
        return self._count

    def add(self, rows: IntervalRows) -> None:
        """Keep further rows."""
        first, more = self._count, len(rows)
        if not more:
            return
        self._reserve(first + more)
        ids = rows.matrix(self.names)
        self.ids[first : first + more] = ids
        self.start[first : first + more] = rows.start
        self.end[first : first + more] = rows.end
        self._count += more
        self.timeless = self.timeless or not bool(rows.timed.all())

    def _reserve(self, count: int) -> None:
        if count <= len(self.start):
            return
        room = max(2 * len(self.start), count)
        grown = np.empty((room, self.ids.shape[1]), np.int32)
        grown[: self._count] = self.ids[: self._count]
        self.ids = grown
        for name in self.ARRAYS:
            column = np.empty(room, np.int64)
            column[: self._count] = getattr(self, name)[: self._count]
            setattr(self, name, column)

    @property
    def hashed(self) -> bool:
        """Whether what is found by key must still be compared."""
        return self._by_interval or len(self._key) > 2

    def find(
        self, rows: IntervalRows, earliest: Longs, before: Longs, policy: Policy = Policy.UNRESTRICTED
    ) -> Iterator[tuple[Rows, Rows]]:
        """RowPairs of (number among some rows, own row) whose keys are equal and whose own end is in a range, some at a time."""
        self._index_new()
        ids = rows.matrix([self.names[place] for place in self._key])
        keys = self._hashed(ids, rows.start, rows.end)
        for asked, found in self._index.find(keys, earliest, before, policy):
            if ids.shape[1] > 2:
                same = (ids[asked] == self.ids[found][:, self._key]).all(axis=1)
                asked, found = asked[same], found[same]
            yield asked, found

    def _index_new(self) -> None:
        """Index what came since the last search: rows that are never looked for are never sorted."""
        first, past = self._indexed, self._count
        ids, start, end = self.ids[first:past], self.start[first:past], self.end[first:past]
        self._index.add(self._hashed(ids[:, self._key], start, end), end, np.arange(first, past))
        self._indexed = past

    def _hashed(self, ids: Ids, start: Longs, end: Longs) -> Longs:
        keys = keys_of(ids)
        return interval_keys(start, end, keys) if self._by_interval else keys

    def rows(self, oldest: int | None, earliest: int | None) -> IntervalRows:
        """Those that `forget` would not drop."""
        kept = np.flatnonzero(self._lasting(oldest, earliest))
        return IntervalRows(by_name(self.ids[kept], self.names), self.start[kept], self.end[kept])

    def _lasting(self, oldest: int | None, earliest: int | None) -> Mask:
        kept = np.ones(self._count, np.bool_)
        if oldest is not None:
            kept &= self.start[: self._count] >= oldest
        if earliest is not None:
            kept &= self.end[: self._count] >= earliest
        return kept

    def forget(self, oldest: int | None = None, earliest: int | None = None) -> None:
        """Drop what started before ``oldest`` and what ended before ``earliest``, when that may be half of all.

        Timeless rows stay in the first case, and go in the second.
        """
        if self._count <= 2 * self._kept + settings().forgotten_rows:
            return
        self.trim()
        kept = self._lasting(oldest, earliest)
        if not kept.all():
            self.ids, self.start, self.end = self.ids[kept], self.start[kept], self.end[kept]
            self.rebuild()
        self._kept = self._count

    def drop(self, gone: Mask) -> None:
        """Leave out some rows now, which no search may find."""
        if not gone.any():
            return
        self.trim()
        kept = ~gone
        numbers = np.cumsum(kept) - 1
        self.ids, self.start, self.end = self.ids[kept], self.start[kept], self.end[kept]
        self._index.drop(kept, numbers)
        self._indexed = int(kept[: self._indexed].sum())
        self._count = len(self.start)

    def trim(self) -> None:
        """Give up spare room."""
        self.ids = self.ids[: self._count]
        self.start, self.end = self.start[: self._count], self.end[: self._count]

    def rebuild(self) -> None:
        """Index the rows anew."""
        self._count = len(self.start)
        self._index, self._indexed = EndIndex(), 0
        self.timeless = bool((self.start > self.end).any())
