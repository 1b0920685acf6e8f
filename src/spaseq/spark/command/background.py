"""A Spark job beside the main thread, which stays free for signals and for the progress bar."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import replace
from threading import Thread
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from spaseq.engine.request import Show, Status, unwatched

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOMENT: Final = 0.1
"""Seconds between two looks at a running job."""


T = TypeVar("T")


class Background(Generic[T]):
    """An action that runs in a thread of its own."""

    def __init__(self, action: Callable[[], T]) -> None:
        self._future: Future[T] = Future()
        Thread(target=self._work, args=(action,), daemon=True).start()

    def _work(self, action: Callable[[], T]) -> None:
        try:
            self._future.set_result(action())
        except BaseException as error:  # noqa: BLE001 - handed to the main thread by `result`
            self._future.set_exception(error)

    def ends_within(self, seconds: float) -> bool:
        """Wait so long at most; true if it has ended, well or not."""
        return bool(wait([self._future], seconds).done)

    def result(self) -> T:
        """What the action gave, when it has ended; raises what the action raised."""
        return self._future.result()


def aside(action: Callable[[], T]) -> T:
    """What an action gives that is done in another thread, while this one handles signals."""
    work = Background(action)
    while not work.ends_within(MOMENT):
        pass
    return work.result()


def show_tasks(show: Show, status: Status, spark: SparkSession) -> None:
    """Show the status of a run and of its tasks; Spark is asked only if there is progress output, since asking costs time."""
    if show is not unwatched:
        show(replace(status, tasks=tasks_of(spark)))


def tasks_of(spark: SparkSession) -> tuple[int, int]:
    """How many tasks of the running stages are done, and how many there are."""
    tracker = spark.sparkContext.statusTracker()
    stages = [info for info in map(tracker.getStageInfo, tracker.getActiveStageIds()) if info is not None]
    return sum(stage.numCompletedTasks for stage in stages), sum(stage.numTasks for stage in stages)
