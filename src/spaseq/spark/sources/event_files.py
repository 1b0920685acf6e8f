"""Event files as DataFrames: `read_events`, and the parts of files that tasks read."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

import numpy as np
import pyarrow as pa
from pyspark.sql.types import LongType, StringType, StructField, StructType

from spaseq.errors import InvalidArgument, described, listed
from spaseq.io.bad_input import BadInput
from spaseq.io.growing import START
from spaseq.io.layouts import FOLLOWED, NOT_GROUPED
from spaseq.io.options import TIMESTAMP_PREDICATE, ReadOptions
from spaseq.io.readers import check_source, found_layout, layout_of
from spaseq.io.sources import Layout, PathLike, Source, find_sources
from spaseq.model.events import instant_of
from spaseq.settings import settings
from spaseq.spark.shared_folder import BadPolicy, Directory, bad_policy
from spaseq.spark.sources.file_rows import event_columns
from spaseq.spark.sources.splits import Split
from spaseq.spark.spark_session import (
    is_connected,
    is_one_process,
    parallel_tasks,
    reach_stores,
    workers_like_us,
)
from spaseq.stores import StoreAccess, is_store, one_name
from spaseq.temporal.instants import (
    BEFORE_ALL,
    FOREVER,
    XSD,
    TimeUnit,
    as_duration,
    format_instant,
    parse_instant,
)

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession
    from pyspark.sql.streaming.readwriter import DataStreamReader

    from spaseq.model.batch import EventBatch

ALL_TIMES: Final = (BEFORE_ALL, FOREVER)


def time_range(since: datetime | str | int | None, until: datetime | str | int | None) -> tuple[int, int]:
    """The first instant of the events that are wanted, and the first after it of those that are not."""
    first = BEFORE_ALL if since is None else _bound("since", since)
    end = FOREVER if until is None else _bound("until", until)
    if first >= end:
        raise InvalidArgument(
            "`since` must be before `until`: events are read from `since` on and before `until`"
        )
    return first, end


def _bound(name: str, given: datetime | str | int) -> int:
    try:
        is_date = isinstance(given, str) and "T" not in given
        return parse_instant(str(given), XSD + "date") if is_date else instant_of(given)
    except (InvalidArgument, ValueError):
        raise InvalidArgument(
            f"`{name}` is a datetime, a text such as 2024-06-01 or 2024-06-01T08:00:00Z, or an int of microseconds since 1970, "
            f"not {described(given)}"
        ) from None


PARTS: Final = StructType(
    [
        StructField("part", StringType()),
        StructField("lost", StringType()),
        StructField("promise", LongType()),
        StructField("clock", LongType()),
        StructField("began", LongType()),
    ]
)
"""One of: a part of a file, which `match` reads itself; a file that cannot be read on; the stream's promise that nothing
before a time will follow; the wall clock when the micro-batch was planned, and when the run began that did it."""


@dataclass(frozen=True, slots=True)
class FileParts:
    """A stream of events that `match` reads itself, and a DataFrame with a row for each of its parts."""

    files: EventFiles
    frame: DataFrame
    tasks: Broadcast[list[str]] | None = None
    """What the numbers in the rows stand for, each text for its own task; None if the rows name parts as `PARTS` does."""


@dataclass(frozen=True, slots=True)
class EventFiles:
    """Where the events of a stream come from and how they are read."""

    paths: tuple[str, ...]
    file_format: str | None
    options: ReadOptions
    bad: BadPolicy
    followed: bool = False
    """True if new files are taken as they come: those have the layout of streams."""
    shown: tuple[tuple[str, str], ...] = ()
    """Files that have another name for users, with that name."""
    access: StoreAccess | None = None
    """How workers reach the stores of these files."""
    times: tuple[int, int] = ALL_TIMES
    """The first instant of the events that are wanted, and the first after it of those that are not."""

    def __post_init__(self) -> None:
        if any(map(is_store, self.paths)):
            object.__setattr__(self, "access", StoreAccess())

    def wanted(self, events: EventBatch) -> EventBatch:
        """The events that lie in the range of times."""
        if self.times == ALL_TIMES:
            return events
        return events.take(np.flatnonzero((events.times >= self.times[0]) & (events.times < self.times[1])))

    def cure(self, split: Split) -> str:
        """What to say of bad input that may be due to the layout: nothing if a file was judged as a whole."""
        if self.followed:
            return FOLLOWED
        judged = split.layout is None and self.options.layout == "auto"
        if judged and split.path.stat().st_size <= settings().judged_bytes:
            return ""
        return NOT_GROUPED if layout_of(split, self.options) != "dataset" else ""

    def found(self) -> list[Source]:
        """All files that are there now."""
        sources = find_sources(self.paths, self.file_format)
        for source in sources:
            check_source(source, self.options)
        names = dict(self.shown)
        return [replace(each, shown=names.get(str(each.path), each.shown)) for each in sources]

    def settings(self) -> dict[str, str]:
        """The same as options of ``format("rdf")``."""
        options = self.options
        given = {
            "paths": json.dumps(self.paths),
            "format": self.file_format,
            "timestampPredicate": options.timestamp_predicate,
            "startPredicate": options.start_predicate,
            "endPredicate": options.end_predicate,
            "timeUnit": options.time_unit,
            "triplesPerEvent": options.triples_per_event,
            "layout": options.layout,
            "since": None if self.times[0] == BEFORE_ALL else format_instant(self.times[0]),
            "until": None if self.times[1] == FOREVER else format_instant(self.times[1]),
            "onBadInput": self.bad.policy,
            "quarantine": None if self.bad.folder is None else self.bad.folder.path,
        }
        return {name: str(value) for name, value in given.items() if value is not None}


def read_events(
    spark: SparkSession,
    path: PathLike | Sequence[PathLike],
    streaming: bool = False,
    *,
    format: str | None = None,  # noqa: A002 - the public name
    timestamp_predicate: str = TIMESTAMP_PREDICATE,
    start_predicate: str | None = None,
    end_predicate: str | None = None,
    time_unit: TimeUnit = "ms",
    triples_per_event: int | None = None,
    layout: Layout = "auto",
    columns: Sequence[str] | None = None,
    since: datetime | str | int | None = None,
    until: datetime | str | int | None = None,
    on_bad_input: str | None = None,
    quarantine: Directory | None = None,
    finite: bool = False,
    max_files_per_trigger: int | None = None,
    max_bytes_per_trigger: int | None = None,
    settle: str | int | None = None,
    idle_after: str | int | None = None,
    file_log: PathLike | None = None,
    max_file_age: str | int | None = None,
    clean_source: str | None = None,
    archive: PathLike | None = None,
) -> DataFrame:
    """The events of files, directories or globs: ``time, triples, graph, source, position, promise``.

    With ``start_predicate`` and ``end_predicate`` there is a column ``start``, NULL for an instant. ``columns`` names those that are
    wanted: the others are not made, and without ``triples`` those of the files are not kept. Of a finite input ``since`` and ``until`` (a datetime,
    a text in ``xsd:dateTime`` or ``xsd:date`` syntax, or microseconds) leave out events before the one and from the other on, also where `match` reads the files.

    Options as on the command line. ``on_bad_input`` is ``fail``, ``skip`` or ``quarantine``, which needs ``quarantine``, a
    directory that all workers see; without it `match` decides, which reads the files itself, and otherwise bad input fails. The layout
    ``auto`` decides by the beginning of a file; a data set is read by one task, which holds it in memory.

    A streaming DataFrame takes new files as they come, in the layout of streams, and reads on in files that grow;
    ``settle`` says how long a file must stand still before its last event is taken to be complete (2 seconds). If the
    input is ``finite`` it takes the files that are there, in order of their names, and then says that the stream has
    ended, so that a query gives its last answers. ``idle_after`` lets `match` know that the stream has had no events for
    so long.

    The offset of a micro-batch names every file that was taken. For a stream that goes on for long, ``file_log`` names a directory beside
    the query's checkpoint, and as lasting, in which that is kept; an offset is then a number. ``max_file_age`` passes over files
    that are so much older than the latest, and forgets them. ``clean_source`` deletes files that were read to their end
    (``delete``), or moves them to the directory ``archive`` (``archive``), once their micro-batch is committed; there they keep their
    paths in the folder that all sources have in common. Another file that comes under such a name is read whole.
    """
    if not hasattr(spark, "readStream"):
        raise InvalidArgument(f"read_events takes a SparkSession first, not {described(spark)}")
    if streaming and layout == "dataset":
        raise InvalidArgument(
            '`layout="dataset"` needs whole files, and `streaming=True` takes them as they come'
        )
    known: Layout = "stream" if streaming else layout
    options = ReadOptions(
        timestamp_predicate,
        time_unit,
        triples_per_event,
        layout=known,
        start_predicate=start_predicate,
        end_predicate=end_predicate,
    )
    paths = tuple(dict.fromkeys(map(one_name, _strings(path))))
    if any(map(is_store, paths)):
        reach_stores(spark)
    times = time_range(since, until)
    if streaming and times != ALL_TIMES:
        raise InvalidArgument("`since=` and `until=` are for a finite input, without `streaming=True`")
    policy = bad_policy(on_bad_input or "fail", quarantine)
    files = EventFiles(paths, format, options, policy, streaming, times=times)
    if not streaming:
        files.found()
    more = {
        "finite": "true" if finite else None,
        "maxFilesPerTrigger": max_files_per_trigger,
        "maxBytesPerTrigger": max_bytes_per_trigger,
        "settle": None if settle is None else as_duration(settle, "settle"),
        "idleAfter": None if idle_after is None else as_duration(idle_after, "idle_after"),
        "fileLog": None if file_log is None else one_name(file_log),
        "maxFileAge": None if max_file_age is None else as_duration(max_file_age, "max_file_age"),
        "cleanSource": clean_source,
        "sourceArchiveDir": None if archive is None else one_name(archive),
    }
    settings = {**files.settings(), **{name: str(value) for name, value in more.items() if value is not None}}
    if columns is not None:
        wanted = _chosen(columns, event_columns(options))
        frame = _reader(spark, settings, streaming=streaming).schema(wanted).load()
        _settings[frame] = settings
        return frame
    return _loaded(spark, files, settings, streaming=streaming)


def _chosen(columns: object, known: StructType) -> StructType:
    """Some columns of all that there are."""
    if not isinstance(columns, (list, tuple)) or not columns:
        raise InvalidArgument(f'`columns=` is a list of names, such as ["time"], not {described(columns)}')
    for name in columns:
        if name not in known.names:
            raise InvalidArgument(
                f"events have no column {described(name)}; theirs are {listed(known.names)}"
            )
    return StructType([known[name] for name in dict.fromkeys(columns)])


def scheduled_events(
    spark: SparkSession,
    files: EventFiles,
    schedule: Path,
    stream: str,
    *,
    on_bad_input: str,
    quarantine: Directory,
) -> FileParts:
    """The events of one stream of a finite input, in the micro-batches of its schedule."""
    known = replace(files, bad=bad_policy(on_bad_input, quarantine))
    settings = {**known.settings(), "schedule": str(schedule), "stream": stream, "yields": "parts"}
    return FileParts(known, _reader(spark, settings, streaming=True).load())


def clock_ticks(spark: SparkSession, every: int) -> DataFrame:
    """The wall clock as a stream: a row ``clock``, in microseconds, once in so many of them."""
    from spaseq.spark.sources.clock_source import CLOCK, ClockSource

    spark.dataSource.register(ClockSource)
    return spark.readStream.format(CLOCK).option("every", str(every)).load()


def _reader(
    spark: SparkSession, settings: dict[str, str], *, streaming: bool
) -> DataFrameReader | DataStreamReader:
    from spaseq.spark.sources.data_source import register

    workers_like_us(spark)
    register(spark)
    reader = (spark.readStream if streaming else spark.read).format("rdf")
    return reader.options(**settings, parallelism=str(parallel_tasks(spark)))


def _loaded(
    spark: SparkSession, files: EventFiles, settings: dict[str, str], *, streaming: bool
) -> DataFrame:
    reader = _reader(spark, settings, streaming=streaming)
    frame = reader.load()
    _files[frame] = FileParts(files, reader.option("yields", "parts").load()) if streaming else files
    _settings[frame] = settings
    return frame


def _reachable(spark: SparkSession, paths: tuple[str, ...]) -> tuple[str, ...]:
    """The paths as workers can follow them: those elsewhere do not stand in this directory."""
    return paths if is_one_process(spark.sparkContext.master) else tuple(map(one_name, paths))


def _strings(path: object) -> tuple[str, ...]:
    many = list(path) if isinstance(path, (list, tuple)) else [path]
    found = [os.fspath(each) for each in many if isinstance(each, (str, os.PathLike))]
    if len(found) < len(many):
        wrong = next(each for each in many if not isinstance(each, (str, os.PathLike)))
        raise InvalidArgument(f"read_events takes a path or a list of paths, not {described(wrong)}")
    return tuple(found)


_files: WeakKeyDictionary[DataFrame, EventFiles | FileParts] = WeakKeyDictionary()
"""The DataFrames of `read_events` that are in use, and what `match` reads in place of their rows."""


_settings: WeakKeyDictionary[DataFrame, dict[str, str]] = WeakKeyDictionary()
"""The options with which Spark reads the files of these DataFrames."""


def ruled_rows(frame: DataFrame, bad: BadPolicy) -> DataFrame:
    """The same rows with another rule for bad input, if the DataFrame comes straight from `read_events` and is not cached."""
    settings = None if frame.is_cached else _settings.get(frame)
    if settings is None:
        return frame
    place = {} if bad.folder is None else {"quarantine": bad.folder.path}
    settings = {**settings, "onBadInput": bad.policy, **place}
    return _reader(frame.sparkSession, settings, streaming=frame.isStreaming).schema(frame.schema).load()


def files_behind(frame: DataFrame) -> EventFiles | None:
    """The files of a DataFrame that comes straight from `read_events`."""
    found = _files.get(frame)
    return found.files if isinstance(found, FileParts) else found


def parts_behind(frame: DataFrame) -> FileParts | None:
    """The parts of files that a DataFrame stands for, if it comes straight from `read_events` and is not cached."""
    found = None if frame.is_cached else _files.get(frame)
    if isinstance(found, EventFiles):
        return parts_now(frame.sparkSession, found)
    return found if isinstance(found, FileParts) else None


def parts_now(spark: SparkSession, files: EventFiles) -> FileParts:
    """The parts of all files that are there now, found by the driver alone; with Spark Connect by the server."""
    if is_connected(spark):
        settings = {**files.settings(), "yields": "parts"}
        return FileParts(files, _reader(spark, settings, streaming=False).load())
    files = replace(files, paths=_reachable(spark, files.paths))
    splits = [Split.whole_of(source, files.options.timestamp_predicate) for source in files.found()]
    # Sent to every worker once, as texts of which a task parses its own: there may be many thousand.
    tasks = [
        json.dumps([split.to_list() for split in task])
        for task in parts(splits, parallel_tasks(spark), None, files.options)
    ]
    frame = spark.range(0, len(tasks), 1, max(1, len(tasks)))
    return FileParts(files, frame, spark.sparkContext.broadcast(tasks))


# --- parts --------------------------------------------------------------------------------------


def parts(
    splits: Sequence[Split], parallelism: int, size: int | None, options: ReadOptions
) -> list[tuple[Split, ...]]:
    """What each task reads: large N-Quads files in parts, small files together, all in order.

    Parts have about ``size`` bytes; by default there are enough of them for all workers.
    """
    sizes = [split.size for split in splits]
    size = size or part_size(sum(sizes), parallelism)
    tasks: list[tuple[Split, ...]] = []
    waiting: list[Split] = []
    filled = 0
    for split, length in zip(splits, sizes, strict=True):
        for part, share in _cut(split, length, size, options):
            if waiting and filled + share > size:
                tasks.append(tuple(waiting))
                waiting, filled = [], 0
            waiting.append(part)
            filled += share
    return [*tasks, tuple(waiting)] if waiting else tasks


def part_size(total: int, parallelism: int) -> int:
    """The bytes of a part of so many in all: there are enough parts for all workers."""
    share = total // max(1, 3 * parallelism)
    return min(max(share, settings().part_bytes_least), settings().part_bytes_most)


def splittable(source: Source) -> bool:
    """True if a file can be read in parts."""
    return source.format == "nquads" and source.path.suffix.lower() not in (".gz", ".zst", ".zstd")


def cut_into_parts(split: Split, size: int, options: ReadOptions) -> Iterator[tuple[Split, int]]:
    """A file in parts of about this size, each with its length; whole if it cannot be cut."""
    yield from _cut(split, split.size, size, options)


def _cut(split: Split, length: int, size: int, options: ReadOptions) -> Iterator[tuple[Split, int]]:
    if not splittable(split) or length < 2 * size:
        yield split, length
        return
    if layout_of(split, options) == "auto":
        by_beginning = replace(options, judged_bytes=settings().judged_bytes)
        split = replace(split, layout=found_layout(split, by_beginning))
    if layout_of(split, options) == "dataset":
        yield split, length
        return
    count = length // size
    base = max(split.start, split.begin.byte)
    edges = [base + length * number // count for number in range(count)]
    for number, start in enumerate(edges):
        stop = edges[number + 1] if number + 1 < count else split.stop
        begin = split.begin if number == 0 else START
        yield replace(split, start=start, stop=stop, begin=begin), length // count


@dataclass(frozen=True, slots=True)
class Promise:
    """What a stream promises: nothing before this time will follow; None: nothing at all."""

    time: int | None


@dataclass(frozen=True, slots=True)
class Tick:
    """The wall clock in microseconds when a micro-batch was planned, and when the run began that did it; 0: not known."""

    clock: int
    began: int = 0


PartRow = tuple[str | None, str | None, int | None, int | None, int | None]


def part_rows(
    splits: Sequence[Split],
    promise: Promise | None = None,
    lost: Sequence[BadInput] = (),
    tick: Tick | None = None,
) -> pa.RecordBatch:
    """What a task reads as rows."""
    rows: list[PartRow] = [] if tick is None else [(None, None, None, tick.clock, tick.began)]
    rows += [(json.dumps(split.to_list()), None, None, None, None) for split in splits]
    rows += [(None, bad.to_json(), None, None, None) for bad in lost]
    if promise is not None:
        rows.append((None, None, FOREVER if promise.time is None else promise.time, None, None))
    kinds = (pa.string(), pa.string(), pa.int64(), pa.int64(), pa.int64())
    columns = zip(*rows, strict=True) if rows else ((),) * len(kinds)
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=PARTS.names)


def parts_in(batch: pa.RecordBatch, predicate: str) -> Iterator[Split | BadInput | Promise | Tick]:
    """What such rows name."""
    columns = (batch.column(name).to_pylist() for name in PARTS.names)
    for part, lost, promise, clock, began in zip(*columns, strict=True):
        if part is not None:
            yield Split.from_list(json.loads(part), predicate)
        elif lost is not None:
            yield BadInput(**json.loads(lost))
        elif promise is not None:
            yield Promise(None if promise == FOREVER else promise)
        else:
            yield Tick(clock, began)


def splits_in(text: str, predicate: str) -> list[Split]:
    """What one task reads, as `FileParts.tasks` says it."""
    return [Split.from_list(saved, predicate) for saved in json.loads(text)]
