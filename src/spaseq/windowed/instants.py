"""Arithmetic on instants in order, many at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Longs = npt.NDArray[np.int64]


def multiple(values: Longs, step: int, origin: int, *, closed: bool) -> Longs:
    """The last multiple of a step up to each value, counted from an origin, or the first one that is not before it."""
    return origin + ((values - origin) // step if closed else -((origin - values) // step)) * step


def repeats(instants: Longs) -> Longs:
    """How many equal ones come before each, of instants in order."""
    if (instants[1:] != instants[:-1]).all():
        return np.zeros(len(instants), np.int64)
    return np.arange(len(instants)) - np.searchsorted(instants, instants)


def distinct(times: list[Longs]) -> Longs:
    """Every time once, in order; each of the arrays is in order."""
    found = times[0] if len(times) == 1 else np.sort(np.concatenate(times), kind="stable")
    fresh = np.ones(len(found), np.bool_)
    fresh[1:] = found[1:] != found[:-1]
    return found[fresh]


@dataclass(frozen=True, slots=True)
class Steps:
    """Instants at equal distances, of which there may be more than memory has room for."""

    first: int
    count: int
    step: int

    def __len__(self) -> int:
        return self.count

    def at(self, numbers: Longs) -> Longs:
        """Some of them, by their numbers."""
        return self.first + numbers * self.step

    def listed(self) -> Longs:
        """All of them."""
        return self.at(np.arange(self.count))

    def many_before(self, instants: Longs) -> Longs:
        """How many of them come before each instant."""
        return np.clip(-((self.first - instants) // self.step), 0, self.count)

    def cut(self, until: int) -> Steps:
        """Those up to an instant."""
        return Steps(self.first, min(max((until - self.first) // self.step + 1, 0), self.count), self.step)

    def portion(self, start: int, end: int, most: int) -> int:
        """An end, not after the given one, up to which there are at most so many of them from a start on."""
        number = -((self.first - max(start, self.first)) // self.step) + most
        return min(end, self.first + number * self.step) if number < self.count else end


def steps(after: int, until: int, step: int, origin: int | None) -> Steps:
    """The multiples of a step after one instant and up to another, counted from an origin, which is the first if given."""
    start = 0 if origin is None else origin
    first = start + ((after - start) // step + 1) * step
    if origin is not None:
        first = max(first, origin)
    return Steps(first, max((until - first) // step + 1, 0), step)


def turning(count: int, values: Callable[[Longs], Longs]) -> Longs:
    """Which of so many numbers have other values than the one before, the first one too, found by halving.

    ``values`` gives a row of values for each number; none of them ever falls from a number to a later one, so that all numbers between
    two of equal values have these as well.
    """
    found = [np.zeros(min(count, 1), np.int64)]
    low, high = np.zeros(min(count, 1), np.int64), np.full(min(count, 1), count - 1)
    at_low, at_high = values(low), values(high)
    while len(low):
        open_ = (at_low != at_high).any(axis=1)
        found.append(high[open_ & (high == low + 1)])
        open_ &= high > low + 1
        low, high, at_low, at_high = low[open_], high[open_], at_low[open_], at_high[open_]
        middle = (low + high) // 2
        between = values(middle)
        low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
        at_low, at_high = np.concatenate([at_low, between]), np.concatenate([between, at_high])
    return np.sort(np.concatenate(found))


def many_true(count: int, holds: Callable[[int], bool]) -> int:
    """How many of so many numbers have a property that none has after one without it."""
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if holds(middle) else (low, middle)
    return low
