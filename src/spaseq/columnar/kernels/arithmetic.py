"""Arithmetic on columns (SPARQL 1.1, section 17.3), by the numeric tower as pyoxigraph climbs it.

Integers of 64 bits and doubles are computed as arrays; an integer that overflows is an error. Decimals,
which have 18 exact fractional digits, floats, dates and durations are computed once per distinct pair.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from spaseq.algebra.functions import XSD
from spaseq.columnar.kernels.cache import FunctionCache, RowFunction
from spaseq.columnar.kernels.oracle import ask
from spaseq.columnar.table import Ids, Mask
from spaseq.model.values import Kind

_Numbers = TypeVar("_Numbers", npt.NDArray[np.int64], npt.NDArray[np.float64])
_SAFE: Final = 2**31
"""Factors below this cannot overflow 64 bits; larger ones take the exact way."""


def arithmetic(op: str, left: Ids, right: Ids, cache: FunctionCache) -> Ids:
    """``left op right`` for every row; op is one of ``+ - * /``."""
    values = cache.values.extend()
    left_kinds, right_kinds = values.kind[left], values.kind[right]
    result = np.zeros(len(left), dtype=np.int32)
    rest: Mask = (left != 0) & (right != 0)
    if op != "/":
        whole = rest & (left_kinds == Kind.INTEGER) & (right_kinds == Kind.INTEGER)
        if whole.any():
            a, b = values.integer[left[whole]], values.integer[right[whole]]
            safe = _small(a, b, _SAFE if op == "*" else 2**62)
            rows = np.flatnonzero(whole)[safe]
            result[rows] = encode_integers(_computed(op, a[safe], b[safe]), cache)
            rest[rows] = False
    doubles = rest & _has_double(left_kinds, right_kinds)
    if doubles.any():
        a_number, b_number = values.number[left[doubles]], values.number[right[doubles]]
        with np.errstate(all="ignore"):
            result[doubles] = _encode_doubles(_computed(op, a_number, b_number), cache)
        rest &= ~doubles
    if rest.any():
        rows = np.flatnonzero(rest)
        result[rows] = cache.apply(("op", op), _exactly(op), [left[rows], right[rows]], len(rows))
    return result


def signed(op: str, operand: Ids, cache: FunctionCache) -> Ids:
    """Unary ``+`` and ``-``."""
    return cache.apply(("sign", op), lambda rows: ask(f"({op} ?a0)", rows), [operand], len(operand))


def _exactly(op: str) -> RowFunction:
    return lambda rows: ask(f"(?a0 {op} ?a1)", rows)


def _has_double(left: npt.NDArray[np.uint8], right: npt.NDArray[np.uint8]) -> Mask:
    """A double with a double, a float or an integer: then the operation is that of doubles."""
    plain = (Kind.INTEGER, Kind.FLOAT, Kind.DOUBLE)
    both = np.isin(left, plain) & np.isin(right, plain)
    doubles: Mask = np.logical_and(both, (left == Kind.DOUBLE) | (right == Kind.DOUBLE))
    return doubles


def _small(a: npt.NDArray[np.int64], b: npt.NDArray[np.int64], limit: int) -> Mask:
    small: Mask = (a > -limit) & (a < limit) & (b > -limit) & (b < limit)
    return small


_OPERATIONS: Final[dict[str, np.ufunc]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
}


def _computed(op: str, a: _Numbers, b: _Numbers) -> _Numbers:
    result: _Numbers = _OPERATIONS[op](a, b)
    return result


def encode_integers(numbers: npt.NDArray[np.integer], cache: FunctionCache) -> Ids:
    """Whole numbers as ids of xsd:integer."""
    distinct, inverse = np.unique(numbers, return_inverse=True)
    ids: Ids = cache.encode_texts([f'"{number}"^^<{XSD}integer>' for number in distinct.tolist()])
    return ids[inverse.reshape(-1)]


def _encode_doubles(numbers: npt.NDArray[np.float64], cache: FunctionCache) -> Ids:
    bits, inverse = np.unique(numbers.view(np.int64), return_inverse=True)  # zero has two signs
    spelled = [f'"{double_text(number)}"^^<{XSD}double>' for number in bits.view(np.float64).tolist()]
    ids: Ids = cache.encode_texts(spelled)
    return ids[inverse.reshape(-1)]


def double_text(number: float) -> str:
    """The spelling pyoxigraph gives a double: the shortest digits that mean it, without exponent.

    >>> double_text(1e21), double_text(0.1), double_text(-0.0), double_text(float("inf"))
    ('1000000000000000000000', '0.1', '-0', 'INF')
    """
    if number != number:
        return "NaN"
    if number in (float("inf"), float("-inf")):
        return "INF" if number > 0 else "-INF"
    spelled = format(Decimal(repr(number)), "f")
    return spelled.rstrip("0").rstrip(".") if "." in spelled else spelled
