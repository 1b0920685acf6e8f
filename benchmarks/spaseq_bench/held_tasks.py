"""What a small micro-batch costs on Spark while many runs wait: one large micro-batch first, then small ones, each timed.

With ``cold`` no worker process keeps anything from one micro-batch to the next, as if Spark handed every bucket to another process.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from spaseq.spark.command.micro_batches import MicroBatches
from spaseq_bench.spark_tasks import STAMP, tree_seconds
from spaseq_bench.tasks import Job, Outcome, Round, percentiles, request_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from spaseq.spark.command.spark_run import SparkRun

SETTLED: Final = 3
"""Small micro-batches that are not measured: the first ones load code."""
_SPAN: Final = 1 << 24
"""Bytes of the large micro-batch that one task reads."""


class _Timed(MicroBatches):
    """Notes the time after every micro-batch."""

    ends: list[tuple[float, float]]

    def _take(self, answers: DataFrame, batch: int) -> None:
        super()._take(answers, batch)
        self.ends = [*getattr(self, "ends", []), (time.perf_counter(), tree_seconds())]


def held_task(job: Job) -> Round:
    """The first ``live`` events in one micro-batch, the others ``small`` at a time; wall and CPU time are those of a small one."""
    from spaseq.spark.command.spark_run import SparkRun
    from spaseq.spark.shuffle.routing import BUCKETS
    from spaseq.spark.spark_session import new_session

    params = job["params"]
    cores, live, small = (int(params[name]) for name in ("cores", "live", "small"))
    if params.get("cold") is True:
        os.environ["SPASEQ_SETTINGS"] = "warm_buckets=0"  # of worker processes, which are started with it
    master = f"local[{cores}]"
    spark = new_session(master)
    request = request_of(job)

    def once() -> Outcome:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="spaseq-bench-"))) / "checkpoint"
            folder.mkdir()
            run = SparkRun(replace(request, checkpoint=folder), master, buckets=BUCKETS)
            write_schedule(run, folder, live, small)
            batches = _Timed(run, spark, folder, stack)
            report = batches.run()
            walls, cpus = zip(*batches.ends, strict=True)
            first = SETTLED + bool(live)
            wall, cpu = (_gaps(times, first) for times in (walls, cpus))
            return {
                "wall": median(wall),
                "cpu": sum(cpu) / len(cpu),
                "latency": percentiles(wall),
                "bad": float(report.status.bad),
            }

    return once


def _gaps(times: Sequence[float], first: int) -> list[float]:
    """How long every micro-batch took from one on, but the last, which ends the stream and so handles every key."""
    return [late - early for early, late in pairwise(times[first - 1 : -1])]


def write_schedule(run: SparkRun, folder: Path, live: int, small: int) -> None:
    """A schedule of the only stream, whose events stand in order of time with their timestamps first."""
    from spaseq.io.growing import Cut
    from spaseq.spark.command.run_folder import SCHEDULE
    from spaseq.spark.sources.schedule import Batch, Schedule
    from spaseq.spark.sources.splits import Split

    ((stream, (source,)),) = run.sources.items()
    begins, times, at = list[int](), list[int](), 0
    with source.path.open("rb") as file:
        for line in file:
            if STAMP in line:
                begins.append(at)
                written = re.findall(rb'"([^"]+)"', line)[0].decode()
                times.append(round(datetime.fromisoformat(written).timestamp() * 1_000_000))
            at += len(line)
    begins.append(at)
    cuts = (
        [0, *range(live, len(times), small), len(times)]
        if live
        else [*range(0, len(times), small), len(times)]
    )
    batches = []
    for first, last in pairwise(cuts):
        spans = [first]
        for event in range(first + 1, last):
            if begins[event] - begins[spans[-1]] >= _SPAN:
                spans.append(event)
        ends = [*spans[1:], last]
        predicate = run.request.input.read.timestamp_predicate
        parts = tuple(
            replace(
                Split.whole_of(source, predicate),
                begin=Cut(begins[here]),
                end=begins[there],
            )
            for here, there in zip(spans, ends, strict=True)
        )
        batches.append(Batch({stream: parts}, {stream: times[last] if last < len(times) else None}))
    Schedule(tuple(batches)).save(folder / SCHEDULE)
