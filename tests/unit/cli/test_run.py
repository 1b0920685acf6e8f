"""Facts about `spaseq run --engine local`: what it writes, what it refuses, and how it ends."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from pyoxigraph import Literal, RdfFormat, parse

from spaseq.cli import main
from support.processes import SPASEQ, environment
from support.speed import spent, yardstick
from support.trades import EX, HEAD, RISE, STREAM, start, trade, trades, write


def run(*arguments: str) -> Result:
    """Call the command in this process."""
    return CliRunner().invoke(main, ["run", "--engine", "local", *arguments], prog_name="spaseq")


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


def test_several_queries_of_one_file_are_numbered(tmp_path: Path) -> None:
    """The name of a line is the file's and the number of the query, rules not counted."""
    rule = "CONSTRUCT { ?x <urn:q> ?y } WHERE { ?x <urn:p> ?y }"
    text = f"SELECT ?x {{ ?x <urn:p> ?y }} {rule} SELECT ?y {{ ?x <urn:q> ?y }}"
    (tmp_path / "two.epsparql").write_text(text)
    (tmp_path / "events.trig").write_text(
        "GRAPH <urn:e> { <urn:a> <urn:p> <urn:b> } <urn:e> <http://www.w3.org/ns/prov#generatedAtTime> 1 ."
    )
    done = run(str(tmp_path / "two.epsparql"), "--stream", f"any={tmp_path / 'events.trig'}")
    assert [json.loads(line)["query"] for line in done.stdout.splitlines()] == ["two#1", "two#2"]


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
            ["rise.spaseq", "--stream", "S1=two.nq", "--language", "spasek"],
            "no language `spasek`; did you mean `spaseq`?",
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


def test_what_options_make_of_a_query_is_wrong_with_status_two(folder: Path) -> None:
    """A policy for a query that counts; shown like any other error of a query."""
    text = f"PREFIX : <{EX}> SELECT ?c (COUNT(*) AS ?n) {{ ?c :price ?p }} GROUP BY ?c"
    Path("count.epsparql").write_text(text, encoding="utf-8")
    done = run("count.epsparql", "--stream", "S1=two.nq", "--policy", "recent")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(
        "error[SPQ810]: a query with grouping cannot be run with the policy `recent`"
    )


def test_rules_of_two_files_that_depend_negatively_on_each_other_end_with_status_two(folder: Path) -> None:
    """Each file alone is right; all rules of a run are one set, so the error names both, at the first."""
    rules = {"one": "{ ?c :a 1 } { ?c :price ?p MINUS { ?c :b 1 } }", "two": "{ ?c :b ?x } { ?c :a ?x }"}
    for name, rule in rules.items():
        Path(f"{name}.epsparql").write_text(f"PREFIX : <{EX}>\nCONSTRUCT {rule}", encoding="utf-8")
    done = run("one.epsparql", "two.epsparql", "--stream", "S1=two.nq", "--output", "out.nq")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(
        "error[SPQ809]: rule 1 of one.epsparql and rule 1 of two.epsparql depend on the absence of what they "
        "produce themselves\n  --> one.epsparql:2:1\n"
    )
    assert run("two.epsparql", "--stream", "S1=two.nq").exit_code == 0


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


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (("--policy", "recent"), "on these queries; it is for EP-SPARQL"),
        (("--rule-limit", "5"), "on these queries; it is for EP-SPARQL"),
        (("--checkpoint-every", "1s"), "without --checkpoint"),
    ],
)
def test_an_option_without_effect_is_told(folder: Path, given: tuple[str, str], why: str) -> None:
    """Who gives an option expects something of it."""
    told = run("rise.spaseq", "--stream", "S1=two.nq", *given)
    assert told.exit_code == 0
    assert f"warning: {given[0]} has no effect {why}" in told.stderr


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
        env={**environment(), "NO_COLOR": "1", "TERM": "xterm"},
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
    """Kernels and heavy imports avoided; processor time, on a machine whose yardstick is 0.1 s."""
    write("ten.nq", trades(10))
    command = [*SPASEQ, "run", "rise.spaseq", "--engine", "local", "--stream", "S1=ten.nq"]
    assert min(spent(command, folder, environment()) for _ in range(3)) < 10 * yardstick()


def test_a_reader_that_has_enough_ends_the_run_silently(folder: Path) -> None:
    """`spaseq run … | head -1` prints one line and no complaint."""
    write("many.nq", trades(20_000))
    process = start("rise.spaseq", "--stream", "S1=many.nq")
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert (process.stderr.read(), process.wait()) == ("", 141)
