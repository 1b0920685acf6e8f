"""``format("rdf")``: event files as a Spark data source, for batches and for streams (docs/reference/event-formats.md).

A stream's offset says how far every file was read, or which entry of a log does (`spaseq.spark.sources.offsets`), so a restarted query
reads the same parts of files again. How files that grow are read is described in `spaseq.engine.follow`. An offset also holds the
wall clock, so that a repeated micro-batch decides alike what depends on it.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from spaseq.engine.bookmarks import Bookmark
from spaseq.engine.clocks import wall_microseconds
from spaseq.errors import IncompatibleCheckpoint, InvalidArgument
from spaseq.io.bad_input import BadInput
from spaseq.io.cuts import cut_after
from spaseq.io.growing import START, UNKNOWN, Cut, FileSpan, recounted
from spaseq.io.sources import source_of
from spaseq.spark.shared_folder import Owner
from spaseq.spark.sources.archive import Archive
from spaseq.spark.sources.bad_events import BadEvents
from spaseq.spark.sources.event_files import (
    ALL_TIMES,
    PARTS,
    Promise,
    Tick,
    part_rows,
    parts,
    splittable,
)
from spaseq.spark.sources.file_rows import event_columns, event_rows, promise_row
from spaseq.spark.sources.offsets import FileLog, Offset, Taken, between
from spaseq.spark.sources.schedule import Schedule
from spaseq.spark.sources.source_options import OPTIONS, OWN, SourceOptions
from spaseq.spark.sources.splits import Split, still_there
from spaseq.spark.sources.task_place import TaskPlace
from spaseq.stores import StoreAccess, place_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spaseq.engine.follow import Watch


@dataclass
class PartsPartition(InputPartition):
    """What one task reads, and what it says of the stream."""

    splits: tuple[Split, ...]
    promise: Promise | None = None
    lost: tuple[BadInput, ...] = ()
    tick: Tick | None = None


def register(spark: SparkSession) -> None:
    """Let this session know ``format("rdf")``, with the access to stores that this process has.

    Its options are the arguments of `read_events`, spelt as Spark does: ``onBadInput``, ``maxFilesPerTrigger``; ``archive`` is
    ``sourceArchiveDir``, and a schema takes the place of ``columns``. Durations are whole numbers of microseconds.
    """
    # A class made here is sent with its attributes; options of a reader are shown in plans.
    spark.dataSource.register(type("RdfFiles", (RdfDataSource,), {"access": StoreAccess()}))


class RdfDataSource(DataSource):
    """Event files: N-Quads, TriG, JSON-LD, N-Triples, Jelly; ``.gz`` and ``.zst`` as well."""

    def __init__(self, options: dict[str, str]) -> None:
        super().__init__(options)
        self._id = uuid.uuid4().hex

    @classmethod
    def name(cls) -> str:
        """The name after ``format``."""
        return "rdf"

    def schema(self) -> StructType:
        """The columns of events, or of parts of files."""
        return _columns(SourceOptions.of(self._given()))

    def reader(self, schema: StructType) -> DataSourceReader:
        """A reader of all files that are there; of all columns, or of those that a schema of the user's names.

        It takes no filters: Spark would keep what one query's filters leave for all queries over the same DataFrame.
        """
        found = RdfReader(SourceOptions.of(self._given(), self._id))
        found.columns = _wanted(schema, found.options)
        return found

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        """A reader that looks for new files."""
        options = SourceOptions.of(self._given())
        found = RdfStreamReader(options) if options.schedule is None else ScheduledReader(options)
        found.columns = _wanted(schema, options)
        return found

    def _given(self) -> dict[str, str]:
        return _Options(self.options)


def _columns(options: SourceOptions) -> StructType:
    return PARTS if options.parts else event_columns(options.files.options)


def _wanted(schema: StructType, options: SourceOptions) -> tuple[str, ...]:
    """The columns that a schema names; others than there are are refused."""
    known = {field.name: field.dataType.simpleString() for field in _columns(options)}
    for field in schema:
        kind = field.dataType.simpleString()
        if known.get(field.name) != kind:
            raise InvalidArgument(
                f'format("rdf") has no column `{field.name}` of the type {kind}; it has '
                f"{', '.join(map(' '.join, known.items()))}"
            )
    return tuple(schema.names)


class _Options(dict[str, str]):
    """Options by name, whatever the case."""

    def __init__(self, given: Mapping[str, str]) -> None:
        names = {name.lower(): name for name in (*OPTIONS, *OWN)}
        super().__init__({names.get(name.lower(), name): value for name, value in given.items()})


class _Reads:
    """What both readers do with a partition."""

    options: SourceOptions
    columns: tuple[str, ...] = ()
    """What is wanted of these rows; nothing: all."""

    def tasks(self, splits: Sequence[Split]) -> list[tuple[Split, ...]]:
        """What each task reads."""
        options = self.options
        return parts(splits, options.parallelism, options.part_bytes, options.files.options)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The rows of a partition."""
        assert isinstance(partition, PartsPartition)
        if self.options.parts:
            yield part_rows(partition.splits, partition.promise, partition.lost, partition.tick)
            return
        files, place = self.options.files, TaskPlace()
        limits = (self.options.most_files, self.options.most_bytes)
        owner = Owner(self.options.id, json.dumps([files.settings(), limits], sort_keys=True))
        with BadEvents(files.bad, f"read-{place.owned(owner)}-{place.name}") as bad:
            for each in partition.lost:
                bad(each)
            yield from event_rows(partition.splits, files, bad, self.columns)
        if partition.promise is not None:
            yield promise_row(partition.promise, files, self.columns)


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
    """Takes new files as they come and reads on in those that grow, so many or so much of them in a micro-batch."""

    def __init__(self, options: SourceOptions) -> None:
        files = options.files
        if files.options.layout == "dataset":
            raise InvalidArgument(
                "the layout `dataset` needs whole files, and a stream takes them as they come"
            )
        if files.times != ALL_TIMES:
            raise InvalidArgument("`since` and `until` are options of a finite input, not of a stream")
        streams = replace(files, options=replace(files.options, layout="stream"), followed=True)
        self.options = replace(options, files=streams)
        self._watch: Watch | None = None
        self._waiting: dict[str, Bookmark] = {}
        """Up to where files can be read that were not, in the order in which they are taken."""
        self._fixed = options.finite
        self._silent_since: int | None = None
        self._began = 0
        """The wall clock at the first look."""
        self._fresh = "" if options.file_log is None else f"q{uuid.uuid4().hex[:12]}"
        """The folder for the log of a query that begins."""
        self._logs: dict[str, FileLog] = {}
        self._forgotten: set[str] = set()
        """Files that the next offset need not name."""
        self._anew: set[str] = set()
        """Files that wait and are others than those the offset names."""
        self._done: Offset | None = None
        """The last offset that Spark has committed."""
        self._archive = None if options.archive is None else Archive.of(files.paths, options.archive)

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Nothing was taken."""
        return Offset(entry=0 if self._fresh else None, log=self._fresh).to_dict()

    def _known(self, start: dict[str, Any]) -> Offset:
        """An offset with all files it stands for."""
        offset = Offset.from_dict(start)
        if offset.entry is None:
            return offset
        return replace(offset, marks=self._log(offset).marks(offset.entry))

    def _log(self, offset: Offset) -> FileLog:
        """The log that an offset counts on."""
        folder = self.options.file_log
        if folder is None:
            raise InvalidArgument(
                "the checkpoint of this query counts on a log of files: say `file_log=` (the option `fileLog`) as before"
            )
        if offset.log not in self._logs:
            self._logs[offset.log] = FileLog.of(place_of(folder), offset)
        return self._logs[offset.log]

    def _before(self, offset: Offset, path: str) -> Bookmark | None:
        """How far a file was read; None for another one under its name."""
        return None if path in self._anew else offset.marks.get(path)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        """The limit that the options ask for; a second one is kept to as well."""
        if self.options.most_files is not None:
            return ReadMaxFiles(self.options.most_files)
        if self.options.most_bytes is not None:
            return ReadMaxBytes(self.options.most_bytes)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """From here on nothing new is taken."""
        self._fixed = True

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        """How far the next micro-batch goes."""
        offset = self._known(start)
        self._look(offset)
        marks = self._taken(offset, None if isinstance(limit, ReadAllAvailable) else self.options)
        ended = offset.ended or (self._fixed and self.options.finite and not self._waiting)
        now = wall_microseconds()
        if marks or ended != offset.ended or self._turns_idle(now):
            self._silent_since = now if marks else None
            return self._noted(offset, marks, ended, now).to_dict()
        return start

    def _noted(self, offset: Offset, marks: Mapping[str, Bookmark], ended: bool, now: int) -> Offset:
        """The offset after a micro-batch that takes files up to these marks."""
        # What waits of a file that is passed over goes on where it was.
        gone = (self._forgotten - self._waiting.keys() - marks.keys()) | self._anew
        taken = {path: (mark, self._before(offset, path)) for path, mark in marks.items()}
        anew = self._anew & marks.keys()
        self._forgotten -= gone
        self._anew -= anew
        if offset.entry is not None:
            self._log(offset).add(offset.entry, taken, gone & offset.marks.keys())
            return Offset({}, ended, now, offset.entry + 1, began=self._began, log=offset.log)
        kept = {path: mark for path, mark in offset.marks.items() if path not in gone}
        renewed = frozenset(anew & offset.marks.keys())
        return Offset({**kept, **marks}, ended, now, anew=renewed, began=self._began)

    def _look(self, offset: Offset) -> None:
        """Find what is new."""
        if self._watch is None:
            self._watch = self._look_out(offset)
            self._silent_since = self._began = wall_microseconds()
        elif self._fixed:
            return
        found = self._watch.look()
        self._watch.keep(found.marks)
        self._forgotten |= {path for _, path in found.forgotten}
        again = self._forgotten & {mark.path for mark in found.marks}
        self._anew |= again
        self._forgotten -= again
        spans = [span for each in found.files for span in each.sources]
        changed = {} if self._fixed else {span.name: span.path.stat().st_mtime_ns for span in spans}
        for mark in (*found.lost, *sorted(found.marks, key=lambda mark: changed.get(mark.path, 0))):
            self._waiting[mark.path] = mark

    def _look_out(self, offset: Offset) -> Watch:
        """What finds news, from the other engine."""
        from spaseq.engine.follow import Watch
        from spaseq.engine.opening import InputOptions
        from spaseq.model.forms import Stream

        files = self.options.files
        settle: int | None = self.options.settle
        if self._fixed:  # a reader of what is there now does not wait
            settle = None if self.options.finite else 0
        if self._fixed and self.options.finite:  # there is no more to come, so there must be something
            files.found()
        options = InputOptions(files.options, files.file_format)
        max_age, cleans = self.options.max_age, self.options.clean != "off"
        forget = max_age is not None or cleans
        given = [(Stream("", ""), files.paths)]
        return Watch(given, options, settle, offset.marks.values(), max_age, forget=forget, renew=cleans)

    def _taken(self, offset: Offset, limits: SourceOptions | None) -> dict[str, Bookmark]:
        """Up to where files are read in the next micro-batch."""
        most_files, most_bytes = (None, None) if limits is None else (limits.most_files, limits.most_bytes)
        taken: dict[str, Bookmark] = {}
        size = 0
        for path, mark in list(self._waiting.items()):
            if taken and (
                (most_files is not None and len(taken) >= most_files)
                or (most_bytes is not None and size >= most_bytes)
            ):
                break
            before = self._before(offset, path)
            begin = 0 if before is None else before.cut.byte
            length = (mark.size if mark.cut.byte == UNKNOWN else mark.cut.byte) - max(begin, 0)
            room = None if most_bytes is None else max(most_bytes - size, 1)
            source = source_of(path, self.options.files.file_format)
            if room is not None and splittable(source) and length > 2 * room and not mark.lost:
                with source.path.open("rb") as file:
                    cut = cut_after(file, begin + room, self.options.files.options.timestamp_predicate)
                if cut < begin + length:
                    taken[path] = replace(mark, cut=Cut(cut, UNKNOWN), whole=False)
                    break
            taken[path] = self._waiting.pop(path)
            size += length
        return taken

    def _turns_idle(self, now: int) -> bool:
        """True once after the stream has fallen silent for long enough."""
        idle, since = self.options.idle_after, self._silent_since
        return idle is not None and since is not None and now - since >= idle

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """What lies between two offsets."""
        first, last = Offset.from_dict(start), Offset.from_dict(end)
        splits, lost = [], []
        # The micro-batch was planned before the query was started again.
        repeated = self._watch is None
        for path, (mark, before) in self._between(first, last).items():
            if mark.lost and (before is None or not before.lost):
                lost.append(mark.loss)
            elif before is None or before.cut.byte != mark.cut.byte:
                if repeated:
                    _check_unchanged(mark)
                splits.append(self._split(path, before, mark))
        tick = Tick(last.clock, last.began)
        tasks = [PartsPartition(task, tick=tick) for task in self.tasks(splits)]
        if lost or not tasks:
            tasks.append(PartsPartition((), lost=tuple(lost), tick=tick))
        if last.ended and not first.ended:
            tasks.append(PartsPartition((), Promise(None), tick=tick))
        return tasks

    def _between(self, first: Offset, last: Offset) -> Taken:
        if first.entry is None or last.entry is None:
            return between(first, last)
        return self._log(last).between(first.entry, last.entry)

    def _split(self, path: str, before: Bookmark | None, mark: Bookmark) -> Split:
        files = self.options.files
        source = source_of(path, files.file_format)
        with still_there(source.path):
            begin = START if before is None else recounted(source, before.cut, files.options)
        end = None if mark.cut.byte == UNKNOWN else mark.cut.byte
        return Split.whole_of(
            FileSpan(source.path, source.format, begin, end), files.options.timestamp_predicate
        )

    def commit(self, end: dict[str, Any]) -> None:
        """What lies before an offset is not read again: files that were read to their end may go."""
        last = Offset.from_dict(end)
        if self.options.clean != "off":
            for mark in self._committed(last):
                if mark.is_all_of(
                    place_of(mark.path)
                ):  # not gone at an earlier start, and not another by now
                    self._clean(mark)
        self._done = last

    def _committed(self, last: Offset) -> list[Bookmark]:
        """How far files were read since the last commit; at the first one, which may be of a restart, all that are known."""
        if self._done is not None:
            return [mark for mark, _ in self._between(self._done, last).values()]
        if last.entry is None:
            return list(last.marks.values())
        return list(self._log(last).marks_at(last.entry).values())

    def _clean(self, mark: Bookmark) -> None:
        place = place_of(mark.path)
        if self._archive is None:
            place.unlink()
        else:
            self._archive.take(place)
        if self._watch is not None:
            self._watch.forget([mark.key])
        self._forgotten.add(mark.path)


def _check_unchanged(mark: Bookmark) -> None:
    """Refuse a file that is not the one of which a part was to be read: the part would lack events, or have others."""
    place = place_of(mark.path)
    with still_there(place):
        changed = mark.changed(place) is not None
    if changed:
        raise IncompatibleCheckpoint(
            f"`{mark.path}` was being read and was changed since then; bring it back as it was, or start again with another checkpoint"
        )


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
