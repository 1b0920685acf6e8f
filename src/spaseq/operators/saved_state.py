"""State in Spark's store as bytes: plain arrays with a header, versioned, and checked when they come back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import numpy.typing as npt

from spaseq.errors import SpaseqError
from spaseq.model.packing import Arrays, Damaged, OtherVersion, reading
from spaseq.model.packing import pack as packed
from spaseq.model.packing import unpack as unpacked

STATE_VERSION: Final = 4
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
