"""What rules of EP-SPARQL produce, as `spaseq run --engine local` writes it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from spaseq.cli import main
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
