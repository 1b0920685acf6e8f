"""Rows that are kept as they came."""

from __future__ import annotations

from spaseq.columnar.keeping import Keeper
from spaseq.columnar.row_numbers import by_name
from spaseq.intervals.interval_rows import IntervalRows, no_rows


class History(Keeper):
    """All of some rows, with these columns."""

    IDS = ("_ids",)
    ARRAYS = ("_start", "_end")

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self.keep(no_rows(names))

    @property
    def rows(self) -> IntervalRows:
        """All of them."""
        return IntervalRows(by_name(self._ids, self._names), self._start, self._end)

    def keep(self, rows: IntervalRows) -> None:
        """These and no others."""
        self._ids, self._start, self._end = rows.matrix(self._names), rows.start, rows.end
