"""A run on a cluster that gets no executor says so: once each time, and only if there is work."""

from __future__ import annotations

from spaseq.settings import settings
from spaseq.spark.command.executors import Starvation


def test_tasks_that_wait_for_an_executor_are_told_once() -> None:
    """After a while, again if executors came and went, and never while there is nothing to do."""
    starvation, most = (
        Starvation("spark://host:7077", "1 core(s) and 1g of memory"),
        settings().starved_seconds,
    )
    times = [0, 1, most + 1, most + 2, most + 3, most + 4, 2 * most + 9]
    executors = [0, 0, 0, 0, 1, 0, 0]
    told = [starvation.look(time, count, 1) for time, count in zip(times, executors, strict=True)]
    assert [text is not None for text in told] == [False, False, True, False, False, False, True]
    assert (told[2] or "").startswith(
        "no task has begun: `spark://host:7077` has given the run no executor for"
    )
    assert "1 core(s) and 1g of memory" in (told[2] or "")
    idle = Starvation("spark://host:7077", "")
    assert not any(idle.look(time, 0, 0) for time in times)
