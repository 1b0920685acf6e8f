"""The join of what two views give, each side kept and indexed by what both have."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np

from spaseq.columnar.keeping import Keeper
from spaseq.windowed.evaluations import Period
from spaseq.windowed.row_table import RowTable
from spaseq.windowed.timed import Longs, Mask, Rows, TimedRows, no_rows, stacked


class Side(Protocol):
    """What is joined: the names of its variables, and those that every row binds."""

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def certain(self) -> frozenset[str]: ...


class PairJoin(Keeper):
    """The merged rows of two sides that are compatible, while both are there.

    ``overlapping`` asks that a pair has a variable that both bind.
    """

    def __init__(self, left: Side, right: Side, windows: int, *, overlapping: bool = False) -> None:
        shared = [name for name in left.names if name in right.names]
        self._key = [name for name in shared if name in left.certain and name in right.certain]
        self._loose = [name for name in shared if name not in self._key]
        self._overlapping = overlapping and not self._key
        self.tables = tuple(RowTable(side.names, self._key, windows) for side in (left, right))
        self.names = tuple(dict.fromkeys((*left.names, *right.names)))
        self.certain = left.certain | right.certain
        self._windows = windows

    def keepers(self) -> Iterator[tuple[str, Keeper]]:
        """Both sides."""
        yield from zip(("left", "right"), self.tables, strict=True)

    def step(self, left: TimedRows, right: TimedRows, period: Period) -> TimedRows:
        """The pairs of which a row is new."""
        left_table, right_table = self.tables
        found = [self._joined(left, right_table, period)]
        left_table.add(left)
        found.append(self._joined(right, left_table, period))
        right_table.add(right)
        for table in self.tables:
            table.forget(period)
        return stacked(found)

    def fill(self, left: TimedRows, right: TimedRows, low: Longs) -> TimedRows:
        """Take rows of earlier evaluations into empty tables; their pairs that have not left, given where windows begin."""
        left_table, right_table = self.tables
        left_table.add(left)
        right_table.add(right)
        pairs, since, ends = self._pairs(left, right_table)
        there: Mask = np.asarray((ends >= low).all(axis=1))
        return self._merged(left, right_table, pairs, since, ends, there)

    def _joined(self, rows: TimedRows, table: RowTable, period: Period) -> TimedRows:
        if not len(rows) or not len(table):
            return no_rows(self.names, self._windows)
        pairs, since, ends = self._pairs(rows, table)
        there = np.ones(len(since), np.bool_)
        for window, low in enumerate(period.low):
            there &= low[since - period.first] <= ends[:, window]
        kept = int(np.count_nonzero(there & (rows.weight[pairs[0]] > 0) & (table.weight[pairs[1]] > 0)))
        period.pairs.kept += kept
        period.pairs.vain += len(there) - kept
        return self._merged(rows, table, pairs, since, ends, there)

    def _pairs(self, rows: TimedRows, table: RowTable) -> tuple[tuple[Rows, Rows], Longs, Longs]:
        """Pairs with the same key, since when both are there, and on which events they rest."""
        asked, found = table.find(rows.matrix(self._key))
        since = np.maximum(rows.since[asked], table.since[found])
        return (asked, found), since, np.minimum(rows.ends[asked], table.ends[found])

    def _merged(
        self,
        rows: TimedRows,
        table: RowTable,
        pairs: tuple[Rows, Rows],
        since: Longs,
        ends: Longs,
        there: Mask,
    ) -> TimedRows:
        there &= self._compatible(rows, table, *pairs)
        asked, found = (each[there] for each in pairs)
        columns = {}
        for name in self.names:
            mine = rows.columns[name][asked] if name in rows.columns else None
            if name not in table.names:
                assert mine is not None
                columns[name] = mine
                continue
            theirs = table.ids[found, table.names.index(name)]
            columns[name] = theirs if mine is None else np.where(mine != 0, mine, theirs)
        return TimedRows(columns, rows.weight[asked] * table.weight[found], since[there], ends[there])

    def _compatible(self, rows: TimedRows, table: RowTable, asked: Rows, found: Rows) -> Mask:
        fits = np.ones(len(asked), np.bool_)
        overlaps = np.full(len(asked), not self._overlapping)
        for name in self._loose:
            mine, theirs = rows.columns[name][asked], table.ids[found, table.names.index(name)]
            both = (mine != 0) & (theirs != 0)
            fits &= ~both | (mine == theirs)
            overlaps |= both
        result: Mask = fits & overlaps
        return result
