"""`MappingTable`: the solution mappings of a batch of events as columns of term ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class MappingTable:
    """One row per mapping: the ordinal of its event in the batch, and an id per variable (0: unbound)."""

    events: Longs
    columns: Mapping[str, Ids]

    def __len__(self) -> int:
        return len(self.events)

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(self.columns)

    def column(self, variable: str) -> Ids:
        """The ids of a variable; a variable without column is unbound in every row."""
        found = self.columns.get(variable)
        return np.zeros(len(self), np.int32) if found is None else found

    def take(self, rows: npt.NDArray[np.integer] | npt.NDArray[np.bool_]) -> MappingTable:
        """The rows at these ordinals, or where a mask is true."""
        return MappingTable(self.events[rows], {name: ids[rows] for name, ids in self.columns.items()})

    def rename(self, names: Mapping[str, str]) -> MappingTable:
        """The same rows with some variables called differently."""
        return MappingTable(self.events, {names.get(name, name): ids for name, ids in self.columns.items()})

    def project(self, variables: Sequence[str]) -> MappingTable:
        """The same rows with these columns only; one that is absent becomes unbound."""
        return MappingTable(self.events, {name: self.column(name) for name in variables})

    def extend(self, variable: str, ids: Ids) -> MappingTable:
        """The same rows with one more column."""
        return MappingTable(self.events, {**self.columns, variable: ids})

    def distinct(self) -> MappingTable:
        """One of every set of equal rows, the first, in the order of first occurrence."""
        if len(self) < 2:
            return self
        keys: list[npt.NDArray[np.integer]] = [self.events, *self.columns.values()]
        order = np.lexsort(keys[::-1])
        changed = np.zeros(len(self), np.bool_)
        changed[0] = True
        for key in keys:
            ordered = key[order]
            changed[1:] |= ordered[1:] != ordered[:-1]
        if bool(changed.all()):
            return self
        return self.take(np.sort(order[changed]))

    def remapped(self, mapping: Ids) -> MappingTable:
        """The same rows after the dictionary was compacted (old id to new id)."""
        return MappingTable(self.events, {name: mapping[ids] for name, ids in self.columns.items()})


def empty_table(variables: Sequence[str] = ()) -> MappingTable:
    """The table without rows."""
    return MappingTable(np.zeros(0, np.int64), {name: np.zeros(0, np.int32) for name in variables})


def concat_tables(tables: Sequence[MappingTable]) -> MappingTable:
    """All rows of several tables, one table after the other; absent columns are unbound."""
    if len(tables) == 1:
        return tables[0]
    variables = dict.fromkeys(name for table in tables for name in table.columns)
    if not tables:
        return empty_table()
    return MappingTable(
        np.concatenate([table.events for table in tables]),
        {name: np.concatenate([table.column(name) for table in tables]) for name in variables},
    )
