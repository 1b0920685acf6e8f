"""Arithmetic on instants in order, many at a time."""

from __future__ import annotations

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


def steps(after: int, until: int, step: int, origin: int | None) -> Longs:
    """The multiples of a step after one instant and up to another, counted from an origin, which is the first if given."""
    start = 0 if origin is None else origin
    first = start + ((after - start) // step + 1) * step
    if origin is not None:
        first = max(first, origin)
    return np.arange(first, until + 1, step, dtype=np.int64)
