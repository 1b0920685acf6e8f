"""`spaseq run` on Spark when something is wrong: one sentence of ours, no Java, no stack trace."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyoxigraph import Literal, NamedNode, Triple

from spaseq.model.events import GraphEvent
from support.event_files import nquads
from support.processes import SPASEQ, Process

pytestmark = pytest.mark.spark

EX = "http://ex.org/"
QUERY = """PREFIX : <http://ex.org/>
SELECT ?a ?b FROM STREAM S <http://ex.org/s> WHERE {{
  SEQ (A : B) DEFINE GPM A ON S {{ ?s :p ?a {more} }} DEFINE GPM B ON S {{ ?s :q ?b }}
}}"""
MASTER = ("--engine", "spark", "--master", "local[2]", "--stream", "S=in.nq", "--output", "found")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A query that keeps all it has seen, and events for it."""
    (tmp_path / "query.spaseq").write_text(QUERY.format(more=""))
    (tmp_path / "known.spaseq").write_text(QUERY.format(more="GRAPH :kb { ?s :r ?r }"))
    triples = [Triple(NamedNode(f"{EX}k{i}"), NamedNode(EX + "pq"[i % 2]), Literal(i)) for i in range(20_000)]
    events = [GraphEvent(EX + "s", i * 1000, frozenset({each})) for i, each in enumerate(triples)]
    (tmp_path / "in.nq").write_text(nquads(events))
    (tmp_path / "temp").mkdir()
    return tmp_path


def run(folder: Path, *options: str, query: str = "query", **environment: str) -> Process:
    """The command, with its temporary files in sight."""
    inside = {"TMPDIR": str(folder / "temp"), **environment}
    return Process([*SPASEQ, "run", f"{query}.spaseq", *MASTER, *options], inside, folder)


def said(process: Process, status: int) -> str:
    """What a run that failed has said: one sentence, and nothing is left behind."""
    assert process.end() == status, process.err
    (line,) = process.err.splitlines()
    assert process.out == ""
    return line


def test_too_many_runs_are_one_sentence(folder: Path) -> None:
    """The error of a worker, as the other engine says it."""
    with run(folder, "--max-runs", "100") as process:
        line = said(process, 1)
    with run(folder, "--max-runs", "100", "--engine", "local") as process:
        expected = said(process, 1)
    assert re.sub(r"[\d,]+", "n", line) == re.sub(r"[\d,]+", "n", expected)


def test_a_background_graph_that_is_not_there_is_one_sentence(folder: Path) -> None:
    """It is looked for before Java starts."""
    with run(folder, "--kb", f"{EX}kb=missing.ttl", query="known") as process:
        assert "missing.ttl" in said(process, 2)


def test_an_input_that_vanishes_before_it_is_read_is_one_sentence(folder: Path) -> None:
    """The driver has seen it, then it was gone."""
    with run(folder) as process:
        process.wait_for(lambda: any((folder / "temp").iterdir()))
        (folder / "in.nq").unlink()
        assert "`in.nq`" in said(process, 2)


def test_an_input_that_vanishes_before_a_worker_reads_it_is_one_sentence(folder: Path) -> None:
    """The work was already cut into parts."""
    with run(folder, "--checkpoint", "points") as process:
        process.wait_for((folder / "points" / "schedule.json").exists)
        (folder / "in.nq").unlink()
        assert said(process, 1).startswith(
            "error: `in.nq` was there when the query was planned and is not found now"
        )


@pytest.mark.parametrize("moment", ["*", "*/shared/answers/_temporary"], ids=["it starts", "it works"])
def test_ctrl_c_ends_a_run_soon_and_quietly_while(folder: Path, moment: str) -> None:
    """Status 130, one note, and nothing goes on in the background."""
    with run(folder, "--provenance") as process:
        process.wait_for(lambda: any((folder / "temp").glob(f"spaseq-{moment}")))
        process.interrupt()
        line = said(process, 130)
        assert line.startswith("note: stopped by Ctrl-C")
        assert process.leaves_nobody()


def test_without_java_one_sentence_says_what_to_do(folder: Path) -> None:
    """How to get it, and that the other engine works now."""
    with run(folder, PATH=str(folder), JAVA_HOME="") as process:
        line = said(process, 2)
    assert "install it" in line
    assert "--engine local" in line
