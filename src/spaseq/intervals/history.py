"""Rows that are kept as they came."""

from __future__ import annotations

import numpy as np

from spaseq.columnar.growing import GrowingTable
from spaseq.columnar.row_numbers import by_name
from spaseq.intervals.interval_rows import IntervalRows


class History(GrowingTable):
    """All of some rows, with these columns."""

    IDS = ("_ids",)
    ARRAYS = ("_start", "_end")

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self._ids = np.zeros((0, len(names)), np.int32)
        self._start = np.zeros(0, np.int64)
        self._end = np.zeros(0, np.int64)

    @property
    def rows(self) -> IntervalRows:
        """All of them."""
        self.trim()
        return IntervalRows(by_name(self._ids, self._names), self._start, self._end)

    def add(self, rows: IntervalRows) -> None:
        """Some more."""
        self._append(rows.matrix(self._names), rows.start, rows.end)

    def keep(self, rows: IntervalRows) -> None:
        """These and no others."""
        self._ids, self._start, self._end = rows.matrix(self._names), rows.start, rows.end
        self.rebuild()
