"""``format("rdf")``: event files as a Spark data source, for batches and for streams (CONTRACT section 3).

A stream's offset names the files that were taken, so a restarted query reads the same files again and no other
source of truth is needed. Files must be complete when they are seen, or stand still (see `spaseq.engine.follow`).
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)

from spaseq.errors import InvalidArgument
from spaseq.io.options import TIMESTAMP_PREDICATE, ReadOptions
from spaseq.io.sources import Layout, Source, find_sources
from spaseq.spark.bad_events import BadEvents, checked_policy
from spaseq.spark.files import (
    EVENTS,
    PARTS,
    EventFiles,
    Promise,
    event_rows,
    part_rows,
    parts,
    promise_row,
    splittable,
)
from spaseq.spark.places import Place
from spaseq.spark.schedule import Schedule
from spaseq.spark.sources import Split
from spaseq.temporal.instants import TimeUnit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

    from spaseq.engine.follow import Watch

OPTIONS: Final = (
    "path", "paths", "format", "timestampPredicate", "timeUnit", "triplesPerEvent", "layout", "onBadInput", "quarantine",
    "maxFilesPerTrigger", "maxBytesPerTrigger", "finite", "parallelism", "partBytes", "yields", "schedule", "stream",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class SourceOptions:
    """The options of ``format("rdf")``, checked."""

    files: EventFiles
    most_files: int | None
    most_bytes: int | None
    finite: bool
    parallelism: int
    parts: bool
    """True if rows are to name parts of files instead of events; `match` reads those itself."""
    schedule: str | None = None
    """A file that says what every micro-batch reads."""
    stream: str = ""
    """Whose part of the schedule this is."""
    part_bytes: int | None = None
    """How much of a file one task reads; as much as evens out if nobody says."""

    @staticmethod
    def of(given: Mapping[str, str]) -> SourceOptions:
        known = {name.lower() for name in OPTIONS}
        for name in given:
            if name.lower() not in known:
                raise InvalidArgument(
                    f'format("rdf") has no option `{name}`; its options are {", ".join(OPTIONS)}'
                )
        many = json.loads(given["paths"]) if "paths" in given else [given["path"]] if "path" in given else []
        if not many:
            raise InvalidArgument('format("rdf") needs a path: `.load("events/")`')
        per_event = given.get("triplesPerEvent")
        read = ReadOptions(
            given.get("timestampPredicate", TIMESTAMP_PREDICATE),
            cast(TimeUnit, given.get("timeUnit", "ms")),
            None if per_event is None else _number("triplesPerEvent", per_event),
            layout=cast(Layout, given.get("layout", "auto")),
        )
        quarantine = given.get("quarantine")
        policy = checked_policy(given.get("onBadInput", "fail"), quarantine)
        limits = [given.get(name) for name in ("maxFilesPerTrigger", "maxBytesPerTrigger")]
        files, size = (
            None if text is None else _number(name, text)
            for name, text in zip(("maxFilesPerTrigger", "maxBytesPerTrigger"), limits, strict=True)
        )
        return SourceOptions(
            EventFiles(tuple(many), given.get("format"), read, policy, quarantine),
            files,
            size,
            given.get("finite", "false").lower() == "true",
            _number("parallelism", given.get("parallelism", "8")),
            given.get("yields", "events") == "parts",
            given.get("schedule"),
            given.get("stream", ""),
            _number("partBytes", given["partBytes"]) if "partBytes" in given else None,
        )


def _number(name: str, text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise InvalidArgument(f"the option `{name}` is a whole number from 1 on, not `{text}`")
    return int(text)


@dataclass
class PartsPartition(InputPartition):
    """What one task reads, and what it tells of the stream."""

    splits: tuple[Split, ...]
    promise: Promise | None = None


def register(spark: SparkSession) -> None:
    """Let this session know ``format("rdf")``."""
    spark.dataSource.register(RdfDataSource)


class RdfDataSource(DataSource):
    """Event files: N-Quads, TriG, JSON-LD, N-Triples, Jelly; ``.gz`` and ``.zst`` as well."""

    @classmethod
    def name(cls) -> str:
        """The name after ``format``."""
        return "rdf"

    def schema(self) -> StructType:
        """The columns of events, or of parts of files."""
        return PARTS if SourceOptions.of(self._given()).parts else EVENTS

    def reader(self, schema: StructType) -> DataSourceReader:  # noqa: ARG002
        """A reader of all files that are there."""
        return RdfReader(SourceOptions.of(self._given()))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802
        """A reader that looks for new files."""
        options = SourceOptions.of(self._given())
        return RdfStreamReader(options) if options.schedule is None else ScheduledReader(options)

    def _given(self) -> dict[str, str]:
        return _Options(self.options)


class _Options(dict[str, str]):
    """Options by name, whatever the case."""

    def __init__(self, given: Mapping[str, str]) -> None:
        names = {name.lower(): name for name in OPTIONS}
        super().__init__({names.get(name.lower(), name): value for name, value in given.items()})


class _Reads:
    """What both readers do with a partition."""

    options: SourceOptions

    def tasks(self, splits: Sequence[Split]) -> list[tuple[Split, ...]]:
        """What each task reads."""
        options = self.options
        return parts(splits, options.parallelism, options.part_bytes, options.files.options)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a partition."""
        assert isinstance(partition, PartsPartition)
        if self.options.parts:
            yield part_rows(partition.splits, partition.promise)
            return
        files, place = self.options.files, Place()
        with BadEvents(files.on_bad, files.quarantine, f"read-{place.name}") as bad:
            yield from event_rows(partition.splits, files, bad)
        if partition.promise is not None:
            yield promise_row(partition.promise)


class RdfReader(_Reads, DataSourceReader):
    """Reads the files that are there."""

    def __init__(self, options: SourceOptions) -> None:
        self.options = options

    def partitions(self) -> Sequence[InputPartition]:
        """Large N-Quads files in parts, small files together."""
        splits = [
            Split.whole_of(source, self.options.files.options.timestamp_predicate)
            for source in self.options.files.found()
        ]
        return [PartsPartition(task) for task in self.tasks(splits)]


class RdfStreamReader(_Reads, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Takes new files as they come, so many or so much of them in a micro-batch."""

    def __init__(self, options: SourceOptions) -> None:
        files = options.files
        if files.options.layout == "dataset":
            raise InvalidArgument(
                "the layout `dataset` needs whole files, and a stream takes them as they come"
            )
        streams = replace(files, options=replace(files.options, layout="stream"), followed=True)
        self.options = replace(options, files=streams)
        self._watch: Watch | None = None
        self._waiting: list[Source] | None = None
        self._fixed = options.finite

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Nothing was taken."""
        return Offset().to_dict()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """The limit that the options ask for; a second one is kept to as well."""
        if self.options.most_files is not None:
            return ReadMaxFiles(self.options.most_files)
        if self.options.most_bytes is not None:
            return ReadMaxBytes(self.options.most_bytes)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """From here on no new file is taken."""
        self._fixed = True

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """How far the next micro-batch goes."""
        offset = Offset.from_dict(start)
        unlimited = isinstance(limit, ReadAllAvailable)
        most_files = None if unlimited else self.options.most_files
        most_bytes = None if unlimited else self.options.most_bytes
        taken, size = 0, 0
        for source in self._present(offset):
            if taken and (
                (most_files is not None and taken >= most_files)
                or (most_bytes is not None and size >= most_bytes)
            ):
                return offset.to_dict()
            length = source.path.stat().st_size
            begin = offset.byte if offset.partial == source.name else 0
            room = None if most_bytes is None else max(most_bytes - size, 1)
            if room is not None and splittable(source) and length - begin > 2 * room:
                return offset.up_to(source.name, begin + room).to_dict()
            offset = offset.with_file(source.name)
            taken, size = taken + 1, size + length - begin
        if self._fixed and self.options.finite and not offset.ended:
            offset = Offset(offset.done, offset.partial, offset.byte, ended=True)
        return offset.to_dict()

    def _present(self, offset: Offset) -> list[Source]:
        """The files that are there and were not taken, in the order in which they are taken."""
        if self._fixed:
            if self._waiting is None:
                self._waiting = self.options.files.found()
            fresh = self._waiting
        else:
            if self._watch is None:
                self._watch, self._waiting = self._look_out(), []
            assert self._waiting is not None
            fresh = self._waiting
            for found in self._watch.look():
                fresh += sorted(
                    found.sources, key=lambda source: (source.path.stat().st_mtime_ns, source.name)
                )
        done = set(offset.done)
        self._waiting = [source for source in fresh if source.name not in done]
        return self._waiting

    def _look_out(self) -> Watch:
        """What finds new files, from the room of the other engine."""
        from spaseq.algebra.events import Stream
        from spaseq.engine.follow import Watch
        from spaseq.engine.opening import InputOptions

        files = self.options.files
        options = InputOptions(files.options, files.file_format)
        return Watch([(Stream("rdf", "urn:spaseq:rdf"), files.paths)], options)

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """What lies between two offsets."""
        first, last = Offset.from_dict(start), Offset.from_dict(end)
        predicate = self.options.files.options.timestamp_predicate
        splits = []
        names = [*last.done[len(first.done) :], *([last.partial] if last.partial else [])]
        for name in dict.fromkeys(names):
            source = find_sources(name, self.options.files.file_format)[0]
            begin = first.byte if name == first.partial else 0
            stop = last.byte if name == last.partial else None
            splits.append(Split(source.path, source.format, begin, stop, predicate))
        tasks: list[InputPartition] = [PartsPartition(task) for task in self.tasks(splits)]
        if last.ended and not first.ended:
            tasks.append(PartsPartition((), Promise(None)))
        return tasks

    def commit(self, end: dict[str, Any]) -> None:
        """Nothing is kept outside the offset."""


class ScheduledReader(_Reads, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads a finite input as its schedule says; an offset is the number of micro-batches so far."""

    def __init__(self, options: SourceOptions) -> None:
        assert options.schedule is not None
        self.options = options
        self._schedule = Schedule.load(Path(options.schedule), options.files.options.timestamp_predicate)

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Before the first micro-batch."""
        return {"batch": 0}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """Nothing new ever comes."""

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: ARG002, N802
        """One micro-batch more."""
        return {"batch": min(start["batch"] + 1, len(self._schedule.batches))}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The parts of this stream, and what it promises after them."""
        tasks: list[InputPartition] = []
        for batch in self._schedule.batches[start["batch"] : end["batch"]]:
            splits = batch.parts[self.options.stream]
            *most, last = self.tasks(splits) or [()]
            tasks += [PartsPartition(task) for task in most]
            tasks.append(PartsPartition(last, Promise(batch.promises[self.options.stream])))
        return tasks

    def commit(self, end: dict[str, Any]) -> None:
        """Nothing is kept outside the offset."""


@dataclass(frozen=True, slots=True)
class Offset:
    """The files that were taken, in order; perhaps a part of one more; whether that is all there will be."""

    done: tuple[str, ...] = ()
    partial: str = ""
    byte: int = 0
    ended: bool = False

    def with_file(self, name: str) -> Offset:
        return Offset((*self.done, name))

    def up_to(self, name: str, byte: int) -> Offset:
        return Offset(self.done, name, byte)

    def to_dict(self) -> dict[str, Any]:
        packed = zlib.compress("\n".join(self.done).encode("utf-8", "surrogateescape"))
        return {
            "files": len(self.done),
            "names": base64.b64encode(packed).decode(),
            "partial": self.partial,
            "byte": self.byte,
            "ended": self.ended,
        }

    @staticmethod
    def from_dict(saved: Mapping[str, Any]) -> Offset:
        text = zlib.decompress(base64.b64decode(saved["names"])).decode("utf-8", "surrogateescape")
        return Offset(
            tuple(text.split("\n")) if text else (), saved["partial"], saved["byte"], saved["ended"]
        )
