"""The one door to Numba: the kernel decorator, and raw memory access for byte kernels.

Importing this module loads LLVM. Only modules of kernels import it, and only code that has decided that
its input is large imports those.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

_F = TypeVar("_F", bound=Callable[..., object])

Int: TypeAlias = int | np.int64
"""A whole number inside a kernel."""


def kernel(function: _F) -> _F:
    """Compile a function to machine code that runs without the interpreter's lock, cached on disk."""
    return cast(_F, njit(nogil=True, cache=True, boundscheck=False)(function))


def inlined(function: _F) -> _F:
    """Like `lean`, for functions that are copied into the kernels that call them: passing arrays costs."""
    return cast(_F, njit(nogil=True, cache=True, boundscheck=False, forceinline=True, _nrt=False)(function))  # type: ignore[call-overload]


def lean(function: _F) -> _F:
    """Like `kernel`, for kernels that allocate nothing: without reference counts they compile far faster."""
    return cast(_F, njit(nogil=True, cache=True, boundscheck=False, _nrt=False)(function))  # type: ignore[call-overload]


def _unaligned(builder: Any, address: Any, bits: int) -> Any:
    pointer = builder.inttoptr(address, ir.IntType(bits).as_pointer())
    loaded = builder.load(pointer)
    loaded.align = 1
    return loaded


def _load64(_context: Any, _address: Any) -> Any:
    def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return _unaligned(builder, arguments[0], 64)

    return types.uint64(types.intp), generate


def _store64(_context: Any, _address: Any, _value: Any) -> Any:
    def generate(target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], ir.IntType(64).as_pointer())
        builder.store(arguments[1], pointer).align = 1
        return target.get_dummy_value()

    return types.void(types.intp, types.uint64), generate


def _load8(_context: Any, _address: Any) -> Any:
    def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return _unaligned(builder, arguments[0], 8)

    return types.uint8(types.intp), generate


def _trailing_zeros(_context: Any, _value: Any) -> Any:
    def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), generate


load64 = cast("Callable[[Int], Any]", intrinsic(_load64))
"""Eight bytes at an address, in any alignment, as an unsigned number (little-endian)."""

store64 = cast("Callable[[Int, Any], None]", intrinsic(_store64))
"""Write eight bytes at an address, in any alignment."""

load8 = cast("Callable[[Int], Any]", intrinsic(_load8))
"""One byte at an address."""

trailing_zeros = cast("Callable[[Any], Any]", intrinsic(_trailing_zeros))
"""The number of zero bits below the lowest one bit of a number that is not zero."""
