"""Profiles of RSEP-QL (semantics 4.6): a text as another engine would run it, in Python and on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import spaseq
from spaseq.algebra.windows import Emission, Everything, Trigger
from spaseq.cli.main import main
from spaseq.languages.rsepql.dialect import parse_rsepql
from spaseq.languages.rsepql.profiles import PROFILES, with_profile
from spaseq.languages.rsepql.query import compile_windows

QUERY = """PREFIX : <http://ex.org/>
SELECT ?x ?z FROM NAMED WINDOW :w ON :s [RANGE 7 STEP 1] FROM NAMED WINDOW :v ON :s [RANGE 7 STEP 2]
EVENT ON :w { ?x :p ?y } AS E1
EVENT ON :w { ?y :q ?z } AS E2
WHERE { MATCH { E1 SEQ NEXT E2 } OPTIONAL { WINDOW :v { ?x :r ?z } } }
"""


def test_a_profile_is_a_function_of_the_tree() -> None:
    """It leaves the query as it is, and a profile of a profile is the second alone but for what the first states."""
    written = parse_rsepql(QUERY)
    for name in PROFILES:
        assert with_profile(written, name) == parse_rsepql(QUERY, profile=name)
    assert written == parse_rsepql(QUERY)


def test_only_the_windows_of_events_hold_everything() -> None:
    """What WINDOW alone reads stays as it is."""
    query = compile_windows(QUERY, profile="epsparql-recent")
    assert [isinstance(window.bodies[0], Everything) for window in query.windows] == [True, False]


def test_report_and_operator_are_replaced_where_the_text_has_none() -> None:
    """Each by itself."""
    stated = QUERY.replace("SELECT", "REGISTER DSTREAM :q AS SELECT") + "REPORT EVERY 5s"
    named = QUERY.replace("SELECT", "REGISTER QUERY :q AS SELECT")
    found = [compile_windows(text, profile="csparql-seq") for text in (QUERY, stated, named)]
    assert [query.emission for query in found] == [Emission.RSTREAM, Emission.DSTREAM, Emission.RSTREAM]
    assert [query.report.trigger for query in found] == [
        Trigger.WINDOW_CLOSE, Trigger.EVERY, Trigger.WINDOW_CLOSE,
    ]  # fmt: skip
    assert found[0].report.non_empty


def test_every_profile_has_an_identity_of_its_own() -> None:
    """So that saved state and matches of one are not taken for those of another."""
    texts = {spaseq.compile(QUERY, "rsepql", profile=name).fingerprint for name in PROFILES}
    assert len(texts) == len(PROFILES)


def test_a_profile_that_does_not_exist_is_refused_with_those_that_do() -> None:
    """Early, with a suggestion; other languages have none."""
    with pytest.raises(spaseq.InvalidArgument, match="did you mean `csparql-seq`"):
        spaseq.compile(QUERY, profile="csparql-sec")
    with pytest.raises(spaseq.InvalidArgument, match="it has no profiles"):
        spaseq.compile("SELECT ?a WHERE { ?a <urn:p> 1 } SEQ { ?a <urn:q> 2 }", profile="csparql-seq")


EVENTS = "".join(
    f'<urn:g{t}> <http://www.w3.org/ns/prov#generatedAtTime> "{t}000"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
    + "".join(
        f"<http://ex.org/{s}> <http://ex.org/{p}> <http://ex.org/{o}> <urn:g{t}> .\n" for s, p, o in triples
    )
    for t, triples in {
        2: [("a1", "p", "b1")],
        4: [("a2", "p", "b2")],
        6: [("b1", "q", "c1"), ("b2", "q", "c2")],
        8: [("b2", "q", "c2")],
        10: [("b1", "q", "c1"), ("a3", "p", "b3")],
    }.items()
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The running example as files."""
    text = QUERY.split("FROM NAMED WINDOW :v")[0] + QUERY.split("STEP 2]")[1]
    where = "WHERE { MATCH { E1 SEQ E2 } } REPORT EVERY 2s STARTING AT 8"
    (tmp_path / "q.rsepql").write_text(text.split("WHERE")[0] + where)
    (tmp_path / "s.nq").write_text(EVENTS)
    return tmp_path


@pytest.mark.parametrize(
    ("profile", "found"),
    [
        ("epsparql-unrestricted", {"8": 3, "10": 1}),
        ("epsparql-chronological", {"8": 2}),
        ("epsparql-recent", {"8": 2}),
        ("csparql-seq", {"8": 1}),
        ("csparql-window", {"8": 2, "10": 1}),
    ],
)
def test_a_run_with_a_profile(folder: Path, profile: str, found: dict[str, int]) -> None:
    """`--profile` gives the rows of that engine."""
    query, stream = str(folder / "q.rsepql"), f"s={folder / 's.nq'}"
    options = ["--engine", "local", "--stream", stream, "--quiet", "--profile", profile]
    result = CliRunner().invoke(main, ["run", query, *options])
    assert result.exit_code == 0, result.output
    times = [json.loads(line)["time"] for line in result.stdout.splitlines()]
    seconds = [str(int(time[17:19])) for time in times]
    assert {second: seconds.count(second) for second in seconds} == found


@pytest.mark.parametrize("verb", ["run", "explain"])
def test_a_profile_that_the_text_does_not_allow_ends_with_status_2(folder: Path, verb: str) -> None:
    """With the code and the place."""
    query = folder / "q.rsepql"
    query.write_text(query.read_text().replace("[RANGE 7 STEP 1]", "[LND 0]"))
    options = ["--engine", "local", "--stream", f"s={folder / 's.nq'}"] if verb == "run" else []
    result = CliRunner().invoke(main, [verb, str(query), *options, "--profile", "csparql-seq"])
    assert result.exit_code == 2
    assert "SPQ725" in result.output
