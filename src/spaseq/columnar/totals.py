"""Running totals of groups: counts, sums and averages of what comes and goes, exactly.

Integers and decimals are added as whole numbers without the decimal point. Doubles are added exactly too, in digits of 32 bits, and
rounded once: so a sum does not depend on the order in which its numbers came, nor on those that have left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from spaseq.columnar.growing import with_room
from spaseq.columnar.row_numbers import Ids, Longs, Mask, Rows
from spaseq.columnar.rows import RowEvaluator, Summands
from spaseq.settings import settings

_FIXED: Final = 6
"""Columns of an operand besides the digits of its doubles: values, errors, decimals, doubles, others, and the exact sum."""
_LEAST: Final = -1152
"""The power of two that the first possible digit stands for; no double has a smaller one."""
_BITS: Final = 32


@dataclass(slots=True)
class _Operand:
    """A column that is added up."""

    place: int
    scale: int = 0
    """How many decimal places the exact sum has."""
    first: int = 0
    digits: int = 0
    """Which digits of doubles are kept: none before the first double came."""

    @property
    def width(self) -> int:
        return _FIXED + self.digits

    def takes(self, found: Summands) -> bool:
        """Whether the columns can hold these numbers."""
        if found.places > self.scale:
            return False
        first, last = self._digits_for(found)
        return first >= last or (first >= self.first and last <= self.first + self.digits)

    def make_room(self, found: Summands) -> None:
        """Widen the columns for these numbers."""
        self.scale = max(self.scale, found.places)
        first, last = self._digits_for(found)
        if first < last:
            if self.digits:
                first, last = min(first, self.first), max(last, self.first + self.digits)
            self.first, self.digits = first, last - first

    def _digits_for(self, found: Summands) -> tuple[int, int]:
        """From which digit to which the numbers reach, if any are kept."""
        if not self.digits and not found.double.any():
            return 0, 0
        number = found.number
        numbers = number[found.numeric & (number != 0)]
        if not len(numbers):
            return (0, 1) if not self.digits else (self.first, self.first)
        place, _ = _split(numbers)
        return int(place.min()), int(place.max()) + 3

    def columns(self, found: Summands) -> Longs:
        """What every row contributes, column by column."""
        mantissa, fits = found.scaled(self.scale)
        table = np.zeros((self.width, len(fits)), np.int64)
        table[0] = found.bound
        table[1] = ~found.bound | found.spoils
        table[2] = fits & found.decimal
        table[3] = found.double
        table[4] = found.bound & ~fits & ~found.double & ~found.spoils
        table[5] = np.where(fits, mantissa, 0)
        if self.digits:
            number = found.number
            rows = np.flatnonzero((fits | found.double) & (number != 0))
            place, parts = _split(number[rows])
            for nth, part in enumerate(parts):
                # A digit that lies outside is 0.
                at = np.clip(place + nth - self.first, 0, self.digits - 1)
                table[_FIXED + at, rows] += part
        return table


def _split(numbers: np.ndarray) -> tuple[Longs, tuple[Longs, Longs, Longs]]:
    """Doubles as three digits of 32 bits each, and the place of the lowest."""
    fraction, exponent = np.frexp(np.abs(numbers))
    mantissa = (fraction * 2.0**53).astype(np.uint64)
    power = exponent.astype(np.int64) - 53 - _LEAST
    place, shift = power // _BITS, (power % _BITS).astype(np.uint64)
    mask, bits = np.uint64(2**_BITS - 1), np.uint64(_BITS)
    low, high = (mantissa & mask) << shift, (mantissa >> bits) << shift
    sign = np.where(numbers < 0, -1, 1)
    digits = (low & mask, (low >> bits) + (high & mask), high >> bits)
    first, second, third = (digit.astype(np.int64) * sign for digit in digits)
    return place, (first, second, third)


@dataclass(frozen=True, slots=True)
class Totals:
    """What the rows of some groups come to: how many there are, and the columns of every operand."""

    table: Longs

    @property
    def many(self) -> Longs:
        """How many rows there are."""
        return self.table[:, 0]

    def take(self, rows: Mask) -> Totals:
        """Those of some groups."""
        return Totals(self.table[rows])


class RunningTotals:
    """Adds up what comes and goes in every group.

    ``places`` are the columns of the rows that are added up, ``aggregates`` the results: a name and the number of an operand, none
    for the rows themselves.
    """

    def __init__(
        self, places: Sequence[int], aggregates: Sequence[tuple[str, int | None]], evaluator: RowEvaluator
    ) -> None:
        self._operands = [_Operand(place) for place in places]
        self._aggregates, self._evaluator = tuple(aggregates), evaluator
        self._table = np.zeros((0, self._width), np.int64)

    @property
    def _width(self) -> int:
        return 1 + sum(operand.width for operand in self._operands)

    def _summands(self, ids: Ids) -> list[Summands]:
        return [self._evaluator.summands(ids[:, operand.place]) for operand in self._operands]

    def make_room(self, ids: Ids) -> None:
        """Prepare for such rows, before `add_up`."""
        for operand, each in zip(self._operands, self._summands(ids), strict=True):
            operand.make_room(each)

    def add_up(self, groups: Rows, counts: Longs, ids: Ids, count: int) -> None:
        """Begin anew with all that is there."""
        found = self._summands(ids)
        for operand, each in zip(self._operands, found, strict=True):
            operand.make_room(each)
        self._table = np.zeros((count, self._width), np.int64)
        np.add.at(self._table, groups, self._parts(found, len(ids)).T * counts[:, None])

    def step(
        self, groups: Rows, weight: Longs, ids: Ids, last: Mask, count: int
    ) -> tuple[Mask, Totals] | None:
        """The totals after the last change of every group and evaluation, and where results follow from them.

        Changes are in order of group, then evaluation. None if a number needs columns that are not there yet.
        """
        found = self._summands(ids)
        if not all(operand.takes(each) for operand, each in zip(self._operands, found, strict=True)):
            if self._table[:, 0].any():
                return None
            for operand, each in zip(self._operands, found, strict=True):
                operand.make_room(each)
            self._table = np.zeros((len(self._table), self._width), np.int64)
        self._table = with_room(self._table, count)
        ends = np.flatnonzero(last)
        starts, owners = np.concatenate([[0], ends + 1])[:-1], groups[ends]
        begins = np.ones(len(owners), np.bool_)
        begins[1:] = owners[1:] != owners[:-1]
        group = np.cumsum(begins) - 1
        table = self._table[owners]
        for number, column in enumerate(self._parts(found, len(ids))):
            if column.any():  # most columns are for what rarely occurs
                added = np.add.reduceat(column * weight, starts)
                running = np.cumsum(added)
                table[:, number] += running - (running - added)[begins][group]
        self._table[owners] = table  # the last evaluation of a group stays
        totals = Totals(table)
        known = totals.many < settings().totalled_rows
        for name, summed in self._aggregates:
            if summed is not None and name != "COUNT":
                values, errors, _, _, others = self._columns(totals, summed)[:, :5].T
                known &= (errors > 0) | ((others == 0) & (values > 0))
        return known, totals

    def _parts(self, found: list[Summands], count: int) -> Longs:
        """What every row contributes, column by column."""
        columns = [operand.columns(each) for operand, each in zip(self._operands, found, strict=True)]
        return np.concatenate([np.ones((1, count), np.int64), *columns])

    def _columns(self, totals: Totals, operand: int) -> Longs:
        first = 1 + sum(each.width for each in self._operands[:operand])
        return totals.table[:, first : first + self._operands[operand].width]

    def result(self, totals: Totals, name: str, operand: int | None) -> Ids:
        """The values of an aggregate."""
        if operand is None:
            return self._evaluator.integers(totals.many)
        columns, this = self._columns(totals, operand), self._operands[operand]
        values, errors, decimals, doubles = columns[:, :4].T
        if name == "COUNT":
            return self._evaluator.integers(values)
        exact = doubles == 0
        many = np.maximum(values, 1) if name == "AVG" else None
        found = np.zeros(len(values), np.int32)
        found[exact] = self._evaluator.sums(
            columns[exact, 5], this.scale, decimals[exact] > 0, None if many is None else many[exact]
        )
        if not exact.all():
            rounded = _rounded(columns[~exact, _FIXED:], this.first)
            found[~exact] = self._evaluator.doubles(rounded if many is None else rounded / many[~exact])
        return np.where(errors > 0, np.int32(0), found)


def _rounded(digits: Longs, first: int) -> np.ndarray:
    """Sums as doubles: the nearest one to each."""
    unit = 1 << -_LEAST
    sums = [sum(digit << (_BITS * (first + nth)) for nth, digit in enumerate(row)) for row in digits.tolist()]
    return np.array([_quotient(number, unit) for number in sums])


def _quotient(number: int, unit: int) -> float:
    try:
        return number / unit
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")
