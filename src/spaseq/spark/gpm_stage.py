"""The GPM stage as functions over Arrow batches: events in, blocks out, before the only shuffle."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from spaseq.io.readers import read_sources
from spaseq.model.batch import EventBatch
from spaseq.spark.bad_events import BadEvents
from spaseq.spark.blocks import encode_block
from spaseq.spark.event_rows import EventRows
from spaseq.spark.files import EventFiles
from spaseq.spark.job import Job
from spaseq.spark.mapper import Mapper
from spaseq.spark.places import Place, placed
from spaseq.spark.schemas import ARROW_BLOCKS
from spaseq.spark.sequence_stage import Shared
from spaseq.spark.sources import Split

Longs = npt.NDArray[np.int64]

_mappers: dict[str, Mapper] = {}
"""The mapper of the job this process works for: its dictionary and its background graphs stay warm."""


def mapper_of(job: Job) -> Mapper:
    """This process's mapper for a job."""
    found = _mappers.get(job.id)
    if found is None or found.full:
        _mappers.clear()
        found = _mappers[job.id] = Mapper(job)
    return found


class MatchRows:
    """Matches the rows of an events DataFrame."""

    def __init__(self, job: Shared, stream: int | dict[str, int], syntax: str | None) -> None:
        self._job, self._stream, self._syntax = job, stream, syntax

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        job, place = self._job.value, Place()
        mapper = mapper_of(job)
        with BadEvents(job.on_bad, job.quarantine, f"rows-{place.name}") as bad:
            rows = EventRows(
                job.streams, self._stream, self._syntax, mapper.dictionary, job.reading, bad,
                f"partition {place.partition}",
            )  # fmt: skip
            for batch in batches:
                for events, numbers in rows.batches(batch):
                    yield from blocks_of(mapper, events, place.arrivals(numbers), place)


class MatchParts:
    """Reads the parts of event files that a task is given and matches them, without rows of triples."""

    def __init__(
        self, job: Shared, stream: int, tasks: Sequence[tuple[Split, ...]], files: EventFiles
    ) -> None:
        self._job, self._stream, self._tasks, self._files = job, stream, tasks, files

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                yield from self._match(self._tasks[number])

    def _match(self, splits: tuple[Split, ...]) -> Iterator[pa.RecordBatch]:
        job, files, place = self._job.value, self._files, Place()
        mapper = mapper_of(job)
        options = replace(files.options, needed_predicates=job.predicates, keep_names=job.provenance)
        stream = job.streams[self._stream]
        count = 0
        with BadEvents(files.on_bad, files.quarantine, f"read-{self._stream}-{place.name}") as bad:
            for split in splits:
                report = placed(bad, split)
                for events in read_sources([split], stream, self._stream, mapper.dictionary, options, report):
                    numbers = np.arange(count, count + len(events))
                    count += len(events)
                    yield from blocks_of(mapper, events, place.arrivals(numbers), place)


def blocks_of(mapper: Mapper, events: EventBatch, arrivals: Longs, place: Place) -> Iterator[pa.RecordBatch]:
    """The blocks of some events as rows."""
    rows = [
        (query, bucket, block.first, encode_block(block))
        for query, bucket, block in mapper.blocks(events, arrivals, place.label)
    ]
    if rows:
        arrays = [
            pa.array(column, kind)
            for column, kind in zip(zip(*rows, strict=True), ARROW_BLOCKS.types, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=ARROW_BLOCKS)
