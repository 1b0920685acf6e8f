"""Snapshots: the state of a machine as bytes. Terms, never ids; plain arrays, never pickles; versioned.

A snapshot is a state (`spaseq.operators.state`), compressed, with the events that still wait before the machine. It may come
from anywhere, so nothing in it is believed: every array is checked against its `Field`, every reference against what it
refers to, every term against the grammar.
"""

from __future__ import annotations

import zlib
from typing import Final, Protocol

import numpy as np

from spaseq.errors import SpaseqError
from spaseq.model.batch import BATCH_FIELDS, EventBatch
from spaseq.model.packing import (
    LARGEST,
    LONG,
    Damaged,
    Field,
    OtherVersion,
    check_arrays,
    reading,
    unpack,
    whole_number,
)
from spaseq.operators.machine import Machine
from spaseq.operators.state import State, pack_state, read_state
from spaseq.planner.in_run import background_of

VERSION: Final = 5
"""The version of the format; any change to what a run carries makes a new one."""

_HELD_IDS: Final = frozenset(("subjects", "predicates", "objects", "names"))
"""The columns of waiting events that hold ids."""
_SCOPE_FIELDS: Final[dict[str, Field]] = {
    "scopes.keys": Field(np.uint64, ("scopes",)),
    "scopes.counts": Field(np.int64, ("scopes",), (1, LARGEST)),
}


class IncompatibleSnapshot(SpaseqError):
    """A snapshot that this query or this version cannot take up; says which, and what to do."""


class DamagedSnapshot(IncompatibleSnapshot):
    """A snapshot that is not what was written, or was never one."""


class Buffer(Protocol):
    """What holds events before the machine until time has passed them."""

    @property
    def watermark(self) -> int:
        """Before this time no event comes any more."""

    @property
    def latest(self) -> int:
        """The latest time of an event."""

    @property
    def held(self) -> EventBatch:
        """The events that wait."""

    def restore(self, held: EventBatch, watermark: int, latest: int) -> None:
        """Take up events that waited."""


# --- saving -------------------------------------------------------------------------------------


def snapshot_machine(machine: Machine, buffer: Buffer | None = None) -> bytes:
    """The state of a machine, and of the reorder buffer before it, between two steps."""
    state = machine.dump()
    assert state is not None
    scopes = machine.dictionary.scopes.counts
    state.arrays["scopes.keys"] = np.array(list(scopes), np.uint64)
    state.arrays["scopes.counts"] = np.array(list(scopes.values()), np.int64)
    if buffer is not None:
        waiting, held = State({"watermark": buffer.watermark, "latest": buffer.latest}), buffer.held
        for name in BATCH_FIELDS:
            (waiting.ids if name in _HELD_IDS else waiting.arrays)[name] = getattr(held, name)
        if held.starts is not None:
            waiting.arrays["starts"] = held.starts
        state.add("waiting", waiting)
    query = machine.program.query
    header = {"query": query.fingerprint, "background": background_of(query, machine.knowledge)}
    return zlib.compress(pack_state(state, machine.dictionary, header, VERSION), 1)


# --- restoring ----------------------------------------------------------------------------------


def restore_machine(
    machine: Machine, blob: bytes, buffer: Buffer | None = None, streams: int | None = None
) -> None:
    """Fill a new machine (and buffer) with the state of a snapshot; they are no use if this fails.

    ``streams`` is how many streams the events of the buffer may have; by default those of the machine's query.
    """
    try:
        with reading():
            _restore(machine, blob, buffer, len(machine.program.streams) if streams is None else streams)
    except Damaged as error:
        raise DamagedSnapshot(f"this is not a snapshot, or it is damaged: {error}") from None
    except OtherVersion as error:
        raise IncompatibleSnapshot(
            f"the snapshot has version {error.version}, this release reads version {VERSION}; finish the run with "
            "the release that wrote it, or start again without the snapshot"
        ) from None


def _restore(machine: Machine, blob: bytes, buffer: Buffer | None, streams: int) -> None:
    if blob[:2] == b"PK":
        raise OtherVersion(3)  # versions before 4 were npz archives
    header, saved = unpack(_inflated(blob, machine.budget.most), VERSION)
    if header["query"] != machine.program.query.fingerprint:
        raise IncompatibleSnapshot(
            "the snapshot belongs to another query; restore it with the query it was taken from, or start "
            "again without it"
        )
    background = background_of(machine.program.query, machine.knowledge)
    if header.get("background", background) != background:
        raise IncompatibleSnapshot(
            "the snapshot was taken with other background graphs, and what EP-SPARQL has joined with them stays; restore it "
            "with the same graphs as `knowledge=`, or start again without it"
        )
    check_arrays(saved, _SCOPE_FIELDS, {})
    state = read_state(header, saved, machine.dictionary)
    machine.load([state])
    machine.dictionary.scopes.counts.update(
        zip(saved["scopes.keys"].tolist(), saved["scopes.counts"].tolist(), strict=True)
    )
    if buffer is not None:
        waiting = state.part("waiting")
        times = [
            whole_number(waiting.facts, name, LONG.min, LONG.max + 1) for name in ("watermark", "latest")
        ]
        buffer.restore(_held(waiting, {"ids": len(machine.dictionary) + 1, "streams": streams}), *times)


def _inflated(blob: bytes, most: int) -> bytes:
    """The bytes of a snapshot, if they are not more than the run may hold: a small one can be made to give any number."""
    inflating = zlib.decompressobj()
    plain = inflating.decompress(blob, most)
    if inflating.unconsumed_tail:
        raise IncompatibleSnapshot(
            f"the snapshot holds more than max_memory={most:,} bytes; allow more with `max_memory=`"
        )
    if not inflating.eof:
        raise Damaged("it is cut off")
    return plain


def _held(waiting: State, sizes: dict[str, int]) -> EventBatch:
    """The events that wait, if they can be so."""
    arrays = {**waiting.arrays, **waiting.ids}
    begun = {"starts": BATCH_FIELDS["times"]} if "starts" in arrays else {}
    check_arrays(arrays, {**BATCH_FIELDS, **begun}, sizes)
    offsets = arrays["offsets"]
    if len(offsets) != sizes["events"] + 1 or offsets[[0, -1]].tolist() != [0, sizes["triples"]]:
        raise Damaged("the triples of waiting events are not all there")
    if (np.diff(offsets) < 0).any():
        raise Damaged("the triples of waiting events overlap")
    return EventBatch(
        arrays["subjects"],
        arrays["predicates"],
        arrays["objects"],
        offsets,
        arrays["times"],
        arrays["streams"],
        arrays["names"],
        starts=arrays.get("starts"),
    )
