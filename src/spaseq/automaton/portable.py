"""The decorator of kernels in their interpreted form: it changes nothing."""

from __future__ import annotations

from typing import Callable, TypeVar

_F = TypeVar("_F", bound=Callable[..., object])


def portable(function: _F) -> _F:
    """Marks a function that must stay within what both Python and Numba understand."""
    return function
