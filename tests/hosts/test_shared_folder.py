"""A run whose workers do not see the driver's folder ends with a sentence, never with less output."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from spaseq.engine.inputs import NamedQuery
from spaseq.engine.request import RunReport, RunRequest
from spaseq.planner.compiled import compile_query
from spaseq.spark.command.problems import problem_of
from spaseq.spark.command.spark_run import SparkRun
from spaseq.spark.shared_folder import NotShared, SharedFolder

pytestmark = pytest.mark.spark

QUERY = """SELECT ?k ?v FROM STREAM S <urn:s> WHERE { SEQ (A) DEFINE GPM A ON S { ?k <urn:p> ?v } }"""
EVENT = """<urn:k{0}> <urn:p> "{0}" <urn:e{0}> .
<urn:e{0}> <http://www.w3.org/ns/prov#generatedAtTime> "{0}"^^<http://www.w3.org/2001/XMLSchema#integer> .
"""


@pytest.fixture
def request_of(tmp_path: Path) -> RunRequest:
    """Twenty events, all of which match, and a bad one."""
    lines = [EVENT.format(number) for number in range(20)]
    (tmp_path / "s.nq").write_text("".join([*lines, "<urn:k> <urn:p> bad .\n"]), encoding="utf-8")
    return RunRequest(
        queries=(NamedQuery("query", compile_query(QUERY)),),
        streams=(("S", str(tmp_path / "s.nq")),),
        output=tmp_path / "out.jsonl",
        quarantine=tmp_path / "bad.jsonl",
    )


class _Losing(SparkRun):
    """A run in which one file of the workers never reaches the driver."""

    lost = "*"

    def write(self, answers: DataFrame, folder: Path) -> int:
        written = super().write(answers, folder)
        next(folder.glob(self.lost)).unlink()
        return written


def _run(run: SparkRun, spark: SparkSession, folder: Path) -> RunReport:
    return run.run_in(spark, folder / "work")


@pytest.mark.parametrize(
    ("lost", "provenance", "what"),
    [
        ("answers/*.json", False, "have written 20 answers, but "),
        ("answers/part-*.parquet", True, "have written 20 answers, but "),
        ("bad/*.jsonl", False, "have written 1 bad events, but 0 are"),
    ],
)
def test_less_than_the_workers_have_written_is_an_error(
    spark: SparkSession, request_of: RunRequest, tmp_path: Path, lost: str, provenance: bool, what: str
) -> None:
    """Lines, rows and quarantine: what every task has counted is compared with what was found."""
    run = _Losing(replace(request_of, provenance=provenance), "local[2]")
    run.lost = lost
    with pytest.raises(NotShared, match=what):
        _run(run, spark, tmp_path)


def test_a_worker_that_sees_another_folder_is_an_error(
    spark: SparkSession, request_of: RunRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It must find the token that the driver has written."""
    made = SharedFolder.made
    monkeypatch.setattr(SharedFolder, "made", staticmethod(lambda path: replace(made(path), token="another")))
    with pytest.raises(PySparkException) as failed:
        _run(SparkRun(request_of, "local[2]"), spark, tmp_path)
    assert "does not see the driver's folder" in str(problem_of(failed.value))
