"""Facts about `spaseq run --engine local`: what it writes, what it refuses, and how it ends."""

from __future__ import annotations

import json
import os
import pty
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from pyoxigraph import Literal, NamedNode, RdfFormat, Triple, parse

from spaseq.cli import main
from spaseq.engine.checkpoint import VERSION
from spaseq.model.events import GraphEvent
from spaseq.model.packing import unpack
from spaseq.settings import changed_settings
from spaseq.testing.files import nquads

ROOT = Path(__file__).resolve().parents[3]
EX = "http://ex.org/"
HEAD = "PREFIX : <http://ex.org/>\n"
STREAM = "FROM STREAM S1 <http://ex.org/trades>"
BODY = "WHERE { SEQ (A ; B) DEFINE GPM A ON S1 { ?c :price ?p } DEFINE GPM B ON S1 { ?c :price ?q FILTER (?q > ?p) } }"
RISE = f"{HEAD}SELECT ?c ?p ?q WITHIN 1 MINUTE SLIDING {STREAM} {BODY}"
ASK = f"{HEAD}ASK WITHIN 1 MINUTE SLIDING {STREAM} {BODY}"
BUILD = f"{HEAD}CONSTRUCT {{ ?c :rose ?q }} WITHIN 1 MINUTE SLIDING {STREAM} {BODY}"
FALL = RISE.replace("?q > ?p", "?q < ?p")
SPASEQ = [sys.executable, "-c", "import sys; sys.argv[0] = 'spaseq'; from spaseq.cli import main; main()"]


def trade(second: int, company: str, price: int) -> GraphEvent:
    """A trade, named by its time."""
    triple = Triple(NamedNode(EX + company), NamedNode(EX + "price"), Literal(price))
    name = NamedNode(f"{EX}t{second}{company}")
    return GraphEvent(EX + "trades", second * 1_000_000, frozenset({triple}), name)


def trades(count: int, seed: int = 1, first: int = 0) -> list[GraphEvent]:
    """Random prices of five companies, one trade per second."""
    chance = random.Random(seed)
    return [trade(at, f"c{chance.randrange(5)}", chance.randrange(100)) for at in range(first, first + count)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with queries and two trades that rise from 1 to 5."""
    monkeypatch.chdir(tmp_path)
    for name, text in {"rise": RISE, "ask": ASK, "build": BUILD, "fall": FALL}.items():
        Path(f"{name}.spaseq").write_text(text, encoding="utf-8")
    write("two.nq", [trade(10, "H1", 1), trade(20, "H1", 5)])
    return tmp_path


def write(name: str, events: Iterable[GraphEvent]) -> None:
    """An event file in the working folder."""
    Path(name).write_text(nquads(events), encoding="utf-8")


def run(*arguments: str) -> Result:
    """Call the command in this process."""
    return CliRunner().invoke(main, ["run", "--engine", "local", *arguments], prog_name="spaseq")


def start(*arguments: str, **options: object) -> subprocess.Popen[str]:
    """Start the command in a process of its own."""
    return subprocess.Popen(
        [*SPASEQ, "run", "--engine", "local", *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,  # type: ignore[call-overload]
    )


# --- output ---------------------------------------------------------------------------------------


def test_a_match_is_a_line_of_json_with_its_keys_in_order(folder: Path) -> None:
    """Keys in their order, terms as in SPARQL results, times in UTC; nothing else on standard output."""
    done = run("rise.spaseq", "--stream", "S1=two.nq", "--quiet")
    integer = '"datatype":"http://www.w3.org/2001/XMLSchema#integer"'
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == (
        '{"time":"1970-01-01T00:00:20Z","start":"1970-01-01T00:00:10Z","bindings":{'
        '"c":{"type":"uri","value":"http://ex.org/H1"},'
        f'"p":{{"type":"literal","value":"1",{integer}}},"q":{{"type":"literal","value":"5",{integer}}}}}}}\n'
    )


def test_provenance_adds_identity_and_events(folder: Path) -> None:
    """The identity first, the events last; both are the same every time."""
    line = run("rise.spaseq", "--stream", "S1=two.nq", "--provenance").stdout
    assert line == run("rise.spaseq", "--stream", f"{EX}trades=two.nq", "--provenance").stdout
    found = json.loads(line)
    assert list(found) == ["match", "time", "start", "bindings", "events"]
    assert found["match"].startswith("urn:spaseq:match:")
    assert found["events"] == [
        {"step": "A", "stream": f"{EX}trades", "time": "1970-01-01T00:00:10Z", "graph": f"{EX}t10H1"},
        {"step": "B", "stream": f"{EX}trades", "time": "1970-01-01T00:00:20Z", "graph": f"{EX}t20H1"},
    ]


def test_ask_answers_true_at_its_first_match_and_false_without_one(folder: Path) -> None:
    """One line either way."""
    write("many.nq", trades(200))
    write("one.nq", [trade(1, "c", 1)])
    lines = run("ask.spaseq", "--stream", "S1=many.nq").stdout.splitlines()
    assert len(lines) == 1
    assert list(json.loads(lines[0])) == ["time", "start", "boolean"]
    assert run("ask.spaseq", "--stream", "S1=one.nq").stdout == '{"boolean":false}\n'


def test_construct_writes_an_event_file_that_can_be_read_again(folder: Path) -> None:
    """N-Quads by default; TriG on request; the graphs are named by their matches."""
    again = f"{HEAD}SELECT ?c {STREAM} WHERE {{ SEQ (A) DEFINE GPM A ON S1 {{ ?c :rose ?q }} }}"
    Path("again.spaseq").write_text(again, encoding="utf-8")
    for style, suffix in ((RdfFormat.N_QUADS, "nq"), (RdfFormat.TRIG, "trig")):
        name = {"nq": "nquads", "trig": "trig"}[suffix]
        output = ["--output", f"out.{suffix}", *(["--output-format", name] if suffix == "trig" else [])]
        assert run("build.spaseq", "--stream", "S1=two.nq", *output).exit_code == 0
        quads = list(parse(Path(f"out.{suffix}").read_bytes(), format=style))
        assert [str(quad.object) for quad in quads if quad.predicate.value == f"{EX}rose"] == [
            str(Literal(5))
        ]
        found = json.loads(run("again.spaseq", "--stream", f"S1=out.{suffix}").stdout)
        assert (found["time"], found["bindings"]["c"]["value"]) == ("1970-01-01T00:00:20Z", f"{EX}H1")


def test_csv_and_sparql_json(folder: Path) -> None:
    """A table for spreadsheets, a document for SPARQL tools."""
    table = run("rise.spaseq", "--stream", "S1=two.nq", "--output-format", "csv").stdout_bytes
    assert table == (
        b"time,start,c,p,q\r\n1970-01-01T00:00:20Z,1970-01-01T00:00:10Z,http://ex.org/H1,1,5\r\n"
    )
    document = json.loads(
        run("rise.spaseq", "--stream", "S1=two.nq", "--output-format", "sparql-json").stdout
    )
    assert document["head"]["vars"] == ["time", "start", "c", "p", "q"]
    assert document["results"]["bindings"][0]["q"]["value"] == "5"


def test_several_queries_share_one_pass_and_name_their_lines(folder: Path) -> None:
    """Each line starts with the file's stem; each query answers as if it were alone."""
    write("many.nq", trades(200))
    lines = run("rise.spaseq", "fall.spaseq", "ask.spaseq", "--stream", "S1=many.nq").stdout.splitlines()
    assert all(line.startswith('{"query":"') for line in lines)
    for stem in ("rise", "fall", "ask"):
        alone = run(f"{stem}.spaseq", "--stream", "S1=many.nq").stdout.splitlines()
        mine = [line.replace(f'"query":"{stem}",', "", 1) for line in lines if f'"query":"{stem}"' in line]
        assert mine == alone
    times = [json.loads(line)["time"] for line in lines]
    assert times == sorted(times), "in order of time, whichever query a line is of"


def test_queries_of_several_forms_need_a_format_that_holds_them(folder: Path) -> None:
    """JSON lines hold everything; a CSV table does not."""
    done = run("rise.spaseq", "ask.spaseq", "--stream", "S1=two.nq", "--output-format", "csv")
    assert done.exit_code == 2
    assert "different forms (ask, select)" in done.stderr


def test_queries_with_other_streams_see_only_their_own(folder: Path) -> None:
    """Events of a stream that a query does not declare do not exist for it, not even for contiguity."""
    strict = RISE.replace("A ; B", "A , B")
    Path("strict.spaseq").write_text(strict, encoding="utf-8")
    Path("other.spaseq").write_text(strict.replace("trades", "other"), encoding="utf-8")
    write("between.nq", [trade(15, "H1", 9)])
    done = run(
        "strict.spaseq", "other.spaseq", "--stream", f"{EX}trades=two.nq", "--stream", f"{EX}other=between.nq"
    )
    assert [json.loads(line)["query"] for line in done.stdout.splitlines()] == ["strict"]
    clash = run("strict.spaseq", "other.spaseq", "--stream", "S1=two.nq")
    assert clash.exit_code == 2
    assert "name the stream by its IRI" in clash.stderr


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["rise.spaseq"], "the stream `S1` <http://ex.org/trades> has no input"),
        (["rise.spaseq", "--stream", "S1=two.nq", "--stream", "S2=two.nq"], "declares no stream `S2`"),
        (["rise.spaseq", "--stream", "S1"], "is not of the form --stream NAME=PATH"),
        (["rise.spaseq", "--stream", "S1=nothing.nq"], "`nothing.nq` does not exist"),
        (["rise.spaseq", "--stream", "S1=two.nq", "--lateness", "soon"], "`soon` is not a duration"),
        (
            ["rise.spaseq", "--stream", "S1=two.nq", "--output", "no/where.jsonl"],
            "there is no directory `no`",
        ),
        (["rise.spaseq", "--stream", "S1=two.nq", "--output-format", "trig"], "needs a CONSTRUCT query"),
        (["rise.spaseq", "--stream", "S1=two.nq", "--timestamp-predicate", "no iri"], "is not an IRI"),
        (
            ["rise.spaseq", "--stream", "S1=two.nq", "--kb", "http://ex.org/g=no.ttl"],
            "`no.ttl` does not exist",
        ),
        (["nothing.spaseq", "--stream", "S1=two.nq"], "cannot read nothing.spaseq"),
        (
            ["rise.spaseq", "--stream", "S1=two.nq", "--language", "rsepql"],
            "`rsepql` is not part of this version",
        ),
        (["rise.spaseq", "--stream", "S1=two.nq", "--max-runs", "0"], "0 is not in the range"),
    ],
)
def test_a_wrong_command_line_ends_with_status_two_and_a_sentence(
    folder: Path, arguments: list[str], words: str
) -> None:
    """Nothing on standard output, no traceback, nothing written."""
    done = run(*arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_a_typo_in_a_query_shows_its_place(folder: Path) -> None:
    """The frame, the caret and the cure, as `check` shows them."""
    Path("typo.spaseq").write_text(RISE.replace("SEQ (A ; B)", "SEQ (A ; C)"), encoding="utf-8")
    done = run("typo.spaseq", "--stream", "S1=two.nq")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "error[SPQ203]: pattern `C` is used in SEQ but never defined" in done.stderr
    assert "typo.spaseq:2:" in done.stderr


def test_an_unregistered_background_graph_ends_with_status_two(folder: Path) -> None:
    """At start, not as an empty result; with the graph it runs."""
    query = RISE.replace("{ ?c :price ?p }", "{ ?c :price ?p GRAPH :db { ?c :name ?n } }")
    Path("kb.spaseq").write_text(query, encoding="utf-8")
    Path("kb.ttl").write_text('<http://ex.org/H1> <http://ex.org/name> "H" .', encoding="utf-8")
    done = run("kb.spaseq", "--stream", "S1=two.nq")
    assert done.exit_code == 2
    assert done.stderr == (
        "error: no background graph is registered as <http://ex.org/db>: say `--kb http://ex.org/db=PATH`; "
        "registered: none\n"
    )
    assert len(run("kb.spaseq", "--stream", "S1=two.nq", "--kb", f"{EX}db=kb.ttl").stdout.splitlines()) == 1


def test_names_and_paths_may_contain_equals_signs(folder: Path) -> None:
    """The cut is where the name is a declared one."""
    Path("odd.spaseq").write_text(RISE.replace("/trades>", "/trades?a=b>"), encoding="utf-8")
    Path("x=y.nq").write_bytes(Path("two.nq").read_bytes())
    assert run("odd.spaseq", "--stream", f"{EX}trades?a=b=x=y.nq").stdout.count("\n") == 1


def test_without_an_engine_here_spark_is_asked_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The default engine needs Java; the sentence names the one that does not."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    done = CliRunner().invoke(main, ["run", "rise.spaseq", "--stream", "S1=two.nq"])
    assert (done.exit_code, done.stdout) == (2, "")
    assert "install it (`apt install" in done.stderr
    assert "use `--engine local`, which works without it" in done.stderr


@pytest.mark.parametrize("engine", ["local", "spark"])
def test_a_lateness_without_follow_is_told_to_have_no_effect(
    folder: Path, monkeypatch: pytest.MonkeyPatch, engine: str
) -> None:
    """A finite input is sorted as a whole on both engines; an option that does nothing must not be silent."""
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    given = ["run", "rise.spaseq", "--stream", "S1=two.nq", "--engine", engine]
    assert "--lateness" not in CliRunner().invoke(main, given).stderr
    told = CliRunner().invoke(main, [*given, "--lateness", "5s"]).stderr
    assert "--lateness has no effect on a finite input" in told


def test_no_event_of_a_finite_input_is_late(folder: Path) -> None:
    """Ten seconds out of order with a lateness of one: the match is found, nothing is quarantined."""
    write("mixed.nq", [trade(20, "H1", 5), trade(10, "H1", 1)])
    done = run("rise.spaseq", "--stream", "S1=mixed.nq", "--lateness", "1s")
    assert (done.exit_code, done.stdout.count("\n")) == (0, 1)
    assert not Path("quarantine.jsonl").exists()


def test_a_run_says_what_it_read_and_found_unless_it_is_to_be_quiet(folder: Path) -> None:
    """On standard error; without a match also what is missing, in the words of the query."""
    done = run("rise.spaseq", "--stream", "S1=two.nq")
    assert done.stderr == "note: read 2 events (S1 2), 0 bad, 0 late\nnote: mappings A 2, B 2; 1 match\n"
    Path("typo.spaseq").write_text(RISE.replace(":price", ":pricce"), encoding="utf-8")
    done = run("typo.spaseq", "--stream", "S1=two.nq")
    assert done.stderr.splitlines()[2:] == [
        "note: nothing matched `A`, `B`",
        "note: `:pricce` never occurs; the data has `:price`",
    ]
    done = run("typo.spaseq", "--stream", "S1=two.nq", "--quiet")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")


# --- bad input ------------------------------------------------------------------------------------


def test_bad_events_go_to_a_quarantine_beside_the_output(folder: Path) -> None:
    """Reason, source and position; the run goes on and tells the count."""
    Path("out").mkdir()
    Path("bad.nq").write_text("no quad\n" + Path("two.nq").read_text(encoding="utf-8"), encoding="utf-8")
    done = run("rise.spaseq", "--stream", "S1=bad.nq", "--output", "out/matches.jsonl")
    assert (done.exit_code, done.stdout) == (0, "")
    first, *_, count = done.stderr.splitlines()
    assert first.startswith("warning: bad.nq:1: ")
    assert count == "warning: 1 bad event quarantined in out/quarantine.jsonl"
    kept = json.loads(Path("out/quarantine.jsonl").read_text(encoding="utf-8"))
    assert (kept["source"], kept["position"], kept["unit"]) == ("bad.nq", 1, "line")
    assert Path("out/matches.jsonl").read_text(encoding="utf-8").count("\n") == 1


def test_no_quarantine_is_made_without_bad_events(folder: Path) -> None:
    """A file that exists says that something is in it."""
    run("rise.spaseq", "--stream", "S1=two.nq")
    assert not Path("quarantine.jsonl").exists()


def test_bad_input_may_be_skipped_or_fail_the_run(folder: Path) -> None:
    """Skipped input is counted; a failed run has status 1 and says where."""
    Path("bad.nq").write_text("no quad\n" + Path("two.nq").read_text(encoding="utf-8"), encoding="utf-8")
    skipped = run("rise.spaseq", "--stream", "S1=bad.nq", "--on-bad-input", "skip")
    assert skipped.exit_code == 0
    assert skipped.stderr.splitlines()[-1] == "warning: 1 bad event skipped"
    failed = run("rise.spaseq", "--stream", "S1=bad.nq", "--on-bad-input", "fail")
    assert (failed.exit_code, failed.stdout) == (1, "")
    assert failed.stderr.startswith("error: bad input: bad.nq:1: ")


def test_a_progress_bar_leaves_standard_output_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only results go there; on a terminal the bar tells events, matches and runs."""
    monkeypatch.setenv("FORCE_COLOR", "1")  # what rich takes for a terminal
    monkeypatch.setenv("COLUMNS", "120")
    bare, watched = (
        run("rise.spaseq", "--stream", "S1=two.nq", "--quiet", flag)
        for flag in ("--no-progress", "--progress")
    )
    assert bare.stdout == watched.stdout
    assert bare.stderr == ""
    assert re.search(r"2 events.*1 matches.*runs", watched.stderr)


def test_a_progress_bar_is_never_drawn_over_matches(folder: Path) -> None:
    """Both on one terminal: there is no bar, and whoever asked for one is told."""
    write("many.nq", trades(2000))
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*SPASEQ, "run", "--engine", "local", "rise.spaseq", "--stream", "S1=many.nq", "--progress"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1", "TERM": "xterm"},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    with suppress(OSError):  # what Linux says at the end
        while block := os.read(ours, 1 << 16):
            shown += block
    assert process.wait(60) == 0
    told, *lines = shown.decode().splitlines()
    assert told.startswith("note: no progress bar: matches go to this terminal")
    assert len([json.loads(line) for line in lines if line.startswith("{")]) > 100
    assert "\x1b" not in shown.decode()


# --- how it ends ----------------------------------------------------------------------------------


def test_ten_events_are_answered_in_under_a_second(folder: Path) -> None:
    """Kernels and heavy imports avoided; measured in processor time, since tests share their machine."""
    write("ten.nq", trades(10))
    best = 9.9
    for _ in range(3):
        before = os.times()
        done = start("rise.spaseq", "--stream", "S1=ten.nq")
        assert done.communicate()[0]
        after = os.times()
        best = min(
            best, after.children_user + after.children_system - before.children_user - before.children_system
        )
    assert best < 1.0


def test_a_reader_that_has_enough_ends_the_run_silently(folder: Path) -> None:
    """`spaseq run … | head -1` prints one line and no complaint."""
    write("many.nq", trades(20_000))
    process = start("rise.spaseq", "--stream", "S1=many.nq")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert (process.stderr.read(), process.wait()) == ("", 141)


def wait_for(condition: Callable[[], bool], seconds: float = 600.0) -> None:
    """Look often whether something is so."""
    looks = 0
    while not condition():
        assert looks * 0.02 < seconds, "it never came to that"
        looks += 1
        time.sleep(0.02)


def checkpointed() -> int:
    """How many events the last checkpoint speaks of."""
    known = [0]
    for file in Path("points").glob("checkpoint*"):
        with suppress(OSError):
            known.append(unpack(file.read_bytes(), VERSION)[0]["progress"]["events"])
    return max(known)


def size_of(path: str) -> int:
    """How many bytes a file has; none if it is not there."""
    return Path(path).stat().st_size if Path(path).exists() else 0


def lines_in(path: str) -> int:
    """How many lines a file has; none if it is not there."""
    return Path(path).read_bytes().count(b"\n") if Path(path).exists() else 0


@pytest.mark.slow
def test_ctrl_c_stops_cleanly(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The output so far is whole lines, one sentence says what was done, the status is 130."""
    monkeypatch.setenv("SPASEQ_SETTINGS", "batch_events=200")
    write("many.nq", trades(60_000))
    process = start("rise.spaseq", "--stream", "S1=many.nq", "--provenance", "--output", "out.jsonl")
    wait_for(lambda: lines_in("out.jsonl") > 0)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1].startswith("note: stopped by Ctrl-C: ")
    for line in Path("out.jsonl").read_text(encoding="utf-8").splitlines():
        json.loads(line)


# --- following ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_follow_takes_new_files_and_ends_on_request(folder: Path) -> None:
    """Files that were there, files that come, each once; hidden ones not before they are renamed."""
    Path("in").mkdir()
    write("in/0.nq", [trade(10, "H1", 1)])
    process = start("rise.spaseq", "--stream", "S1=in", "--follow", "--output", "out.jsonl")
    write("in/.1.nq", [trade(20, "H1", 5)])
    Path("in/.1.nq").rename("in/1.nq")
    wait_for(lambda: lines_in("out.jsonl") == 1)
    write("in/2.nq", [trade(5, "H1", 9), trade(21, "H1", 1), trade(22, "H1", 7)])
    wait_for(lambda: lines_in("out.jsonl") >= 2)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate()
    assert process.returncode == 0
    assert "1 late event quarantined in quarantine.jsonl" in err
    assert "note: read 5 events (S1 5), 0 bad, 1 late" in err
    assert "note: stopped by SIGTERM: 5 events read" in err
    kept = json.loads(Path("quarantine.jsonl").read_text(encoding="utf-8"))
    assert kept["reason"].startswith("late: its time is 1970-01-01T00:00:05Z")
    starts = [
        json.loads(line)["start"] for line in Path("out.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    assert starts == ["1970-01-01T00:00:10Z", "1970-01-01T00:00:20Z", "1970-01-01T00:00:21Z"][: len(starts)]


@pytest.mark.slow
def test_a_killed_run_that_followed_goes_on_with_what_it_had_seen(folder: Path) -> None:
    """Files it had handled are not read again; runs that waited still wait."""
    Path("in").mkdir()
    write("in/0.nq", [trade(10, "H1", 1), trade(11, "H2", 1)])
    arguments = [
        "rise.spaseq",
        "--stream",
        "S1=in",
        "--follow",
        "--output",
        "out.jsonl",
        "--checkpoint",
        "points",
    ]
    first = start(*arguments)
    write("in/1.nq", [trade(20, "H1", 5)])
    wait_for(lambda: lines_in("out.jsonl") == 1)
    wait_for(lambda: checkpointed() == 3)
    first.kill()
    first.communicate()
    write("in/2.nq", [trade(30, "H2", 7)])
    second = start(*arguments)
    wait_for(lambda: lines_in("out.jsonl") == 2)
    second.send_signal(signal.SIGINT)
    _, err = second.communicate()
    assert second.returncode == 0
    assert "4 events read, 2 matches written; the same command goes on from here" in err
    names = [
        json.loads(line)["bindings"]["c"]["value"]
        for line in Path("out.jsonl").read_text("utf-8").splitlines()
    ]
    assert names == [f"{EX}H1", f"{EX}H2"]


def append(name: str, text: str | bytes) -> None:
    """More of a file, visible at once."""
    with Path(name).open("ab") as file:
        file.write(text.encode() if isinstance(text, str) else text)


def stopped(process: subprocess.Popen[str]) -> str:
    """Stop a run that follows; what it said."""
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 0, err
    return err


@pytest.mark.slow
def test_a_writer_that_pauses_loses_nothing(folder: Path) -> None:
    """A file that was taken to be complete and grows is read on, in the middle of a line if need be."""
    Path("in").mkdir()
    process = start(
        "rise.spaseq", "--stream", "S1=in", "--follow", "--settle", "100ms", "--output", "out.jsonl"
    )
    append("in/a.nq", nquads([trade(10, "H1", 1), trade(20, "H1", 5)]))
    wait_for(lambda: lines_in("out.jsonl") == 1)
    text = nquads([trade(30, "H1", 7), trade(31, "H1", 9)])
    append("in/a.nq", text[:50])
    wait_for(lambda: bool(process.stderr and "ends in the middle of an event" in process.stderr.readline()))
    append("in/a.nq", text[50:])
    wait_for(lambda: lines_in("out.jsonl") == 3)
    stopped(process)
    assert not Path("quarantine.jsonl").exists()


@pytest.mark.slow
def test_a_growing_file_is_read_on_after_kills_without_loss_or_repetition(folder: Path) -> None:
    """Bytes come in any number, the run is killed again and again; every match is written once."""
    Path("in").mkdir()
    chance, text = random.Random(5), nquads(trades(300)).encode()
    Path("whole.nq").write_bytes(text)
    run("rise.spaseq", "--stream", "S1=whole.nq", "--output", "whole.jsonl")
    arguments = ["rise.spaseq", "--stream", "S1=in", "--follow", "--settle", "0s", "--output", "out.jsonl"]
    arguments += ["--checkpoint", "points", "--checkpoint-every", "0s"]
    written = 0
    while written < len(text):
        before = lines_in("out.jsonl")
        process = start(*arguments)
        for _ in range(4):
            size = chance.randrange(1, 3000)
            append("in/a.nq", text[written : written + size])
            written += size
            time.sleep(0.5 * chance.random())  # writing goes on while the run reads
        wait_for(lambda: lines_in("out.jsonl") > before or process.poll() is not None)  # noqa: B023
        process.kill()
        process.communicate()
    kept = Path("points/checkpoint").stat().st_mtime_ns
    process = start(*arguments)
    wait_for(lambda: Path("points/checkpoint").stat().st_mtime_ns > kept)
    wait_for(lambda: lines_in("out.jsonl") >= lines_in("whole.jsonl"))
    err = stopped(process)
    assert "300 events read" in err
    assert Path("out.jsonl").read_bytes() == Path("whole.jsonl").read_bytes()


@pytest.mark.slow
def test_a_file_that_shrinks_while_it_is_followed_is_told_and_quarantined(folder: Path) -> None:
    """Nothing of it is read twice, and nothing is lost without a word."""
    Path("in").mkdir()
    process = start("rise.spaseq", "--stream", "S1=in", "--follow", "--settle", "0s", "--output", "out.jsonl")
    append("in/a.nq", nquads([trade(10, "H1", 1), trade(20, "H1", 5)]))
    wait_for(lambda: lines_in("out.jsonl") == 1)
    write("in/a.nq", [trade(30, "H1", 7)])
    wait_for(lambda: bool(process.stderr and "and now has" in process.stderr.readline()))
    write("in/b.nq", [trade(31, "H1", 9)])
    wait_for(lambda: lines_in("out.jsonl") == 2)
    assert "1 bad event quarantined" in stopped(process)
    (kept,) = Path("quarantine.jsonl").read_text("utf-8").splitlines()
    assert "give new data a new name" in json.loads(kept)["reason"]
    assert json.loads(Path("out.jsonl").read_text("utf-8").splitlines()[1])["start"] == "1970-01-01T00:00:20Z"


@pytest.mark.slow
def test_one_event_with_a_wrong_clock_makes_no_other_late(folder: Path) -> None:
    """It is bad input, told while it happens; time goes by the others, also after a restart."""
    Path("in").mkdir()
    write("in/0.nq", [trade(10, "H1", 1), trade(250_000_000_000, "H1", 2)])
    arguments = ["rise.spaseq", "--stream", "S1=in", "--follow", "--settle", "0s", "--output", "out.jsonl"]
    process = start(*arguments, "--checkpoint", "points")
    told: list[str] = []
    wait_for(lambda: bool(process.stderr and told.append(process.stderr.readline()) is None and told[-1]))
    assert "in/0.nq:3: ahead of the clock: its time is 9892-03-08T" in told[-1]
    assert "an event may lead by 1d" in told[-1]
    write("in/1.nq", [trade(20, "H1", 5)])
    wait_for(lambda: lines_in("out.jsonl") == 1)
    stopped(process)
    write("in/2.nq", [trade(30, "H1", 9)])
    process = start(*arguments, "--checkpoint", "points")
    wait_for(lambda: lines_in("out.jsonl") == 2)
    assert "1 bad event quarantined" in stopped(process)
    assert lines_in("quarantine.jsonl") == 1


def test_a_lead_is_bounded_on_a_finite_input_only_if_asked(folder: Path) -> None:
    """Replays of any data work; --max-lead says what to believe."""
    write("far.nq", [trade(250_000_000_000, "H1", 1), trade(250_000_000_001, "H1", 2)])
    assert run("rise.spaseq", "--stream", "S1=far.nq").stdout.count("\n") == 1
    done = run("rise.spaseq", "--stream", "S1=far.nq", "--max-lead", "1h")
    assert (done.exit_code, done.stdout) == (0, "")
    assert "2 bad events quarantined" in done.stderr


PAIR = f"""{HEAD}SELECT ?p ?q WITHIN 1 MINUTE SLIDING {STREAM} FROM STREAM S2 <http://ex.org/more>
WHERE {{ SEQ (A ; B) DEFINE GPM A ON S1 {{ ?c :price ?p }} DEFINE GPM B ON S2 {{ ?d :price ?q }} }}"""


@pytest.mark.slow
def test_a_slow_stream_is_waited_for_and_a_silent_one_is_not(folder: Path) -> None:
    """What one stream sends early is no reason to call the other one late; silence ends the wait."""
    Path("pair.spaseq").write_text(PAIR, encoding="utf-8")
    for name in ("one", "two"):
        Path(name).mkdir()
    given = ["pair.spaseq", "--stream", "S1=one", "--stream", "S2=two", "--follow", "--settle", "0s"]
    write("one/0.nq", [trade(10, "H1", 1), trade(50, "H1", 2)])
    process = start(*given, "--idle-after", "1h", "--output", "a.jsonl", "--checkpoint", "points")
    wait_for(lambda: Path("points/checkpoint").exists())
    write("two/0.nq", [trade(20, "H1", 3), trade(60, "H1", 4)])
    wait_for(lambda: lines_in("a.jsonl") == 1)
    stopped(process)
    assert not Path("quarantine.jsonl").exists()
    process = start(*given, "--idle-after", "1s", "--output", "b.jsonl")
    wait_for(lambda: lines_in("b.jsonl") == 2)
    stopped(process)


def test_what_does_not_exist_cannot_be_followed(folder: Path) -> None:
    """A typo in a path would wait for ever."""
    done = run("rise.spaseq", "--stream", "S1=nowhere", "--follow")
    assert done.exit_code == 2
    assert "`nowhere` does not exist, so it cannot be followed" in done.stderr


# --- checkpoints ----------------------------------------------------------------------------------


def test_a_run_that_had_ended_is_not_done_again(folder: Path) -> None:
    """The output stays as it is."""
    arguments = ["rise.spaseq", "--stream", "S1=two.nq", "--output", "out.jsonl", "--checkpoint", "points"]
    assert run(*arguments).exit_code == 0
    before = Path("out.jsonl").read_bytes()
    done = run(*arguments)
    assert done.exit_code == 0
    assert "this run had ended" in done.stderr
    assert Path("out.jsonl").read_bytes() == before


def test_a_checkpoint_of_another_run_is_refused(folder: Path) -> None:
    """Another query, another input, another option: each is named."""
    base = ["--stream", "S1=two.nq", "--output", "out.jsonl", "--checkpoint", "points"]
    assert run("rise.spaseq", *base).exit_code == 0
    for arguments, words in (
        (["fall.spaseq", *base], "the queries differ"),
        (["rise.spaseq", *base, "--provenance"], "provenance was `False` and is `True`"),
        (["rise.spaseq", *base, "--time-unit", "s"], "time unit was `ms` and is `s`"),
    ):
        done = run(*arguments)
        assert done.exit_code == 2
        assert "belongs to another run" in done.stderr
        assert words in done.stderr
    write("two.nq", trades(5))
    words = "the input `two.nq` was changed (it had 498 bytes and has 1,240)"
    assert words in run("rise.spaseq", *base).stderr


def interrupted(
    folder: Path, arguments: list[str], monkeypatch: pytest.MonkeyPatch, portions: int = 3
) -> None:
    """A run over four files that dies after some portions, with bad input between them."""
    from spaseq.engine.session import Session

    if not Path("in").exists():
        Path("in").mkdir()
        events = trades(400)
        for number in range(4):
            text = nquads(events[number * 100 : number * 100 + 100])
            Path(f"in/{number}.nq").write_text(f"bad {number}\n{text}worse\n", encoding="utf-8")
    done, real = 0, Session.step

    def step(self: Session, portion: object) -> object:
        nonlocal done
        done += 1
        if done > portions:
            raise RuntimeError("killed")
        return real(self, portion)  # type: ignore[arg-type]

    monkeypatch.setattr(Session, "step", step)
    with changed_settings(sorted_bytes=-1, merged_events=10):
        died = run(*arguments, "--checkpoint-every", "0s")
    assert isinstance(died.exception, RuntimeError)
    monkeypatch.setattr(Session, "step", real)


@pytest.mark.parametrize("style", ["jsonl", "csv", "sparql-json"])
def test_a_resumed_run_writes_what_an_uninterrupted_one_would(
    folder: Path, monkeypatch: pytest.MonkeyPatch, style: str
) -> None:
    """Matches and quarantine, byte for byte, wherever it died."""
    common = ["rise.spaseq", "--stream", "S1=in", "--output-format", style, "--output"]
    arguments = [*common, "out/o", "--checkpoint", "points"]
    Path("out").mkdir()
    for portions in (0, 1, 1, 1):
        interrupted(folder, arguments, monkeypatch, portions)
    assert run(*arguments).exit_code == 0
    Path("whole").mkdir()
    assert run(*common, "whole/o").exit_code == 0
    assert Path("out/o").read_bytes() == Path("whole/o").read_bytes()
    assert Path("out/quarantine.jsonl").read_bytes() == Path("whole/quarantine.jsonl").read_bytes()
    assert lines_in("whole/quarantine.jsonl") == 8


@pytest.mark.slow
def test_a_run_killed_at_random_moments_loses_nothing_and_says_nothing_twice(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed with signal 9, again and again, until it comes through."""
    monkeypatch.setenv("SPASEQ_SETTINGS", "portion_events=2000,merged_events=500")
    Path("in").mkdir()
    chance, kills = random.Random(0), 0
    events = sorted(trades(75_000), key=lambda event: event.time + chance.randrange(100_000_000))
    for number in range(3):
        write(f"in/{number}.nq", events[number * 25_000 : number * 25_000 + 25_000])
    arguments = ["rise.spaseq", "fall.spaseq", "--stream", "S1=in", "--output"]
    whole = start(*arguments, "whole.jsonl")
    whole.communicate()
    while killed(
        start(*arguments, "out.jsonl", "--checkpoint", "points", "--checkpoint-every", "0s"), chance
    ):
        kills += 1
    assert kills > 1
    for name in ("rise", "fall"):  # lines of two queries may alternate differently
        assert lines_of(name, "out.jsonl") == lines_of(name, "whole.jsonl")


def lines_of(query: str, path: str) -> list[str]:
    """The lines of one query."""
    return [
        line for line in Path(path).read_text("utf-8").splitlines() if line.startswith(f'{{"query":"{query}"')
    ]


def killed(process: subprocess.Popen[str], chance: random.Random) -> bool:
    """Kill a run after a few more checkpoints and some more output; false if it came through before."""
    done, wanted = checkpointed(), chance.randrange(4_000, 30_000)
    wait_for(lambda: process.poll() is not None or checkpointed() >= done + wanted)
    size, more = size_of("out.jsonl"), chance.randrange(20_000)
    wait_for(lambda: process.poll() is not None or size_of("out.jsonl") >= size + more)
    through = process.poll() is not None
    process.kill()
    process.communicate()
    assert not through or process.returncode == 0
    return not through


def test_a_checkpoint_directory_has_one_run_at_a_time(folder: Path) -> None:
    """A second start is refused while the first runs, with its number; after a kill the directory is free."""
    Path("in").mkdir()
    write("in/0.nq", [trade(10, "H1", 1), trade(20, "H1", 5)])
    arguments = ["rise.spaseq", "--stream", "S1=in", "--output", "out.jsonl", "--checkpoint", "points"]
    first = start(*arguments, "--follow")
    wait_for(lambda: lines_in("out.jsonl") == 1)
    for engine in ("local", "spark"):
        second = run(*arguments, "--follow", "--engine", engine)
        assert (second.exit_code, second.stdout) == (2, "")
        assert f"the checkpoint directory `points` is in use by process {first.pid}; wait" in second.stderr
        assert f"(kill {first.pid}), or use another directory" in second.stderr
    assert lines_in("out.jsonl") == 1
    first.kill()
    first.communicate()
    for _ in range(2):  # a refused run leaves the directory free as well
        assert "belongs to another run" in run(*arguments).stderr
