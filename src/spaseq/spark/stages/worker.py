"""What both stages share on a worker: the broadcast job, and processes that are reused with what they have loaded."""

from __future__ import annotations

import gc
import pickle
import zlib
from functools import cache
from typing import TYPE_CHECKING, Protocol

from spaseq.settings import settings
from spaseq.spark.job import Job
from spaseq.spark.release import Release
from spaseq.spark.spark_session import is_connected

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Shared(Protocol):
    """A job that was sent to workers; it begins with the `Release` of the driver."""

    @property
    def value(self) -> Job: ...


_sent: dict[str, Job] = {}
"""The jobs that this process has unpickled."""


class BroadcastJob:
    """A job that every worker fetches once."""

    def __init__(self, spark: SparkSession, job: Job) -> None:
        self._release = Release()
        self._sent = spark.sparkContext.broadcast(job)

    @property
    def value(self) -> Job:
        """The job."""
        return self._sent.value


class SentJob:
    """A job that travels with the function that needs it, where there are no broadcasts; a process unpickles it once."""

    def __init__(self, job: Job) -> None:
        self._release = Release()
        self._id, self._packed = job.id, zlib.compress(pickle.dumps(job))

    @property
    def value(self) -> Job:
        """The job."""
        if self._id not in _sent:
            while len(_sent) >= settings().warm_jobs:
                del _sent[next(iter(_sent))]
            _sent[self._id] = pickle.loads(zlib.decompress(self._packed))
        return _sent[self._id]


def shared(spark: SparkSession, job: Job) -> Shared:
    """The job as workers get it."""
    return SentJob(job) if is_connected(spark) else BroadcastJob(spark, job)


@cache
def settle(stage: str) -> None:  # noqa: ARG001 - each stage loads kernels of its own, so each settles once
    """Take what a process has loaded by now out of the garbage collector's sight.

    Spark collects after every task, and looking through numba and its kernels takes longer than many a task.
    """
    gc.collect()
    gc.freeze()
