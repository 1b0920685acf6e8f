"""Facts about `spaseq run --engine local` over standard input and over inputs of which no event can be read."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from spaseq.cli import main
from support.processes import SPASEQ

ROOT = Path(__file__).resolve().parents[3]
EX = "http://ex.org/"
STAMP = "http://www.w3.org/ns/prov#generatedAtTime"
XSD = "http://www.w3.org/2001/XMLSchema#"
QUERY = """PREFIX : <http://ex.org/>
SELECT ?c ?p ?q WITHIN 20 SECONDS SLIDING FROM STREAM S <http://ex.org/s> FROM STREAM T <http://ex.org/t>
WHERE { SEQ (A ; B) DEFINE GPM A ON S { ?c :price ?p } DEFINE GPM B ON S { ?c :price ?q FILTER (?q > ?p) } }
"""
ONE = QUERY.replace(" FROM STREAM T <http://ex.org/t>", "")


def trade(second: int, price: int) -> str:
    """A trade of one company, its timestamp after it."""
    name = f"<{EX}t{second}>"
    return (
        f'<{EX}c> <{EX}price> "{price}"^^<{XSD}integer> {name} .\n'
        f'{name} <{STAMP}> "{second * 1000}"^^<{XSD}integer> .\n'
    )


TRADES = trade(2, 5) + trade(1, 1)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with queries over one stream and over two."""
    monkeypatch.chdir(tmp_path)
    Path("one.spaseq").write_text(ONE, encoding="utf-8")
    Path("two.spaseq").write_text(QUERY, encoding="utf-8")
    return tmp_path


def command(*arguments: str) -> list[str]:
    """The command line."""
    return [*SPASEQ, "run", "--engine", "local", *arguments]


ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "src")}


def run(text: str | bytes, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command with a text as its standard input."""
    data = text.encode() if isinstance(text, str) else text
    done = subprocess.run(
        command(*arguments), input=data, capture_output=True, env=ENVIRONMENT, timeout=120, check=False
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.mark.parametrize("path", ["-", "/dev/stdin"])
def test_standard_input_is_read_to_its_end_and_sorted(folder: Path, path: str) -> None:
    """As a file is; N-Quads by default."""
    done = run(TRADES, "one.spaseq", "--stream", f"S={path}", "--output-format", "csv", "--quiet")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[1:] == [f"1970-01-01T00:00:02Z,1970-01-01T00:00:01Z,{EX}c,1,5"]


def test_standard_input_may_have_any_format_layout_and_compression(folder: Path) -> None:
    """`--format` names the format; how it begins tells that it is compressed."""
    trig = f"<urn:g> {{ <{EX}c> <{EX}price> 1 }} <urn:h> {{ <{EX}c> <{EX}price> 5 }}"
    trig += f"<urn:g> <{STAMP}> 1000 . <urn:h> <{STAMP}> 2000 ."
    assert run(trig, "one.spaseq", "--stream", "S=-", "--format", "trig").stdout.count("\n") == 1
    assert run(gzip.compress(TRADES.encode()), "one.spaseq", "--stream", "S=-").stdout.count("\n") == 1


def test_a_named_pipe_is_read_as_well(folder: Path) -> None:
    """As shells make them for `<(…)`."""
    os.mkfifo("events.nq")
    with subprocess.Popen(
        command("one.spaseq", "--stream", "S=events.nq"), stdout=-1, env=ENVIRONMENT
    ) as process:
        Path("events.nq").write_text(TRADES, encoding="utf-8")
        out, _ = process.communicate(timeout=60)
    assert out.count(b"\n") == 1


def test_bad_input_on_standard_input_has_its_name(folder: Path) -> None:
    """Not that of a file in which it was kept."""
    done = run(TRADES + "garbage\n", "one.spaseq", "--stream", "S=-")
    assert done.returncode == 0
    kept = json.loads(Path("quarantine.jsonl").read_text("utf-8"))
    assert (kept["source"], kept["position"]) == ("standard input", 5)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (
            ["two.spaseq", "--stream", "S=-", "--stream", "T=/dev/stdin"],
            "standard input can be read only once, and it is an input of `S` and of `T`; save it in a file",
        ),
        (["-", "--stream", "S=-"], "standard input cannot be a query and a stream at once"),
        (
            ["one.spaseq", "--stream", "S=-", "--checkpoint", "points", "--output", "out.jsonl"],
            "standard input cannot be read again after a crash, so there can be no checkpoint; save it in a file",
        ),
    ],
    ids=["two streams", "query and stream", "checkpoint"],
)
def test_standard_input_that_would_be_read_twice_is_refused(
    folder: Path, arguments: list[str], reason: str
) -> None:
    """Before anything is read, with what to do."""
    done = run("", *arguments)
    assert done.returncode == 2
    assert reason in done.stderr


def test_whoever_waits_for_standard_input_hears_ctrl_c(folder: Path) -> None:
    """At once, although nothing comes."""
    environment = {**ENVIRONMENT, "TMPDIR": str(folder)}
    arguments = command("one.spaseq", "--stream", "S=-")
    with subprocess.Popen(arguments, stdin=-1, stdout=-1, stderr=-1, env=environment) as process:
        assert process.stdin is not None
        process.stdin.write(TRADES.encode())
        process.stdin.flush()
        begun = time.monotonic()
        while not list(folder.glob("spaseq-*/piped-*")):
            assert time.monotonic() < begun + 60
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    assert not list(folder.glob("spaseq-*"))


# --- following ------------------------------------------------------------------------------------


def test_followed_standard_input_is_answered_as_it_comes(folder: Path) -> None:
    """An event goes on when the next one begins; the run ends with the pipe."""
    arguments = command(
        "one.spaseq", "--stream", "S=-", "--follow", "--settle", "100s", "--idle-after", "100s"
    )
    with subprocess.Popen(arguments, stdin=-1, stdout=-1, stderr=-1, env=ENVIRONMENT) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write((trade(1, 1) + trade(2, 5) + trade(3, 0)).encode())
        process.stdin.flush()
        first = json.loads(process.stdout.readline())
        assert first["time"] == "1970-01-01T00:00:02Z"
        process.stdin.write(trade(4, 7).encode())
        process.stdin.close()
        rest = [json.loads(line)["start"] for line in process.stdout.read().splitlines()]
        assert sorted(rest) == ["1970-01-01T00:00:02Z", "1970-01-01T00:00:03Z"]
        assert process.wait(60) == 0


def test_the_last_event_of_a_silent_pipe_is_taken_after_a_while(folder: Path) -> None:
    """As long as `--settle` says; half an event waits for the rest."""
    arguments = command(
        "one.spaseq", "--stream", "S=-", "--follow", "--settle", "200ms", "--idle-after", "100s"
    )
    half, other = trade(3, 9).splitlines(keepends=True)
    with subprocess.Popen(arguments, stdin=-1, stdout=-1, stderr=-1, env=ENVIRONMENT) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write((trade(1, 1) + trade(2, 5) + half).encode())
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["time"] == "1970-01-01T00:00:02Z"
        process.stdin.write(other.encode())
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["time"] == "1970-01-01T00:00:03Z"
        process.stdin.close()
        assert process.wait(60) == 0
        assert process.stderr is not None
        assert b"0 bad, 0 late" in process.stderr.read()


# --- nothing that can be read -----------------------------------------------------------------------


def test_an_input_without_a_readable_event_fails_and_says_what_it_has(folder: Path) -> None:
    """Status 1; what was looked for, what is there, and the option that helps."""
    text = "".join(
        f'<urn:o{n}> <http://ex.org/at> "2024-01-01T00:00:0{n}Z"^^<{XSD}dateTime> <urn:g{n}> .\n'
        for n in range(5)
    )
    Path("other.nq").write_text(text, encoding="utf-8")
    Path("good.nq").write_text(TRADES, encoding="utf-8")
    done = CliRunner().invoke(
        main, ["run", "--engine", "local", "two.spaseq", "--stream", "S=good.nq", "--stream", "T=other.nq"]
    )
    assert done.exit_code == 1
    assert "no event of the stream `T` can be read: `other.nq` has 5 pieces of bad input" in done.stderr
    assert "looked for: N-Quads with a named graph per event" in done.stderr
    assert (
        "found: 5 named graphs without that predicate; date-times are values of <http://ex.org/at>"
        in done.stderr
    )
    assert "help: name the predicate that has the times" in done.stderr
    assert "http://ex.org/at" in done.stderr.rpartition("help:")[2]


def test_an_empty_input_is_no_error(folder: Path) -> None:
    """There is nothing that could not be read."""
    Path("empty.nq").write_text("# nothing yet\n", encoding="utf-8")
    done = CliRunner().invoke(main, ["run", "--engine", "local", "one.spaseq", "--stream", "S=empty.nq"])
    assert done.exit_code == 0
