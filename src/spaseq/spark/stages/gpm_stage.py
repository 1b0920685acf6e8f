"""The GPM stage as functions over Arrow batches: events in, blocks out, before the only shuffle."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from spaseq.engine.clocks import wall_microseconds
from spaseq.engine.reports import ahead_reason
from spaseq.engine.summary import asked_predicates
from spaseq.engine.tally import Tally
from spaseq.io.bad_input import BadInput, OnBad, Unit, excerpt
from spaseq.io.growing import read_part
from spaseq.io.layouts import with_cure
from spaseq.model.batch import EventBatch, concat
from spaseq.model.dictionary import TermDictionary
from spaseq.model.ordered import each_once
from spaseq.settings import settings
from spaseq.spark.job import Job
from spaseq.spark.output.tallies import write_tally
from spaseq.spark.schemas import ARROW_BLOCKS, CLOCKS, CONTROL
from spaseq.spark.shuffle.blocks import DIGEST, Block, Mappings, encode_block
from spaseq.spark.shuffle.carried import packed
from spaseq.spark.shuffle.watermark import Progress
from spaseq.spark.sources.bad_events import BadEvents
from spaseq.spark.sources.event_files import EventFiles, FileParts, Promise, Tick, parts_in, splits_in
from spaseq.spark.sources.event_rows import EventRows, carried_by, graph_texts
from spaseq.spark.sources.file_rows import rows_of
from spaseq.spark.sources.passed_times import PassedTimes
from spaseq.spark.sources.splits import Split, still_there
from spaseq.spark.sources.task_place import TaskPlace, placed
from spaseq.spark.stages.mapper import Mapper
from spaseq.spark.stages.worker import Shared, settle
from spaseq.temporal.instants import FOREVER

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
Row = tuple[int, int, int, bytes | None, int, int]
Parts = tuple[list[str], Longs]
"""Names of sources, and for every event the number of its own."""
Places = npt.NDArray[np.intp]

_mappers: OrderedDict[str, Mapper] = OrderedDict()
"""The mappers of the jobs this process works for: their dictionaries and background graphs stay warm."""


def mapper_of(job: Job) -> Mapper:
    """This process's mapper for a job."""
    found = _mappers.pop(job.id, None)
    if found is None or found.full:
        found = Mapper(job)
    _mappers[job.id] = found
    while len(_mappers) > settings().warm_jobs:
        _mappers.popitem(last=False)
    return found


class MatchRows:
    """Matches the rows of an events DataFrame.

    Besides what `EventRows` reads there may be the columns ``clock`` (the wall clock of the micro-batch), ``part`` (the
    source whose watermark is its own), ``origin`` and ``position`` (where the row comes from).
    """

    def __init__(self, job: Shared, stream: int | dict[str, int], syntax: str | None) -> None:
        self._job, self._stream, self._syntax = job, stream, syntax

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        job, place = self._job.value, TaskPlace()
        mapper = mapper_of(job)
        work = _Task(mapper, place, "event")
        with BadEvents(job.bad, f"rows-{place.owned(job.owner)}-{place.name}") as bad:
            rows = EventRows(
                job.streams, self._stream, self._syntax, mapper.dictionary, job.reading, bad,
                f"partition {place.partition}",
            )  # fmt: skip
            for batch in batches:
                first, more = rows.rows, _More(batch)
                if more.clock is not None:
                    work.progress.tick(more.clock)
                for events, numbers in rows.batches(batch):
                    found, own = more.located(events, numbers - first), numbers - first
                    kept = work.believed(found, bad, more.kept(own))
                    found, own = found.take(kept), own[kept]
                    names = more.carried(found, own, mapper.dictionary) if job.carries else None
                    yield from work.take(found, place.arrivals(own + first), more.parts(own), names)
                    doubtful = work.doubtful(found)
                    yield from work.send_whole(found.take(doubtful), more.kept(own)(doubtful))
            for stream, time in rows.promises.times.items():
                work.progress.promise(job.streams[stream], time)
            yield work.last(bad.count)
        settle("GPM")


class _More:
    """What the rows of a batch say besides their events."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch = batch
        self._columns = {
            name: batch.column(name)
            for name in ("clock", "part", "origin", "position", "carried")
            if name in batch.schema.names
        }
        self.clock: int | None = None
        if "clock" in self._columns and batch.num_rows:
            self.clock = self._columns["clock"][0].as_py()

    def kept(self, rows: Longs) -> Callable[[Places], list[Kept]]:
        """What is kept of some of these rows, if it is to be."""

        def kept(chosen: Places) -> list[Kept]:
            wanted = self._batch.take(pa.array(rows[chosen]))
            return [Kept(text, carried_by(wanted, row)) for row, text in enumerate(graph_texts(wanted))]

        return kept

    def parts(self, rows: Longs) -> Parts | None:
        """The sources of these rows; None if they are not told apart."""
        if "part" not in self._columns:
            return None
        encoded = self._columns["part"].fill_null("").dictionary_encode()
        return encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False)[rows]

    def carried(self, events: EventBatch, rows: Longs, dictionary: TermDictionary) -> Ints:
        """The names of the events together with what their rows carry."""
        texts = [
            packed(dictionary.ntriples(name) if name else None, each)
            for name, each in zip(
                events.names.tolist(), self._columns["carried"].take(pa.array(rows)).to_pylist(), strict=True
            )
        ]
        return np.array(dictionary.encode_texts(texts), np.int32)

    def located(self, events: EventBatch, rows: Longs) -> EventBatch:
        """The events with their origins as the rows name them, for reports."""
        if "origin" not in self._columns:
            return events
        origin = self._columns["origin"].fill_null("").dictionary_encode()
        codes = origin.indices.to_numpy(zero_copy_only=False)[rows].astype(np.int32)
        positions = events.positions
        if "position" in self._columns:
            positions = self._columns["position"].fill_null(0).to_numpy(zero_copy_only=False)[rows]
        return replace(
            events, sources=tuple(origin.dictionary.to_pylist()), origins=codes, positions=positions
        )


class MatchClock:
    """Tells every bucket the wall clock, which a source of ticks has read, while the streams are silent."""

    def __init__(self, job: Shared) -> None:
        self._job = job

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            work = _Task(mapper_of(self._job.value), TaskPlace(), "event")
            for row in batch.to_pylist():
                work.progress.tick(row["clock"], row["began"])
            yield work.last(0)


class MatchParts:
    """Reads the parts of event files that rows name and matches them, without rows of triples.

    ``by_file`` if every file has a watermark of its own.
    """

    def __init__(self, job: Shared, stream: int, parts: FileParts, *, by_file: bool = False) -> None:
        self._job, self._stream, self._by_file = job, stream, by_file
        self._files: EventFiles = parts.files
        self._tasks = parts.tasks

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        job, files, place = self._job.value, self._files, TaskPlace()
        mapper = mapper_of(job)
        mapper.mapped()  # those of earlier tasks
        asked = asked_predicates(task.program.query for task in job.tasks)
        tally = None
        if job.counts is not None:
            tally = Tally(job.streams, asked, mapper.dictionary, unit=files.options.time_unit)
        work = _Task(mapper, place, "line", tally=tally)
        options = replace(
            files.options,
            needed_predicates=job.predicates,
            keep_names=job.keeps_names,
            chunk_bytes=settings().task_chunk_bytes,
            judged_bytes=settings().judged_bytes,
        )
        stream, dictionary = job.streams[self._stream], mapper.dictionary
        count, gathered = 0, _Gathered(work, by_file=self._by_file)
        with BadEvents(files.bad, f"read-{self._stream}-{place.owned(job.owner)}-{place.name}") as bad:
            for part in (part for batch in batches for part in self._parts(batch)):
                if not isinstance(part, Split):
                    self._note(part, work, bad)
                    continue
                with still_there(part.path):
                    report = with_cure(placed(bad, part), files.cure(part))
                    begin, doubtful = count, [np.zeros(0, np.int64)]
                    for read in read_part(
                        part, part.begin, stream, self._stream, dictionary, options, report
                    ):
                        events = files.wanted(read)
                        numbers = np.arange(count, count + len(events))
                        count += len(events)
                        kept = work.believed(events, report)
                        found = events.take(kept)
                        rows = numbers[kept] if part.order is None else numbers[kept] - begin
                        doubtful.append(numbers[kept][work.doubtful(found)] - begin)
                        yield from gathered.add(found, place.arrivals(rows, part.order), part.file)
                    yield from self._whole(part, np.concatenate(doubtful), work)
            yield from gathered.take()
            yield work.last(bad.count)
        if job.counts is not None:
            counted = {"events": work.events, "bad": bad.count, **work.counts()}
            counted |= {f"readable of {stream}": count, f"bad of {stream}": bad.count}
            write_tally(job.counts, f"read-{self._stream}-{place.name}", counted)
        settle("GPM")

    def _whole(self, part: Split, wanted: Longs, work: _Task) -> Iterator[pa.RecordBatch]:
        """The events at these places of a part, read once more: the first time only what queries look at was read."""
        if not len(wanted):
            return
        options = replace(self._files.options, keep_names=True, judged_bytes=settings().judged_bytes)
        dictionary, count = TermDictionary(), 0
        for events in read_part(
            part, part.begin, part.name, self._stream, dictionary, options, lambda _: None
        ):
            own = wanted[(wanted >= count) & (wanted < count + len(events))] - count
            count += len(events)
            found = events.take(own)
            texts = graph_texts(rows_of(found, dictionary, part))
            yield from work.send_whole(found, [Kept(text) for text in texts])

    def _note(self, part: Promise | Tick | BadInput, work: _Task, bad: OnBad) -> None:
        """What there is to know of the stream besides its events."""
        match part:
            case Promise(time):
                work.progress.promise(
                    self._job.value.streams[self._stream], FOREVER if time is None else time
                )
            case Tick(clock, began):
                work.progress.tick(clock, began)
            case _:
                bad(part)

    def _parts(self, batch: pa.RecordBatch) -> Iterator[Split | Promise | Tick | BadInput]:
        predicate = self._files.options.timestamp_predicate
        if self._tasks is None:
            yield from parts_in(batch, predicate)
            return
        for number in batch.column("id").to_pylist():
            yield from splits_in(self._tasks.value[number], predicate)


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept of an event that is left out: what it says, and columns of its row."""

    text: str = ""
    carried: Mapping[str, str] | None = None


@dataclass(slots=True)
class _Task:
    """A task at work: its blocks, how far its streams have come, and what it has counted."""

    mapper: Mapper
    place: TaskPlace
    unit: Unit
    progress: Progress = field(default_factory=Progress)
    events: int = 0
    tally: Tally | None = None
    """What is counted for the end of a run; None if it is not wanted."""
    batches: int = 0
    passed: Longs | None = None
    """By stream, the instant before which events may be late; None if late events are not kept."""

    def __post_init__(self) -> None:
        job = self.mapper.job
        if job.keeps_late and job.late.folder is not None:
            known = PassedTimes(job.late.folder, self.place.owned(job.owner))
            self.passed = known.read(self.place.batch, len(job.streams))

    def counts(self) -> dict[str, int]:
        """What was counted for the end of a run."""
        return {} if self.tally is None else {**self.tally.counts, **self.mapper.mapped()}

    def believed(
        self, events: EventBatch, bad: OnBad, kept: Callable[[Places], list[Kept]] | None = None
    ) -> Places:
        """The events that are not too far ahead of the clock; the others are reported."""
        lead = self.mapper.job.max_lead
        if lead is None:
            return np.arange(len(events))
        # The clock of the micro-batch, so that a task that is repeated decides alike.
        clock = self.progress.clock or wall_microseconds()
        ahead = np.flatnonzero(events.times > clock + lead)
        whole = [Kept()] * len(ahead) if kept is None else kept(ahead)
        for row, each in zip(ahead.tolist(), whole, strict=True):
            reason = ahead_reason(int(events.times[row]), clock, lead)
            where = events.origin_of(row)
            bad(BadInput(reason, *where, self.unit, excerpt(each.text), carried=each.carried))
        return np.flatnonzero(events.times <= clock + lead)

    def take(
        self, events: EventBatch, arrivals: Longs, parts: Parts | None = None, names: Ints | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The blocks of some events as rows.

        ``parts`` are their sources where each has a watermark of its own, ``names`` what they are called.
        """
        if not len(events):
            return
        job = self.mapper.job
        self.events += len(events)
        if self.tally is not None:
            self.tally.read(events)
        self.batches += 1
        label = self.place.label(self.batches)
        rows: list[Row] = [
            (query, self._name(bucket), first, block, 0, 0)
            for query, bucket, first, block in self.mapper.blocks(events, arrivals, label, names)
        ]
        # Of a punctual input only promises count: what its parts have seen is no bound for other parts.
        if job.streaming and not job.punctual:
            self._see(events, parts)
            if self.mapper.concerned(events):
                sure = np.ones(len(events), np.bool_)
                sure[self.doubtful(events)] = False
                if sure.any():
                    rows.append(self._judged(_clock(events, np.flatnonzero(sure), self.unit)))
        if rows:
            yield _table(rows)

    def doubtful(self, events: EventBatch) -> Places:
        """The events that may be late, and so are sent to be judged with what they say, by `send_whole`."""
        if self.passed is None or not self.mapper.concerned(events):
            return np.zeros(0, np.intp)
        return np.flatnonzero(events.times < self.passed[events.streams])

    def send_whole(self, events: EventBatch, kept: Sequence[Kept]) -> Iterator[pa.RecordBatch]:
        """Events that may be late as a row."""
        if len(events):
            yield _table([self._judged(_clock(events, np.arange(len(events)), self.unit, kept))])

    def _judged(self, block: Block) -> Row:
        # Any bucket can decide what is late: all know the same watermarks.
        places = self.mapper.job.places
        place = places[self.place.partition % len(places)]
        return CLOCKS, place, block.first, encode_block(block), 0, 0

    def _see(self, events: EventBatch, parts: Parts | None) -> None:
        """Note how far the streams, or their sources, have come."""
        streams = self.mapper.job.streams
        for stream in each_once(events.streams).tolist():
            own = events.streams == stream
            if parts is None:
                self.progress.see(streams[stream], int(events.times[own].max()))
                continue
            names, codes = parts
            for code in each_once(codes[own]).tolist():
                time = int(events.times[own & (codes == code)].max())
                self.progress.see(streams[stream], time, names[code])

    def _name(self, bucket: int) -> int:
        places = self.mapper.job.places
        return places[bucket] if places else bucket

    def last(self, bad: int) -> pa.RecordBatch:
        """The rows that say to every bucket how far the streams have come, and what was counted."""
        places = self.mapper.job.places or (0,)
        told = self.progress.to_json().encode() if self.mapper.job.places else None
        first: Row = (CONTROL, places[0], 0, told, self.events, bad)
        return _table([first, *((CONTROL, place, 0, told, 0, 0) for place in places[1:])])


class _Gathered:
    """Events that were read one part after the other and go on together: a block costs something, however few rows it has.

    ``by_file`` if every file has a watermark of its own.
    """

    def __init__(self, work: _Task, *, by_file: bool) -> None:
        self._work, self._by_file = work, by_file
        self._events: list[EventBatch] = []
        self._arrivals: list[Longs] = []
        self._files: list[str] = []
        self._size = 0

    def add(self, events: EventBatch, arrivals: Longs, file: str) -> Iterator[pa.RecordBatch]:
        """Take in more events; blocks if there are enough."""
        self._events.append(events)
        self._arrivals.append(arrivals)
        self._files.append(file)
        self._size += len(events) + events.triple_count
        if self._size >= settings().gathered_rows:
            yield from self.take()

    def take(self) -> Iterator[pa.RecordBatch]:
        """The blocks of what is there."""
        if not self._events:
            return
        parts = None
        if self._by_file:
            parts = self._files, np.repeat(np.arange(len(self._files)), [len(each) for each in self._events])
        yield from self._work.take(concat(self._events), np.concatenate(self._arrivals), parts)
        self._events, self._arrivals, self._files, self._size = [], [], [], 0
        self._work.mapper.forget()


def _clock(events: EventBatch, chosen: Places, unit: str, kept: Sequence[Kept] = ()) -> Block:
    """Some events without mappings: where each was read, in place of its name. Streams are numbered as in the job.

    What is kept of them, if they are late, stands in place of the pairs: their texts, and what they carry.
    """
    count, sources = len(chosen), len(events.sources)
    origins = np.zeros(count, np.int32) if events.origins is None else events.origins[chosen]
    positions = np.zeros(count, np.int64) if events.positions is None else events.positions[chosen]
    numbers = np.arange(len(kept), dtype=np.int32)
    texts = [text for each in kept for text in (each.text, json.dumps(each.carried))]
    return Block(
        events.times[chosen],
        events.streams[chosen],
        positions,
        (origins + 1).astype(np.int32),
        np.zeros((0, DIGEST), np.uint8),
        Mappings(numbers, np.stack([sources + 1 + 2 * numbers, sources + 2 + 2 * numbers], axis=1)),
        (),
        pa.array([*(f"{unit} {source}" for source in events.sources), *texts], pa.large_string()),
    )


def kept_of(block: Block, event: int) -> Kept:
    """What such a block says of an event besides its time and place."""
    if not len(block.pairs.event):
        return Kept()
    text, carried = (block.terms[int(number) - 1].as_py() for number in block.pairs.terms[event])
    return Kept(text, json.loads(carried))


def _table(rows: Sequence[Row]) -> pa.RecordBatch:
    columns = dict(zip(ARROW_BLOCKS.names, zip(*rows, strict=True), strict=True))
    arrays = [
        _binary(columns[field.name]) if field.name == "block" else pa.array(columns[field.name], field.type)
        for field in ARROW_BLOCKS
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=ARROW_BLOCKS)


def _binary(blocks: Sequence[bytes | None]) -> pa.Array:
    """Large values as a column, each copied once."""
    known = [block for block in blocks if block is not None]
    if len(known) < len(blocks):
        return pa.array(blocks, pa.binary())
    offsets, data = np.cumsum([0, *map(len, known)], dtype=np.int32), b"".join(known)
    return pa.Array.from_buffers(pa.binary(), len(blocks), [None, pa.py_buffer(offsets), pa.py_buffer(data)])
