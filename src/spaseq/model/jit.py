"""All use of Numba: the kernel decorator, and raw memory access for byte kernels.

Importing this module loads LLVM. Only modules of kernels import it, and only code that has decided that
its input is large imports those.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
from llvmlite import ir
from numba import config, njit, types
from numba.core import caching
from numba.extending import intrinsic

from spaseq.caches import cache_directory
from spaseq.settings import settings

_F = TypeVar("_F", bound=Callable[..., object])

Int: TypeAlias = int | np.int64
"""A whole number inside a kernel."""


def kernel(function: _F) -> _F:
    """Compile a function to machine code that runs without the interpreter's lock, cached on disk."""
    return _compiled(function)


def inlined(function: _F) -> _F:
    """Like `lean`, for functions that LLVM copies into the kernels that call them: passing arrays costs."""
    return _compiled(function, forceinline=True, _nrt=False)


def lean(function: _F) -> _F:
    """Like `kernel`, for kernels that allocate nothing: without reference counts they compile far faster."""
    return _compiled(function, _nrt=False, error_model="numpy")


def _compiled(function: _F, **flags: Any) -> _F:
    """The kernel, cached under a folder named after its sources.

    Numba looks only at a kernel's own file; one that was changed elsewhere would go on in its old form.
    """
    chosen = str(_cache_of(Path(function.__code__.co_filename).parent))
    numba: Any = config  # filled in at run time
    before = numba.CACHE_DIR
    numba.CACHE_DIR = before or chosen
    try:
        made = njit(nogil=True, cache=True, boundscheck=bool(settings().check_bounds), **flags)(function)
    finally:
        numba.CACHE_DIR = before
    cache = getattr(made, "_cache", None)
    if isinstance(cache, caching.Cache):  # there is none if Numba is switched off
        place = cache._impl
        stamp = place.locator.get_source_stamp()
        cache._cache_file = _CheckedFile(cache.cache_path, place.filename_base, stamp)
    return cast(_F, made)


@lru_cache
def _cache_of(folder: Path) -> Path:
    """The cache folder of the kernels in a folder: it changes with every kernel beside, above or in the model."""
    package = folder.name == "kernels"  # all of it is compiled, with the constants of the package around it
    above = folder.parent.glob("*.py") if package else ()
    digest = hashlib.sha256()
    for source in sorted({*folder.glob("*.py"), *above, *Path(__file__).parent.glob("*.py")}):
        text = source.read_bytes()
        if package or b"spaseq.model.jit" in text or source.name == "jit.py":
            digest.update(source.name.encode() + text)
    checked = "-checked" if settings().check_bounds else ""
    return cache_directory() / "kernels" / (digest.hexdigest()[:16] + checked)


_names: dict[str, Any] = vars(caching)
# In older releases of Numba both names begin with an underscore.
_CacheLocator: Any = _names.get("UserProvidedCacheLocator") or _names["_UserProvidedCacheLocator"]
_CacheImpl: Any = _names.get("CacheImpl") or _names["_CacheImpl"]


_CacheFile: Any = caching.IndexDataCacheFile


class _CheckedFile(_CacheFile):  # type: ignore[misc]
    """The files of one kernel, each with a digest of its content and of Numba's version in front.

    A file that is damaged or of another version counts as missing: the kernel is compiled, and the file replaced.
    """

    def save(self, key: object, data: object) -> None:
        with suppress(OSError):  # a full or read-only disk costs only the time to compile again
            super().save(key, data)

    def _load_index(self) -> dict[object, str]:
        try:
            stamp, overloads = self._read(self._index_path)
        except OSError:
            return {}
        return overloads if stamp == self._source_stamp else {}

    def _save_index(self, overloads: dict[object, str]) -> None:
        self._write(self._index_path, (self._source_stamp, overloads))

    def _load_data(self, name: str) -> object:
        return self._read(self._data_path(name))

    def _save_data(self, name: str, data: object) -> None:
        self._write(self._data_path(name), data)

    def _read(self, path: str) -> Any:
        sealed = Path(path).read_bytes()
        digest, data = sealed[:32], sealed[32:]
        if self._digest(data) != digest:
            raise OSError(f"{path} is damaged")  # what Numba takes for a missing file
        return pickle.loads(data)

    def _write(self, path: str, content: object) -> None:
        data = self._dump(content)
        with self._open_for_write(path) as file:
            file.write(self._digest(data) + data)

    def _digest(self, data: bytes) -> bytes:
        return hashlib.sha256(self._version.encode() + data).digest()


class _Anywhere(_CacheLocator):  # type: ignore[misc]
    """Numba's place for the kernels of a folder, wherever that folder is.

    Numba has one place per path, so every clone, and every folder that Spark unpacks the project into, would
    compile again. `_cache_of` already names what the kernels are made of.
    """

    _ROOT = Path(__file__).resolve().parents[1]

    @classmethod
    def get_suitable_cache_subpath(cls, py_file: str) -> str:
        return Path(py_file).parent.name

    @classmethod
    def from_function(cls, py_func: object, py_file: str) -> Any:
        ours = Path(py_file).resolve().is_relative_to(cls._ROOT)
        return super().from_function(py_func, py_file) if ours else None


_CacheImpl._locator_classes.insert(0, _Anywhere)


def _unaligned(builder: Any, address: Any, bits: int) -> Any:
    pointer = builder.inttoptr(address, ir.IntType(bits).as_pointer())
    loaded = builder.load(pointer)
    loaded.align = 1
    return loaded


def _load64(_context: Any, _address: Any) -> Any:
    def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return _unaligned(builder, arguments[0], 64)

    return types.uint64(types.intp), generate


def _same128(_context: Any, _one: Any, _other: Any) -> Any:
    def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        one, other = (_unaligned(builder, address, 128) for address in arguments)
        return builder.icmp_unsigned("==", one, other)

    return types.boolean(types.intp, types.intp), generate


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


def _places(_context: Any, _address: Any, _byte: Any) -> Any:
    def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        vector = ir.VectorType(ir.IntType(8), 16)
        loaded = builder.load(builder.inttoptr(arguments[0], vector.as_pointer()))
        loaded.align = 1
        wanted = builder.insert_element(
            ir.Constant(vector, ir.Undefined), arguments[1], ir.Constant(ir.IntType(32), 0)
        )
        same = builder.shuffle_vector(
            wanted,
            ir.Constant(vector, ir.Undefined),
            ir.Constant(ir.VectorType(ir.IntType(32), 16), [0] * 16),
        )
        found = builder.bitcast(builder.icmp_unsigned("==", loaded, same), ir.IntType(16))
        return builder.zext(found, ir.IntType(64))

    return types.uint64(types.intp, types.uint8), generate


def _folded(_context: Any, _one: Any, _other: Any) -> Any:
    def generate(_target: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        wide, narrow = ir.IntType(128), ir.IntType(64)
        product = builder.mul(builder.zext(arguments[0], wide), builder.zext(arguments[1], wide))
        high = builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), narrow)
        return builder.xor(builder.trunc(product, narrow), high)

    return types.uint64(types.uint64, types.uint64), generate


load64 = cast("Callable[[Int], Any]", intrinsic(_load64))
"""Eight bytes at an address, in any alignment, as an unsigned number (little-endian)."""

store64 = cast("Callable[[Int, Any], None]", intrinsic(_store64))
"""Write eight bytes at an address, in any alignment."""

places = cast("Callable[[Int, Any], Any]", intrinsic(_places))
"""Which of the sixteen bytes at an address equal a byte: one bit for each, the lowest for the first."""

same128 = cast("Callable[[Int, Int], bool]", intrinsic(_same128))
"""Whether the sixteen bytes at two addresses are the same."""

load8 = cast("Callable[[Int], Any]", intrinsic(_load8))
"""One byte at an address."""

folded = cast("Callable[[Any, Any], np.uint64]", intrinsic(_folded))
"""The two halves of the 128-bit product of two unsigned numbers, one xor the other."""

trailing_zeros = cast("Callable[[Any], Any]", intrinsic(_trailing_zeros))
"""The number of zero bits below the lowest one bit of a number that is not zero."""
