"""What rules of EP-SPARQL produce, as `spaseq run --engine local` writes it."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from pyoxigraph import parse

import spaseq
from spaseq.cli import main
from spaseq.engine.inputs import NamedQuery
from spaseq.engine.local_run import LocalRun
from spaseq.engine.opening import InputOptions
from spaseq.engine.request import RulesOutput, RunRequest
from spaseq.io.options import ReadOptions
from spaseq.planner.in_run import rules_alone
from support.processes import SPASEQ, environment
from support.trades import EX, trades, write


def run(*arguments: str) -> Result:
    """Call the command in this process."""
    return CliRunner().invoke(main, ["run", "--engine", "local", *arguments], prog_name="spaseq")


# --- graphs that hold for an interval -------------------------------------------------------------

ENDS = ("--start-predicate", f"{EX}from", "--end-predicate", f"{EX}until")
LATER = f"PREFIX : <{EX}> CONSTRUCT {{ ?c :from_to ?q }} {{ {{ ?c :price ?p }} SEQ {{ ?c :price ?q }} }}"
NOW = f"PREFIX : <{EX}> CONSTRUCT {{ ?c :now ?p }} {{ ?c :price ?p }}"


@pytest.mark.parametrize("name", ["made.nq", "made.trig"])
def test_produced_intervals_keep_both_ends_in_an_event_file(folder: Path, name: str) -> None:
    """Read with the same predicates, the occurrences are the same: intervals with two ends, instants with a timestamp."""
    Path("rules.epsparql").write_text(f"{LATER} {NOW.partition('> ')[2]}", encoding="utf-8")
    Path("all.epsparql").write_text("SELECT * { ?s ?p ?o }", encoding="utf-8")
    both = f"{Path('rules.epsparql').read_text()} SELECT * {{ ?s ?p ?o FILTER(?p IN (:from_to, :now)) }}"
    Path("both.epsparql").write_text(both, encoding="utf-8")
    stream = ("--stream", "S1=two.nq", "--quiet")
    done = run("rules.epsparql", *stream, *ENDS, "--output", name)
    assert (done.exit_code, done.stderr) == (0, "")
    wanted = run("both.epsparql", *stream).stdout.splitlines()
    again = run("all.epsparql", "--stream", f"S={name}", *ENDS, "--quiet", "--on-bad-input", "fail")
    assert sorted(again.stdout.splitlines()) == sorted(wanted)
    starts = {line["start"] != line["time"] for line in map(json.loads, wanted)}
    assert starts == {True, False}


def test_starts_that_an_event_file_cannot_keep_are_told_once(folder: Path) -> None:
    """Without the predicates of both ends a graph has the end of its interval as timestamp."""
    Path("rules.epsparql").write_text(LATER, encoding="utf-8")
    write("many.nq", trades(20))
    told = run("rules.epsparql", "--stream", "S1=many.nq", "--output", "made.nq").stderr
    assert told.count("--start-predicate") == 1
    assert (
        "--start-predicate"
        not in run("rules.epsparql", "--stream", "S1=many.nq", "--output", "made.jsonl").stderr
    )
    Path("rules.epsparql").write_text(NOW, encoding="utf-8")
    assert (
        "--start-predicate"
        not in run("rules.epsparql", "--stream", "S1=many.nq", "--output", "made.nq").stderr
    )


def test_what_rules_produce_goes_to_an_output_of_its_own(folder: Path) -> None:
    """As graphs with their time, beside the answers; not without rules."""
    rule = "CONSTRUCT { ?c :traded ?p } WHERE { ?c :price ?p }"
    text = f"PREFIX : <{EX}> {rule} SELECT ?c ?p {{ ?c :traded ?p }}"
    Path("rule.epsparql").write_text(text, encoding="utf-8")
    arguments = ("rule.epsparql", "--stream", "S1=two.nq", "--output", "out.jsonl")
    done = run(*arguments, "--rules-output", "rules.nq")
    assert done.exit_code == 0, done.stderr
    answers = Path("out.jsonl").read_text().splitlines()
    quads = [quad for quad in parse(path="rules.nq") if quad.predicate.value == f"{EX}traded"]
    assert len(quads) == len(answers) > 0
    assert "both `out.jsonl`" in run(*arguments, "--rules-output", "out.jsonl").stderr
    Path("plain.epsparql").write_text(text.replace(rule, ""), encoding="utf-8")
    assert "no rules" in run("plain.epsparql", *arguments[1:], "--rules-output", "rules.nq").stderr


def outcome(output: str = "out.jsonl", rules: str = "rules.nq") -> tuple[list[str], list[str]]:
    """The lines of both outputs."""
    return Path(output).read_text().splitlines(), sorted(Path(rules).read_text().splitlines())


BOTH = f"{LATER} SELECT ?c ?q {{ ?c :from_to ?q }}"
WRITTEN = ("--output", "out.jsonl", "--rules-output", "rules.nq", "--quiet", *ENDS)


def test_what_rules_produce_comes_from_the_same_pass_over_a_pipe(folder: Path) -> None:
    """Standard input can be read once, and that is enough."""
    Path("both.epsparql").write_text(BOTH, encoding="utf-8")
    write("many.nq", trades(20))
    assert run("both.epsparql", "--stream", "S=many.nq", *WRITTEN).exit_code == 0
    wanted = outcome()
    assert wanted[0]
    assert wanted[1]
    command = [*SPASEQ, "run", "--engine", "local", "both.epsparql", "--stream", "S=-", *WRITTEN]
    with Path("many.nq").open("rb") as many:
        done = subprocess.run(command, stdin=many, capture_output=True, env=environment(), check=True)
    assert done.stderr == b""
    assert outcome() == wanted


def test_what_rules_produce_is_followed_and_resumed_with_the_answers(folder: Path) -> None:
    """Both outputs of a run that was stopped and goes on are what one run writes."""
    events = trades(20)
    write("many.nq", events)
    Path("both.epsparql").write_text(BOTH, encoding="utf-8")
    assert run("both.epsparql", "--stream", "S=many.nq", *WRITTEN).exit_code == 0
    wanted = outcome()
    Path("in").mkdir()
    query = spaseq.compile(BOTH, "epsparql", name="both.epsparql")
    rules = rules_alone([query])
    assert rules is not None
    request = RunRequest(
        (NamedQuery("both", query),),
        (("S", "in"),),
        input=InputOptions(ReadOptions(start_predicate=ENDS[1], end_predicate=ENDS[3])),
        output=Path("out.jsonl"),
        rules=RulesOutput(NamedQuery("rules", rules), Path("rules.nq")),
        follow=True,
        settle=0,
        idle_after=0,
        checkpoint=Path("points"),
    )
    read = 0
    for part in (events[:12], events[12:], [replace(events[-1], time=events[-1].time + 10**9)]):
        write(f"in/{read}.nq", part)
        read += len(part)
        again = LocalRun(request)
        report = again.run(lambda status: again.stop.request(2) if status.events == read else None)  # noqa: B023
        assert report.stopped == 2
    lines, graphs = outcome()
    assert lines[: len(wanted[0])] == wanted[0]
    assert set(graphs) >= set(wanted[1])
    assert len(graphs) == len(set(graphs))
