"""Facts about what a run refuses to write to: whatever it also reads, by whatever name."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import spaseq
from spaseq.cli import main
from spaseq.errors import InvalidArgument

QUERY = """PREFIX : <http://ex.org/>
SELECT ?c FROM STREAM S <http://ex.org/s> WHERE { SEQ (A) DEFINE GPM A ON S { ?c :price ?p GRAPH :db { ?c :name ?n } } }"""
EVENT = """<urn:g1> <http://www.w3.org/ns/prov#generatedAtTime> "1970-01-01T00:00:01Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .
<http://ex.org/c> <http://ex.org/price> "1" <urn:g1> .
"""
ROOT = Path(__file__).resolve().parents[3]
COMMAND = "import sys; sys.argv[0] = 'spaseq'; from spaseq.cli import main; main()"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder: a query, a background graph, a file of events, links to it, and a directory of them."""
    monkeypatch.chdir(tmp_path)
    Path("query.spaseq").write_text(QUERY)
    Path("graph.ttl").write_text('<http://ex.org/c> <http://ex.org/name> "c" .')
    for name in ("in", "old"):
        Path(name).mkdir()
    for name in ("events.nq", "in/0.nq", "in/1.nq"):
        Path(name).write_text(EVENT)
    Path("soft.nq").symlink_to("events.nq")
    Path("hard.nq").hardlink_to("events.nq")
    Path("elsewhere").symlink_to("in")
    return tmp_path


def command(stream: str, *more: str) -> list[str]:
    """The arguments of a run over one stream."""
    return ["run", "query.spaseq", "--stream", f"S={stream}", "--kb", "http://ex.org/db=graph.ttl", *more]


REFUSED = [
    ("events.nq", ["--output", "events.nq"], "the output `events.nq` is also read, as the input `events.nq`"),
    ("events.nq", ["--output", "./in/../events.nq"], "is also read, as the input `events.nq`"),
    ("events.nq", ["--output", "soft.nq"], "the output `soft.nq` is also read, as the input `events.nq`"),
    ("events.nq", ["--output", "hard.nq"], "the output `hard.nq` is also read, as the input `events.nq`"),
    ("soft.nq", ["--output", "events.nq"], "the output `events.nq` is also read, as the input `soft.nq`"),
    ("in", ["--output", "in/1.nq"], "is also read, as the input `in/1.nq`"),
    ("in/*.nq", ["--output", "in/1.nq"], "is also read, as the input `in/1.nq`"),
    ("in/*.nq", ["--output", "elsewhere/1.nq"], "is also read, as the input `in/1.nq`"),
    ("in", ["--output", "in/new.nq"], "lies where `in` is read"),
    ("in", ["--output", "elsewhere/new.nq"], "lies where `in` is read"),
    ("elsewhere", ["--output", "in/new.nq"], "lies where `elsewhere` is read"),
    ("in/*.nq", ["--output", "in/new.nq"], "lies where `in/*.nq` is read"),
    ("**/*.nq", ["--output", "in/deep.nq"], "lies where `**/*.nq` is read"),
    ("in", ["--format", "nquads", "--output", "in/new.txt"], "lies where `in` is read"),
    ("in", ["--follow", "--output", "in/new.nq"], "lies where `in` is read"),
    ("events.nq", ["--quarantine", "events.nq"], "the quarantine `events.nq` is also read"),
    ("events.nq", ["--output", "query.spaseq"], "the output `query.spaseq` is also read, as the query"),
    ("events.nq", ["--quarantine", "query.spaseq"], "the quarantine `query.spaseq` is also read"),
    ("events.nq", ["--output", "graph.ttl"], "the output `graph.ttl` is also read, as the background graph"),
    ("events.nq", ["--output", "o", "--quarantine", "./o"], "the quarantine `o` is also the output"),
    ("events.nq", ["--output", "quarantine.jsonl"], "the quarantine `quarantine.jsonl` is also the output"),
    (
        "in",
        ["--output", "o", "--checkpoint", "in"],
        "the checkpoint directory `in` holds the input `in/0.nq`",
    ),
    ("in", ["--output", "o", "--checkpoint", "."], "the checkpoint directory `.` holds the query"),
    ("in", ["--output", "o", "--checkpoint", "in/points"], "directory `in/points` lies where `in` is read"),
    ("in", ["--output", "old/o", "--checkpoint", "old"], "directory `old` holds the output `old/o`"),
    ("in", ["--output", "o", "--checkpoint", "o"], "the checkpoint directory `o` holds the output `o`"),
]


@pytest.mark.parametrize("engine", ["local", "spark"])
@pytest.mark.parametrize(("stream", "more", "words"), REFUSED)
def test_a_file_that_is_read_is_never_written_to(
    folder: Path, monkeypatch: pytest.MonkeyPatch, engine: str, stream: str, more: list[str], words: str
) -> None:
    """Status 2 and a sentence, before anything is opened; on both engines, links and globs included."""
    monkeypatch.setenv("PATH", "")  # told before Java is looked for
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    done = CliRunner().invoke(main, command(stream, *more, "--engine", engine))
    assert (done.exit_code, done.stdout) == (2, "")
    assert words in done.stderr
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    ("stream", "more"),
    [
        ("events.nq", ["--output", "out.nq", "--output-format", "jsonl"]),
        ("in", ["--output", "in/matches.jsonl"]),
        ("in", ["--output", "in/.hidden.nq", "--output-format", "jsonl"]),
        ("in/*.nq", ["--output", "in/out.trig", "--output-format", "jsonl"]),
        ("in/0.nq", ["--output", "in/new.nq", "--output-format", "jsonl"]),
        ("in", ["--output", os.devnull, "--quarantine", os.devnull]),
        ("in", ["--output", "o", "--checkpoint", "points"]),
        ("in", ["--output", "quarantine.jsonl", "--on-bad-input", "skip"]),
    ],
)
def test_files_beside_the_input_may_be_written(folder: Path, stream: str, more: list[str]) -> None:
    """Only what is read, or would be read the next time, is refused."""
    done = CliRunner().invoke(main, command(stream, *more, "--engine", "local", "--quiet"))
    assert (done.exit_code, done.stderr) == (0, "")


def test_standard_output_must_not_be_appended_to_the_input(folder: Path) -> None:
    """`spaseq run … >> events.nq` would read what it writes."""
    with Path("events.nq").open("ab") as out:
        done = subprocess.run(
            [sys.executable, "-c", COMMAND, *command("soft.nq", "--engine", "local")],
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert "standard output is also read, as the input `soft.nq`" in done.stderr
    assert Path("events.nq").read_text() == EVENT


def test_a_quarantine_from_python_is_no_input_either(folder: Path) -> None:
    """The same rule for `spaseq.run`, before the first match is asked for."""
    with pytest.raises(InvalidArgument, match=r"the quarantine `soft\.nq` is also read"):
        spaseq.run(QUERY, {"S": "events.nq"}, {"http://ex.org/db": "graph.ttl"}, quarantine="soft.nq")
