"""What a run says at its end."""

from __future__ import annotations

import gzip
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from pyoxigraph import Literal, NamedNode, Triple

import spaseq
from spaseq.cli import main
from spaseq.engine.inputs import NamedQuery
from spaseq.engine.local_run import LocalRun
from spaseq.engine.request import RunRequest
from spaseq.engine.summary import NO_SEQUENCE, NOT_TOGETHER, nearest
from spaseq.model.events import GraphEvent
from support.event_files import nquads

EX = "http://ex.org/"
SOURCE = str(Path(spaseq.__file__).resolve().parents[1])
QUERY = """PREFIX : <http://ex.org/> PREFIX o: <http://other.org/>
SELECT ?k WITHIN 1 MINUTE SLIDING FROM STREAM S <http://ex.org/s> FROM STREAM T <http://ex.org/t>
WHERE {{ SEQ ({seq})
  DEFINE GPM A ON S {{ ?k :{a} ?v }}
  DEFINE GPM B ON T {{ {b} }}
  DEFINE GPM C ON T {{ ?k :humidity ?w OPTIONAL {{ ?k :never ?u }} }}
}}"""


def text(seq: str = "A ; B ; C", b: str = "?k :humidity ?x", a: str = "temperature") -> str:
    """The query with another sequence, another pattern or another predicate."""
    return QUERY.format(seq=seq, b=b, a=a)


def event(stream: str, second: int, name: str) -> GraphEvent:
    """An event with one triple and one that nobody asks for."""
    key, value = NamedNode(EX + "k"), Literal(second)
    triples = {Triple(key, NamedNode(EX + name), value), Triple(key, NamedNode(EX + "label"), value)}
    return GraphEvent(EX + stream, second * 1_000_000, frozenset(triples), NamedNode(f"{EX}{stream}{second}"))


EVENT = event("s", 1, "temperature")
ALONE = "PREFIX : <http://ex.org/> SELECT ?v FROM STREAM S :s WHERE { SEQ (A) DEFINE GPM A ON S { ?k :temperature ?v } }"
SECONDS = '"1700000000"^^<http://www.w3.org/2001/XMLSchema#integer>'
MISTAKEN = (
    "all events of `S` lie in January 1970, where seconds land that are read in a shorter unit; "
    "if its times are seconds, set "
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three temperatures, then two humidities."""
    monkeypatch.chdir(tmp_path)
    Path("s.nq").write_text(nquads(event("s", second, "temperature") for second in (1, 2, 3)))
    Path("t.nq").write_text(nquads(event("t", second, "humidity") for second in (4, 5)))
    return tmp_path


def lines(
    seq: str = "A ; B ; C", b: str = "?k :humidity ?x", a: str = "temperature", **options: object
) -> list[str]:
    """What a run over these files says."""
    query = spaseq.compile(text(seq, b, a))
    streams = (("S", "s.nq"), ("T", "t.nq"))
    request = RunRequest((NamedQuery("q", query),), streams, output=Path("out"), **options)  # type: ignore[arg-type]
    return list(LocalRun(request).run().summary)


def test_events_by_stream_mappings_by_step_and_matches_are_told(folder: Path) -> None:
    """Bad events as well; a run with matches says no more."""
    with Path("t.nq").open("a") as file:
        file.write("no quad\n")
    assert lines("A ; B ; C") == [
        "read 5 events (S 3, T 2), 1 bad, 0 late",
        "mappings A 3, B 2, C 2; 3 matches",
    ]


def test_without_a_match_the_step_and_the_predicate_that_are_missing_are_named(folder: Path) -> None:
    """A predicate that was misspelled, with what the data has in its place, as the query would write it."""
    _, *hints = lines(b="?k :humidty ?x ; o:label ?y")
    assert hints == [
        "mappings A 3, B 0, C 2; 0 matches",
        "nothing matched `B`",
        "`:humidty` never occurs; the data has `:humidity`",
        "`:never` never occurs",
        "`o:label` never occurs; the data has `:label`",
    ]


def test_a_step_that_may_be_missing_is_not_blamed(folder: Path) -> None:
    """Negated and optional steps may match nothing."""
    for seq in ("C ; B! ; A", "C ; B? ; A"):
        _, counts, *hints = lines(seq, b="?k :other ?x")
        assert "B 0" in counts
        assert not any(hint.startswith("nothing matched") for hint in hints)


def test_without_a_match_of_matching_steps_it_is_the_sequence(folder: Path) -> None:
    """Nothing is missing, so order, window or joins are the reason."""
    Path("t.nq").write_text(nquads([event("t", 0, "humidity"), event("t", 1, "never")]))
    assert lines()[2:] == [NO_SEQUENCE]


def test_a_query_without_steps_is_told_so_in_its_own_words(folder: Path) -> None:
    """EP-SPARQL joins what events say; it has no window and no steps."""
    text = "PREFIX : <http://ex.org/> SELECT ?k { { ?k :humidity ?v } SEQ { ?k :temperature ?w } }"
    query = spaseq.compile(text, "epsparql")
    files = (("S", "s.nq"), ("T", "t.nq"))
    done = LocalRun(RunRequest((NamedQuery("q", query),), files, output=Path("out"))).run()
    assert done.summary[2:] == (NOT_TOGETHER,)


def test_what_rules_produce_is_not_missed_in_the_input(folder: Path) -> None:
    """The predicate that the rule itself reads is."""
    text = """PREFIX : <http://ex.org/>
      CONSTRUCT { ?k :warm ?v } WHERE { ?k :temprature ?v }
      SELECT ?k { ?k :warm ?v }"""
    query = spaseq.compile(text, "epsparql")
    files = (("S", "s.nq"), ("T", "t.nq"))
    done = LocalRun(RunRequest((NamedQuery("q", query),), files, output=Path("out"))).run()
    assert [line for line in done.summary if "never occurs" in line] == [
        "`:temprature` never occurs; the data has `:temperature`"
    ]


def test_what_rules_of_another_file_produce_is_not_missed(folder: Path) -> None:
    """All rules of a run are one set, so events need not have what any of them produces."""
    rule = "PREFIX : <http://ex.org/> CONSTRUCT { ?k :warm ?v } WHERE { ?k :temprature ?v }"
    texts = {"rule": rule, "q": "PREFIX : <http://ex.org/> SELECT ?k { ?k :warm ?v }"}
    queries = tuple(NamedQuery(name, spaseq.compile(text, "epsparql")) for name, text in texts.items())
    files = (("S", "s.nq"), ("T", "t.nq"))
    done = LocalRun(RunRequest(queries, files, output=Path("out.jsonl"))).run()
    assert [line for line in done.summary if "never occurs" in line] == [
        "rule: `:temprature` never occurs; the data has `:temperature`"
    ]


def test_several_queries_are_told_apart(folder: Path) -> None:
    """Each line about a query begins with its name."""
    good, bad = (spaseq.compile(text(b=b)) for b in ("?k :humidity ?x", "?k :no ?x"))
    queries = (NamedQuery("good", good), NamedQuery("bad", bad))
    request = RunRequest(queries, (("S", "s.nq"), ("T", "t.nq")), output=Path("out"))
    summary = LocalRun(request).run().summary
    assert summary[1].startswith("good: mappings A 3")
    assert [line.partition(":")[0] for line in summary[2:]] == ["bad"] * 4


def test_what_was_counted_survives_a_restart(folder: Path) -> None:
    """A resumed run tells of the whole run."""
    given = {"checkpoint": Path("points"), "follow": True, "settle": 0, "idle_after": 0}
    query = NamedQuery("q", spaseq.compile(text()))
    request = RunRequest((query,), (("S", "s.nq"), ("T", "t.nq")), output=Path("out"), **given)  # type: ignore[arg-type]
    for expected in (5, 6):
        run = LocalRun(request)
        report = run.run(lambda status: run.stop.request(2) if status.events == expected else None)  # noqa: B023
        assert report.summary[0].startswith(f"read {expected} events")
        with Path("t.nq").open("a") as file:
            file.write(nquads([event("t", 9, "humidity")]))
    assert "C 3;" in report.summary[1]


def test_a_file_that_is_cut_short_is_an_error_that_names_it(folder: Path) -> None:
    """Status 1 after everything that can be read was answered, and a complete output; skipping it is a choice."""
    packed = gzip.compress(nquads(event("t", second, "humidity") for second in range(4, 400)).encode())
    Path("t.nq.gz").write_bytes(packed[:-500])
    Path("q.spaseq").write_text(text())
    command = ["run", "q.spaseq", "--engine", "local", "--stream", "S=s.nq", "--stream", "T=t.nq.gz"]
    done = CliRunner().invoke(main, [*command, "--output", "x.parquet"])
    assert done.exit_code == 1
    *_, error, cure = done.stderr.splitlines()
    assert error.startswith("error: an input is not complete: t.nq.gz:")
    assert "the gzip file ends too early" in error
    assert cure.endswith("do without its rest: `--on-bad-input skip`")
    assert pq.read_table("x.parquet").num_rows == 3
    assert CliRunner().invoke(main, [*command, "--on-bad-input", "skip"]).exit_code == 0


def test_hints_need_no_event_that_can_be_read(folder: Path) -> None:
    """The predicates of a data set in any order are found as well."""
    lines_ = Path("s.nq").read_text().splitlines(keepends=True)
    Path("s.nq").write_text("".join(sorted(lines_)))
    assert "`:temprature` never occurs; the data has `:temperature`" in lines(a="temprature")


def test_epoch_seconds_read_as_milliseconds_are_told_with_the_cure(folder: Path) -> None:
    """They land in January 1970; in the right unit nothing is said."""
    Path("s.nq").write_text(re.sub(r'"[^"]*"\^\^<[^>]*dateTime>', SECONDS, nquads([EVENT])))
    Path("q.spaseq").write_text(ALONE)
    command = ["run", "q.spaseq", "--engine", "local", "--stream", "S=s.nq"]
    assert f"note: {MISTAKEN}`--time-unit s`\n" in CliRunner().invoke(main, command).stderr
    assert "1970" not in CliRunner().invoke(main, [*command, "--time-unit", "s"]).stderr


WARNED = f"""
import spaseq
query = {ALONE!r}
assert len(list(spaseq.run(query, {{"S": "s.nq"}}))) == 1
spaseq.Engine(query).push(spaseq.Event("S", 1_700_000_000, []))
list(spaseq.run(query, {{"S": [spaseq.Event("S", 1_700_000_000_000, [])]}}))
engine = spaseq.Engine(query)
engine.push([spaseq.Event("S", 0, []), spaseq.Event("S", 1_700_000_000, [])])
engine.push(spaseq.Event("S", 1_700_000_000_000_000, []))
"""


def test_python_warns_of_times_in_another_unit(folder: Path) -> None:
    """Files at their end, events at the first one; times of today, and of tests that begin at zero, bring no warning.

    In a process of its own: warnings are global, and threads of other tests may change how they are shown.
    """
    Path("s.nq").write_text(re.sub(r'"[^"]*"\^\^<[^>]*dateTime>', SECONDS, nquads([EVENT])))
    done = subprocess.run(
        [sys.executable, "-c", WARNED],
        env={**os.environ, "PYTHONPATH": SOURCE},
        capture_output=True,
        text=True,
        check=True,
    )
    first = "the first event has the time {}, which is {}: an int counts microseconds; multiply {}, or give a datetime"
    told = re.findall("UserWarning: (.*)", done.stderr)
    assert told == [
        f'{MISTAKEN}`time_unit="s"`',
        first.format("1700000000", "1970-01-01T00:28:20Z", "seconds by 1_000_000"),
        first.format("1700000000000", "1970-01-20T16:13:20Z", "milliseconds by 1_000"),
    ]


def test_the_nearest_name_is_found_by_its_local_part() -> None:
    """A common namespace makes no two names alike; the same name elsewhere is what was meant."""
    known = frozenset({"http://a.org/x#speed", "http://a.org/x#heading", "http://b.org/status"})
    assert nearest("http://a.org/x#sped", known) == "http://a.org/x#speed"
    assert nearest("http://c.org/y/status", known) == "http://b.org/status"
    assert nearest("http://a.org/x#colour", known) is None
