"""The sequence stage of a finite input, as a function over Arrow batches: blocks in time order, answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from spaseq.operators.answers import Answers
from spaseq.spark.job import Job
from spaseq.spark.output.answer_rows import AnswerForm, AnswerTaker
from spaseq.spark.schemas import CONTROL
from spaseq.spark.shuffle.blocks import decode_block
from spaseq.spark.sources.task_place import TaskPlace
from spaseq.spark.stages.sequencer import Sequencer
from spaseq.spark.stages.worker import Shared, settle


class BucketSequences:
    """Runs every query of a job over the blocks of one bucket, which come by query and earliest instant.

    No block begins before the one it follows, so every event before a block's first may be handled when the
    block comes; memory holds what overlaps, not the bucket.
    """

    def __init__(self, job: Shared, form: AnswerForm) -> None:
        self._job = job
        self._form = form

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        job = self._job.value
        answers = self._form.opened(job, TaskPlace())
        current: _Query | None = None
        for batch in batches:
            columns = (batch.column(name).to_pylist() for name in ("query", "bucket", "first", "block"))
            for query, bucket, first, block in zip(*columns, strict=True):
                if query == CONTROL:
                    continue
                if current is None or current.number != query:
                    if current is not None:
                        yield from current.finish()
                    current = _Query(job, query, bucket, answers.taker(query, bucket))
                yield from current.take(first, block)
        if current is not None:
            yield from current.finish()
        answers.close()
        settle("sequence")


class _Query:
    """One query at work on its blocks."""

    def __init__(self, job: Job, number: int, bucket: int, taker: AnswerTaker) -> None:
        self.number = number
        self._sequencer = Sequencer(job, job.tasks[number], bucket)
        self._taker = taker

    def take(self, first: int, block: bytes) -> Iterator[pa.RecordBatch]:
        if self._sequencer.worthwhile:
            yield from self._shown(self._sequencer.advance(first))
        self._sequencer.add(decode_block(block))

    def finish(self) -> Iterator[pa.RecordBatch]:
        yield from self._shown(self._sequencer.finish())
        yield from self._taker.close()

    def _shown(self, found: Iterable[Answers]) -> Iterator[pa.RecordBatch]:
        for answers in found:
            if len(answers):
                yield from self._taker.take(answers, self._sequencer.dictionary)
        if (counted := self._sequencer.take_counted()) is not None:
            yield from self._taker.count(*counted, self._sequencer.dictionary)
