"""What `spaseq run` says of mistakes that people make, and by which names it calls queries."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from spaseq.cli import main
from spaseq.cli.arguments import labels

QUERY = """PREFIX : <http://ex.org/>
SELECT ?c {variables} FROM STREAM S <http://ex.org/s> WHERE {{ SEQ (A) DEFINE GPM A ON S {{ ?c :price ?time . BIND(1 AS ?start) }} }}"""
EVENT = """<urn:g1> <http://www.w3.org/ns/prov#generatedAtTime> "{time}"^^<http://www.w3.org/2001/XMLSchema#{type}> .
<http://ex.org/c> <http://ex.org/price> "7" <urn:g1> .
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with queries and an event."""
    monkeypatch.chdir(tmp_path)
    for name in ("a", "b"):
        Path(name).mkdir()
        Path(name, "rise.spaseq").write_text(QUERY.format(variables="?time"))
    Path("clash.spaseq").write_text(QUERY.format(variables="?time ?start"))
    Path("in.nq").write_text(EVENT.format(time="1970-01-01T00:00:01Z", type="dateTime"))
    return tmp_path


def run(*arguments: str) -> Result:
    """The command on this process."""
    return CliRunner().invoke(main, ["run", *arguments, "--engine", "local", "--stream", "S=in.nq"])


def test_variables_called_like_columns_keep_their_question_mark() -> None:
    """A table has one column of a name."""
    done = run("clash.spaseq", "--output-format", "csv")
    header, row = csv.reader(done.stdout.splitlines())
    assert header == ["time", "start", "c", "?time", "?start"]
    assert row == ["1970-01-01T00:00:01Z", "1970-01-01T00:00:01Z", "http://ex.org/c", "7", "1"]


def test_query_files_of_one_stem_have_different_labels() -> None:
    """Their paths tell them apart; one that is named twice is numbered."""
    done = run("a/rise.spaseq", "b/rise.spaseq", "clash.spaseq", "clash.spaseq")
    assert [json.loads(line)["query"] for line in done.stdout.splitlines()] == [
        "a/rise",
        "b/rise",
        "clash",
        "clash-2",
    ]


def test_labels_are_never_equal() -> None:
    """Whatever the files are called."""
    assert labels(["x.spaseq", "x-2.spaseq", "x.spaseq", "x.rq", "d/x.rq"]) == [
        "x",
        "x-2",
        "x-3",
        "x-4",
        "d/x",
    ]
    assert labels(["one.spaseq"]) == ["one"]


@pytest.mark.parametrize("master", ["foo", "local[x]"])
def test_a_master_that_is_none_is_told(master: str) -> None:
    """With the forms that there are, status 2, before Java starts."""
    done = CliRunner().invoke(main, ["run", "clash.spaseq", "--stream", "S=in.nq", "--master", master])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == (
        f"error: `{master}` is not a Spark master; use `local`, `local[4]`, `local[*]`, `spark://HOST:PORT`, `yarn` or `k8s://URL`\n"
    )


def test_a_java_home_that_is_wrong_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to set or to remove, status 2."""
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    done = CliRunner().invoke(main, ["run", "clash.spaseq", "--stream", "S=in.nq", "--engine", "spark"])
    assert done.exit_code == 2
    assert "JAVA_HOME is `/nowhere`, where there is no `bin/java`" in done.stderr
    assert "unset JAVA_HOME" in done.stderr


def test_errors_name_options() -> None:
    """The same errors in Python name arguments."""
    Path("in.nt").touch()
    done = CliRunner().invoke(main, ["run", "clash.spaseq", "--engine", "local", "--stream", "S=in.nt"])
    assert "say `--triples-per-event` how many make an event" in done.stderr
    done = CliRunner().invoke(main, ["run", "clash.spaseq", "--engine", "local"])
    assert done.stderr == "error: the stream `S` <http://ex.org/s> has no input: say `--stream S=PATH`\n"
    Path("in.nq").write_text("nothing\n")
    done = run("clash.spaseq", "--on-bad-input", "fail")
    assert "`--on-bad-input skip`" in done.stderr
