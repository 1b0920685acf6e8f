"""Blocks: what crosses the shuffle and waits in the state store. Columns with their own terms, never ids.

The GPM stage leaves, of a batch of events, a few mapping rows. Those of one query for one bucket are one
block: one row for Spark, whatever its size, so that the JVM moves bytes and sorts nothing but blocks.
"""

from __future__ import annotations

import struct
import zlib
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from spaseq.errors import SpaseqError
from spaseq.model.ordered import among, each_once
from spaseq.operators.term_texts import packed_terms
from spaseq.settings import settings
from spaseq.temporal.instants import BEFORE_ALL, FOREVER

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
Mask = npt.NDArray[np.bool_]

VERSION: Final = 5
"""The first byte of every block; any change of the layout makes a new one."""
DIGEST: Final = 32
"""Bytes of an event's digest."""
CODEC: Final = "lz4_raw"
"""How texts are compressed: most end in the same few datatypes, and this costs less than to move them."""


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
    partitions of the events (semantics 1.9): an event's ordinal and a term number per partition variable. ``starts`` is where
    events begin, empty if all are instants. ``ticks`` are the instants of events without rows, in order within each part.
    """

    times: Longs
    streams: npt.NDArray[np.int16]
    arrivals: Longs
    """By stream, the order in which simultaneous events arrived."""
    names: Ints
    digests: npt.NDArray[np.uint8]
    pairs: Mappings
    gpms: tuple[Mappings, ...]
    """Those of GPMs that found the same are one object."""
    terms: pa.LargeStringArray
    starts: Longs = field(default_factory=lambda: np.zeros(0, np.int64))
    ticks: tuple[Longs, ...] = ()

    def __len__(self) -> int:
        return len(self.times)

    @property
    def nbytes(self) -> int:
        """The size of all columns."""
        rows = sum(part.event.nbytes + part.terms.nbytes for part in _once((self.pairs, *self.gpms))[0])
        columns = self.times.nbytes + self.streams.nbytes + self.arrivals.nbytes + self.names.nbytes
        ticks = sum(part.nbytes for part in self.ticks)
        return int(rows + columns + self.digests.nbytes + self.terms.nbytes + self.starts.nbytes + ticks)

    @property
    def first(self) -> int:
        """The earliest instant."""
        return int(np.concatenate([self.times, *(part[:1] for part in self.ticks)]).min())

    @property
    def last(self) -> int:
        """The latest instant."""
        return int(np.concatenate([self.times, *(part[-1:] for part in self.ticks)]).max())

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
            gpms=_each(self.gpms, lambda rows: _moved(rows, place)),
            starts=self.starts[events] if len(self.starts) else self.starts,
        )

    def cut(self, instant: int) -> tuple[Block | None, Block | None]:
        """What is before an instant, and the rest; None where there is nothing."""
        early = self.times < instant
        places = [int(np.searchsorted(part, instant)) for part in self.ticks]
        before = tuple(part[:at] for part, at in zip(self.ticks, places, strict=True) if at)
        after = tuple(part[at:] for part, at in zip(self.ticks, places, strict=True) if at < len(part))
        if early.all() and not after:
            return self, None
        if not early.any() and not before:
            return None, self
        past, left = (self.take(np.flatnonzero(which)) for which in (early, ~early))
        return replace(past, ticks=before), replace(left.compact(), ticks=after)

    def with_ticks(self, *, separating: bool) -> Block:
        """The block with an event without rows at every instant of its ticks that has none.

        With ``separating``, where all that matters is whether there was an instant between two events, only at the first
        one after every event, and at the last of all, by which runs that wait in vain are known.
        """
        if not self.ticks:
            return self
        ticks = self._separating() if separating else each_once(np.concatenate(self.ticks))
        ticks = ticks[~among(ticks, self.times)]
        nothing = np.zeros(len(ticks), np.int64)
        # Without events of its own a block does not say whether events have names and digests; what is too much is not read.
        named, digested = (len(column) == len(self) for column in (self.names, self.digests))
        digests = np.zeros((len(ticks) if digested else 0, DIGEST), np.uint8)
        return replace(
            self,
            times=np.concatenate([self.times, ticks]),
            streams=np.concatenate([self.streams, nothing.astype(np.int16)]),
            arrivals=np.concatenate([self.arrivals, nothing]),
            names=np.concatenate([self.names, nothing.astype(np.int32)]) if named else self.names,
            digests=np.concatenate([self.digests, digests]),
            starts=np.concatenate([self.starts, ticks]) if len(self.starts) else self.starts,
            ticks=(),
        )

    def _separating(self) -> Longs:
        present = each_once(self.times)
        bounds = np.concatenate([np.array([BEFORE_ALL]), present])
        nearest = np.full(len(bounds), FOREVER)
        for part in self.ticks:
            # Only the bounds within a part are looked up in it: parts are many, and seldom at the same time.
            begin, end = np.searchsorted(bounds, (part[0], part[-1])).tolist()
            later = part[np.searchsorted(part, bounds[begin:end], "right")]
            nearest[:begin] = np.minimum(nearest[:begin], part[0])
            nearest[begin:end] = np.minimum(nearest[begin:end], later)
        between = nearest[nearest < np.append(present, FOREVER)]
        return each_once(np.append(between, max(part[-1] for part in self.ticks)))

    def in_order(self) -> Block:
        """By time, then by the order of the stream declarations, then by arrival (semantics 1.8)."""
        return self.take(np.lexsort((self.arrivals, self.streams, self.times)))

    def compact(self) -> Block:
        """The same rows with only the terms they mention."""
        parts = [self.names, *(rows.terms.ravel() for rows in _once((self.pairs, *self.gpms))[0])]
        used = each_once(np.concatenate(parts))
        used = used[used > 0]
        if len(used) == len(self.terms):
            return self
        number = np.zeros(len(self.terms) + 1, np.int32)
        number[used] = np.arange(1, len(used) + 1, dtype=np.int32)
        return replace(
            self,
            names=number[self.names],
            pairs=Mappings(self.pairs.event, number[self.pairs.terms]),
            gpms=_each(self.gpms, lambda rows: Mappings(rows.event, number[rows.terms])),
            terms=self.terms.take(pa.array(used - 1)),
        )


def _once(tables: Sequence[Mappings]) -> tuple[list[Mappings], list[int]]:
    """The tables, each object once, and for every one its place among them."""
    places: dict[int, int] = {}
    found = [places.setdefault(id(rows), len(places)) for rows in tables]
    return [tables[found.index(place)] for place in range(len(places))], found


def _each(tables: Sequence[Mappings], change: Callable[[Mappings], Mappings]) -> tuple[Mappings, ...]:
    """What becomes of tables by a change that is made to each once."""
    own, places = _once(tables)
    changed = [change(rows) for rows in own]
    return tuple(changed[place] for place in places)


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

    joined: dict[tuple[int, ...], Mappings] = {}
    gpms = []
    for parts in zip(*(block.gpms for block in blocks), strict=True):
        known = tuple(map(id, parts))
        if known not in joined:
            joined[known] = rows(parts)
        gpms.append(joined[known])
    return Block(
        np.concatenate([block.times for block in blocks]),
        np.concatenate([block.streams for block in blocks]),
        np.concatenate([block.arrivals for block in blocks]),
        np.concatenate([numbers(block.names, i) for i, block in enumerate(blocks)]),
        np.concatenate([block.digests for block in blocks]),
        rows([block.pairs for block in blocks]),
        tuple(gpms),
        pa.concat_arrays([block.terms for block in blocks]),
        _starts(blocks),
        tuple(part for block in blocks for part in block.ticks),
    )


def _starts(blocks: Sequence[Block]) -> Longs:
    """Where the events of all blocks begin; nothing if they are instants."""
    if not any(len(block.starts) for block in blocks):
        return np.zeros(0, np.int64)
    return np.concatenate([block.starts if len(block.starts) else block.times for block in blocks])


# --- bytes --------------------------------------------------------------------------------------

_Column = npt.NDArray[Any]


def encode_block(block: Block, ticks: bytes = b"") -> bytes:
    """A block as bytes: a head of numbers, then its columns, the widest first so that all are aligned.

    ``ticks`` are the instants of other events, as `encode_instants` has them.
    """
    tables, places = _once((block.pairs, *block.gpms))
    texts = packed_terms(block.terms)
    shapes = [(table.terms.shape[1], len(table.event)) for table in tables]
    lengths = texts["ends"].astype(np.uint32)
    lengths[1:] -= lengths[:-1].copy()
    written = pa.compress(pa.py_buffer(texts["texts"]), CODEC, asbytes=True) if len(texts["texts"]) else b""
    sizes = (
        len(block),
        len(block.names),
        len(block.digests),
        len(block.terms),
        len(written),
        len(ticks),
        len(block.starts),
    )
    head = np.array(
        [VERSION, *sizes, len(tables), len(places), *chain.from_iterable(shapes), *places], np.int64
    )
    cells: list[_Column] = [cell for table in tables for cell in (table.event, table.terms)]
    columns: list[_Column] = [
        block.times,
        block.arrivals,
        block.starts,
        *cells,
        block.names,
        lengths,
        block.streams,
        block.digests,
    ]
    return b"".join([head.tobytes(), *(column.tobytes() for column in columns), written, ticks])


def decode_block(data: bytes | memoryview) -> Block:
    """The block that `encode_block` wrote, with its ticks; `IncompatibleBlock` for one of another release."""
    return decode_blocks([data])


def decode_blocks(given: Sequence[bytes | memoryview]) -> Block:
    """Blocks of one query as one, one block after the other: all columns are joined before any is looked at."""
    sizes, columns, ticks, shared = zip(*map(_columns, given), strict=True)
    places = shared[0]
    if any(each != places for each in shared):  # what is shared in one block is not in another
        sizes, columns = zip(*map(_unshared, sizes, columns, shared), strict=True)
        places = tuple(range(len(places)))
    events, terms, begun, counts, widths = (list(each) for each in zip(*sizes, strict=True))

    def column(number: int, kind: type[np.generic]) -> _Column:
        own = [of_block[number] for of_block in columns]
        return np.frombuffer(own[0] if len(own) == 1 else b"".join(own), kind)

    def numbers(ids: _Column, rows: Sequence[int]) -> Ints:
        if len(given) == 1:
            return ids
        first = np.repeat(np.cumsum([0, *terms[:-1]]).astype(np.int32), rows)
        return np.where(ids > 0, ids + first, 0)

    times, arrivals, lengths = column(0, np.int64), column(1, np.int64), column(4, np.uint32)
    tables = []
    for table, width in enumerate(widths[0]):
        rows = [of_block[table] for of_block in counts]
        event, cells = (column(_TABLES + 2 * table + each, np.int32) for each in (0, 1))
        if len(given) > 1:
            event = event + np.repeat(np.cumsum([0, *events[:-1]]).astype(np.int32), rows)
        found = numbers(cells, [count * width for count in rows])
        tables.append(Mappings(event, found.reshape(len(event), width)))
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])
    written = pa.LargeStringArray.from_buffers(
        len(lengths), pa.py_buffer(ends), pa.py_buffer(column(7, np.uint8))
    )
    starts = column(2, np.int64)
    if any(begun) and begun != events:
        own = [
            np.frombuffer(each[2 if of_block else 0], np.int64)
            for each, of_block in zip(columns, begun, strict=True)
        ]
        starts = np.concatenate(own)
    names = column(3, np.int32)
    return Block(
        times,
        column(5, np.int16),
        arrivals,
        numbers(names, [len(each[3]) // 4 for each in columns]),
        column(6, np.uint8).reshape(-1, DIGEST),
        tables[places[0]],
        tuple(tables[place] for place in places[1:]),
        written,
        starts,
        tuple(decode_instants(each) for each in ticks if each),
    )


_Sizes = tuple[int, int, int, list[int], list[int]]
"""How many events, terms and starts a block has, and of its tables the rows and the widths."""
_TABLES: Final = 8
"""Where the columns of tables begin: the last of a block, two for each table."""


def _unshared(
    sizes: _Sizes, columns: list[memoryview], places: tuple[int, ...]
) -> tuple[_Sizes, list[memoryview]]:
    """The same with a table for the pairs and for every GPM."""
    events, terms, begun, counts, widths = sizes
    own = [column for place in places for column in columns[_TABLES + 2 * place :][:2]]
    rows, wide = ([of_table[place] for place in places] for of_table in (counts, widths))
    return (events, terms, begun, rows, wide), [*columns[:_TABLES], *own]


def _columns(
    data: bytes | memoryview,
) -> tuple[_Sizes, list[memoryview], memoryview, tuple[int, ...]]:
    """Of a block as bytes its sizes, its columns (those of its tables last), its ticks, and of the pairs and every GPM the table."""
    if data[0] != VERSION:
        raise IncompatibleBlock(
            f"a block of version {data[0]} was found, this release reads version {VERSION}; finish the run with "
            "the release that wrote it, or start again with a new checkpoint"
        )
    view = memoryview(data)
    _, events, names, digests, terms, texts, ticks, begun, tables, gpms = struct.unpack_from("<10q", view)
    shapes = struct.unpack_from(f"<{2 * tables}q", view, 80)
    places = struct.unpack_from(f"<{gpms}q", view, 80 + 16 * tables)
    widths, counts = list(shapes[::2]), list(shapes[1::2])
    of_tables = [
        4 * size for width, count in zip(widths, counts, strict=True) for size in (count, count * width)
    ]
    at, found = 80 + 16 * tables + 8 * gpms, []
    for size in (
        8 * events,
        8 * events,
        8 * begun,
        *of_tables,
        4 * names,
        4 * terms,
        2 * events,
        DIGEST * digests,
        texts,
        ticks,
    ):
        found.append(view[at : at + size])
        at += size
    cells, (named, lengths, streams, digested, written, instants) = found[3:-6], found[-6:]
    columns = [*found[:3], named, lengths, streams, digested, _texts(written, lengths), *cells]
    return (events, terms, begun, counts, widths), columns, instants, places


def _texts(written: memoryview, lengths: memoryview) -> memoryview:
    """The texts of terms of these lengths."""
    size = int(np.frombuffer(lengths, np.uint32).sum(dtype=np.int64))
    return memoryview(pa.decompress(written, size, CODEC)) if size else written


def encode_instants(instants: Longs) -> bytes:
    """Instants in order, each once, as compressed differences: a byte or two for each."""
    gaps = np.diff(instants)
    unit = int(np.gcd.reduce(gaps)) if len(gaps) else 1
    steps = gaps // unit
    width = next(size for size in (1, 2, 4, 8) if not len(steps) or int(steps.max()) < 1 << (8 * size))
    head = np.array([instants[0], unit, width], np.int64)
    return head.tobytes() + zlib.compress(steps.astype(f"<u{width}").tobytes(), 1)


def decode_instants(data: bytes | memoryview) -> Longs:
    """The instants that `encode_instants` wrote; others may have the same array."""
    return _shared.decoded(bytes(data))


class _SharedInstants:
    """The instants that this process decoded last: a task tells all buckets the same ones."""

    def __init__(self) -> None:
        self._known: OrderedDict[bytes, Longs] = OrderedDict()
        self._count = 0

    def decoded(self, data: bytes) -> Longs:
        found = self._known.get(data)
        if found is not None:
            self._known.move_to_end(data)
            return found
        first, unit, width = np.frombuffer(data, np.int64, 3).tolist()
        steps = np.frombuffer(zlib.decompress(data[24:]), f"<u{width}").astype(np.int64)
        made: Longs = first + unit * np.concatenate([np.zeros(1, np.int64), np.cumsum(steps)])
        made.flags.writeable = False
        self._known[data] = made
        self._count += len(made)
        while self._count > settings().shared_instants:
            self._count -= len(self._known.popitem(last=False)[1])
        return made


_shared: Final = _SharedInstants()
