"""The GPM stage on a worker: a batch of events in, blocks of mapping rows out, one per query and bucket."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from spaseq.engine.compaction import Compaction
from spaseq.engine.tally import mappings_of
from spaseq.model.batch import EventBatch
from spaseq.model.dictionary import TermDictionary
from spaseq.model.forms import EVERY_STREAM
from spaseq.model.mappings import MappingTable
from spaseq.model.ordered import each_once, numbered_in_row
from spaseq.operators.event_log import digests_of
from spaseq.planner.distribution import RouteUnit
from spaseq.planner.program import match_gpms, match_keys
from spaseq.settings import settings
from spaseq.spark.job import Job, Task
from spaseq.spark.shuffle.arrow_terms import KeyHashes, local_texts
from spaseq.spark.shuffle.blocks import DIGEST, Block, Mappings, encode_block, encode_instants
from spaseq.spark.shuffle.routing import Targets, Ticks, Words, combined

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Batch:
    """A batch as one query sees it: its own streams only, by its own numbers."""

    events: EventBatch
    arrivals: Longs
    place: str
    names: Ints


@dataclass(frozen=True, slots=True)
class _Mapped:
    """What the GPMs of a query found; where several found the same, it is there once, and is sent once."""

    tables: list[MappingTable]
    columns: list[tuple[str, ...]]
    """The variables that are sent of each table."""
    every: list[bool]
    """True for the table of a GPM that matches every event."""
    places: list[int]
    """For every GPM the number of its table."""

    @staticmethod
    def of(task: Task, tables: Mapping[str, MappingTable]) -> _Mapped:
        """The tables by the names of their GPMs, as they are sent."""
        found, known = _Mapped([], [], [], []), list[list[npt.NDArray[Any]]]()
        for gpm, columns in zip(task.program.gpms, task.columns, strict=True):
            table, every = tables[gpm.name], gpm.is_every_event
            cells: list[npt.NDArray[Any]] = [table.events]
            cells += [table.column(name) for name in (*columns, *task.routing.variables)]
            same = (
                place
                for place, others in enumerate(known)
                if every == found.every[place]
                and len(cells) == len(others)
                and all(map(np.array_equal, cells, others))
            )
            place = next(same, len(known))
            found.places.append(place)
            if place == len(known):
                known.append(cells)
                found.tables.append(table)
                found.columns.append(columns)
                found.every.append(every)
        return found


class Mapper:
    """The GPM stage of a job in one worker process; keeps what is worth keeping from task to task."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.dictionary = TermDictionary()
        pinned = [f"<{iri}>" for iri in sorted(job.predicates or ())]
        self._compaction = Compaction(self.dictionary, self.dictionary.encode_texts(pinned))
        self._hashes = KeyHashes(self.dictionary)
        self._numbers = np.zeros(0, np.int32)
        self._mapped: Counter[str] = Counter()
        self._readers: list[list[int]] = [[] for _ in job.streams]
        for number, task in enumerate(job.tasks):
            for stream in task.inputs:
                self._readers[stream].append(number)

    def mapped(self) -> dict[str, int]:
        """How many mappings each GPM has had since this was last asked."""
        found = dict(self._mapped)
        self._mapped.clear()
        return found

    @property
    def full(self) -> bool:
        """True if the dictionary has grown so large that a new mapper should take over."""
        return len(self.dictionary) > settings().forgotten_terms

    def forget(self) -> None:
        """Drop the terms of batches that are done with, if they have become many: a small dictionary is a fast one.

        Only for readers that hold no ids from one batch to the next.
        """
        if self._compaction.due():
            self._compaction.run((), ())

    def concerned(self, batch: EventBatch) -> list[int]:
        """The queries that declare one of a batch's streams."""
        streams = each_once(batch.streams).tolist()
        return sorted({number for stream in streams for number in self._readers[stream]})

    def blocks(
        self, batch: EventBatch, arrivals: Longs, place: str, names: Ints | None = None
    ) -> Iterator[tuple[int, int, int, bytes]]:
        """The blocks of a batch as bytes, each after the number of its query, its bucket and its earliest instant.

        ``place`` names the task, so that blank nodes of different tasks stay apart. ``names`` are sent in place of the
        names of events.
        """
        for number in self.concerned(batch):
            task = self.job.tasks[number]
            own = _own(
                task, batch, arrivals, place, len(self.job.streams), batch.names if names is None else names
            )
            if len(own.events) == 0:
                continue
            tables = match_gpms(task.program, own.events, self.dictionary, self.job.knowledge, self.job.now)
            for gpm in task.program.gpms:
                self._mapped[mappings_of(number, gpm.name)] += len(tables[gpm.name])
            mapped = _Mapped.of(task, tables)
            pieces = (
                self._partitioned(task, own, mapped)
                if task.routing.unit is RouteUnit.PARTITION
                else self._keyed(task, own, mapped)
            )
            for bucket, block in self._blocks(task, own, mapped, pieces):
                instants = pieces.instants.of(bucket) if pieces.instants else b""
                yield number, bucket, block.first, encode_block(block, instants)

    # --- which rows go where --------------------------------------------------------------------

    def _keyed(self, task: Task, own: _Batch, mapped: _Mapped) -> _Pieces:
        """Rows by the value of the shared variable and by time."""
        routing, times = task.routing, own.events.times
        rows = []
        for table, is_every in zip(mapped.tables, mapped.every, strict=True):
            if routing.everywhere and is_every:
                rows.append(_told(task, table, times))
                continue
            targets = routing.targets(self._row_hashes(task, table), times[table.events])
            rows.append(_Piece(targets.bucket, targets.row, table.events[targets.row]))
        if routing.ticks is Ticks.NONE:
            return _Pieces(_NO_PIECE, rows)
        if routing.ticks is Ticks.EVENTS or task.program.needs_positions:
            ticks = routing.tick_targets(times)
            return _Pieces(_NO_PIECE, rows, events=_Piece(ticks.bucket, ticks.row, ticks.row))
        instants, first = np.unique(times, return_index=True)
        # One event stands for them, so that no block is empty.
        if not routing.size:  # all instants go the same way
            told = routing.tick_targets(instants[:1]).bucket
            event = np.full(len(told), first[0])
            return _Pieces(_NO_PIECE, rows, events=_Piece(told, event, event), instants=_Instants(instants))
        ticks = routing.tick_targets(instants)
        _, shown = np.unique(ticks.bucket, return_index=True)
        event = first[ticks.row[shown]]
        return _Pieces(
            _NO_PIECE,
            rows,
            events=_Piece(ticks.bucket[shown], event, event),
            instants=_Instants(instants, ticks),
        )

    def _row_hashes(self, task: Task, table: MappingTable) -> Words:
        columns = [self._hashes.of(table.column(name)) for name in task.routing.variables]
        return combined(columns, len(table))

    def _partitioned(self, task: Task, own: _Batch, mapped: _Mapped) -> _Pieces:
        """Rows by partition; an event's rows without a key of their own go to all of its partitions."""
        routing, times = task.routing, own.events.times
        found = match_keys(task.program, own.events, self.dictionary)
        assert found is not None
        event, keys = found
        values = np.array(keys, np.int32).reshape(len(keys), len(routing.variables))
        hashes = combined([self._hashes.of(column) for column in values.T], len(keys))
        targets = routing.targets(hashes, times[event])
        pairs = _Piece(targets.bucket, targets.row, event[targets.row])
        size = len(times)
        present = each_once(pairs.event * routing.buckets + pairs.bucket)  # by event
        spread = np.bincount(present // routing.buckets, minlength=size)
        ends = np.cumsum(spread)
        rows = []
        for table in mapped.tables:
            columns = [table.column(name) for name in routing.variables]
            full = np.all([ids != 0 for ids in columns], axis=0) if len(table) else np.zeros(0, np.bool_)
            bound = np.flatnonzero(full)
            hashes = self._row_hashes(task, table)[bound]
            targets = routing.targets(hashes, times[table.events[bound]])
            free = np.flatnonzero(~full)
            count = spread[table.events[free]]
            nth = numbered_in_row(count)
            copies = np.repeat(free, count)
            places = present[(ends - spread)[table.events[copies]] + nth] % routing.buckets
            row = np.concatenate([bound[targets.row], copies])
            bucket = np.concatenate([targets.bucket, places.astype(np.int32)])
            order = np.argsort(row, kind="stable")
            rows.append(_Piece(bucket[order], row[order], table.events[row[order]]))
        if routing.ticks is Ticks.NONE:
            matched = np.concatenate([piece.event * routing.buckets + piece.bucket for piece in rows])
            pairs = pairs.take(np.isin(pairs.event * routing.buckets + pairs.bucket, matched))
        return _Pieces(pairs, rows, pair_values=values)

    # --- the blocks themselves ------------------------------------------------------------------

    def _blocks(
        self, task: Task, own: _Batch, mapped: _Mapped, pieces: _Pieces
    ) -> Iterator[tuple[int, Block]]:
        """A block for every bucket that gets anything.

        Everything is put in the order of the buckets once; a block is then a stretch of every column.
        """
        batch, by_bucket = own.events, _ByBucket.of(pieces)
        events, parts = by_bucket.events, by_bucket.parts
        digests = np.zeros((0, DIGEST), np.uint8)
        if self.job.provenance:
            taken, place = np.unique(events, return_inverse=True)
            known = digests_of(batch, taken, self.dictionary, task.program.streams)
            digests = np.frombuffer(b"".join(known), np.uint8).reshape(-1, DIGEST)[place]
        names = own.names[events] if self.job.keeps_names else np.zeros(0, np.int32)
        values = [pieces.pair_values[parts[0].row]]
        values += [
            _matrix(table, columns, part.row)
            for table, columns, part in zip(mapped.tables, mapped.columns, parts[1:], strict=True)
        ]
        times, streams, arrivals = batch.times[events], batch.streams[events], own.arrivals[events]
        starts = np.zeros(0, np.int64) if batch.starts is None else batch.starts[events]
        blocks, used = [], []
        for at in range(len(by_bucket.buckets)):
            here = by_bucket.events_of(at)
            rows = [by_bucket.rows_of(part, at) for part in range(len(parts))]
            cells = [names[here], *(matrix[part].ravel() for matrix, part in zip(values, rows, strict=True))]
            terms, number = self._renumbered(np.concatenate(cells))
            ends = list(accumulate(map(len, cells), initial=0))
            numbers = [number[first:last] for first, last in pairwise(ends)]
            mappings = [
                Mappings(parts[part].event[stretch], found.reshape(-1, values[part].shape[1]))
                if values[part].shape[1]
                else Mappings(parts[part].event[stretch], values[part][stretch])
                for part, (stretch, found) in enumerate(zip(rows, numbers[1:], strict=True))
            ]
            used.append(terms)
            digested = digests[here] if self.job.provenance else digests
            pairs, *others = mappings
            gpms = tuple(others[place] for place in mapped.places)
            columns = times[here], streams[here], arrivals[here], numbers[0], digested, pairs, gpms
            blocks.append(Block(*columns, _NO_TERMS, starts[here] if len(starts) else starts))
        if not blocks:
            return
        texts = local_texts(self.dictionary, np.concatenate(used), own.place)
        places = pairwise(accumulate(map(len, used), initial=0))
        for bucket, block, (first, last) in zip(by_bucket.buckets, blocks, places, strict=True):
            yield bucket, replace(block, terms=texts[first:last])

    def _renumbered(self, ids: Ints) -> tuple[Ints, Ints]:
        """The terms among some ids, in any order, and for every id its place among them from 1 on; 0 stays."""
        if len(self._numbers) <= len(self.dictionary):
            self._numbers = np.zeros(2 * len(self.dictionary) + 1, np.int32)
        # What was noted before does not matter: every id is noted now, and the last place of each stays.
        numbers, places = self._numbers, np.arange(len(ids), dtype=np.int32)
        numbers[ids] = places
        used = ids[(numbers[ids] == places) & (ids != 0)]
        numbers[used] = np.arange(1, len(used) + 1, dtype=np.int32)
        numbers[0] = 0
        return used, numbers[ids]


_NO_TERMS: Final = pa.array([], pa.large_string())


@dataclass(frozen=True, slots=True)
class _Piece:
    """Rows of a table, the bucket that each goes to, and its event."""

    bucket: Ints
    row: npt.NDArray[np.integer]
    event: npt.NDArray[Any]

    def take(self, rows: npt.NDArray[np.bool_] | npt.NDArray[np.integer]) -> _Piece:
        return _Piece(self.bucket[rows], self.row[rows], self.event[rows])


def _told(task: Task, table: MappingTable, times: Longs) -> _Piece:
    """The rows of a pattern that matches every event, for all buckets: only events that are counted are told one by one."""
    events = table.events
    if task.routing.ticks is Ticks.EVENTS:
        chosen = np.arange(len(table))
    elif len(task.program.streams) == 1:
        return _NO_PIECE  # instants say it all
    else:
        _, chosen = np.unique(times[events], return_index=True)
    targets = task.routing.tick_targets(times[events[chosen]])
    rows = chosen[targets.row]
    return _Piece(targets.bucket, rows, events[rows])


_NO_PIECE: Final = _Piece(np.zeros(0, np.int32), np.zeros(0, np.intp), np.zeros(0, np.int64))


class _Instants:
    """Instants, and for every bucket those that it must hear of, as bytes; without targets all of them."""

    def __init__(self, instants: Longs, targets: Targets | None = None) -> None:
        self._instants = instants
        self._all: bytes | None = None
        self._by_bucket: Targets | None = None
        if targets is not None:
            order = np.argsort(targets.bucket, kind="stable")
            self._by_bucket = Targets(targets.row[order], targets.bucket[order])

    def of(self, bucket: int) -> bytes:
        if self._by_bucket is not None:
            first, last = np.searchsorted(self._by_bucket.bucket, (bucket, bucket + 1)).tolist()
            if first == last:
                return b""
            if last - first < len(self._instants):
                return encode_instants(self._instants[self._by_bucket.row[first:last]])
        self._all = self._all or encode_instants(self._instants)
        return self._all


@dataclass(frozen=True, slots=True)
class _Pieces:
    """Where everything of a batch goes: partition pairs, the rows of every GPM, and events that count without rows."""

    pairs: _Piece
    rows: list[_Piece]
    events: _Piece = _NO_PIECE
    instants: _Instants | None = None
    pair_values: Ints = field(default_factory=lambda: np.zeros((0, 0), np.int32))
    """The key values of all pairs of the batch."""


@dataclass(frozen=True, slots=True)
class _ByBucket:
    """The same by bucket."""

    buckets: list[int]
    events: npt.NDArray[np.integer]
    """The events of all buckets, those of one in order and each once."""
    event_ends: list[int]
    parts: list[_Piece]
    """Pairs and rows; events as their places in the bucket."""
    part_ends: list[list[int]]

    @staticmethod
    def of(pieces: _Pieces) -> _ByBucket:
        parts = [pieces.pairs, *pieces.rows]
        bucket = np.concatenate([piece.bucket for piece in (*parts, pieces.events)])
        event = np.concatenate([piece.event for piece in (*parts, pieces.events)])
        order = np.lexsort((event, bucket))
        fresh = np.ones(len(order), np.bool_)
        fresh[1:] = (np.diff(bucket[order]) != 0) | (np.diff(event[order]) != 0)
        place = np.empty(len(order), np.int64)
        place[order] = np.cumsum(fresh) - 1
        home, kept = bucket[order][fresh], event[order][fresh]
        buckets = each_once(home)
        begins = np.searchsorted(home, buckets)
        moved, ends, at = [], [], 0
        for piece in parts:
            own = np.argsort(piece.bucket, kind="stable")
            local = place[at : at + len(own)][own] - begins[np.searchsorted(buckets, piece.bucket[own])]
            at += len(own)
            moved.append(_Piece(piece.bucket[own], piece.row[own], local.astype(np.int32)))
            ends.append(np.searchsorted(piece.bucket[own], buckets, "right").tolist())
        return _ByBucket(buckets.tolist(), kept, [*begins.tolist()[1:], len(kept)], moved, ends)

    def events_of(self, at: int) -> slice:
        return slice(self.event_ends[at - 1] if at else 0, self.event_ends[at])

    def rows_of(self, part: int, at: int) -> slice:
        ends = self.part_ends[part]
        return slice(ends[at - 1] if at else 0, ends[at])


def _own(task: Task, batch: EventBatch, arrivals: Longs, place: str, streams: int, names: Ints) -> _Batch:
    """The events of the streams that a query declares; others do not exist for it (semantics 0)."""
    local = np.full(streams, -1, np.int16)
    every = task.program.streams == (EVERY_STREAM,)
    local[list(task.inputs)] = 0 if every else np.arange(len(task.inputs), dtype=np.int16)
    numbers = local[batch.streams]
    if bool((numbers >= 0).all()):
        return _Batch(replace(batch, streams=numbers), arrivals, place, names)
    kept = np.flatnonzero(numbers >= 0)
    return _Batch(replace(batch.take(kept), streams=numbers[kept]), arrivals[kept], place, names[kept])


def _matrix(table: MappingTable, names: tuple[str, ...], rows: npt.NDArray[np.integer]) -> Ints:
    if not names:
        return np.zeros((len(rows), 0), np.int32)
    return np.stack([table.column(name)[rows] for name in names], axis=1)
