"""Facts about the checkpoint directory of a run on Spark that are found out before Spark is started."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import spaseq
from spaseq.engine.inputs import NamedQuery
from spaseq.engine.request import RunRequest
from spaseq.errors import IncompatibleCheckpoint
from spaseq.io.written import Digest
from spaseq.spark.command.run_folder import Record, RunFolder
from spaseq.spark.command.spark_run import SparkRun

QUERY = """PREFIX : <http://ex.org/>
SELECT ?c FROM STREAM S <http://ex.org/s> WHERE { SEQ (A) DEFINE GPM A ON S { ?c :price ?p GRAPH :db { ?c :name ?n } } }"""


@pytest.fixture
def request_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunRequest:
    """A run over one file, with a background graph, a checkpoint and an output."""
    monkeypatch.chdir(tmp_path)
    Path("in.nq").write_text("bad")
    Path("kb.ttl").write_text('<http://ex.org/c> <http://ex.org/name> "c" .')
    Path("out.jsonl").write_text("matches")
    return RunRequest(
        (NamedQuery("query", spaseq.compile(QUERY)),),
        (("S", "in.nq"),),
        (("http://ex.org/db", "kb.ttl"),),
        output=Path("out.jsonl"),
        checkpoint=Path("points"),
    )


def begun(request: RunRequest, *, finished: bool = False) -> None:
    """Leave a checkpoint in which two micro-batches were done."""
    run = SparkRun(request)
    assert run.kept is not None
    run.kept.partitions(2)
    digest = Digest()
    digest.update(b"matches")
    for batch in range(2):
        record = Record(batch, digest.written, bad=7, events=9, matches={"0": 5}, finished=finished)
        run.kept.save(record)
    for name in ("commits", "offsets"):
        (Path("points/spark") / name).mkdir(parents=True)
        for batch in range(2 if name == "commits" else 3):
            (Path("points/spark") / name / f"{batch}").touch()
            (Path("points/spark") / name / f".{batch}.crc").touch()
    run._held.close()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, "the background graph `kb.ttl` was changed"),
        ({"rdfs": True}, "belongs to another run"),
        ({"quarantine": Path("precious")}, "belongs to another run"),
    ],
)
def test_what_was_changed_is_noticed(request_of: RunRequest, changes: dict[str, object], reason: str) -> None:
    """As in one process."""
    begun(request_of)
    if not changes:
        Path("kb.ttl").write_text('<http://ex.org/c> <http://ex.org/name> "d" .')
    with pytest.raises(IncompatibleCheckpoint, match=reason):
        SparkRun(replace(request_of, **changes))  # type: ignore[arg-type]


def test_an_input_with_other_content_is_noticed(request_of: RunRequest) -> None:
    """Although it has its old size."""
    begun(request_of)
    Path("in.nq").write_text("BAD")
    with pytest.raises(IncompatibleCheckpoint, match=r"the input `in\.nq` was changed"):
        SparkRun(request_of)


def test_a_run_that_had_ended_needs_its_output_and_no_spark(request_of: RunRequest) -> None:
    """What it had read and written is told again."""
    begun(request_of, finished=True)
    report = SparkRun(request_of).run()
    status = report.status
    assert (report.already_done, status.events, status.matches, status.bad) == (True, 9, 5, 7)
    Path("out.jsonl").write_text("match")
    with pytest.raises(
        IncompatibleCheckpoint, match=r"the output `out.jsonl` is not what the checkpoint knows"
    ):
        SparkRun(request_of)


def test_a_damaged_record_is_made_good_by_the_one_before(request_of: RunRequest) -> None:
    """Spark then does the micro-batch after it again: neither its end nor what was planned next is kept."""
    begun(request_of)
    Path("points/output").write_bytes(b"nothing")
    kept = SparkRun(request_of).kept
    assert kept is not None
    assert kept.record is not None
    assert kept.record.batch == 0
    assert kept.note is not None
    left = (file for file in Path("points/spark").rglob("*") if file.is_file())
    names = sorted(str(file.relative_to("points/spark")) for file in left)
    assert names == [
        "commits/.0.crc", "commits/0", "offsets/.0.crc", "offsets/.1.crc", "offsets/0", "offsets/1",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["run.json", "output"])
def test_damaged_files_are_refused_by_name(request_of: RunRequest, name: str) -> None:
    """With what to do."""
    begun(request_of)
    Path("points", name).write_text("{")
    if name == "output":
        Path("points/output.before").unlink()
    with pytest.raises(
        IncompatibleCheckpoint, match=rf"{name}` is damaged .*remove the checkpoint to start again"
    ):
        RunFolder(Path("points"), {})


@pytest.mark.parametrize(
    ("file", "stays"),
    [("offsets/.0.8fa0.tmp", False), ("metadata", False), ("offsets/0", True), ("commits/0", True)],
)
def test_what_spark_left_before_it_planned_anything_is_forgotten(
    tmp_path: Path, file: str, stays: bool
) -> None:
    """It refuses a directory that has files and no first micro-batch; one that it has planned is done again."""
    path = tmp_path / "points" / "spark" / file
    path.parent.mkdir(parents=True)
    path.write_text("v1")
    RunFolder(tmp_path / "points", {}).forget_unplanned()
    assert path.exists() == stays


@pytest.mark.parametrize("before", [False, True], ids=["this release", "an earlier one"])
def test_files_that_are_followed_under_relative_paths_are_found_again_or_refused(
    request_of: RunRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: bool
) -> None:
    """In another directory all of them would be new, and be read again."""
    here, there = tmp_path / "here", tmp_path / "there"
    for folder in (here, there):
        folder.mkdir()
        for name in ("in.nq", "kb.ttl", "out.jsonl"):
            shutil.copy(tmp_path / name, folder / name)
    monkeypatch.chdir(here)
    followed = replace(request_of, follow=True)
    begun(followed)
    if before:
        known = json.loads(Path("points/run.json").read_text())
        del known["working directory"]
        Path("points/run.json").write_text(json.dumps(known))
    SparkRun(followed)._held.close()
    shutil.copytree(here / "points", there / "points")
    monkeypatch.chdir(there)
    if before:
        SparkRun(followed)._held.close()
        return
    with pytest.raises(IncompatibleCheckpoint, match=f"working directory was `{here}` and is `{there}`"):
        SparkRun(followed)
    absolute = replace(followed, streams=(("S", str(there / "in.nq")),), checkpoint=Path("others"))
    begun_at = SparkRun(absolute)
    assert "working directory" not in begun_at.identity()
    begun_at._held.close()
