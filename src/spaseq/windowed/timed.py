"""Rows that come and go: solutions with the evaluation from which they are there and the events they rest on.

A row is there from the evaluation ``since`` on, with its weight, until one of the windows it rests on has passed a position of
``ends``: the oldest event of that window that it needs. A row of negative weight takes back an earlier one from
``since`` on. So joins need no deletions, and their rows no second look when an event leaves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from spaseq.columnar.keeping import Keeper
from spaseq.columnar.row_numbers import RowNumbers, id_matrix, order_of
from spaseq.settings import settings
from spaseq.windowed.evaluations import Period

Ids = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Rows = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]

NO_END: Final = 2**62
"""The end of a row that rests on no event of a window."""
FAR: Final = 2**62
"""Later than any evaluation."""


@dataclass(frozen=True, slots=True)
class TimedRows:
    """Solutions as columns of ids, each with its weight and its time."""

    columns: dict[str, Ids]
    weight: Longs
    since: Longs
    ends: Longs
    """A column per window."""

    def __len__(self) -> int:
        return len(self.weight)

    def take(self, rows: Rows | Mask) -> TimedRows:
        """Some of the rows."""
        columns = {name: column[rows] for name, column in self.columns.items()}
        return TimedRows(columns, self.weight[rows], self.since[rows], self.ends[rows])

    def with_columns(self, columns: dict[str, Ids]) -> TimedRows:
        """The same rows with other columns."""
        return TimedRows(columns, self.weight, self.since, self.ends)

    def matrix(self, names: Sequence[str]) -> Ids:
        """The named columns side by side; one that is missing is unbound."""
        return id_matrix(self.columns, names, len(self))


def no_rows(names: Sequence[str], windows: int) -> TimedRows:
    """No row, with these columns."""
    nothing = np.zeros(0, np.int64)
    return TimedRows(
        dict.fromkeys(names, np.zeros(0, np.int32)), nothing, nothing, np.zeros((0, windows), np.int64)
    )


def lasting(columns: dict[str, Ids], weight: Longs, since: Longs, windows: int) -> TimedRows:
    """Rows that stay until they are taken back."""
    return TimedRows(columns, weight, since, np.full((len(since), windows), NO_END, np.int64))


def lasting_changes(columns: dict[str, Ids], weight: Longs, since: Longs, windows: int) -> TimedRows:
    """The same, where equal rows that come and go at one evaluation are set off against each other."""
    keys: list[Ids | Longs] = [*columns.values(), since]
    order = np.lexsort(keys)
    first = np.ones(len(order), np.bool_)
    first[1:] = False
    for column in keys:
        first[1:] |= column[order[1:]] != column[order[:-1]]
    starts = np.flatnonzero(first)
    total = np.add.reduceat(weight[order], starts) if len(starts) else weight[:0]
    kept = order[starts[total != 0]]
    return lasting(
        {name: column[kept] for name, column in columns.items()}, total[total != 0], since[kept], windows
    )


def stacked(parts: Sequence[TimedRows]) -> TimedRows:
    """The rows of all parts; an absent column is unbound."""
    full = [part for part in parts if len(part)]
    if len(full) <= 1:
        return full[0] if full else parts[0]
    names = dict.fromkeys(name for part in full for name in part.columns)
    columns = {
        name: np.concatenate([part.columns.get(name, np.zeros(len(part), np.int32)) for part in full])
        for name in names
    }
    return TimedRows(
        columns,
        np.concatenate([part.weight for part in full]),
        np.concatenate([part.since for part in full]),
        np.concatenate([part.ends for part in full]),
    )


# --- changes --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Changes:
    """By how much the number of some rows changes, and at which evaluation."""

    ids: Ids
    weight: Longs
    at: Longs

    def __len__(self) -> int:
        return len(self.weight)


def _any_less(ends: Longs, bounds: Longs) -> Mask:
    """The rows with an end before its window's bound."""
    found = np.zeros(len(ends), np.bool_)
    for window, bound in enumerate(bounds.tolist()):
        found |= ends[:, window] < bound
    return found


def order_by(numbers: Rows, at: Longs) -> Rows:
    """The order of some rows by number, then by when; both are small enough to be one key."""
    if not len(at):
        return np.zeros(0, np.intp)
    first = int(at.min())
    span = int(at.max()) - first + 1
    return order_of(numbers.astype(np.int64) * span + (at - first), (int(numbers.max()) + 1) * span)


class Held(Keeper):
    """The rows of a view that will leave by themselves, and when they do."""

    IDS = ("_ids",)
    ARRAYS = ("_weight", "_ends")

    def __init__(self, names: Sequence[str], windows: int) -> None:
        self.names = tuple(names)
        self._ids = np.zeros((0, len(names)), np.int32)
        self._weight = np.zeros(0, np.int64)
        self._ends = np.zeros((0, windows), np.int64)

    def __len__(self) -> int:
        return len(self._weight)

    def rows(self) -> Changes:
        """Every row that has not left, as a change at the first evaluation."""
        return Changes(self._ids, self._weight, np.zeros(len(self), np.int64))

    def step(self, new: TimedRows, period: Period) -> Changes:
        """What appears and what leaves at these evaluations."""
        arrived = new.matrix(self.names)
        ending = _any_less(new.ends, np.full(new.ends.shape[1], NO_END))
        if ending.any():
            self._ids = np.concatenate([self._ids, arrived[ending]])
            self._weight = np.concatenate([self._weight, new.weight[ending]])
            self._ends = np.concatenate([self._ends, new.ends[ending]])
        last = np.array([low[-1] for low in period.low], np.int64)
        over = _any_less(self._ends, last)
        if not over.any():
            return Changes(arrived, new.weight, new.since)
        gone = self._ends[over]
        at = np.full(len(gone), len(period), np.int64)
        for window in range(gone.shape[1]):
            at = np.minimum(at, period.leaving(window, gone[:, window]))
        changes = Changes(
            np.concatenate([arrived, self._ids[over]]),
            np.concatenate([new.weight, -self._weight[over]]),
            np.concatenate([new.since, period.first + at]),
        )
        # Rows that came first often leave first; cutting them off copies nothing.
        left = slice(len(gone), None) if over[: len(gone)].all() else np.flatnonzero(~over)
        self._ids, self._weight, self._ends = self._ids[left], self._weight[left], self._ends[left]
        return changes


@dataclass(frozen=True, slots=True)
class Counts:
    """How the counts of numbered rows change: in order of row, then evaluation, with no pair twice."""

    rows: Rows
    at: Longs
    before: Longs
    after: Longs

    def at_evaluation(self, rows: Rows, when: Longs, counts: Longs) -> Longs:
        """The counts of some rows at some evaluations; ``counts`` are those after all changes."""
        if not len(self.rows):
            return counts[rows]
        begins = np.ones(len(self.rows), np.bool_)
        begins[1:] = self.rows[1:] != self.rows[:-1]
        base = counts.copy()
        base[self.rows[begins]] = self.before[begins]
        first = min(int(self.at.min()), int(when.min(initial=FAR)))
        span = max(int(self.at.max()), int(when.max(initial=first))) - first + 1
        known = self.rows.astype(np.int64) * span + (self.at - first)
        place = np.searchsorted(known, rows.astype(np.int64) * span + (when - first), side="right") - 1
        changed = (place >= 0) & (self.rows[place] == rows)
        return np.where(changed, self.after[place], base[rows])


class Counting(Keeper):
    """Numbers rows and counts how often each is there."""

    ARRAYS = ("counts",)

    def __init__(self, width: int) -> None:
        self.numbers = RowNumbers(width)
        self.counts = np.zeros(0, np.int64)

    def keepers(self) -> Iterator[tuple[str, Keeper]]:
        """The rows."""
        yield "rows", self.numbers

    def number(self, ids: Ids) -> Rows:
        """The numbers of some rows."""
        found = self.numbers.number(ids)
        grown = len(self.numbers) - len(self.counts)
        if grown:
            self.counts = np.concatenate([self.counts, np.zeros(grown, np.int64)])
        return found

    def count(self, changes: Changes) -> Counts:
        """Take some changes."""
        numbers = self.number(changes.ids)
        order = order_by(numbers, changes.at)
        numbers, at, weight = numbers[order], changes.at[order], changes.weight[order]
        first = np.ones(len(order), np.bool_)
        first[1:] = (numbers[1:] != numbers[:-1]) | (at[1:] != at[:-1])
        starts = np.flatnonzero(first)
        if not len(starts):
            return Counts(numbers, at, at, at)
        numbers, at, weight = numbers[starts], at[starts], np.add.reduceat(weight, starts)
        begins = np.ones(len(numbers), np.bool_)
        begins[1:] = numbers[1:] != numbers[:-1]
        running = np.cumsum(weight)
        offset = self.counts[numbers[begins]] - (running - weight)[begins]
        after = running + offset[np.cumsum(begins) - 1]
        self.counts[numbers] = after  # the last change of a row is the one that stays
        return Counts(numbers, at, after - weight, after)

    def forget(self, *, at_once: bool = False) -> Rows | None:
        """Drop the rows that are not there, when they may be half of all; the result gives every old number's new one."""
        kept = self.counts != 0
        if len(kept) <= 2 * int(kept.sum()) + settings().forgotten_rows and not at_once:
            return None
        self.counts = self.counts[kept]
        return self.numbers.keep(kept)
