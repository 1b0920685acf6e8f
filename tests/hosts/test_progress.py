"""How a run on Spark stands while it goes on: for whoever watches, and for nobody else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from spaseq.engine.inputs import NamedQuery
from spaseq.engine.request import RunRequest, Status, unwatched
from spaseq.planner.compiled import compile_query
from spaseq.spark.command.background import show_tasks
from spaseq.spark.command.spark_run import SparkRun

pytestmark = pytest.mark.spark

QUERY = """PREFIX : <http://ex.org/>
SELECT ?a ?b WITHIN 1 MINUTE SLIDING FROM STREAM S <http://ex.org/s>
WHERE { SEQ (A ; B) DEFINE GPM A ON S { :k :v ?a } DEFINE GPM B ON S { :k :v ?b FILTER(?b > ?a) } }"""
EVENT = """<http://ex.org/k> <http://ex.org/v> "{0}"^^<http://www.w3.org/2001/XMLSchema#integer> <http://ex.org/g{0}> .
<http://ex.org/g{0}> <http://www.w3.org/ns/prov#generatedAtTime> "2024-01-01T00:{1:02d}:{2:02d}Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .
"""
COUNT = 300


@pytest.mark.parametrize("checkpoint", [False, True])
def test_who_watches_sees_tasks_while_they_run(
    spark: SparkSession, tmp_path: Path, change_settings: Callable[..., None], *, checkpoint: bool
) -> None:
    """And at the end everything that was read and found; the session, which may be another's, is as it was."""
    before = spark.conf.get("spark.sql.shuffle.partitions")
    change_settings(part_bytes_most=1000)  # many tasks, which take a while however small they are
    lines = (EVENT.format(each, each // 60, each % 60) for each in range(COUNT))
    (tmp_path / "s.nq").write_text("".join(lines), encoding="utf-8")
    for attempt in range(20):  # Spark is asked now and then, and tasks may all be done between
        folder = tmp_path / f"{attempt}"
        folder.mkdir()
        request = RunRequest(
            queries=(NamedQuery("query", compile_query(QUERY)),),
            streams=(("S", str(tmp_path / "s.nq")),),
            output=folder / "out.jsonl",
            quarantine=folder / "bad.jsonl",
            checkpoint=folder / "checkpoint" if checkpoint else None,
        )
        seen: list[Status] = []
        report = SparkRun(request, "local[2]").run_in(spark, folder, seen.append)
        assert spark.conf.get("spark.sql.shuffle.partitions") == before == "4"
        assert report.status.events == COUNT
        assert report.status.matches == COUNT - 1
        tasks = [status.tasks for status in seen if status.tasks is not None]
        assert all(done <= there for done, there in tasks)
        if any(there for _, there in tasks):
            return
    raise AssertionError("no task was ever seen")


def test_spark_is_not_asked_if_nobody_watches() -> None:
    """Its answer costs the tasks time; without a session there would be none."""
    nobody = cast(Any, None)
    show_tasks(unwatched, Status(), nobody)
    with pytest.raises(AttributeError):
        show_tasks(lambda _: None, Status(), nobody)
