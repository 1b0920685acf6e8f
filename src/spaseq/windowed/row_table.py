"""Rows that later rows are joined with."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spaseq.columnar.keeping import Keeper
from spaseq.columnar.row_numbers import KeyIndex, by_name, columns_at, keys_of
from spaseq.settings import settings
from spaseq.windowed.evaluations import Period
from spaseq.windowed.timed import Ids, Longs, Rows, TimedRows


class RowTable(Keeper):
    """Rows that later ones are joined with, by the ids of some columns."""

    IDS = ("ids",)
    ARRAYS = ("weight", "since", "ends")
    INDEXES = ("_index",)

    def __init__(self, names: Sequence[str], key: Sequence[str], windows: int) -> None:
        self.names = tuple(names)
        self._key = [self.names.index(name) for name in key]
        self.ids = np.zeros((0, len(self.names)), np.int32)
        self.weight = np.zeros(0, np.int64)
        self.since = np.zeros(0, np.int64)
        self.ends = np.zeros((0, windows), np.int64)
        self._index = KeyIndex()
        self._kept = 0
        self._count = 0
        self._taken_back = 0
        """How many rows take back others, since these were last set off against each other."""

    def __len__(self) -> int:
        return self._count

    def add(self, rows: TimedRows) -> None:
        """Keep further rows."""
        first, more = self._count, len(rows)
        if not more:
            return
        self._reserve(first + more)
        ids = rows.matrix(self.names)
        for column, values in (
            (self.ids, ids), (self.weight, rows.weight), (self.since, rows.since), (self.ends, rows.ends),
        ):  # fmt: skip
            column[first : first + more] = values
        self._count += more
        self._taken_back += int(np.count_nonzero(rows.weight < 0))
        self._index.add(keys_of(columns_at(ids, self._key)), first)

    def rows(self, low: Longs) -> TimedRows:
        """The rows that have not left, given the positions at which windows begin."""
        ends = self.ends[: self._count]
        kept = np.flatnonzero((ends >= low).all(axis=1))
        return TimedRows(by_name(self.ids[kept], self.names), self.weight[kept], self.since[kept], ends[kept])

    def _reserve(self, count: int) -> None:
        if count <= len(self.weight):
            return
        room = max(2 * len(self.weight), count)

        def larger(column: np.ndarray) -> np.ndarray:
            wide = np.empty((room, *column.shape[1:]), column.dtype)
            wide[: self._count] = column[: self._count]
            return wide

        self.ids, self.weight = larger(self.ids), larger(self.weight)
        self.since, self.ends = larger(self.since), larger(self.ends)

    def find(self, ids: Ids) -> tuple[Rows, Rows]:
        """The pairs of (position among the keys asked for, row) whose keys are equal."""
        asked, found = self._index.find(keys_of(ids))
        if ids.shape[1] > 2:
            same = (ids[asked] == columns_at(self.ids[found], self._key)).all(axis=1)
            asked, found = asked[same], found[same]
        return asked, found

    def forget(self, period: Period) -> None:
        """Drop what has left, and what was taken back, when that may be half of all."""
        many = self._count > 2 * self._kept + settings().forgotten_rows
        if not many and self._taken_back <= self._kept // 2 + settings().taken_back_rows:
            return
        last = np.array([low[-1] for low in period.low], np.int64)
        ids, weight = self.ids[: self._count], self.weight[: self._count]
        since, ends = self.since[: self._count], self.ends[: self._count]
        kept = np.flatnonzero((ends >= last).all(axis=1))
        if (weight < 0).any():
            order = kept[np.lexsort((*ends[kept].T, *ids[kept].T))]
            first = np.ones(len(order), np.bool_)
            first[1:] = (ids[order[1:]] != ids[order[:-1]]).any(axis=1)
            first[1:] |= (ends[order[1:]] != ends[order[:-1]]).any(axis=1)
            starts = np.flatnonzero(first)
            sums = np.add.reduceat(weight[order], starts) if len(starts) else weight[:0]
            # What is past needs no exact beginning: only rows of later evaluations will be joined with it.
            weight = weight.copy()
            weight[order[starts]] = sums
            kept = np.sort(order[starts][sums != 0])
        self.ids, self.weight, self.since, self.ends = ids[kept], weight[kept], since[kept], ends[kept]
        self.rebuild()
        self._kept, self._taken_back = self._count, 0

    def trim(self) -> None:
        """Give up spare room."""
        self.ids, self.weight = self.ids[: self._count], self.weight[: self._count]
        self.since, self.ends = self.since[: self._count], self.ends[: self._count]

    def rebuild(self) -> None:
        """Index the rows anew."""
        self._count = len(self.weight)
        self._index = KeyIndex()
        self._index.add(keys_of(columns_at(self.ids, self._key)), 0)
