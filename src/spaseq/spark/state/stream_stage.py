"""The sequence stage of an endless input: what a stateful operator (`spaseq.spark.state.processor`) does in a bucket.

Every task of the GPM stage writes a control row to every bucket, so every bucket is called in every micro-batch
that has input, hears how far time has come, and needs no timers: what waits for time or has expired is looked at
then, whichever keys are idle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from spaseq.engine.reports import late_reason
from spaseq.io.bad_input import BadInput
from spaseq.operators.saved_state import IncompatibleState
from spaseq.spark.job import Job
from spaseq.spark.output.answer_rows import AnswerForm, AnswerTaker, TaskAnswers
from spaseq.spark.output.tallies import write_tally
from spaseq.spark.schemas import CLOCKS, CONTROL
from spaseq.spark.shuffle.blocks import Block, decode_block, decode_blocks
from spaseq.spark.shuffle.watermark import Progress
from spaseq.spark.sources.bad_events import BadEvents
from spaseq.spark.sources.passed_times import PassedTimes
from spaseq.spark.sources.task_place import TaskPlace
from spaseq.spark.stages.gpm_stage import kept_of
from spaseq.spark.stages.worker import settle
from spaseq.spark.state.bucket_state import BucketState, Store
from spaseq.spark.state.processor import COUNTS
from spaseq.temporal.instants import BEFORE_ALL, FOREVER, format_instant


@dataclass(slots=True)
class BucketInput:
    """What a micro-batch brings to a bucket."""

    progress: Progress = field(default_factory=Progress)
    blocks: dict[int, list[bytes]] = field(default_factory=dict)
    clocks: list[Block] = field(default_factory=list)
    """Events of all streams; only in the bucket that decides which of them are late."""


class StreamTask:
    """One task of the sequence stage: some buckets, one after the other, in one micro-batch."""

    def __init__(self, job: Job, form: AnswerForm) -> None:
        self._job, self._place = job, TaskPlace()
        self._answers = form.opened(job, self._place)

    def close(self) -> None:
        """No bucket follows."""
        self._answers.close()

    def run(self, place_of_bucket: int, store: Store, rows: Iterable[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        """What the task makes of the rows of one bucket: answers in Arrow's stream format, and how many came late."""
        job, place, bucket = self._job, self._place, self._job.places.index(place_of_bucket)
        work = Work(job, bucket, BucketState(job, bucket, store), place)
        answers: bytes | None = None
        with BadEvents(job.late, f"late-{place.owned(job.owner)}-{place.batch:06d}-{bucket:05d}") as bad:
            for batch in work.run(_input(rows), self._answers, bad):
                if answers is not None:
                    yield _row(answers, None)
                answers = _stream(batch)
        late: int = sum(work.late)
        if job.counts is not None and late:
            write_tally(job.counts, f"late-{place.batch:06d}-{bucket:05d}", {"late": late})
        settle("sequence")
        counts = work.counts()
        yield _row(answers, [*(counts[name] for name in COUNTS), work.watermark, *work.late])


def _row(answers: bytes | None, told: list[int | None] | None) -> pd.DataFrame:
    """A row of `OUTPUT`."""
    return pd.DataFrame({"answers": [answers], "told": [told]}, dtype=object)


def _input(frames: Iterable[pd.DataFrame]) -> BucketInput:
    found = BucketInput()
    for frame in frames:
        for query, data in zip(frame["query"].tolist(), frame["block"].tolist(), strict=True):
            if query == CONTROL:
                found.progress.merge(Progress.from_json(data))
            elif query == CLOCKS:
                found.clocks.append(decode_block(data))
            else:
                found.blocks.setdefault(query, []).append(data)
    return found


class Work:
    """A bucket at work on one micro-batch."""

    def __init__(self, job: Job, bucket: int, state: BucketState, place: TaskPlace) -> None:
        self._job, self._bucket, self._state, self._place = job, bucket, state, place
        self.late: list[int] = [0] * len(job.streams)
        """By stream, the events that came too late."""

    def counts(self) -> dict[str, int]:
        """What the bucket keeps, and what it cost to get at it."""
        queries = self._state.queries.values()
        return {
            "live_runs": sum(query.runs for query in queries),
            "state_bytes": sum(query.all_bytes for query in queries),
            "warm": self._state.warm,
            "cold": self._state.cold,
            "load_ms": self._state.load_microseconds // 1000,
        }

    @property
    def watermark(self) -> int | None:
        """The instant that all queries have passed, in microseconds; None before the first event and after the last."""
        passed = [time for time in self._state.passed.values() if BEFORE_ALL < time < FOREVER]
        return min(passed, default=None)

    def run(self, given: BucketInput, answers: TaskAnswers, bad: BadEvents) -> Iterator[pa.RecordBatch]:
        """The answers of every query whose time has come."""
        before = [self._state.passed.get(number, BEFORE_ALL) for number in range(len(self._job.tasks))]
        self._state.progress.merge(given.progress)
        self._state.progress.forget_idle(self._job.idle_after)
        self._judge(given.clocks, before, bad)
        for number in range(len(self._job.tasks)):
            sent = given.blocks.get(number)
            block = None if sent is None else self._in_time(decode_blocks(sent), before[number])
            now = self._state.passed[number] = max(before[number], self._watermark(number))
            saved = self._state.queries.get(number)
            waits = saved is not None and not saved.empty and saved.due(now)
            if (block is None and not waits) or (saved is not None and saved.answered):
                continue
            yield from self._query(number, block, now, answers)
        now = self._state.passed.get(0, BEFORE_ALL)
        # All buckets know the same watermark, so one of them tells it.
        if self._bucket == 0 and now > before[0]:
            yield from answers.promise(now)
        self._tell_bounds(before)
        self._state.write_head()

    def _watermark(self, number: int) -> int:
        return self._state.progress.watermark(self._job.tasks[number].program.streams, self._job.pace)

    def _query(
        self, number: int, block: Block | None, now: int, answers: TaskAnswers
    ) -> Iterator[pa.RecordBatch]:
        running = self._state.open(number)
        if block is not None:
            running.sequencer.add(self._state.in_order_of_arrival(number, block))
        taker: AnswerTaker | None = None
        for found in self._state.answers(number, running, now) if now > BEFORE_ALL else ():
            if len(found):
                taker = taker or answers.taker(number, self._bucket)
                yield from taker.take(found, running.sequencer.dictionary)
        if (counted := running.sequencer.take_counted()) is not None:
            taker = taker or answers.taker(number, self._bucket)
            yield from taker.count(*counted, running.sequencer.dictionary)
        if taker is not None:
            yield from taker.close()
        self._state.save(number, running, now)

    def _in_time(self, block: Block, watermark: int) -> Block:
        """The events that are not late; without a check for lateness none may be."""
        late, rest = block.cut(watermark)
        if late is None:
            return block
        if self._job.punctual:
            raise IncompatibleState(
                "the files have changed while they were read: there are events before those that were read last; "
                "start again with a new checkpoint"
            )
        # What is left may be instants alone.
        return replace(block.take(np.zeros(0, np.intp)), ticks=()) if rest is None else rest

    def _judge(self, clocks: list[Block], passed: list[int], bad: BadEvents) -> None:
        """Count the events that came after the watermark of a query had passed them; the policy says what becomes of them.

        An event is one, however many queries read its stream.
        """
        if not clocks:
            return
        bounds = self._bounds(passed)
        for block in clocks:
            bound = bounds[block.streams]
            late = np.flatnonzero(block.times < bound)
            for stream, count in zip(*np.unique(block.streams[late], return_counts=True), strict=True):
                self.late[int(stream)] += int(count)
            sources = block.terms.to_pylist()
            for event in late.tolist():
                unit, _, source = sources[int(block.names[event]) - 1].partition(" ")
                time, kept = int(block.times[event]), kept_of(block, event)
                reason, where = late_reason(time, int(bound[event])), int(block.arrivals[event])
                told = format_instant(time)
                bad(BadInput(reason, source, where, unit, kept.text, time=told, carried=kept.carried))

    def _bounds(self, passed: Sequence[int]) -> npt.NDArray[np.int64]:
        """By stream, the instant before which its events are late for a query, given how far time has come for each."""
        bounds = np.full(len(self._job.streams), BEFORE_ALL, np.int64)
        for task, watermark in zip(self._job.tasks, passed, strict=True):
            own = list(task.inputs)
            bounds[own] = np.maximum(bounds[own], watermark)
        return bounds

    def _tell_bounds(self, before: Sequence[int]) -> None:
        """Let the next micro-batch know which of its events may be late; all buckets know it, so one of them does."""
        job = self._job
        if self._bucket == 0 and job.keeps_late and job.late.folder is not None:
            passed = [self._state.passed[number] for number in range(len(job.tasks))]
            told = PassedTimes(job.late.folder, self._place.owned(job.owner))
            told.write(self._bounds(passed), changed=passed != list(before))


def _stream(batch: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    data: bytes = sink.getvalue().to_pybytes()
    return data


class UnpackAnswers:
    """The answers of the operator as rows."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for data in batch.column("answers").to_pylist():
                if data is not None:
                    yield from pa.ipc.open_stream(data)
