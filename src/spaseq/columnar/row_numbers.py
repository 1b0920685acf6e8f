"""Rows of ids: side by side, by key, and numbered."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from spaseq.columnar.keeping import Keeper
from spaseq.model.ordered import numbers_from
from spaseq.settings import settings

if TYPE_CHECKING:
    from spaseq.columnar.row_kernel import HashedRows

Ids = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Rows = npt.NDArray[np.intp]
Mask = npt.NDArray[np.bool_]


def id_matrix(columns: Mapping[str, Ids], names: Sequence[str], count: int) -> Ids:
    """Some columns side by side; one that is missing is unbound."""
    found = np.zeros((count, len(names)), np.int32)
    for at, name in enumerate(names):
        if name in columns:
            found[:, at] = columns[name]
    return found


def columns_at(ids: Ids, places: Sequence[int]) -> Ids:
    """Some columns, side by side; column by column, since an index for all of them would copy element by element."""
    found = np.empty((len(ids), len(places)), np.int32)
    for at, place in enumerate(places):
        found[:, at] = ids[:, place]
    return found


def by_name(ids: Ids, names: Sequence[str]) -> dict[str, Ids]:
    """Columns by name."""
    return {name: ids[:, place] for place, name in enumerate(names)}


_MIX: Final = np.uint64(0x9E3779B97F4A7C15)
_SHIFT: Final = np.uint64(29)
_DIGIT: Final = 1 << 16


def keys_of(ids: Ids) -> Longs:
    """A number per row of ids: exact for up to two columns, for more a hash whose finds must be compared."""
    if ids.shape[1] == 0:
        return np.zeros(len(ids), np.int64)
    if ids.shape[1] == 1:
        return ids[:, 0].astype(np.int64)
    packed = (ids[:, 0].astype(np.int64) << 32) | ids[:, 1]
    if ids.shape[1] == 2:
        return packed
    mixed = packed.astype(np.uint64)
    for column in range(2, ids.shape[1]):
        mixed = (mixed ^ (mixed >> _SHIFT)) * _MIX + ids[:, column].astype(np.uint64)
    return (mixed ^ (mixed >> _SHIFT)).astype(np.int64)


def order_of(numbers: Longs, bound: int) -> Rows:
    """The stable order of numbers from 0 up to, not including, a bound: by digits of 16 bits, for which numpy needs no comparisons."""
    if bound <= _DIGIT:
        return np.argsort(numbers.astype(np.uint16), kind="stable")
    if bound <= _DIGIT**2:
        low = np.argsort((numbers & (_DIGIT - 1)).astype(np.uint16), kind="stable")
        return low[np.argsort((numbers >> 16).astype(np.uint16)[low], kind="stable")]
    return np.argsort(numbers, kind="stable")


def numbered(rows: Ids) -> Rows:
    """A number for every row; equal rows have the same."""
    if not rows.shape[1]:
        return np.zeros(len(rows), np.intp)
    order = np.lexsort(rows.T)
    fresh = np.ones(len(rows), np.bool_)
    fresh[1:] = (rows[order[1:]] != rows[order[:-1]]).any(axis=1)
    numbers = np.empty(len(rows), np.intp)
    numbers[order] = np.cumsum(fresh) - 1
    return numbers


def among(rows: Ids, others: Ids) -> Mask:
    """Which rows are among some others."""
    numbers = numbered(np.concatenate([others, rows]))
    return np.isin(numbers[len(others) :], numbers[: len(others)])


def rows_of(column: Longs, values: Longs) -> Rows:
    """The rows of a sorted column with one of some different values, in order of these."""
    first = np.searchsorted(column, values)
    many = np.searchsorted(column, values, side="right") - first
    return numbers_from(first, many)


class KeyIndex:
    """The rows of a growing table by key: sorted runs, each at most half as long as the one before it."""

    def __init__(self) -> None:
        self._runs: list[tuple[Longs, Rows]] = []

    @property
    def nbytes(self) -> int:
        """How much memory it takes."""
        return sum(keys.nbytes + rows.nbytes for keys, rows in self._runs)

    def add(self, keys: Longs, first: int) -> None:
        """Index further rows, numbered from ``first`` on."""
        self.add_rows(keys, first + np.arange(len(keys)))

    def add_rows(self, keys: Longs, rows: Rows) -> None:
        """Index further rows."""
        if not len(keys):
            return
        order = np.argsort(keys)
        self._runs.append((keys[order], rows[order]))
        while len(self._runs) > 1 and len(self._runs[-2][0]) < 2 * len(self._runs[-1][0]):
            (left, left_rows), (right, right_rows) = self._runs[-2:]
            both, rows = np.concatenate([left, right]), np.concatenate([left_rows, right_rows])
            order = np.argsort(both, kind="stable")
            self._runs[-2:] = [(both[order], rows[order])]

    def keep(self, keys: Longs) -> None:
        """Forget the rows with any other key."""
        known = np.concatenate([np.zeros(0, np.int64), *(run for run, _ in self._runs)])
        rows = np.concatenate([np.zeros(0, np.intp), *(found for _, found in self._runs)])
        kept = np.isin(known, keys)
        self._runs = []
        self.add_rows(known[kept], rows[kept])

    def find(self, keys: Longs) -> tuple[Rows, Rows]:
        """The pairs of (position among the keys asked for, row) with equal keys."""
        asked, found = [np.zeros(0, np.intp)], [np.zeros(0, np.intp)]
        for known, rows in self._runs:
            start = np.searchsorted(known, keys)
            many = np.searchsorted(known, keys, side="right") - start
            if not many.any():
                continue
            asked.append(np.repeat(np.arange(len(keys)), many))
            found.append(rows[numbers_from(start, many)])
        return np.concatenate(asked), np.concatenate(found)


class RowNumbers(Keeper):
    """Numbers rows of ids: equal rows have one number, for as long as they are kept."""

    IDS = ("ids",)
    INDEXES = ("_index",)

    def __init__(self, width: int) -> None:
        self._index: KeyIndex | HashedRows = KeyIndex()
        self.ids = np.zeros((0, width), np.int32)

    def __len__(self) -> int:
        return len(self.ids)

    def number(self, ids: Ids) -> Rows:
        """The numbers of some rows; new ones are numbered on."""
        if not len(ids):
            return np.zeros(0, np.intp)
        if isinstance(self._index, KeyIndex):
            if len(ids) < settings().hashed_rows or "spaseq.model.jit" not in sys.modules:
                return self._number_sorted(ids, self._index)
            self._index = self._hashed()
        numbers = self._index.number(ids)
        self.ids = self._index.ids
        return numbers

    def fresh(self, ids: Ids) -> Mask:
        """Which rows are the first of equal ones, now and before; all of them are numbered."""
        known = len(self)
        numbers = self.number(ids)
        found = np.zeros(len(ids), np.bool_)
        found[np.unique(numbers, return_index=True)[1]] = True
        return found & (numbers >= known)

    def _hashed(self) -> HashedRows:
        from spaseq.columnar.row_kernel import HashedRows

        return HashedRows(self.ids)

    def _number_sorted(self, ids: Ids, index: KeyIndex) -> Rows:
        """The same in the interpreter."""
        keys = keys_of(ids)
        order = np.argsort(keys)
        ordered_keys = keys[order]
        fresh = np.ones(len(ids), np.bool_)
        fresh[1:] = ordered_keys[1:] != ordered_keys[:-1]
        if ids.shape[1] > 2:
            ordered = ids[order]
            differ = (ordered[1:] != ordered[:-1]).any(axis=1)
            if (differ & ~fresh[1:]).any():  # different rows with the same hash
                order = np.lexsort((*ids.T, keys))
                ordered = ids[order]
                differ = (ordered[1:] != ordered[:-1]).any(axis=1)
            fresh[1:] = differ
        first = order[fresh]
        distinct, distinct_keys = ids[first], keys[first]
        numbers = np.full(len(distinct), -1, np.intp)
        asked, found = index.find(distinct_keys)
        if distinct.shape[1] > 2:
            same = (distinct[asked] == self.ids[found]).all(axis=1)
            asked, found = asked[same], found[same]
        numbers[asked] = found
        new = np.flatnonzero(numbers < 0)
        numbers[new] = len(self.ids) + np.arange(len(new))
        if len(new):
            index.add(distinct_keys[new], len(self.ids))
            self.ids = np.concatenate([self.ids, distinct[new]])
        result = np.empty(len(ids), np.intp)
        result[order] = numbers[np.cumsum(fresh) - 1]
        return result

    def keep(self, kept: Mask) -> Rows:
        """Forget the others; the result gives for every old number the new one, -1 for a forgotten one."""
        moved = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.intp)
        self.ids = self.ids[kept]
        self.rebuild()
        return moved

    def rebuild(self) -> None:
        """Index the rows anew."""
        if isinstance(self._index, KeyIndex):
            self._index = KeyIndex()
            self._index.add(keys_of(self.ids), 0)
        else:
            self._index = self._hashed()
