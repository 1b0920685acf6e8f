"""Numbers in order. NumPy's own `unique` and `isin` hash integers, which takes many times as long as to sort them."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

Longs = npt.NDArray[np.int64]
Number = TypeVar("Number", bound=np.generic)


def each_once(values: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Every value once, in order.

    >>> each_once(np.array([3, 1, 3, 2]))
    array([1, 2, 3])
    """
    ordered = np.sort(values, axis=None)
    fresh = np.ones(len(ordered), np.bool_)
    fresh[1:] = ordered[1:] != ordered[:-1]
    return ordered[fresh]


def numbers_from(starts: npt.NDArray[np.integer], counts: npt.NDArray[np.integer]) -> Longs:
    """From each start on so many numbers in a row.

    >>> numbers_from(np.array([5, 9, 0]), np.array([2, 0, 3]))
    array([5, 6, 0, 1, 2])
    """
    found: Longs = np.arange(int(counts.sum())) + np.repeat(starts - (np.cumsum(counts) - counts), counts)
    return found


def numbered_in_row(counts: npt.NDArray[np.integer]) -> Longs:
    """0, 1, 2 … for every count: which of so many each one is.

    >>> numbered_in_row(np.array([2, 0, 3]))
    array([0, 1, 0, 1, 2])
    """
    return numbers_from(np.zeros_like(counts), counts)


def among(values: npt.NDArray[Number], others: npt.NDArray[Number]) -> npt.NDArray[np.bool_]:
    """Which values are among others, whatever these are and however many.

    >>> among(np.array([3, 1, 4]), np.array([4, 3, 3]))
    array([ True, False,  True])
    """
    if not len(others):
        return np.zeros(len(values), np.bool_)
    ordered = np.sort(others)
    place = np.minimum(np.searchsorted(ordered, values), len(ordered) - 1)
    found: npt.NDArray[np.bool_] = ordered[place] == values
    return found
