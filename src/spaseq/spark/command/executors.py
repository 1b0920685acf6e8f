"""Says that a run on a cluster waits for executors: Spark only logs it, and waits for ever."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from spaseq.engine.clocks import wall_microseconds
from spaseq.engine.notices import Tell
from spaseq.settings import settings
from spaseq.spark.spark_session import is_one_process

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_BETWEEN: Final = 0.5
"""Seconds between two looks."""


class Starvation:
    """Whether tasks have waited long for an executor; each such time is told once."""

    def __init__(self, master: str, needs: str) -> None:
        self._master, self._needs = master, needs
        self._since: float | None = None
        self._told = False

    def look(self, now: float, executors: int, stages: int) -> str | None:
        """What to say at this time, with so many executors and stages that are not done."""
        if executors or not stages:
            self._since, self._told = None, False
            return None
        self._since = now if self._since is None else self._since
        if self._told or now - self._since < settings().starved_seconds:
            return None
        self._told = True
        return (
            f"no task has begun: `{self._master}` has given the run no executor for {now - self._since:.0f} s. Are its workers "
            f"up, and has one of them {self._needs} free? The run goes on as soon as it gets an executor; Ctrl-C ends it"
        )


@contextmanager
def watched(spark: SparkSession, tell: Tell) -> Iterator[None]:
    """Say on a cluster that tasks wait for executors."""
    context = spark.sparkContext
    if is_one_process(context.master):
        yield
        return
    conf = context.getConf()
    cores, memory = conf.get("spark.executor.cores", "1"), conf.get("spark.executor.memory", "1g")
    starvation = Starvation(
        context.master or "the cluster", f"{cores} core(s) and {memory} of memory (spark.executor.memory)"
    )
    tracker, status = context.statusTracker(), context._jsc.sc()

    def counts() -> tuple[int, int]:
        # The driver is counted among the executors.
        return int(status.getExecutorMemoryStatus().size()) - 1, len(tracker.getActiveStageIds())

    with _repeatedly(lambda: _tell(starvation.look(wall_microseconds() / 1e6, *counts()), tell)):
        yield


def _tell(text: str | None, tell: Tell) -> None:
    if text is not None:
        tell(text)


@contextmanager
def _repeatedly(action: Callable[[], None]) -> Iterator[None]:
    """Do something now and then, beside the main thread."""
    ended = threading.Event()

    def work() -> None:
        while not ended.wait(_BETWEEN):
            action()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
