"""Arrays and a small header as bytes: plain data, versioned, never a pickle."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from spaseq.errors import SpaseqError

STATE_VERSION: Final = 2
"""The version of what the state store holds; any change of a layout makes a new one."""

_MAGIC: Final = b"spaseq"

Arrays = dict[str, npt.NDArray[Any]]


class IncompatibleState(SpaseqError):
    """State in a checkpoint that this run cannot take up; says why, and what to do."""


def old_state(version: object) -> IncompatibleState:
    """State of another release."""
    return IncompatibleState(
        f"the checkpoint holds state of version {version}, this release reads version {STATE_VERSION}; finish the run "
        "with the release that wrote it, or start again with a new checkpoint"
    )


def pack(header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """A header and arrays, one after the other."""
    shapes = [[name, array.dtype.str, list(array.shape)] for name, array in arrays.items()]
    text = json.dumps({**header, "arrays": shapes}, ensure_ascii=False).encode("utf-8", "surrogatepass")
    parts = [_MAGIC, struct.pack("<BI", STATE_VERSION, len(text)), text]
    parts += [np.ascontiguousarray(array).tobytes() for array in arrays.values()]
    return b"".join(parts)


def unpack(data: bytes) -> tuple[dict[str, Any], Arrays]:
    """What `pack` wrote; the arrays are read-only views."""
    start = len(_MAGIC) + 5
    if data[: len(_MAGIC)] != _MAGIC:
        raise IncompatibleState("the checkpoint holds state that is not ours, or it is damaged")
    version, size = struct.unpack("<BI", data[len(_MAGIC) : start])
    if version != STATE_VERSION:
        raise old_state(version)
    header = json.loads(data[start : start + size].decode("utf-8", "surrogatepass"))
    arrays: Arrays = {}
    at = start + size
    for name, kind, shape in header.pop("arrays"):
        count = int(np.prod(shape, dtype=np.int64))
        arrays[name] = np.frombuffer(data, kind, count, at).reshape(shape)
        at += arrays[name].nbytes
    return header, arrays
