"""Columns of numbers: arithmetic and comparison without making a term for every intermediate result.

Integers and decimals are kept exactly, as ``mantissa / 10**scale`` in 64 bits; doubles as they are. Rows
that do not fit (floats, more digits, overflow, division of decimals, no number at all) have no kind here:
they are left to `arithmetic` and `compare`, which decide them term by term.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from spaseq.algebra.functions import XSD
from spaseq.columnar.kernels.cache import FunctionCache, NumberColumns
from spaseq.columnar.kernels.spelling import double_text
from spaseq.columnar.table import Ids, Mask, codes
from spaseq.model.values import Kind

# numpy compares with its own numbers much faster than with members of an IntEnum.
_DECIMAL: Final = np.uint8(Kind.DECIMAL)
_DOUBLE: Final = np.uint8(Kind.DOUBLE)
_INTEGER: Final = np.uint8(Kind.INTEGER)

Longs = npt.NDArray[np.int64]
Doubles = npt.NDArray[np.float64]

_TENS: Final[Longs] = np.array([10**power for power in range(19)], dtype=np.int64)
_ROOM: Final = float(2**62)
_EXACT: Final = float(2**53)
_DIGITS: Final = 18
_STEP: Final = 10**6
_SUMMAND: Final = 2**38
"""Below this, 2**24 numbers can be added without a look at the sum."""


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """Numbers as columns; ``kind`` is INTEGER, DECIMAL, DOUBLE or 0 where the row is left to others."""

    kind: npt.NDArray[np.uint8]
    mantissa: Longs
    scale: Longs
    double: Doubles

    @property
    def columns(self) -> NumberColumns:
        """The columns in the order of the fields."""
        return self.kind, self.mantissa, self.scale, self.double

    @property
    def known(self) -> Mask:
        """The rows that are decided here."""
        return np.not_equal(self.kind, 0)


def numbers_of(ids: Ids, cache: FunctionCache) -> Numbers:
    """The numbers of terms."""
    return Numbers(*cache.numbers(None, ids, lambda fresh: _settled(fresh, cache)))


def constant_number(term: int, count: int, cache: FunctionCache) -> Numbers:
    """The number of one term, so many times."""
    one = numbers_of(np.array([term], np.int32), cache)
    return Numbers(
        np.broadcast_to(one.kind, count),
        np.broadcast_to(one.mantissa, count),
        np.broadcast_to(one.scale, count),
        np.broadcast_to(one.double, count),
    )


def _settled(ids: Ids, cache: FunctionCache) -> NumberColumns:
    """The numbers of terms; mantissas and scales are zero where they mean nothing."""
    values = cache.values.extend(ids)
    kind = values.kind[ids]
    mantissa, scale = np.zeros(len(ids), dtype=np.int64), np.zeros(len(ids), dtype=np.int64)
    whole = kind == _INTEGER
    if whole.any():
        mantissa = np.where(whole, values.integer[ids], 0)
    fractions = kind == _DECIMAL
    if fractions.any():
        digits, places = cache.decimals(ids[fractions])
        mantissa[fractions], scale[fractions] = digits, places
    held = fractions | (whole & values.integral[ids])
    kept = held & (mantissa > -_ROOM) & (mantissa < _ROOM) & (scale >= 0)
    doubles = (kind == _DOUBLE) & np.isfinite(values.number[ids])
    kind = np.where(kept | doubles, kind, np.uint8(0))
    exact = (kind != 0) & (kind <= _DECIMAL)
    return kind, np.where(exact, mantissa, 0), np.where(exact, scale, 0), values.number[ids]


def _column(kind: npt.NDArray[np.uint8], mantissa: Longs, scale: Longs, double: Doubles) -> Numbers:
    """A column whose mantissas and scales are zero where they mean nothing."""
    exact = (kind != 0) & (kind <= _DECIMAL)
    if not exact.all():
        mantissa, scale = np.where(exact, mantissa, 0), np.where(exact, scale, 0)
    return Numbers(kind, mantissa, scale, double)


def combine(op: str, left: Numbers, right: Numbers) -> Numbers:
    """``left op right``; op is one of ``+ - * /``."""
    exact = (left.kind != 0) & (left.kind <= _DECIMAL) & (right.kind != 0) & (right.kind <= _DECIMAL)
    kind = np.where(exact, np.maximum(left.kind, right.kind), np.uint8(0))
    mantissa, scale, fits = _exactly(op, left, right)
    kind[~fits] = 0
    double = np.zeros(len(kind))
    # pyoxigraph does not round a decimal to the nearest double, so decimals among doubles are not for us.
    plain = (left.kind != _DECIMAL) & (right.kind != _DECIMAL)
    rounded = plain & left.known & right.known & ((left.kind == _DOUBLE) | (right.kind == _DOUBLE))
    if rounded.any():
        with np.errstate(all="ignore"):
            double = _OPERATIONS[op](as_double(left), as_double(right))
        kind[rounded & np.isfinite(double)] = _DOUBLE
    return _column(kind, mantissa, scale, double)


_OPERATIONS: Final[dict[str, np.ufunc]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.divide,
}


def _exactly(op: str, left: Numbers, right: Numbers) -> tuple[Longs, Longs, Mask]:
    """Mantissa and scale of the result, and where they are right."""
    a, b = left.mantissa, right.mantissa
    if op == "*":
        scale = left.scale + right.scale
        fits = (np.abs(a.astype(np.float64) * b) < _ROOM) & (scale <= _DIGITS)
        with np.errstate(over="ignore"):
            return a * b, scale, fits
    if op == "/":
        return a, left.scale, np.zeros(len(a), dtype=np.bool_)
    scale = np.maximum(left.scale, right.scale)
    a, a_fits = _scaled(a, scale - left.scale)
    b, b_fits = _scaled(b, scale - right.scale)
    return (a + b if op == "+" else a - b), scale, a_fits & b_fits


def _scaled(mantissa: Longs, places: Longs) -> tuple[Longs, Mask]:
    """Mantissas with so many more decimal places, and where they fit with a bit to spare."""
    if not places.any():
        return mantissa, (mantissa > -_ROOM) & (mantissa < _ROOM)
    factor = _TENS[places]
    fits: Mask = np.abs(mantissa.astype(np.float64) * factor) < _ROOM
    with np.errstate(over="ignore"):
        return mantissa * factor, fits


def as_double(numbers: Numbers) -> Doubles:
    """The nearest doubles; NaN where the mantissa has too many digits to divide correctly."""
    exact = numbers.mantissa.astype(np.float64)
    divided = exact / 10.0**numbers.scale
    divided[np.abs(exact) >= _EXACT] = np.nan
    return np.where(numbers.kind == _DOUBLE, numbers.double, divided)


def negative(numbers: Numbers) -> Numbers:
    """The numbers with the other sign."""
    return Numbers(numbers.kind, -numbers.mantissa, numbers.scale, -numbers.double)


def difference(left: Numbers, right: Numbers) -> tuple[npt.NDArray[np.int8], Mask]:
    """The sign of ``left - right``, and where it is certain."""
    exact = (left.kind <= _DECIMAL) & (right.kind <= _DECIMAL)
    scale = np.maximum(left.scale, right.scale)
    a, a_fits = _scaled(left.mantissa, scale - left.scale)
    b, b_fits = _scaled(right.mantissa, scale - right.scale)
    sign = np.sign(a - b).astype(np.int8)
    sure = exact & a_fits & b_fits
    if not exact.all():
        one, other = as_double(left), as_double(right)
        same = (left.kind == _DOUBLE) & (right.kind == _DOUBLE)
        with np.errstate(invalid="ignore"):
            apart = np.abs(one - other) > 1e-12 * np.maximum(np.abs(one), np.abs(other))
            rough = np.sign(one - other)
        mixed = ~exact & (same | apart)
        sign[mixed] = rough[mixed].astype(np.int8)
        sure |= mixed
    return sign, sure & left.known & right.known


def total(numbers: Numbers, owners: npt.NDArray[np.intp], count: int) -> Numbers | None:
    """The exact sum of each group's integers and decimals; None if there are others, or too large ones."""
    if not bool(((numbers.kind != 0) & (numbers.kind <= _DECIMAL)).all()):
        return None
    places = int(numbers.scale.max(initial=0))
    mantissa, fits = _scaled(numbers.mantissa, places - numbers.scale)
    if not fits.all() or float(np.abs(mantissa.astype(np.float64)).sum()) >= _ROOM:
        return None
    sums, kind = np.zeros(count, dtype=np.int64), np.full(count, _INTEGER, dtype=np.uint8)
    np.add.at(sums, owners, mantissa)
    np.maximum.at(kind, owners, numbers.kind)
    scale = np.full(count, places, dtype=np.int64)
    whole = kind == _INTEGER
    sums[whole] //= _TENS[places]
    scale[whole] = 0
    return Numbers(kind, sums, scale, np.zeros(count))


def summable(numbers: Numbers, scale: int) -> tuple[Longs, Mask]:
    """Integers and decimals without the decimal point, with so many places, and which are so small that millions can be added."""
    exact = (numbers.kind != 0) & (numbers.kind <= _DECIMAL) & (numbers.scale <= scale)
    mantissa, fits = _scaled(numbers.mantissa, np.where(exact, scale - numbers.scale, 0))
    return mantissa, exact & fits & (np.abs(mantissa) < _SUMMAND)


def sort_keys(numbers: Numbers) -> Longs | Doubles | None:
    """Keys in the order of the numbers, equal for equal ones; None if they are of too many sorts, or too large."""
    if bool((numbers.kind == _DOUBLE).all()):
        return numbers.double
    if not bool(((numbers.kind != 0) & (numbers.kind <= _DECIMAL)).all()):
        return None
    keys, fits = _scaled(numbers.mantissa, int(numbers.scale.max(initial=0)) - numbers.scale)
    return keys if bool(fits.all()) else None


def encode_numbers(numbers: Numbers, rows: Mask, cache: FunctionCache) -> Ids:
    """The terms of the given rows, spelled as pyoxigraph spells them."""
    ids = np.zeros(len(rows), dtype=np.int32)
    doubles = rows & (numbers.kind == _DOUBLE)
    if doubles.any():
        ids[doubles] = _encode_doubles(numbers.double[doubles], cache)
    exact = rows & ~doubles
    if exact.any():
        ids[exact] = _encode_exact(numbers.kind[exact], numbers.mantissa[exact], numbers.scale[exact], cache)
    return ids


def encode_integers(numbers: npt.NDArray[np.integer], cache: FunctionCache) -> Ids:
    """Whole numbers as ids of xsd:integer."""
    distinct, inverse = np.unique(numbers, return_inverse=True)
    ids = cache.encode_texts([f'"{number}"^^<{XSD}integer>' for number in distinct.tolist()])
    spread: Ids = ids[inverse.reshape(-1)]
    return spread


def encode_averages(sums: Numbers, many: Longs, cache: FunctionCache) -> Ids:
    """Exact sums divided by how many numbers each is made of: decimals, cut after 18 places as pyoxigraph does."""
    shape = (many.astype(np.int64) << 5) | sums.scale
    order = np.lexsort((shape, sums.mantissa))
    fresh = np.ones(len(order), np.bool_)
    fresh[1:] = (np.diff(sums.mantissa[order]) != 0) | (np.diff(shape[order]) != 0)
    rows = order[fresh]
    ids = np.empty(len(order), np.int32)
    texts = _quotient_texts(sums.mantissa[rows], many[rows], sums.scale[rows])
    ids[order] = cache.encode_texts(texts)[np.cumsum(fresh) - 1]
    return ids


def _quotient_texts(dividend: Longs, divisor: Longs, scale: Longs) -> list[str]:
    """Decimals of `dividend / divisor / 10**scale`, cut after 18 places."""
    if float((divisor.astype(np.float64) * _TENS[scale]).max(initial=0)) * _STEP >= _ROOM:
        # A remainder with six more digits would not fit.
        texts = []
        for whole, by, places in zip(dividend.tolist(), divisor.tolist(), scale.tolist(), strict=True):
            quotient = abs(whole) * 10**_DIGITS // (by * 10**places)
            texts.append(_exact_text(int(Kind.DECIMAL), -quotient if whole < 0 else quotient, _DIGITS))
        return texts
    divisor = divisor * _TENS[scale]
    whole, rest = np.divmod(np.abs(dividend), divisor)
    fraction = np.zeros(len(whole), np.int64)
    for _ in range(_DIGITS // 6):
        digits, rest = np.divmod(rest * _STEP, divisor)
        fraction = fraction * _STEP + digits
    sign = np.where((dividend < 0) & ((whole > 0) | (fraction > 0)), "-", "").tolist()
    end = f'"^^<{XSD}decimal>'
    return [
        f'"{minus}{one}.{other:018d}'.rstrip("0").rstrip(".") + end
        for minus, one, other in zip(sign, whole.tolist(), fraction.tolist(), strict=True)
    ]


def _encode_exact(kind: npt.NDArray[np.uint8], mantissa: Longs, scale: Longs, cache: FunctionCache) -> Ids:
    place = np.unique(mantissa, return_inverse=True)[1]
    shape = (kind.astype(np.int32) << 8) | scale.astype(np.int32)
    keys = codes([place.reshape(-1).astype(np.int32), shape], len(kind))
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    texts = [_exact_text(int(kind[row]), int(mantissa[row]), int(scale[row])) for row in first.tolist()]
    ids: Ids = cache.encode_texts(texts)
    return ids[inverse.reshape(-1)]


def _exact_text(kind: int, mantissa: int, scale: int) -> str:
    if kind == _INTEGER:
        return f'"{mantissa}"^^<{XSD}integer>'
    digits = str(abs(mantissa)).rjust(scale + 1, "0")
    whole, fraction = digits[: len(digits) - scale], digits[len(digits) - scale :].rstrip("0")
    sign = "-" if mantissa < 0 else ""
    return f'"{sign}{whole}{"." + fraction if fraction else ""}"^^<{XSD}decimal>'


def _encode_doubles(numbers: Doubles, cache: FunctionCache) -> Ids:
    bits, inverse = np.unique(np.ascontiguousarray(numbers).view(np.int64), return_inverse=True)
    spelled = [f'"{double_text(number)}"^^<{XSD}double>' for number in bits.view(np.float64).tolist()]
    ids: Ids = cache.encode_texts(spelled)
    return ids[inverse.reshape(-1)]
