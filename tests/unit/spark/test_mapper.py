"""Facts about what a worker keeps from one task to the next."""

from __future__ import annotations

from dataclasses import replace

import spaseq
from spaseq.spark.job import Job, make_tasks
from spaseq.spark.stages.gpm_stage import mapper_of
from support.trades import RISE


def test_two_queries_of_one_session_keep_what_they_have_loaded() -> None:
    """Dictionary and background graphs of each stay, however their tasks alternate."""
    tasks, streams = make_tasks({"rise": spaseq.compile(RISE)}, 2)
    jobs = [Job(name, tasks, streams, 2) for name in ("first", "second")]
    mappers = [mapper_of(job) for job in jobs]
    assert [mapper_of(replace(job)) for _ in range(3) for job in jobs] == mappers * 3
