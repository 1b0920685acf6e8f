"""Event files as DataFrames: `read_events`, and the parts of files that tasks read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampType

from spaseq.io.bad_input import OnBad, Policy
from spaseq.io.options import TIMESTAMP_PREDICATE, ReadOptions
from spaseq.io.readers import check_source, read_sources
from spaseq.io.sources import PathLike, Source, find_sources
from spaseq.model.batch import EventBatch
from spaseq.model.dictionary import TermDictionary
from spaseq.spark.answer_rows import INSTANT
from spaseq.spark.bad_events import BadEvents, checked_policy
from spaseq.spark.places import Place, placed
from spaseq.spark.schemas import ARROW_TRIPLES, TRIPLES
from spaseq.spark.sources import Split
from spaseq.spark.texts import local_texts
from spaseq.temporal.instants import TimeUnit

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

EVENTS: Final = StructType(
    [
        StructField("time", TimestampType()),
        StructField("triples", TRIPLES),
        StructField("graph", StringType()),
        StructField("source", StringType()),
        StructField("position", LongType()),
    ]
)
"""What `read_events` and ``format("rdf")`` give: CONTRACT section 5, and where each event comes from."""

SMALLEST_PART: Final = 1 << 20
LARGEST_PART: Final = 1 << 27
_MARK: Final = "_spaseq_files"


@dataclass(frozen=True, slots=True)
class EventFiles:
    """Where an events DataFrame comes from; `match` reads such files itself, without rows of triples."""

    sources: tuple[Source, ...]
    options: ReadOptions
    on_bad: Policy
    quarantine: str | None


def read_events(
    spark: SparkSession,
    path: PathLike | Iterable[PathLike],
    *,
    format: str | None = None,  # noqa: A002 - the word of the public contract
    timestamp_predicate: str = TIMESTAMP_PREDICATE,
    time_unit: TimeUnit = "ms",
    triples_per_event: int | None = None,
    on_bad_input: str = "fail",
    quarantine: str | None = None,
) -> DataFrame:
    """The events of files, directories or globs: ``time, triples, graph, source, position``.

    Options as on the command line (CONTRACT section 2). ``quarantine`` is a directory that all workers see.
    """
    options = ReadOptions(timestamp_predicate, time_unit, triples_per_event)
    policy = checked_policy(on_bad_input, quarantine)
    sources = tuple(find_sources(path, format))
    for source in sources:
        check_source(source, options)
    files = EventFiles(sources, options, policy, quarantine)
    tasks = parts(sources, options, spark.sparkContext.defaultParallelism)
    frame = spark.range(0, len(tasks), 1, len(tasks)).mapInArrow(ReadParts(tasks, files), EVENTS)
    setattr(frame, _MARK, files)
    return frame


def files_of(frame: DataFrame) -> EventFiles | None:
    """The files that a DataFrame stands for, if it comes straight from `read_events`."""
    found = vars(frame).get(_MARK)
    return found if isinstance(found, EventFiles) else None


# --- parts --------------------------------------------------------------------------------------


def parts(sources: Sequence[Source], options: ReadOptions, parallelism: int) -> list[tuple[Split, ...]]:
    """What each task reads: large N-Quads files in parts, small files together, all in order."""
    sizes = [source.path.stat().st_size for source in sources]
    share = sum(sizes) // max(1, 3 * parallelism)
    size = min(max(share, SMALLEST_PART), LARGEST_PART)
    tasks: list[tuple[Split, ...]] = []
    waiting: list[Split] = []
    filled = 0
    for source, length in zip(sources, sizes, strict=True):
        for part, bytes_ in _cut(source, length, size, options.timestamp_predicate):
            if waiting and filled + bytes_ > size:
                tasks.append(tuple(waiting))
                waiting, filled = [], 0
            waiting.append(part)
            filled += bytes_
    return [*tasks, tuple(waiting)] if waiting else tasks


def _cut(source: Source, length: int, size: int, predicate: str) -> Iterator[tuple[Split, int]]:
    compressed = source.path.suffix.lower() in (".gz", ".zst", ".zstd")
    if source.format != "nquads" or compressed or length < 2 * size:
        yield Split(source.path, source.format, predicate=predicate), length
        return
    count = length // size
    edges = [length * number // count for number in range(count)]
    for number, start in enumerate(edges):
        stop = edges[number + 1] if number + 1 < count else None
        yield Split(source.path, source.format, start, stop, predicate), (stop or length) - start


class ReadParts:
    """Reads the parts of files that a task is given, as rows of events."""

    def __init__(self, tasks: Sequence[tuple[Split, ...]], files: EventFiles) -> None:
        self._tasks, self._files = tasks, files

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        files, place = self._files, Place()
        with BadEvents(files.on_bad, files.quarantine, f"read-{place.name}") as bad:
            for batch in batches:
                for number in batch.column(0).to_pylist():
                    yield from event_rows(self._tasks[number], files.options, bad, place)


def event_rows(
    splits: Iterable[Split], options: ReadOptions, bad: OnBad, place: Place
) -> Iterator[pa.RecordBatch]:
    """The events of some parts of files as rows."""
    dictionary = TermDictionary()
    for split in splits:
        for events in read_sources([split], split.name, 0, dictionary, options, placed(bad, split)):
            yield _rows(events, dictionary, place)


def _rows(events: EventBatch, dictionary: TermDictionary, place: Place) -> pa.RecordBatch:
    columns = [
        local_texts(dictionary, ids, place.label).cast(pa.string())
        for ids in (events.subjects, events.predicates, events.objects)
    ]
    structs = pa.StructArray.from_arrays(columns, fields=list(ARROW_TRIPLES.value_type))
    named = events.names > 0
    graphs = pa.nulls(len(events), pa.string())
    if named.any():
        texts = local_texts(dictionary, events.names[named], place.label).cast(pa.string())
        graphs = pa.compute.replace_with_mask(graphs, pa.array(named), texts)
    return pa.RecordBatch.from_arrays(
        [
            pa.array(events.times, INSTANT),
            pa.ListArray.from_arrays(pa.array(events.offsets, pa.int32()), structs),
            graphs,
            pa.array([events.origin_of(event)[0] for event in range(len(events))], pa.string()),
            pa.array([0] * len(events) if events.positions is None else events.positions, pa.int64()),
        ],
        names=EVENTS.names,
    )
