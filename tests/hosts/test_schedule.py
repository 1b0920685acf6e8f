"""In which order a finite input is read in micro-batches, and what it costs to find out."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spaseq.engine.inputs import NamedQuery
from spaseq.engine.local_run import LocalRun
from spaseq.engine.request import RunRequest
from spaseq.io.options import ReadOptions
from spaseq.io.sources import find_sources
from spaseq.planner.compiled import compile_query
from spaseq.spark.command.spark_run import SparkRun
from spaseq.spark.sources.schedule import Schedule, make_schedule

pytestmark = pytest.mark.spark

EVENT = """<http://ex.org/k> <http://ex.org/v> "{0}" <http://ex.org/g{0}> .
<http://ex.org/g{0}> <http://www.w3.org/ns/prov#generatedAtTime> "2024-01-01T00:{1:02d}:{2:02d}Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .
"""
FILES = {"a.nq": range(40, 60), "b.nq": range(20), "c.nq": range(20, 40)}


def scheduled(spark: SparkSession, folder: Path) -> tuple[Schedule, int]:
    """The schedule of three files, and how many jobs it took to make it."""
    for name, numbers in FILES.items():
        lines = (EVENT.format(each, each // 60, each % 60) for each in numbers)
        (folder / name).write_text("".join(lines), encoding="utf-8")
    spark.sparkContext.setJobGroup(str(folder), "a schedule")
    found = make_schedule(spark, {"s": find_sources(str(folder))}, ReadOptions())
    return found, len(spark.sparkContext.statusTracker().getJobIdsForGroup(str(folder)))


def names(schedule: Schedule) -> list[list[str]]:
    """The files of each micro-batch, each once."""
    return [list(dict.fromkeys(split.path.name for split in batch.parts["s"])) for batch in schedule.batches]


def test_what_one_micro_batch_holds_is_not_surveyed(
    spark: SparkSession, tmp_path: Path, change_settings: Callable[..., None]
) -> None:
    """Nothing can be late in it: its files are read as they come, in parts for all workers."""
    change_settings(micro_batch_bytes=1 << 20, part_bytes_least=1000, scheduled_part_bytes=1 << 20)
    found, jobs = scheduled(spark, tmp_path)
    assert (names(found), jobs) == ([["a.nq", "b.nq", "c.nq"]], 0)
    assert found.batches[0].promises == {"s": None}
    assert len(found.batches[0].parts["s"]) > len(FILES)


def test_more_than_that_is_read_in_order_of_time(
    spark: SparkSession, tmp_path: Path, change_settings: Callable[..., None]
) -> None:
    """Whatever the names of the files."""
    change_settings(micro_batch_bytes=1000, scheduled_part_bytes=1 << 20)
    found, jobs = scheduled(spark, tmp_path)
    assert (names(found), jobs) == ([["b.nq"], ["c.nq"], ["a.nq"]], 1)
    second = 1_000_000
    begin = 1_704_067_200 * second
    assert [batch.promises["s"] for batch in found.batches] == [
        begin + 20 * second,
        begin + 40 * second,
        None,
    ]


QUERY = """PREFIX : <http://ex.org/>
SELECT ?a ?b WITHIN {window} SLIDING FROM STREAM S <http://ex.org/s>
WHERE {{ SEQ ({sequence}) DEFINE GPM A ON S {{ :k :v ?a }} DEFINE GPM B ON S {{ :k :v ?b FILTER(?b > ?a) }} {more} }}"""
COUNTED = {"window": "6 EVENTS", "sequence": "A ; E , B", "more": "DEFINE GPM E ON S { }"}
TIMED = {"window": "10 SECONDS", "sequence": "A ; B", "more": ""}


@pytest.mark.parametrize("asked", [TIMED, COUNTED])
@pytest.mark.parametrize("micro_batch_bytes", [400, 1 << 20])
def test_files_of_one_time_in_no_order_are_read_as_if_sorted(
    spark: SparkSession,
    tmp_path: Path,
    change_settings: Callable[..., None],
    micro_batch_bytes: int,
    asked: dict[str, str],
) -> None:
    """What a part has seen says nothing of the others: they go on from what their survey promised.

    Simultaneous events stand in the order of their files, whichever part is read first.
    """
    change_settings(micro_batch_bytes=micro_batch_bytes, scheduled_part_bytes=600)
    numbers = list(range(120))
    random.Random(3).shuffle(numbers)
    (tmp_path / "in").mkdir()
    for file in range(3):
        own = (EVENT.format(each, each // 3 // 60, each // 3 % 60) for each in numbers[file::3])
        (tmp_path / "in" / f"{file}.nq").write_text("".join(own), encoding="utf-8")

    def request(name: str, checkpoint: Path | None = None) -> RunRequest:
        return RunRequest(
            queries=(NamedQuery("query", compile_query(QUERY.format(**asked))),),
            streams=(("S", str(tmp_path / "in")),),
            output=tmp_path / f"{name}.jsonl",
            quarantine=tmp_path / f"{name}.quarantine",
            checkpoint=checkpoint,
        )

    run = SparkRun(request("spark", tmp_path / "points"), "local[2]")
    run.run_in(spark, tmp_path)
    LocalRun(request("local")).run()
    found, wanted = (
        sorted((tmp_path / f"{each}.jsonl").read_text().splitlines()) for each in ("spark", "local")
    )
    assert len(wanted) > 50
    assert found == wanted
    done = [each for each in (tmp_path / "points" / "spark" / "commits").iterdir() if each.name.isdigit()]
    assert (len(done) > 5) == (micro_batch_bytes == 400)
