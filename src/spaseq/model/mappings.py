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
    """One row per mapping: the ordinal of its event in the batch, and an id per variable (0: unbound).

    ``starts`` is where the events of the rows begin, if some are intervals.
    """

    events: Longs
    columns: Mapping[str, Ids]
    starts: Longs | None = None

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
        starts = None if self.starts is None else self.starts[rows]
        return MappingTable(
            self.events[rows], {name: ids[rows] for name, ids in self.columns.items()}, starts
        )

    def remapped(self, mapping: Ids) -> MappingTable:
        """The same rows after the dictionary was compacted (old id to new id)."""
        columns = {name: mapping[ids] for name, ids in self.columns.items()}
        return MappingTable(self.events, columns, self.starts)


def empty_table(variables: Sequence[str] = ()) -> MappingTable:
    """The table without rows."""
    return MappingTable(np.zeros(0, np.int64), {name: np.zeros(0, np.int32) for name in variables})
