"""Tables of mappings: one row per (event, mapping), one id column per variable.

A table without events holds the same rows for every event: inline data, background knowledge, the
empty pattern. It stays that small until it meets a table that has events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from spaseq.settings import settings

Ids = npt.NDArray[np.int32]
"""Term ids; 0 is unbound."""
Rows = npt.NDArray[np.intp]
"""Positions of rows."""
Mask = npt.NDArray[np.bool_]
AtHome: TypeAlias = Callable[[Ids], Mask]
"""Which of some terms are keys of this worker, where rows are distributed by the values of a variable."""
Keys = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SortedKeys:
    """Keys in order, and the rows they stand for; None if they were in order."""

    keys: Keys
    order: Rows | None
    different: bool
    """True if no two are equal."""

    @staticmethod
    def of(keys: Keys) -> SortedKeys:
        order: Rows | None = None
        if not is_sorted(keys):
            order = np.argsort(keys, kind="stable")
            keys = keys[order]
        return SortedKeys(keys, order, is_rising(keys))


@dataclass(frozen=True, slots=True)
class Table:
    """Mappings as columns. ``events`` is None for a table that holds for every event."""

    events: Ids | None
    columns: dict[str, Ids]
    size: int
    sorted: dict[tuple[str, ...], SortedKeys] = field(default_factory=dict, compare=False, repr=False)
    """The keys of a static table by the columns they were made of: it meets one batch after the other."""

    @property
    def static(self) -> bool:
        return self.events is None

    def take(self, rows: Rows) -> Table:
        """The rows at these positions, in this order."""
        events = None if self.events is None else self.events[rows]
        return Table(events, {name: column[rows] for name, column in self.columns.items()}, len(rows))

    def where(self, mask: Mask) -> Table:
        """The rows where the mask is true."""
        return self if mask.all() else self.take(np.flatnonzero(mask))

    def only(self, names: Iterable[str]) -> Table:
        """The table with no other columns than these."""
        kept = set(names)
        columns = {name: column for name, column in self.columns.items() if name in kept}
        return self if len(columns) == len(self.columns) else Table(self.events, columns, self.size)

    def bind(self, name: str, column: Ids) -> Table:
        """The table with one more (or a replaced) column."""
        return Table(self.events, {**self.columns, name: column}, self.size)

    def in_event_order(self) -> Table:
        """The rows sorted by event, otherwise in the order they have."""
        if self.events is None or is_sorted(self.events):
            return self
        return self.take(np.argsort(self.events, kind="stable"))


UNIT = Table(None, {}, 1)
"""The solution of the empty pattern: one mapping that binds nothing."""


def empty_table(names: Iterable[str]) -> Table:
    """No row, with these columns."""
    nothing = np.zeros(0, dtype=np.int32)
    return Table(nothing, dict.fromkeys(names, nothing), 0)


def is_sorted(keys: npt.NDArray[np.integer]) -> bool:
    """True if the keys never fall."""
    return len(keys) < 2 or bool((keys[1:] >= keys[:-1]).all())


def is_rising(keys: npt.NDArray[np.integer]) -> bool:
    """True if every key is greater than the one before it, hence all are different."""
    return len(keys) < 2 or bool((keys[1:] > keys[:-1]).all())


def codes(arrays: Sequence[npt.NDArray[np.int32]], size: int) -> Keys:
    """One number per row, equal exactly for rows that are equal in every array.

    Two 32-bit arrays are packed as they are, so the codes of sorted rows are sorted.
    """
    if not arrays:
        return np.zeros(size, dtype=np.int64)
    packed = arrays[0].astype(np.int64)
    for position, array in enumerate(arrays[1:], start=1):
        if position > 1:  # 64 bits are full: number the different values, then go on
            packed = np.unique(packed, return_inverse=True)[1].astype(np.int64)
        packed <<= 32
        packed |= array
    return packed


def row_codes(table: Table, names: Iterable[str]) -> Keys:
    """Codes of the rows by event and by the named columns."""
    arrays = [table.columns[name] for name in names]
    if table.events is not None:
        arrays.insert(0, table.events)
    return codes(arrays, table.size)


def distinct(table: Table) -> Table:
    """One row of equal ones per event, the first; the order is kept."""
    if table.size < 2 or (table.events is not None and is_rising(table.events)):
        return table
    if table.events is not None and is_sorted(table.events):
        repeated = _repeated_nearby(table)
        if repeated is not None:
            return table.where(~repeated)
    keys = row_codes(table, table.columns)
    if is_rising(keys):
        return table
    first = np.unique(keys, return_index=True)[1]
    return table if len(first) == table.size else table.take(np.sort(first))


def _repeated_nearby(table: Table) -> Mask | None:
    """Which rows equal an earlier row of their event; None if events have too many rows to look at all pairs."""
    events = table.events
    assert events is not None
    nearby = settings().nearby_rows
    if bool((events[nearby:] == events[:-nearby]).any()):
        return None
    repeated = np.zeros(table.size, dtype=np.bool_)
    for distance in range(1, min(nearby, table.size)):
        same = events[distance:] == events[:-distance]
        if not same.any():
            break
        for column in table.columns.values():
            same &= column[distance:] == column[:-distance]
        repeated[distance:] |= same
    return repeated


def stacked(tables: Sequence[Table]) -> Table:
    """The rows of all tables, which all have events or all have none; an absent column is unbound."""
    events = None
    if not tables[0].static:
        events = np.concatenate([table.events for table in tables if table.events is not None])
    names = dict.fromkeys(name for table in tables for name in table.columns)
    columns = {
        name: np.concatenate(
            [table.columns.get(name, np.zeros(table.size, dtype=np.int32)) for table in tables]
        )
        for name in names
    }
    return Table(events, columns, sum(table.size for table in tables)).in_event_order()
