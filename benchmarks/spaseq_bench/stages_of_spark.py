"""What every stage of a run on Spark has read, moved and taken, as Spark counts it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def next_stage(spark: SparkSession) -> int:
    """The number that the next stage of a session will have."""
    return int(spark.sparkContext._jsc.sc().dagScheduler().nextStageId())


def stage_figures(spark: SparkSession, first: int, cpu: float) -> dict[str, float]:
    """Figures of the stages from a number on: the one before the shuffle and the one behind it, which together did the work.

    Spark does not count the CPU time of Python processes. So that of everything, ``cpu``, is divided as the times of the
    tasks are; what the driver does beside them is in it.
    """
    store = spark.sparkContext._jsc.sc().statusStore()
    stages = [store.lastStageAttempt(number) for number in range(first, next_stage(spark))]
    done = [stage for stage in stages if stage.numCompleteTasks()]
    before = [stage for stage in done if stage.shuffleWriteBytes()]
    behind = [stage for stage in done if stage.shuffleReadBytes()]
    total = sum(_time(stage) for stage in done) or 1.0
    return {
        "pattern tasks": float(sum(stage.numCompleteTasks() for stage in before)),
        "pattern cpu": cpu * sum(map(_time, before)) / total,
        "shuffle bytes": float(sum(stage.shuffleWriteBytes() for stage in before)),
        "shuffle blocks": float(sum(stage.shuffleWriteRecords() for stage in before)),
        "sequence tasks": float(sum(stage.numCompleteTasks() for stage in behind)),
        "sequence cpu": cpu * sum(map(_time, behind)) / total,
        "other cpu": cpu * (1 - sum(map(_time, {*before, *behind})) / total),
    }


def _time(stage: Any) -> float:
    return float(stage.executorRunTime())
