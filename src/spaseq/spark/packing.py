"""State in Spark's store as bytes: plain arrays with a header, versioned, and checked when they come back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from spaseq.errors import SpaseqError
from spaseq.model.packing import Arrays, Damaged, OtherVersion, reading
from spaseq.model.packing import pack as packed
from spaseq.model.packing import unpack as unpacked
from spaseq.model.terms import check_terms

STATE_VERSION: Final = 3
"""The version of what the state store holds; any change of a layout makes a new one."""


class IncompatibleState(SpaseqError):
    """State in a checkpoint that this run cannot take up; says why, and what to do."""


def old_state(version: object) -> IncompatibleState:
    """State of another release."""
    return IncompatibleState(
        f"the checkpoint holds state of version {version}, this release reads version {STATE_VERSION}; finish the run "
        "with the release that wrote it, or start again with a new checkpoint"
    )


@contextmanager
def taking_up() -> Iterator[None]:
    """Turn whatever is wrong with saved state into one error."""
    try:
        with reading():
            yield
    except OtherVersion as error:
        raise old_state(error.version) from None
    except Damaged as error:
        raise IncompatibleState(
            f"the checkpoint holds state that is not ours, or it is damaged ({error}); start again with a new checkpoint"
        ) from None


def pack(header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """A header and arrays, one after the other."""
    return packed(header, arrays, STATE_VERSION)


def unpack(data: bytes) -> tuple[dict[str, Any], Arrays]:
    """What `pack` wrote; the arrays are read-only views."""
    return unpacked(data, STATE_VERSION)


def packed_terms(texts: pa.LargeStringArray) -> Arrays:
    """Terms as arrays: their ends, and their bytes."""
    if not len(texts):
        return {"ends": np.zeros(0, np.int64), "texts": np.zeros(0, np.uint8)}
    _, offsets, data = texts.buffers()
    ends = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    size = int(ends[-1] - ends[0])
    body = np.frombuffer(data, np.uint8, size, int(ends[0])) if size else np.zeros(0, np.uint8)
    return {"ends": ends[1:] - ends[0], "texts": body}


def unpacked_terms(arrays: Arrays) -> pa.LargeStringArray:
    """The terms that `packed_terms` wrote, checked."""
    ends, body = arrays["ends"], arrays["texts"]
    offsets = np.concatenate([np.zeros(1, np.int64), ends])
    if (np.diff(offsets) < 0).any() or int(offsets[-1]) != len(body):
        raise Damaged("a term is cut off")
    texts = pa.LargeStringArray.from_buffers(len(ends), pa.py_buffer(offsets), pa.py_buffer(body.tobytes()))
    texts.validate(full=True)
    check_terms(texts.to_pylist())
    return texts
