"""Columns that grow at their end without being copied at every step."""

from __future__ import annotations

from typing import Any

import numpy as np

from spaseq.columnar.keeping import Keeper


def with_room(array: np.ndarray[Any, Any], count: int, fill: int = 0) -> np.ndarray[Any, Any]:
    """An array with at least so many rows, of which further ones hold ``fill``; at least twice as many as before, if it grows."""
    if count <= len(array):
        return array
    wide = np.full((max(2 * len(array), count), *array.shape[1:]), fill, array.dtype)
    wide[: len(array)] = array
    return wide


class GrowingTable(Keeper):
    """The arrays of a keeper as columns with spare room; `trim` gives it up."""

    _count = 0

    def __len__(self) -> int:
        return self._count

    def _append(self, *columns: np.ndarray[Any, Any]) -> None:
        """Further rows: the arrays of ids, then the other arrays, as the class lists them."""
        first, more = self._count, len(columns[0])
        for name, values in zip((*self.IDS, *self.ARRAYS), columns, strict=True):
            column = getattr(self, name)
            if first + more > len(column):
                room = max(2 * len(column), first + more)
                wide = np.empty((room, *column.shape[1:]), column.dtype)
                wide[:first] = column[:first]
                setattr(self, name, wide)
                column = wide
            column[first : first + more] = values
        self._count += more

    def _keep(self, rows: np.ndarray[Any, Any]) -> None:
        """Some of the rows, and no spare room."""
        for name in (*self.IDS, *self.ARRAYS):
            setattr(self, name, getattr(self, name)[: self._count][rows])
        self.rebuild()

    def trim(self) -> None:
        """Give up spare room."""
        for name in (*self.IDS, *self.ARRAYS):
            setattr(self, name, getattr(self, name)[: self._count])

    def rebuild(self) -> None:
        """The arrays hold what they hold."""
        self._count = len(getattr(self, (*self.IDS, *self.ARRAYS)[0]))
