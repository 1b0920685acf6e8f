"""The decorator of kernels: nothing in the interpreted tier, a compiler in the compiled one.

The tier is decided by the name that the package was loaded under, see `spaseq.automaton.tiers`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy.typing as npt

Array = npt.NDArray[Any]
_F = TypeVar("_F", bound=Callable[..., object])


def portable(function: _F) -> _F:
    """Marks a function that must stay within what both Python and Numba understand."""
    if __name__.startswith("spaseq.automaton.kernels_compiled."):
        from spaseq.model.jit import lean

        return lean(function)
    return function


def inlined(function: _F) -> _F:
    """Like `portable`, for what is called for every run that a row visits: passing arrays would cost more."""
    if __name__.startswith("spaseq.automaton.kernels_compiled."):
        from spaseq.model.jit import inlined as compiled

        return compiled(function)
    return function
