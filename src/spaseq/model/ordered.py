"""Numbers in order. NumPy's own `unique` and `isin` hash integers, which takes many times as long as to sort them."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

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
