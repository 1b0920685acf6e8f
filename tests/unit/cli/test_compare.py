"""Facts about `spaseq compare`: one text as several engines would answer it."""

from __future__ import annotations

import itertools
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from spaseq.cli.main import main

QUERY = """PREFIX : <http://ex.org/>
SELECT ?x ?z FROM NAMED WINDOW :w ON :s [RANGE 7 STEP 1]
EVENT ON :w { ?x :p ?y } AS E1
EVENT ON :w { ?y :q ?z } AS E2
WHERE { MATCH { E1 SEQ E2 } } REPORT EVERY 2s STARTING AT 8
"""
ITEMS = {
    2: ["a1 p b1"],
    4: ["a2 p b2"],
    6: ["b1 q c1", "b2 q c2"],
    8: ["b2 q c2"],
    10: ["b1 q c1", "a3 p b3"],
}
TIME = "<http://www.w3.org/ns/prov#generatedAtTime>"
EVENTS = "".join(
    "".join(" ".join(f"<http://ex.org/{t}>" for t in each.split()) + f" <urn:g{at}> .\n" for each in triples)
    + f'<urn:g{at}> {TIME} "{at}000"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
    for at, triples in ITEMS.items()
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The running example of the paper as files."""
    (tmp_path / "example.rsepql").write_text(QUERY)
    (tmp_path / "s.nq").write_text(EVENTS)
    return tmp_path


def compare(folder: Path, *options: str) -> Result:
    """The command over these files."""
    stream = ["--stream", f"s={folder / 's.nq'}"]
    return CliRunner().invoke(main, ["compare", str(folder / "example.rsepql"), *stream, *options])


def test_data_has_the_answers_of_every_engine_with_their_events(folder: Path) -> None:
    """By evaluation and profile, in the order in which profiles are named."""
    result = compare(folder, "--profiles", "csparql-seq,epsparql-recent, csparql-window", "--format", "json")
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["profiles"] == ["csparql-seq", "epsparql-recent", "csparql-window"]
    at_8, at_10 = found["evaluations"]
    assert [at_8["time"], at_10["time"]] == ["1970-01-01T00:00:08Z", "1970-01-01T00:00:10Z"]
    (only,) = at_8["answers"]["csparql-seq"]
    assert only["bindings"]["x"] == {"type": "uri", "value": "http://ex.org/a2"}
    assert [(e["step"], e["time"][-3:-1], e["graph"]) for e in only["events"]] == [
        ("E1", "04", "urn:g4"),
        ("E2", "08", "urn:g8"),
    ]
    assert {name: len(answers) for name, answers in at_10["answers"].items()} == {
        "csparql-seq": 0,
        "epsparql-recent": 0,
        "csparql-window": 1,
    }


def test_a_table_has_a_row_for_each_answer_and_a_column_for_each_engine(folder: Path) -> None:
    """By default with all engines that the text allows, and the text as it is written."""
    result = compare(folder)
    assert result.exit_code == 0
    heads = ("written", "unrestricted", "chronological", "recent", "seq", "window")
    assert all(head[:4] in result.stdout.replace("\n", "") for head in heads)
    landmark = folder / "example.rsepql"
    landmark.write_text(QUERY.replace("[RANGE 7 STEP 1]", "[LND 0]"))
    result = compare(folder)
    assert result.exit_code == 0
    assert "csparql" not in result.stdout


def test_a_page_draws_events_and_answers_on_a_time_axis(folder: Path) -> None:
    """Without network: every event once, an arc for each step from event to event, a mark for each report."""
    result = compare(folder, "--profiles", "epsparql-unrestricted,csparql-window", "--format", "html")
    assert result.exit_code == 0
    page = result.stdout
    assert page.count('class="event"') == 5
    assert page.count('class="arc"') == 4
    assert page.count('class="report"') == 4 + 3
    assert not re.search(r"https?://(?!www.w3.org/2000/svg|ex.org)", page)
    (folder / "out.html").write_text("")
    assert compare(folder, "--format", "html", "--output", str(folder / "out.html")).stdout == ""
    assert (folder / "out.html").read_text().startswith("<!doctype html>")


def test_long_texts_are_cut_and_have_room(folder: Path) -> None:
    """Names of variables go first; instants are as far apart as the longest triple is wide."""
    long = "a" * 60
    (folder / "s.nq").write_text(EVENTS.replace("ex.org/a1", f"ex.org/{long}"))
    page = compare(folder, "--profiles", "epsparql-recent", "--format", "html").stdout
    shown = re.findall(r'<text class="(?:answer|triple)"[^>]*>([^<]*)', page)
    assert max(map(len, shown)) == 30
    assert any(text.startswith(":aaa") and text.endswith("…") for text in shown)
    places = sorted({float(x) for x in re.findall(r'class="event" cx="([\d.]+)"', page)})
    assert min(b - a for a, b in itertools.pairwise(places)) > 200


@pytest.mark.parametrize(
    ("profiles", "text", "told"),
    [
        ("csparql-sec", QUERY, "did you mean `csparql-seq`"),
        ("csparql-seq", QUERY.replace("[RANGE 7 STEP 1]", "[LND 0]"), "SPQ725"),
        ("csparql-window", QUERY.replace("E1 SEQ", "FIRST E1 SEQ"), "SPQ726"),
        ("as-written", QUERY.replace("E1 SEQ", "E1 ->"), "SPQ720"),
    ],
)
def test_a_wrong_profile_or_text_ends_with_status_2(
    folder: Path, profiles: str, text: str, told: str
) -> None:
    """And says what is wrong."""
    (folder / "example.rsepql").write_text(text)
    result = compare(folder, "--profiles", profiles)
    assert result.exit_code == 2
    assert told in result.output


def test_a_stream_without_input_ends_with_status_2(folder: Path) -> None:
    """As for run."""
    result = CliRunner().invoke(main, ["compare", str(folder / "example.rsepql")])
    assert result.exit_code == 2
