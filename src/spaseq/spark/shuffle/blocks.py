"""Blocks: what crosses the shuffle and waits in the state store. Columns with their own terms, never ids.

The GPM stage leaves, of a batch of events, a few mapping rows. Those of one query for one bucket are one
block: one row for Spark, whatever its size, so that the JVM moves bytes and sorts nothing but blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from spaseq.errors import SpaseqError

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]

VERSION: Final = 1
"""The first byte of every block; any change of the layout makes a new one."""
DIGEST: Final = 32
"""Bytes of an event's digest."""


class IncompatibleBlock(SpaseqError):
    """A block that another release wrote."""


@dataclass(frozen=True, slots=True, eq=False)
class Mappings:
    """The mapping rows of one GPM: the ordinal of the event in the block, a term number per variable."""

    event: Ints
    terms: Ints
    """One column per variable; 0 is unbound, ``n`` the n-th term of the block."""


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Events with their mappings.

    ``names`` and ``digests`` are empty unless the events of matches are asked for. ``pairs`` are the
    partitions of the events (semantics 1.9): an event's ordinal and a term number per partition variable.
    """

    times: Longs
    streams: npt.NDArray[np.int16]
    arrivals: Longs
    """By stream, the order in which simultaneous events arrived."""
    names: Ints
    digests: npt.NDArray[np.uint8]
    pairs: Mappings
    gpms: tuple[Mappings, ...]
    terms: pa.LargeStringArray

    def __len__(self) -> int:
        return len(self.times)

    @property
    def nbytes(self) -> int:
        """The size of all columns."""
        rows = sum(part.event.nbytes + part.terms.nbytes for part in (self.pairs, *self.gpms))
        columns = self.times.nbytes + self.streams.nbytes + self.arrivals.nbytes + self.names.nbytes
        return int(rows + columns + self.digests.nbytes + self.terms.nbytes)

    @property
    def first(self) -> int:
        """The earliest instant."""
        return int(self.times.min())

    @property
    def last(self) -> int:
        """The latest instant."""
        return int(self.times.max())

    def take(self, events: npt.NDArray[np.integer]) -> Block:
        """The events at these ordinals, in this order, with their rows; terms stay as they are."""
        place = np.full(len(self), -1, np.int32)
        place[events] = np.arange(len(events), dtype=np.int32)
        return replace(
            self,
            times=self.times[events],
            streams=self.streams[events],
            arrivals=self.arrivals[events],
            names=self.names[events] if len(self.names) else self.names,
            digests=self.digests[events] if len(self.digests) else self.digests,
            pairs=_moved(self.pairs, place),
            gpms=tuple(_moved(rows, place) for rows in self.gpms),
        )

    def in_order(self) -> Block:
        """By time, then by the order of the stream declarations, then by arrival (semantics 1.8)."""
        return self.take(np.lexsort((self.arrivals, self.streams, self.times)))

    def compact(self) -> Block:
        """The same rows with only the terms they mention."""
        parts = [self.names, self.pairs.terms.ravel(), *(rows.terms.ravel() for rows in self.gpms)]
        used = np.unique(np.concatenate(parts))
        used = used[used > 0]
        if len(used) == len(self.terms):
            return self
        number = np.zeros(len(self.terms) + 1, np.int32)
        number[used] = np.arange(1, len(used) + 1, dtype=np.int32)
        return replace(
            self,
            names=number[self.names],
            pairs=Mappings(self.pairs.event, number[self.pairs.terms]),
            gpms=tuple(Mappings(rows.event, number[rows.terms]) for rows in self.gpms),
            terms=self.terms.take(pa.array(used - 1)),
        )


def _moved(rows: Mappings, place: Ints) -> Mappings:
    """Rows whose events were renumbered; those of dropped events go with them, all go by event."""
    event = place[rows.event]
    order = np.argsort(event, kind="stable")
    order = order[np.searchsorted(event[order], 0) :]
    return Mappings(event[order], rows.terms[order])


def concat_blocks(blocks: Sequence[Block]) -> Block:
    """All events of some blocks of one query, one block after the other."""
    if len(blocks) == 1:
        return blocks[0]
    events = np.cumsum([0, *(len(block) for block in blocks)])
    terms = np.cumsum([0, *(len(block.terms) for block in blocks)])

    def numbers(ids: Ints, block: int) -> Ints:
        return np.where(ids > 0, ids + np.int32(terms[block]), 0).astype(np.int32)

    def rows(parts: Sequence[Mappings]) -> Mappings:
        return Mappings(
            np.concatenate([part.event + np.int32(events[i]) for i, part in enumerate(parts)]),
            np.concatenate([numbers(part.terms, i) for i, part in enumerate(parts)]),
        )

    return Block(
        np.concatenate([block.times for block in blocks]),
        np.concatenate([block.streams for block in blocks]),
        np.concatenate([block.arrivals for block in blocks]),
        np.concatenate([numbers(block.names, i) for i, block in enumerate(blocks)]),
        np.concatenate([block.digests for block in blocks]),
        rows([block.pairs for block in blocks]),
        tuple(rows([block.gpms[gpm] for block in blocks]) for gpm in range(len(blocks[0].gpms))),
        pa.concat_arrays([block.terms for block in blocks]),
    )


# --- bytes --------------------------------------------------------------------------------------

_SCHEMA: Final = pa.schema(
    [
        ("times", pa.list_(pa.int64())),
        ("streams", pa.list_(pa.int16())),
        ("arrivals", pa.list_(pa.int64())),
        ("names", pa.list_(pa.int32())),
        ("digests", pa.large_binary()),
        ("widths", pa.list_(pa.int32())),
        ("counts", pa.list_(pa.int32())),
        ("events", pa.list_(pa.int32())),
        ("numbers", pa.list_(pa.int32())),
        ("terms", pa.large_list(pa.large_string())),
    ]
)
"""One row; ``widths`` and ``counts`` give the columns and rows of the pairs, then of every GPM."""


def encode_block(block: Block) -> bytes:
    """A block as bytes."""
    tables = [block.pairs, *block.gpms]
    columns = [
        _list(block.times),
        _list(block.streams),
        _list(block.arrivals),
        _list(block.names),
        pa.array([block.digests.tobytes()], pa.large_binary()),
        _list(np.array([table.terms.shape[1] for table in tables], np.int32)),
        _list(np.array([len(table.event) for table in tables], np.int32)),
        _list(np.concatenate([table.event for table in tables])),
        _list(np.concatenate([table.terms.ravel() for table in tables])),
        pa.LargeListArray.from_arrays(pa.array([0, len(block.terms)], pa.int64()), block.terms),
    ]
    batch = pa.RecordBatch.from_arrays(columns, schema=_SCHEMA)
    body: bytes = batch.serialize().to_pybytes()
    return bytes([VERSION]) + body


def _list(values: npt.NDArray[np.generic]) -> pa.ListArray:
    return pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), pa.array(values))


def decode_block(data: bytes | memoryview) -> Block:
    """The block that `encode_block` wrote; `IncompatibleBlock` for one of another release."""
    view = memoryview(data)
    if view[0] != VERSION:
        raise IncompatibleBlock(
            f"a block of version {view[0]} was found, this release reads version {VERSION}; finish the run with "
            "the release that wrote it, or start again with a new checkpoint"
        )
    batch = pa.ipc.read_record_batch(pa.py_buffer(view[1:]), _SCHEMA)

    def values(name: str) -> npt.NDArray[Any]:
        array: npt.NDArray[Any] = batch.column(name).values.to_numpy(zero_copy_only=False)
        return array

    widths, counts = values("widths"), values("counts")
    events, numbers = values("events"), values("numbers")
    tables, at, cell = [], 0, 0
    for width, count in zip(widths.tolist(), counts.tolist(), strict=True):
        cells = numbers[cell : cell + width * count].reshape(count, width)
        tables.append(Mappings(events[at : at + count], cells))
        at, cell = at + count, cell + width * count
    digests = np.frombuffer(batch.column("digests")[0].as_buffer(), np.uint8).reshape(-1, DIGEST)
    return Block(
        values("times"), values("streams"), values("arrivals"), values("names"), digests,
        tables[0], tuple(tables[1:]), batch.column("terms").values,
    )  # fmt: skip
