"""A real cluster on one machine: a standalone master and two workers, each a process that can be killed."""

from __future__ import annotations

import os
import random
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyoxigraph import Literal, NamedNode, Triple

import spaseq
from spaseq.model.events import GraphEvent
from support.clusters import Cluster, running_cluster
from support.event_files import nquads
from support.processes import SPASEQ, Process

pytestmark = [pytest.mark.spark, pytest.mark.slow]

EX = "http://ex.org/"
QUERY = """PREFIX : <http://ex.org/>
SELECT ?k ?v ?w WITHIN 20 SECONDS FROM STREAM S <http://ex.org/s> WHERE {
  SEQ (A ; B ; C!)
  DEFINE GPM A ON S { ?k :a ?v } DEFINE GPM B ON S { ?k :b ?w } DEFINE GPM C ON S { ?k :c ?x }
}"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """Started for one test."""
    with running_cluster(tmp_path) as found:
        yield found


@pytest.fixture
def expected(tmp_path: Path) -> list[str]:
    """What the other engine finds in the same files."""
    (tmp_path / "query.spaseq").write_text(QUERY)
    (tmp_path / "in").mkdir()
    chance, time = random.Random(7), 0
    for number in range(6):
        events = []
        for _ in range(5000):
            time += chance.randrange(20_000)
            triple = Triple(
                NamedNode(f"{EX}k{chance.randrange(500)}"),
                NamedNode(EX + chance.choice("aabbc")),
                Literal(chance.randrange(1000)),
            )
            events.append(GraphEvent(EX + "s", time, frozenset({triple})))
        (tmp_path / "in" / f"{number}.nq").write_text(nquads(events, first=5000 * number))
    with Process([*SPASEQ, *run("local", "expected")], folder=tmp_path) as process:
        assert process.end() == 0, process.err
    return sorted((tmp_path / "expected").read_text().splitlines())


def run(engine: str, output: str) -> list[str]:
    """The arguments of the command."""
    where = ["--engine", engine, "--stream", "S=in", "--output", output, "--quiet"]
    return ["run", "query.spaseq", *where]


@pytest.fixture
def packed(tmp_path: Path) -> Path:
    """An environment as the how-to says, in the folder of the command and as an archive: Python and the project.

    Its Python is the one that runs here; what a real one would bring along is Spark's business, not ours.
    """
    folder = tmp_path / "environment"
    shutil.copytree(Path(spaseq.__file__).parent, folder / "spaseq", ignore=shutil.ignore_patterns("*.pyc"))
    python = folder / "bin" / "python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nPYTHONPATH="$(dirname "$0")/..:$PYTHONPATH" exec {sys.executable} "$@"\n')
    python.chmod(0o755)
    return Path(shutil.make_archive(str(folder), "gztar", folder))


def on_the_cluster(cluster: Cluster, packed: Path, folder: Path) -> Process:
    """The command, on the cluster."""
    usual = os.environ["PYSPARK_SUBMIT_ARGS"]
    submit = f"--archives {packed}#environment --conf spark.executor.memory=512m {usual}"
    environment = {"PYSPARK_PYTHON": "./environment/bin/python", "PYSPARK_SUBMIT_ARGS": submit}
    environment["SPASEQ_SETTINGS"] = "starved_seconds=1"
    return Process([*SPASEQ, *run("spark", "found"), "--master", cluster.url], environment, folder)


def test_a_cluster_gives_what_one_process_gives(packed: Path, expected: list[str], tmp_path: Path) -> None:
    """A run that finds no worker says what it waits for; both that come take part, with the environment that was sent to them."""
    with (
        running_cluster(tmp_path, workers=0) as cluster,
        on_the_cluster(cluster, packed, tmp_path) as process,
    ):
        process.wait_for(lambda: "no task has begun" in process.err)
        for _ in range(2):
            cluster.add_worker()
        _check(cluster, process, expected, tmp_path)


def _check(cluster: Cluster, process: Process, expected: list[str], tmp_path: Path) -> None:
    assert process.end() == 0, process.err
    (told,) = process.err.splitlines()
    assert f"warning: no task has begun: `{cluster.url}` has given the run no executor" in told
    assert "1 core(s) and 512m of memory" in told
    assert sorted((tmp_path / "found").read_text().splitlines()) == expected != []
    for worker in cluster.workers:
        assert any(worker.folder.rglob("environment/spaseq/__init__.py"))
        assert "Running task" in "".join(file.read_text() for file in worker.folder.rglob("stderr"))
    assert not list(tmp_path.glob(".spaseq-*")), "nothing is left beside the output"


def test_a_batch_run_survives_the_loss_of_a_worker(
    cluster: Cluster, packed: Path, expected: list[str], tmp_path: Path
) -> None:
    """Killed when it has done a part of the work that the others rely on: the result is complete and correct."""
    lost = cluster.workers[1]
    with on_the_cluster(cluster, packed, tmp_path) as process:
        process.wait_for(lambda: lost.has_mapped)
        lost.process.kill()
        assert process.running
        assert process.end() == 0, process.err
    assert sorted((tmp_path / "found").read_text().splitlines()) == expected != []


def test_workers_with_other_code_than_the_driver_end_the_run_with_a_sentence(
    cluster: Cluster, packed: Path, expected: list[str], tmp_path: Path
) -> None:
    """As while a cluster is upgraded: what they are sent may mean something else to them."""
    assert expected
    (tmp_path / "environment" / "spaseq" / "newer.py").write_text("")
    packed = Path(shutil.make_archive(str(tmp_path / "environment"), "gztar", tmp_path / "environment"))
    with on_the_cluster(cluster, packed, tmp_path) as process:
        assert process.end() == 1
        assert "has another spaseq in" in process.err
        assert "than the driver: install the same one on the driver and on every worker" in process.err
        assert "Traceback" not in process.err
