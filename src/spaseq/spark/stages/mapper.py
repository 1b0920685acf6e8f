"""The GPM stage on a worker: a batch of events in, blocks of mapping rows out, one per query and bucket."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from spaseq.engine.compaction import Compaction
from spaseq.engine.tally import mappings_of
from spaseq.model.batch import EventBatch
from spaseq.model.dictionary import TermDictionary
from spaseq.model.forms import EVERY_STREAM
from spaseq.model.mappings import MappingTable
from spaseq.operators.event_log import digests_of
from spaseq.planner.distribution import RouteUnit
from spaseq.planner.program import match_gpms, match_keys
from spaseq.settings import settings
from spaseq.spark.job import Job, Task
from spaseq.spark.shuffle.arrow_terms import KeyHashes, local_texts
from spaseq.spark.shuffle.blocks import DIGEST, Block, Mappings
from spaseq.spark.shuffle.routing import Targets, Ticks, Words, combined

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Batch:
    """A batch as one query sees it: its own streams only, by its own numbers."""

    events: EventBatch
    arrivals: Longs
    place: str


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
        streams = np.unique(batch.streams).tolist()
        return sorted({number for stream in streams for number in self._readers[stream]})

    def blocks(self, batch: EventBatch, arrivals: Longs, place: str) -> Iterator[tuple[int, int, Block]]:
        """The blocks of a batch, each with the number of its query and its bucket.

        ``place`` names the task, so that blank nodes of different tasks stay apart.
        """
        for number in self.concerned(batch):
            task = self.job.tasks[number]
            own = _own(task, batch, arrivals, place, len(self.job.streams))
            if len(own.events) == 0:
                continue
            tables = match_gpms(task.program, own.events, self.dictionary, self.job.knowledge, self.job.now)
            mapped = [tables[gpm.name] for gpm in task.program.gpms]
            for gpm, table in zip(task.program.gpms, mapped, strict=True):
                self._mapped[mappings_of(number, gpm.name)] += len(table)
            parts = (
                self._partitioned(task, own, mapped)
                if task.routing.unit is RouteUnit.PARTITION
                else self._keyed(task, own, mapped)
            )
            for bucket, part in parts:
                yield number, bucket, self._block(task, own, mapped, part)

    # --- which rows go where --------------------------------------------------------------------

    def _keyed(self, task: Task, own: _Batch, tables: list[MappingTable]) -> Iterator[tuple[int, _Part]]:
        """Rows by the value of the shared variable and by window."""
        routing, times = task.routing, own.events.times
        targets = [routing.targets(self._row_hashes(task, table), times[table.events]) for table in tables]
        ticks, events = Targets(np.zeros(0, np.intp), np.zeros(0, np.int32)), np.arange(len(times))
        match routing.ticks:
            case Ticks.EVENTS:
                ticks = routing.tick_targets(times)
            case Ticks.INSTANTS:
                instants, events = np.unique(times, return_index=True)
                ticks = routing.tick_targets(instants)
            case Ticks.NONE:
                pass
        by_bucket = [_by_bucket(target, routing.buckets) for target in (*targets, ticks)]
        no_pairs, no_events, no_keys = np.zeros(0, np.intp), np.zeros(0, np.int64), np.zeros((0, 0), np.int32)
        for bucket in range(routing.buckets):
            *rows, here = (part[bucket] for part in by_bucket)
            if len(here) or any(len(part) for part in rows):
                present = np.zeros(len(times), np.bool_)
                present[events[here]] = True
                for table, part in zip(tables, rows, strict=True):
                    present[table.events[part]] = True
                yield bucket, _Part(np.flatnonzero(present), no_pairs, rows, no_events, no_keys)

    def _row_hashes(self, task: Task, table: MappingTable) -> Words:
        columns = [self._hashes.of(table.column(name)) for name in task.routing.variables]
        return combined(columns, len(table))

    def _partitioned(
        self, task: Task, own: _Batch, tables: list[MappingTable]
    ) -> Iterator[tuple[int, _Part]]:
        """Rows by partition; an event's rows without a key of their own go to all of its partitions."""
        routing, times = task.routing, own.events.times
        found = match_keys(task.program, own.events, self.dictionary)
        assert found is not None
        event, keys = found
        values = np.array(keys, np.int32).reshape(len(keys), len(routing.variables))
        hashes = combined([self._hashes.of(column) for column in values.T], len(keys))
        pairs = _by_bucket(routing.targets(hashes, times[event]), routing.buckets)
        bound, rows = [], []
        for table in tables:
            columns = [table.column(name) for name in routing.variables]
            full = np.all([ids != 0 for ids in columns], axis=0) if len(table) else np.zeros(0, np.bool_)
            bound.append(full)
            rows.append(
                _by_bucket(
                    routing.targets(self._row_hashes(task, table), times[table.events]), routing.buckets
                )
            )
        for bucket in range(routing.buckets):
            here = pairs[bucket]
            if not len(here):
                continue
            present = np.zeros(len(times), np.bool_)
            present[event[here]] = True
            taken = [
                np.sort(
                    np.concatenate(
                        [part[bucket][full[part[bucket]]], np.flatnonzero(~full & present[table.events])]
                    )
                )
                for table, part, full in zip(tables, rows, bound, strict=True)
            ]
            if routing.ticks is Ticks.NONE:
                matched = np.zeros(len(times), np.bool_)
                for table, part in zip(tables, taken, strict=True):
                    matched[table.events[part]] = True
                here = here[matched[event[here]]]
            if len(here):
                yield bucket, _Part(np.unique(event[here]), here, taken, event, values)

    # --- the blocks themselves ------------------------------------------------------------------

    def _block(self, task: Task, own: _Batch, tables: list[MappingTable], part: _Part) -> Block:
        batch, events = own.events, part.events
        place = np.full(len(batch), -1, np.int32)
        place[events] = np.arange(len(events), dtype=np.int32)
        pairs = Mappings(place[part.event[part.pairs]], part.values[part.pairs])
        gpms = [
            Mappings(place[table.events[rows]], _matrix(table, names, rows))
            for table, names, rows in zip(tables, task.columns, part.rows, strict=True)
        ]
        names = np.zeros(0, np.int32)
        digests = np.zeros((0, DIGEST), np.uint8)
        if self.job.keeps_names:
            names = batch.names[events]
        if self.job.provenance:
            known = digests_of(batch, events, self.dictionary, task.program.streams)
            digests = np.frombuffer(b"".join(known), np.uint8).reshape(-1, DIGEST)
        cells = [names, pairs.terms.ravel(), *(rows.terms.ravel() for rows in gpms)]
        used, number = self._renumbered(np.concatenate(cells))
        numbers = np.split(number, np.cumsum([len(cell) for cell in cells])[:-1])
        return Block(
            batch.times[events],
            batch.streams[events],
            own.arrivals[events],
            numbers[0],
            digests,
            Mappings(pairs.event, numbers[1].reshape(pairs.terms.shape)),
            tuple(
                Mappings(rows.event, number.reshape(rows.terms.shape))
                for rows, number in zip(gpms, numbers[2:], strict=True)
            ),
            local_texts(self.dictionary, used, own.place),
        )

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


@dataclass(frozen=True, slots=True)
class _Part:
    """What one bucket gets of a batch: events, partition pairs, and the rows of every GPM."""

    events: npt.NDArray[np.intp]
    pairs: npt.NDArray[np.intp]
    rows: list[npt.NDArray[np.intp]]
    event: Longs
    values: Ints
    """The events and the key values of all pairs of the batch."""


def _own(task: Task, batch: EventBatch, arrivals: Longs, place: str, streams: int) -> _Batch:
    """The events of the streams that a query declares; others do not exist for it (semantics 0)."""
    local = np.full(streams, -1, np.int16)
    every = task.program.streams == (EVERY_STREAM,)
    local[list(task.inputs)] = 0 if every else np.arange(len(task.inputs), dtype=np.int16)
    numbers = local[batch.streams]
    if bool((numbers >= 0).all()):
        return _Batch(replace(batch, streams=numbers), arrivals, place)
    kept = np.flatnonzero(numbers >= 0)
    return _Batch(replace(batch.take(kept), streams=numbers[kept]), arrivals[kept], place)


def _by_bucket(targets: Targets, buckets: int) -> list[npt.NDArray[np.intp]]:
    """For every bucket its rows, in order."""
    if buckets == 1:
        return [np.sort(targets.row)]
    order = np.lexsort((targets.row, targets.bucket))
    ends = np.searchsorted(targets.bucket[order], np.arange(1, buckets))
    return np.split(targets.row[order], ends)


def _matrix(table: MappingTable, names: tuple[str, ...], rows: npt.NDArray[np.intp]) -> Ints:
    if not names:
        return np.zeros((len(rows), 0), np.int32)
    return np.stack([table.column(name)[rows] for name in names], axis=1)
