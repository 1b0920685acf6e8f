"""Comparison of columns by value (SPARQL 1.1, section 17.3; semantics 0: filters compare values).

Numbers, date-times and durations compare as arrays. The nearest floats of two numbers decide unless they
tie and one of them is not the number itself; such rows, and every pair of other sorts, are decided once
per distinct pair.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from spaseq.columnar.kernels.cache import FunctionCache, RowFunction
from spaseq.columnar.kernels.exact import ask_numbers
from spaseq.columnar.table import Ids, Mask
from spaseq.model.values import Kind, ValueColumns

# numpy compares with its own numbers much faster than with members of an IntEnum.
_BLANK: Final = np.uint8(Kind.BLANK)
_BOOLEAN: Final = np.uint8(Kind.BOOLEAN)
_DATE: Final = np.uint8(Kind.DATE)
_DATETIME: Final = np.uint8(Kind.DATETIME)
_DAY_TIME_DURATION: Final = np.uint8(Kind.DAY_TIME_DURATION)
_DOUBLE: Final = np.uint8(Kind.DOUBLE)
_INTEGER: Final = np.uint8(Kind.INTEGER)
_STRING: Final = np.uint8(Kind.STRING)

Truth = npt.NDArray[np.int8]
"""Effective boolean values: 0 false, 1 true, 2 error."""
FALSE: Final = np.int8(0)
TRUE: Final = np.int8(1)
ERROR: Final = np.int8(2)

Numbers = npt.NDArray[np.float64] | npt.NDArray[np.int64]
Kinds = npt.NDArray[np.uint8]

_NEAR: Final = 1e-6
"""Numbers of different types this close, relatively, are compared as pyoxigraph promotes them."""


def truth_of(ids: Ids, cache: FunctionCache) -> Truth:
    """Effective boolean values of terms (section 17.2.2)."""
    values = cache.values.extend()
    kinds = values.kind[ids]
    truth = np.full(len(ids), ERROR, dtype=np.int8)
    numbers = (kinds >= _BOOLEAN) & (kinds <= _DOUBLE)
    if numbers.any():
        number, exact = values.number[ids[numbers]], values.exact[ids[numbers]]
        truth[numbers] = (
            (number != 0) & ~np.isnan(number)
        ) | ~exact  # a tiny decimal's nearest float may be 0
    strings = kinds == _STRING
    if strings.any():
        truth[strings] = ids[strings] != cache.empty
    return truth


def compare(op: str, left: Ids, right: Ids, cache: FunctionCache) -> Truth:
    """The truth of ``left op right``; op is one of ``= != < > <= >=``."""
    if op in ("!=", ">", ">="):
        opposite = {"!=": "=", ">": "<", ">=": "<="}[op]
        if op != "!=":
            return compare(opposite, right, left, cache)
        return negated(compare("=", left, right, cache))
    values = cache.values.extend()
    truth = np.full(len(left), ERROR, dtype=np.int8)
    open_rows = (left != 0) & (right != 0)
    left_kinds, right_kinds = values.kind[left], values.kind[right]
    numeric = _between(left_kinds, _INTEGER, _DOUBLE) & _between(right_kinds, _INTEGER, _DOUBLE)
    if numeric.any():
        open_rows &= ~_compare_numbers(op, left, right, numeric, values, truth)
    if open_rows.any():
        moments = open_rows & (left_kinds == right_kinds) & _has_instant(left_kinds)
        if moments.any():
            open_rows &= ~_compare_instants(op, left, right, moments, values, truth)
    if op == "=" and open_rows.any():
        open_rows &= ~_compare_terms(left, right, open_rows, left_kinds, right_kinds, truth)
    elif open_rows.any():
        open_rows &= ~_compare_strings(op, left, right, open_rows, left_kinds, right_kinds, cache, truth)
    if open_rows.any():
        rows = np.flatnonzero(open_rows)
        answers = cache.apply(op, _decided(op), [left[rows], right[rows]], len(rows))
        truth[rows] = truth_of(answers, cache)
    return truth


def by_sign(op: str, sign: npt.NDArray[np.int8]) -> Truth:
    """The truth of a comparison of two numbers, given the sign of their difference."""
    match op:
        case "=":
            holds = sign == 0
        case "!=":
            holds = sign != 0
        case "<":
            holds = sign < 0
        case ">":
            holds = sign > 0
        case "<=":
            holds = sign <= 0
        case _:
            holds = sign >= 0
    return np.asarray(holds, dtype=np.int8)


def negated(truth: Truth) -> Truth:
    """Not; an error stays one."""
    return np.array([1, 0, 2], dtype=np.int8)[truth]


def _decided(op: str) -> RowFunction:
    return lambda rows: ask_numbers(op, f"(?a0 {op} ?a1)", rows)


def _between(kinds: Kinds, low: np.uint8, high: np.uint8) -> Mask:
    return np.logical_and(kinds >= low, kinds <= high)


def _has_instant(kinds: Kinds) -> Mask:
    return np.isin(kinds, (_DATETIME, _DATE, _DAY_TIME_DURATION))


def _ordered(op: str, left: Numbers, right: Numbers) -> Mask:
    if op == "=":
        return np.equal(left, right)
    return np.less(left, right) if op == "<" else np.less_equal(left, right)


def _compare_numbers(op: str, left: Ids, right: Ids, rows: Mask, values: ValueColumns, truth: Truth) -> Mask:
    """Write the truth of the rows that the columns can decide; the result says which."""
    whole = bool(rows.all())
    a_ids, b_ids = (left, right) if whole else (left[rows], right[rows])
    a, b = values.number[a_ids], values.number[b_ids]
    sure = _sure(a, b, a_ids, b_ids, values)
    answer = _ordered(op, a, b)
    ties = sure & (a == b)
    if ties.any():  # integers beyond 2^53 tie as floats
        both = (
            ties
            & values.integral[a_ids]
            & values.integral[b_ids]
            & (values.kind[a_ids] == values.kind[b_ids])
        )
        answer[both] = _ordered(op, values.integer[a_ids[both]], values.integer[b_ids[both]])
    if whole:
        truth[sure] = answer[sure]
        return sure
    positions = np.flatnonzero(rows)[sure]
    truth[positions] = answer[sure]
    decided = np.zeros(len(rows), dtype=np.bool_)
    decided[positions] = True
    return decided


def _sure(
    a: npt.NDArray[np.float64], b: npt.NDArray[np.float64], a_ids: Ids, b_ids: Ids, values: ValueColumns
) -> Mask:
    """Where the nearest floats, or equal integers, decide as exact arithmetic would."""
    kinds_differ = values.kind[a_ids] != values.kind[b_ids]
    exact = values.exact[a_ids] & values.exact[b_ids]
    integers = values.integral[a_ids] & values.integral[b_ids]
    sure: Mask = (a != b) | exact | integers
    if kinds_differ.any():
        with np.errstate(invalid="ignore"):
            near = kinds_differ & ~(np.abs(a - b) > _NEAR * np.maximum(np.abs(a), np.abs(b)))
        small = exact & (np.abs(a) < 2**24) & integers
        sure &= ~near | small
    unordered = np.isnan(a) | np.isnan(b)
    if unordered.any():
        sure &= ~unordered
    return sure


def _compare_instants(op: str, left: Ids, right: Ids, rows: Mask, values: ValueColumns, truth: Truth) -> Mask:
    decided: Mask = (
        rows & values.exact[left] & values.exact[right] & (values.zoned[left] == values.zoned[right])
    )
    truth[decided] = _ordered(op, values.instant[left[decided]], values.instant[right[decided]])
    return decided


def _compare_terms(
    left: Ids, right: Ids, rows: Mask, left_kinds: Kinds, right_kinds: Kinds, truth: Truth
) -> Mask:
    """Equality of what has no number: one term is itself, IRIs and blank nodes are nothing else."""
    same = left == right
    nodes = (left_kinds <= _BLANK) | (right_kinds <= _BLANK)
    strings = (left_kinds == _STRING) & (right_kinds == _STRING)
    numbers = _between(left_kinds, _INTEGER, _DOUBLE)
    decided: Mask = rows & ((same & ~numbers) | nodes | strings)
    truth[decided] = same[decided]
    return decided


def _compare_strings(
    op: str,
    left: Ids,
    right: Ids,
    rows: Mask,
    left_kinds: Kinds,
    right_kinds: Kinds,
    cache: FunctionCache,
    truth: Truth,
) -> Mask:
    """Order of plain strings, by character; blank nodes and IRIs have none but with themselves."""
    nodes = rows & ((left_kinds <= _BLANK) | (right_kinds <= _BLANK))
    same = nodes & (left == right)
    truth[same] = TRUE if op == "<=" else FALSE
    decided = nodes
    strings: Mask = rows & (left_kinds == _STRING) & (right_kinds == _STRING)
    if strings.any():
        a, b = left[strings], right[strings]
        distinct, inverse = np.unique(np.concatenate([a, b]), return_inverse=True)
        texts = [term.value for term in cache.decode_many(distinct)]
        ranks = np.empty(len(texts), dtype=np.int64)
        ranks[sorted(range(len(texts)), key=texts.__getitem__)] = np.arange(len(texts))
        ranked = ranks[inverse.reshape(-1)]
        truth[strings] = _ordered(op, ranked[: len(a)], ranked[len(a) :])
        decided = decided | strings
    return decided
