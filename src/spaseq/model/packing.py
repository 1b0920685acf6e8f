"""Named arrays and a small header as bytes, and what such arrays must be like to be believed.

Nothing here is executed or trusted: no pickles, a checksum over everything, sizes that must fit the bytes that are
there, and for every array a `Field` that says its type, its shape and the range of its numbers. What is wrong is
`Damaged`; the caller turns that into an error of its own.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import numpy as np
import numpy.typing as npt

from spaseq.settings import settings
from spaseq.temporal.instants import FIRST_INSTANT, LAST_INSTANT

Arrays: TypeAlias = dict[str, npt.NDArray[Any]]
Size: TypeAlias = int | str
"""A number, or the name of one that is known only when arrays are checked."""
Range: TypeAlias = tuple[Size, Size]
"""The least number, and the one before which all must lie."""
INSTANT: Final[Range] = (FIRST_INSTANT, LAST_INSTANT + 1)
"""The times that events may have."""

LARGEST: Final = 1 << 62
"""Before this all counts must lie; they are added to, and never come near it."""
SHORT, LONG = np.iinfo(np.int32), np.iinfo(np.int64)
_MAGIC: Final = b"spaseq"
_HEAD: Final = struct.Struct("<6sBIQ")
"""Magic, version, checksum of what follows, length of the header."""
_TYPES: Final = {np.dtype(kind).str: np.dtype(kind) for kind in ("i8", "i4", "i2", "u8", "u1", "?")}
_UNREADABLE: Final = (
    ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, RecursionError, MemoryError,
    EOFError, SyntaxError, struct.error, zlib.error,
)  # fmt: skip
"""The exceptions that reading damaged bytes can raise."""


class Damaged(ValueError):
    """Bytes that cannot be what was saved; says what is wrong with them."""


class OtherVersion(ValueError):
    """Bytes of another version; ``version`` says which."""

    def __init__(self, version: int) -> None:
        super().__init__(f"version {version}")
        self.version = version


def pack(header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]], version: int) -> bytes:
    """A header and arrays, one after the other; the columns of large ones in as few bytes as their numbers need."""
    shapes: list[list[Any]] = []
    bodies: list[bytes] = []
    for name, array in arrays.items():
        shape = [name, array.dtype.str, list(array.shape)]
        if array.dtype == np.int64 and 0 < array.ndim <= 2 and len(array) >= settings().narrowed_rows:
            columns = [_narrow(column) for column in array.reshape(len(array), -1).T]
            shapes.append([*shape, [[base, width] for base, width, _ in columns]])
            bodies += [body for _, _, body in columns]
        else:
            shapes.append(shape)
            bodies.append(np.ascontiguousarray(array).tobytes())
    text = json.dumps({**header, "arrays": shapes}, ensure_ascii=False).encode("utf-8", "surrogatepass")
    parts = [text, *bodies]
    checksum = 0
    for part in parts:
        checksum = zlib.crc32(part, checksum)
    return b"".join([_HEAD.pack(_MAGIC, version, checksum, len(text)), *parts])


_WIDTHS: Final = (1, 2, 4, 8)


def _narrow(column: npt.NDArray[np.int64]) -> tuple[int, int, bytes]:
    """A column as what is more than its least number: that number, the bytes of each, and all of them."""
    base, most = int(column.min()), int(column.max())
    if base == most:
        return base, 0, b""
    width = next(size for size in _WIDTHS if most - base < 1 << (8 * size))
    more = column.view(np.uint64) - np.uint64(base & 0xFFFF_FFFF_FFFF_FFFF)
    return base, width, more.astype(f"<u{width}").tobytes()


def _widened(
    data: bytes, at: int, shape: list[int], columns: list[list[int]]
) -> tuple[npt.NDArray[Any], int]:
    """The array whose columns were made narrow, and where it ends."""
    rows = shape[0]
    if len(columns) != (shape[1] if len(shape) == 2 else 1) or len(shape) > 2:
        raise Damaged("an array has other columns than it says")
    found = np.empty((rows, len(columns)), np.int64)
    for number, (base, width) in enumerate(columns):
        if width not in (0, *_WIDTHS) or type(base) is not int or not LONG.min <= base <= LONG.max:
            raise Damaged("a column is of no known kind")
        found[:, number] = base
        if width:
            found[:, number] += np.frombuffer(data, f"<u{width}", rows, at).astype(np.uint64).view(np.int64)
        at += rows * width
    return found.reshape(shape), at


def unpack(data: bytes, version: int) -> tuple[dict[str, Any], Arrays]:
    """What `pack` wrote; the arrays are read-only views. `Damaged` or `OtherVersion` if it did not."""
    if len(data) < _HEAD.size or data[: len(_MAGIC)] != _MAGIC:
        raise Damaged("it does not begin as it should")
    _, known, checksum, length = _HEAD.unpack_from(data)
    if known != version:
        raise OtherVersion(known)
    if zlib.crc32(memoryview(data)[_HEAD.size :]) != checksum:
        raise Damaged("its checksum is wrong")
    with reading():
        return _content(data, length)


def _content(data: bytes, length: int) -> tuple[dict[str, Any], Arrays]:
    at = _HEAD.size + length
    header = json.loads(data[_HEAD.size : at].decode("utf-8", "surrogatepass"))
    arrays: Arrays = {}
    for name, kind, shape, *columns in header.pop("arrays"):
        if kind not in _TYPES or not all(isinstance(size, int) and size >= 0 for size in shape):
            raise Damaged(f"the array `{name}` is of no known kind")
        count = 1
        for size in shape:
            count *= size
        if columns:
            if count > 64 * len(data):
                raise Damaged(f"the array `{name}` is larger than it can be")
            arrays[name], at = _widened(data, at, shape, columns[0])
            continue
        if count * _TYPES[kind].itemsize > len(data) - at:
            raise Damaged(f"the array `{name}` is cut off")
        arrays[name] = np.frombuffer(data, _TYPES[kind], count, at).reshape(shape)
        at += arrays[name].nbytes
    return header, arrays


@contextmanager
def reading() -> Iterator[None]:
    """Turn whatever goes wrong while saved data is read into `Damaged`."""
    try:
        yield
    except (Damaged, OtherVersion):
        raise
    except _UNREADABLE as error:
        raise Damaged(f"{type(error).__name__}: {error}") from None


# --- what arrays must be like -------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Field:
    """What a saved array must be: its type, its shape, and the range of its numbers.

    A size that is a name stands for a known number, or is fixed by the first array that has it.
    """

    dtype: type[np.generic]
    shape: tuple[Size, ...]
    range: Range | None = None
    columns: Mapping[int, Range] = field(default_factory=dict)
    """Ranges of single columns of a table."""


def check_arrays(
    arrays: Mapping[str, npt.NDArray[Any]], fields: Mapping[str, Field], sizes: dict[str, int]
) -> None:
    """Refuse arrays that are not as their fields say; sizes that are not known yet are added."""
    for name, wanted in fields.items():
        if name not in arrays:
            raise Damaged(f"the array `{name}` is missing")
        check_array(name, arrays[name], wanted, sizes)


def check_array(name: str, array: npt.NDArray[Any], wanted: Field, sizes: dict[str, int]) -> None:
    """Refuse an array that is not as its field says."""
    if array.dtype != wanted.dtype or array.ndim != len(wanted.shape):
        raise Damaged(f"the array `{name}` is of the wrong type")
    for size, expected in zip(array.shape, wanted.shape, strict=True):
        known = sizes.setdefault(expected, size) if isinstance(expected, str) else expected
        if size != known:
            raise Damaged(f"the array `{name}` has the shape {array.shape}, which does not fit the others")
    if array.dtype == np.bool_ and array.size and array.view(np.uint8).max() > 1:
        raise Damaged(f"the array `{name}` holds something other than true and false")
    ranges: Iterable[tuple[npt.NDArray[Any], Range]] = [
        *([(array, wanted.range)] if wanted.range is not None else []),
        *((array[:, column], limits) for column, limits in wanted.columns.items()),
    ]
    for values, limits in ranges:
        low, below = (sizes[limit] if isinstance(limit, str) else limit for limit in limits)
        if values.size and not (low <= int(values.min()) and int(values.max()) < below):
            raise Damaged(f"the array `{name}` holds numbers that are not between {low} and {below}")


def whole_number(header: Mapping[str, Any], name: str, low: int, below: int) -> int:
    """A number of a header, if it is one and lies in a range."""
    found = header.get(name)
    if type(found) is not int or not low <= found < below:
        raise Damaged(f"`{name}` is {found!r}, not a number between {low} and {below}")
    return found
