"""The stateful operator as Spark sees it; its work is in `spaseq.spark.state.stream_stage`.

Spark starts a process only to ask what state the operator keeps, and waits for it. So this module imports little,
and what the operator needs is sent as bytes that are unpickled where there is work.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from spaseq.spark.release import Release

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql.streaming.stateful_processor import MapState, TimerValues

    from spaseq.spark.job import Job
    from spaseq.spark.output.answer_rows import AnswerForm
    from spaseq.spark.state.stream_stage import StreamTask

COUNTS = ("live_runs", "state_bytes", "warm", "cold", "load_ms")
"""What a bucket counts in every micro-batch: runs and bytes it keeps, the parts of state it had at hand and those that it
loaded, and how long that took."""
OUTPUT = "answers binary, told array<bigint>"
"""What the operator gives: answers in Arrow's stream format; in the last row of a micro-batch its counts, the watermark in
microseconds, and by stream how many events came too late. Few columns: to make one takes longer than to fill it."""
WATERMARK = len(COUNTS)
LATE = WATERMARK + 1
"""Where the watermark stands in what is told, and where the late events of the first stream."""

_known: dict[str, tuple[Job, AnswerForm]] = {}
"""The jobs this process works for, and what becomes of their answers."""


class SequenceProcessor(StatefulProcessor):
    """Runs every query of a job in one bucket at a time."""

    def __init__(self, job: Job, form: AnswerForm) -> None:
        from spaseq.columnar.knowledge import Knowledge

        self._release = Release()  # the first thing that is unpickled
        # That process has no broadcasts either, so the job is sent in here; it must stay small, or Spark makes a
        # broadcast of it after all. Few operators read background graphs.
        if not any(task.program.reads_background for task in job.tasks):
            job = replace(job, knowledge=Knowledge())
        small = pickle.dumps((job, form))
        self._id, self._packed = job.id, zlib.compress(small)
        self._task: StreamTask | None = None

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Say what is kept."""
        self._state = handle.getMapState("pieces", "name string", "data binary")

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: Any,
        rows: Iterator[pd.DataFrame],
        timerValues: TimerValues,  # noqa: ARG002, N803
    ) -> Iterator[pd.DataFrame]:
        """One micro-batch of one bucket."""
        self._task = self._task or self._opened()
        yield from self._task.run(int(key[0]), MapStore(self._state), rows)

    def _opened(self) -> StreamTask:
        from spaseq.settings import settings
        from spaseq.spark.state.stream_stage import StreamTask

        if self._id not in _known:
            while len(_known) >= settings().warm_jobs:
                del _known[next(iter(_known))]
            _known[self._id] = pickle.loads(zlib.decompress(self._packed))
        return StreamTask(*_known[self._id])

    def close(self) -> None:
        """No bucket follows."""
        if self._task is not None:
            self._task.close()
        self._task = None


class MapStore:
    """Spark's map state as named pieces of bytes."""

    def __init__(self, state: MapState) -> None:
        self._state = state

    def get(self, name: str) -> bytes | None:
        """A piece; None if there is none of this name."""
        found = self._state.getValue((name,))
        return None if found is None else bytes(found[0])

    def put(self, name: str, data: bytes) -> None:
        """Keep a piece."""
        self._state.updateValue((name,), (data,))

    def remove(self, name: str) -> None:
        """Drop a piece."""
        self._state.removeKey((name,))
