"""Rows of ids numbered by a hash table in compiled code: what `spaseq.columnar.row_numbers` uses where the input is large."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from spaseq.model.arena import SECRET, Longs
from spaseq.model.jit import Int, folded, inlined, lean

Ids = npt.NDArray[np.int32]


@inlined
def _slot(ids: Ids, row: Int, table: Ids, secret: Longs) -> Int:
    """Where the search for a row begins; without the secret, colliding rows cannot be chosen."""
    mixed, key = np.uint64(secret[0]), np.uint64(secret[1])
    for column in range(ids.shape[1]):
        mixed = folded(mixed ^ np.uint64(ids[row, column]), key)
    return np.int64(mixed & np.uint64(len(table) - 1))


@lean
def _number(ids: Ids, known: Ids, count: Int, table: Ids, secret: Longs, numbers: Longs) -> Int:
    """Number rows, new ones from ``count`` on; the new count. A slot of the table holds a number plus 1, 0 is free."""
    for row in range(len(ids)):
        slot = _slot(ids, row, table, secret)
        while True:
            found = table[slot] - 1
            if found < 0:
                for column in range(ids.shape[1]):
                    known[count, column] = ids[row, column]
                table[slot] = count + 1
                numbers[row] = count
                count += 1
                break
            same = True
            for column in range(ids.shape[1]):
                if known[found, column] != ids[row, column]:
                    same = False
                    break
            if same:
                numbers[row] = found
                break
            slot = (slot + 1) & (len(table) - 1)
    return count


@lean
def _fill(known: Ids, count: Int, table: Ids, secret: Longs) -> None:
    for row in range(count):
        slot = _slot(known, row, table, secret)
        while table[slot] != 0:
            slot = (slot + 1) & (len(table) - 1)
        table[slot] = row + 1


class HashedRows:
    """Different rows of ids in the order of their numbers, found by a hash."""

    def __init__(self, ids: Ids) -> None:
        self._count = len(ids)
        self._known = np.ascontiguousarray(ids)
        self._table = np.zeros(0, np.int32)
        self._reserve(0)

    @property
    def ids(self) -> Ids:
        """The rows."""
        return self._known[: self._count]

    @property
    def nbytes(self) -> int:
        """How much memory the table and spare room take."""
        return self._table.nbytes + self._known.nbytes - self.ids.nbytes

    def number(self, ids: Ids) -> npt.NDArray[np.intp]:
        """The numbers of some rows; new ones are numbered on."""
        self._reserve(len(ids))
        numbers = np.empty(len(ids), np.int64)
        rows = np.ascontiguousarray(ids)
        self._count = int(_number(rows, self._known, self._count, self._table, SECRET, numbers))
        return numbers

    def _reserve(self, more: int) -> None:
        count = self._count + more
        if count > len(self._known):
            room = np.empty((max(2 * len(self._known), count), self._known.shape[1]), np.int32)
            room[: self._count] = self.ids
            self._known = room
        if 2 * count > len(self._table):
            self._table = np.zeros(1 << (2 * count).bit_length(), np.int32)
            _fill(self._known, self._count, self._table, SECRET)
