"""Functions of terms, applied to columns of ids once per distinct term or combination, and cached.

The cache belongs to one dictionary and one generation of it: after `compact` ids mean other
terms, so the cache is cleared.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
from pyoxigraph import Literal

from spaseq.algebra.expressions import Term
from spaseq.columnar.kernels.spelling import decimal_parts
from spaseq.columnar.table import Ids, codes
from spaseq.model.dictionary import TermDictionary
from spaseq.model.ordered import each_once
from spaseq.model.values import Kind, ValueColumns
from spaseq.settings import settings

RowFunction = Callable[[Sequence[tuple[Term, ...]]], Iterable[Term | None]]
"""A function of terms, given many rows of arguments at once; None is an error. Answers may be made as they are asked for."""

_UNKNOWN: Final = -1
_PENDING: Final = np.uint8(255)
_DOUBLE: Final = np.uint8(Kind.DOUBLE)

NumberColumns = tuple[
    npt.NDArray[np.uint8], npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]
]
Settle = Callable[[Ids], NumberColumns]
"""Gives the kinds, mantissas, scales and doubles of some terms, or of what is computed of each."""


class FunctionCache:
    """The value columns of a dictionary and what functions made of its terms."""

    __slots__ = (
        "_combined", "_constants", "_dictionary", "_generation", "_numbers", "_single", "_tests", "empty", "false",
        "true", "values",
    )  # fmt: skip

    def __init__(self, dictionary: TermDictionary) -> None:
        self._dictionary = dictionary
        self.values = ValueColumns(dictionary)
        self._forget()

    def _forget(self) -> None:
        self._generation = self._dictionary.generation
        self.true = self._dictionary.encode(Literal(True))
        self.false = self._dictionary.encode(Literal(False))
        self.empty = self._dictionary.encode(Literal(""))
        self._numbers: dict[Hashable, _NumberTable] = {}
        self._single: dict[Hashable, Ids] = {}
        self._constants: dict[Term, int] = {}
        self._tests: dict[Hashable, npt.NDArray[np.int8]] = {}
        self._combined: dict[Hashable, dict[tuple[int, ...], int]] = {}

    def current(self) -> FunctionCache:
        """This cache, emptied if the dictionary's ids have changed their meaning."""
        if self._generation != self._dictionary.generation:
            self._forget()
        return self

    def constant(self, term: Term) -> int:
        """The id of a term of the query."""
        known = self._constants.get(term)
        if known is None:
            known = self._constants[term] = self._dictionary.encode(term)
        return known

    def decode_many(self, ids: Ids) -> list[Term]:
        """The terms of ids that are bound."""
        return self._dictionary.decode_many(ids)

    def encode_texts(self, texts: Sequence[str]) -> Ids:
        """The ids of terms given as canonical N-Triples."""
        return np.array(self._dictionary.encode_texts(texts), dtype=np.int32)

    def decimals(self, ids: Ids) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Mantissas and scales of decimals; the scale is negative where 64 bits are too few."""
        parts = [decimal_parts(self._dictionary.decode(known).value) for known in ids.tolist()]
        found = np.array(parts, np.int64).reshape(-1, 2)
        return found[:, 0], found[:, 1]

    def numbers(self, key: Hashable, ids: Ids, settle: Settle) -> NumberColumns:
        """Numbers as columns, settled once per term; ``key`` names what is computed of the terms, None their own values."""
        table = self._numbers.get(key)
        if table is None:
            table = self._numbers[key] = _NumberTable()
        return table.numbers(ids, len(self._dictionary) + 1, settle)

    def apply(self, key: Hashable, function: RowFunction, columns: Sequence[Ids], size: int) -> Ids:
        """The function on every row of the columns; unbound in, unbound out.

        ``key`` names the function (with its constant arguments) and decides what is remembered under it.
        """
        if len(columns) == 1:
            return self._apply_single(key, function, columns[0])
        if not columns:
            (answer,) = function([()])
            known = 0 if answer is None else self._dictionary.encode(answer)
            return np.full(size, known, dtype=np.int32)
        return self._apply_combined(key, function, columns, size)

    def truth(
        self, key: Hashable, decide: Callable[[Ids], npt.NDArray[np.int8]], column: Ids
    ) -> npt.NDArray[np.int8]:
        """A test of one term on every row, decided once per term; unbound is an error."""
        known = self._tests.get(key)
        needed = len(self._dictionary) + 1
        if known is None or len(known) < needed:
            bigger = np.full(_room(needed, known), _UNKNOWN, dtype=np.int8)
            if known is not None:
                bigger[: len(known)] = known
            known = self._tests[key] = bigger
        answers: npt.NDArray[np.int8] = known[column]
        missing = answers == _UNKNOWN
        if missing.any():
            fresh = column[missing]
            known[fresh] = answers[missing] = decide(fresh)
        return answers

    def _apply_single(self, key: Hashable, function: RowFunction, column: Ids) -> Ids:
        known = self._single.get(key)
        needed = len(self._dictionary) + 1
        if known is None or len(known) < needed:
            bigger = np.full(_room(needed, known), _UNKNOWN, dtype=np.int32)
            if known is None:
                bigger[0] = 0
            else:
                bigger[: len(known)] = known
            known = self._single[key] = bigger
        answers: Ids = known[column]
        missing = answers == _UNKNOWN
        if missing.any():
            fresh = each_once(column[missing])
            known[fresh] = self._encoded(function([(term,) for term in self._dictionary.decode_many(fresh)]))
            answers = known[column]
        return answers

    def _apply_combined(self, key: Hashable, function: RowFunction, columns: Sequence[Ids], size: int) -> Ids:
        keys = codes([np.ascontiguousarray(column) for column in columns], size)
        _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        known = self._combined.setdefault(key, {})
        if len(known) > settings().cached_combinations:
            known.clear()
        rows = list(zip(*(column[first].tolist() for column in columns), strict=True))
        fresh = [row for row in rows if 0 not in row and row not in known]
        if fresh:
            decode = self._dictionary.decode
            arguments = [tuple(decode(term) for term in row) for row in fresh]
            known.update(zip(fresh, self._encoded(function(arguments)), strict=True))
        answers = np.array([0 if 0 in row else known[row] for row in rows], dtype=np.int32)
        return answers[inverse.reshape(-1)]

    def _encoded(self, terms: Iterable[Term | None]) -> list[int]:
        encode = self._dictionary.encode
        return [0 if term is None else encode(term) for term in terms]


class _NumberTable:
    """For every term a number: its own value, or what an expression makes of it."""

    __slots__ = ("_doubles", "_kinds", "_mantissas", "_rounded", "_scales")

    def __init__(self) -> None:
        self._kinds: npt.NDArray[np.uint8] = np.zeros(0, np.uint8)
        self._mantissas: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self._scales: npt.NDArray[np.int8] = np.zeros(0, np.int8)
        self._doubles: npt.NDArray[np.float64] = np.zeros(0, np.float64)
        self._rounded = False
        """Whether a term was a double; else doubles mean nothing."""

    def numbers(self, ids: Ids, needed: int, settle: Settle) -> NumberColumns:
        if len(self._kinds) < needed:
            room = (0, _room(needed, self._kinds) - len(self._kinds))
            self._kinds = np.pad(self._kinds, room, constant_values=_PENDING)
            self._mantissas, self._scales = np.pad(self._mantissas, room), np.pad(self._scales, room)
            self._doubles = np.pad(self._doubles, room)
        kinds = self._kinds[ids]
        pending = kinds == _PENDING
        if pending.any():
            fresh = each_once(ids[pending])
            kind, self._mantissas[fresh], self._scales[fresh], self._doubles[fresh] = settle(fresh)
            self._kinds[fresh] = kind
            self._rounded |= bool((kind == _DOUBLE).any())
            kinds = self._kinds[ids]
        doubles = self._doubles[ids] if self._rounded else np.broadcast_to(self._doubles[0], len(ids))
        return kinds, self._mantissas[ids], self._scales[ids].astype(np.int64), doubles


def cache_of(dictionary: TermDictionary) -> FunctionCache:
    """The cache that belongs to a dictionary; it has the same lifetime."""
    found = dictionary.caches.get("columnar")
    if not isinstance(found, FunctionCache):
        found = dictionary.caches["columnar"] = FunctionCache(dictionary)
    return found.current()


def _room(needed: int, known: npt.NDArray[np.integer] | None) -> int:
    """The size of an array with an entry per term that grows in steps, not with every term."""
    return max(needed, settings().initial_values, 0 if known is None else 2 * len(known))
