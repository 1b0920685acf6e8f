"""Written matches: lines of JSON to the letter, and the other formats."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal, NamedNode, QueryResultsFormat, Triple, parse_query_results

from spaseq.errors import InvalidArgument
from spaseq.io.readers import read_graph_events
from spaseq.io.result_json import ColumnLines, match_line, no_match_line
from spaseq.io.results import OutputFormat, default_format, result_writer
from spaseq.model.dictionary import StaleIds, TermDictionary
from spaseq.model.matches import Match, MatchedEvent
from spaseq.model.terms import Term

FIVE = Literal("5", datatype=NamedNode("http://www.w3.org/2001/XMLSchema#integer"))
H1 = NamedNode("http://ex.org/H1")
MATCH = Match(20_000_000, 10_000_000, {"h": H1, "v": FIVE})
PROVEN = Match(
    20_500_000,
    10_000_000,
    {"h": H1},
    (MatchedEvent("A", "urn:s", 10_000_000, NamedNode("urn:g")), MatchedEvent("B", "urn:s", 20_500_000)),
    identity="urn:spaseq:match:1",
)
GRAPH = Match(
    5_000_000,
    0,
    {},
    triples=frozenset({Triple(H1, NamedNode("urn:p"), FIVE), Triple(H1, NamedNode("urn:p"), BlankNode("b"))}),
    identity="urn:spaseq:match:2",
)


def written(name: str, matches: list[Match], **options: object) -> str:
    """What a writer writes."""
    out = io.BytesIO()
    writer = result_writer(name, out, **options)  # type: ignore[arg-type]
    for match in matches:
        writer.write(match)
    writer.close()
    return out.getvalue().decode()


def test_a_line_is_the_documented_one() -> None:
    """Byte by byte: keys in order, terms as in SPARQL results JSON, instants in UTC."""
    assert written("jsonl", [MATCH]) == (
        '{"time":"1970-01-01T00:00:20Z","start":"1970-01-01T00:00:10Z","bindings":{'
        '"h":{"type":"uri","value":"http://ex.org/H1"},'
        '"v":{"type":"literal","value":"5","datatype":"http://www.w3.org/2001/XMLSchema#integer"}}}\n'
    )


def test_provenance_and_query_names_have_their_places() -> None:
    """The query first, then the match; the events last, a graph only where there is one."""
    line = match_line(PROVEN, query="q", provenance=True)
    assert list(json.loads(line)) == ["query", "match", "time", "start", "bindings", "events"]
    assert line.endswith(
        '"events":[{"step":"A","stream":"urn:s","time":"1970-01-01T00:00:10Z","graph":"urn:g"},'
        '{"step":"B","stream":"urn:s","time":"1970-01-01T00:00:20.5Z"}]}\n'
    )


def test_ask_says_true_once_and_false_for_a_finite_input() -> None:
    """With the instants of its first match."""
    assert match_line(MATCH, ask=True) == (
        '{"time":"1970-01-01T00:00:20Z","start":"1970-01-01T00:00:10Z","boolean":true}\n'
    )
    assert no_match_line() == '{"boolean":false}\n'
    assert no_match_line("q") == '{"query":"q","boolean":false}\n'


@pytest.mark.parametrize(
    ("term", "expected"),
    [
        (Literal('a"\n é'), {"type": "literal", "value": 'a"\n é'}),
        (Literal("x", language="en"), {"type": "literal", "value": "x", "xml:lang": "en"}),
        (BlankNode("b"), {"type": "bnode", "value": "b"}),
    ],
)
def test_every_sort_of_term_is_written_as_sparql_results_json(term: Term, expected: dict[str, str]) -> None:
    """Plain strings have no datatype."""
    assert json.loads(match_line(Match(0, 0, {"x": term})))["bindings"]["x"] == expected


INSTANTS = st.integers(-(10**12), 10**15)


@given(
    st.lists(st.tuples(INSTANTS, INSTANTS, st.integers(0, 5), st.integers(0, 5)), max_size=10),
    st.sampled_from([None, "q%s"]),
    st.booleans(),
)
def test_columns_are_written_like_single_matches(
    rows: list[tuple[int, int, int, int]], query: str | None, promoted: bool
) -> None:
    """The bulk writer and the plain writer give the same bytes, unbound variables absent."""
    terms = TermDictionary()
    terms.encode_texts(
        list(map(str, (H1, FIVE, BlankNode("b"), Literal('%s"'), Literal("x", language="en"))))
    )
    if promoted:
        terms.promote()
    matches = [
        Match(time, start, {name: terms.decode(i) for name, i in (("x", x), ("y%", y)) if i})
        for time, start, x, y in rows
    ]
    columns = np.array(rows, np.int64).reshape(-1, 4)
    x, y = columns[:, 2].astype(np.int32), columns[:, 3].astype(np.int32)
    bulk, ends = ColumnLines(terms).lines(
        columns[:, 0], columns[:, 1], [("x", x), ("y%", y)], generation=terms.generation, query=query
    )
    assert bytes(bulk).decode() == "".join(match_line(match, query=query) for match in matches)
    assert [bytes(bulk)[end - 1 : end] for end in ends.tolist()] == [b"\n"] * len(matches)


def test_the_bulk_writer_follows_a_compacted_dictionary() -> None:
    """Ids of another generation are not spelled as before, and those of an older one not at all."""
    terms = TermDictionary()
    first, second = terms.encode_texts(list(map(str, (H1, FIVE))))
    lines = ColumnLines(terms)
    instants = np.zeros(1, np.int64)
    old = terms.generation
    lines.lines(instants, instants, [("x", np.array([first], np.int32))], generation=old)
    mapping = terms.compact([second])
    again, _ = lines.lines(instants, instants, [("x", mapping[[second]])], generation=terms.generation)
    assert '"value":"5"' in bytes(again).decode()
    with pytest.raises(StaleIds):
        lines.lines(instants, instants, [("x", np.array([first], np.int32))], generation=old)


def test_more_instants_than_the_cache_holds_are_printed(change_settings: Callable[..., None]) -> None:
    """Starts that empty the cache of seconds do not take the times of the same lines with them."""
    change_settings(cached_texts=2)
    terms = TermDictionary()
    lines = ColumnLines(terms)
    for first in (0, 7):
        times = np.arange(first, first + 7, dtype=np.int64) * 1_500_000 + 10**12
        made = bytes(lines.lines(times, times - 10**12, [], generation=terms.generation)[0]).decode()
        wanted = [Match(time, time - 10**12, {}) for time in times.tolist()]
        assert made == "".join(map(match_line, wanted))


def test_csv_has_a_header_and_plain_values() -> None:
    """As SPARQL 1.1 CSV; unbound is empty; quotes are doubled."""
    text = written("csv", [MATCH, Match(0, 0, {"v": Literal('a,"b')})], variables=["h", "v"])
    assert text.splitlines()[0] == "time,start,h,v"
    rows = list(csv.DictReader(io.StringIO(text)))
    assert rows[0] == {
        "time": "1970-01-01T00:00:20Z",
        "start": "1970-01-01T00:00:10Z",
        "h": "http://ex.org/H1",
        "v": "5",
    }
    assert (rows[1]["h"], rows[1]["v"]) == ("", 'a,"b')
    out = io.BytesIO()
    writer = result_writer("csv", out, form="ask", several=True, provenance=True)
    writer.no_match("q")
    assert next(csv.DictReader(io.StringIO(out.getvalue().decode())))["boolean"] == "false"


def test_sparql_json_is_read_by_a_sparql_client() -> None:
    """A SPARQL library reads it back; the instants are two more variables, renamed if the query has them."""
    text = written("sparql-json", [MATCH, Match(0, 0, {"h": BlankNode("b")})], variables=["h", "v"])
    solutions = list(parse_query_results(text, format=QueryResultsFormat.JSON))  # type: ignore[arg-type]
    assert solutions[0]["v"] == FIVE
    assert solutions[0]["time"].value == "1970-01-01T00:00:20Z"
    assert solutions[1]["v"] is None
    taken = written("sparql-json", [Match(0, 0, {"time": H1})], variables=["time"])
    assert '"matchTime"' in taken
    assert json.loads(written("sparql-json", [MATCH], form="ask"))["boolean"] is True
    truths = [Match(0, 0, {}, boolean=True), Match(1, 1, {}, boolean=False)]
    lines = written("sparql-json", truths, form="ask").splitlines()
    assert [json.loads(line)["boolean"] for line in lines] == [True, False]
    assert json.loads(written("sparql-json", [], variables=["h"]))["results"]["bindings"] == []


@pytest.mark.parametrize("name", ["nquads", "trig"])
def test_constructed_graphs_are_an_event_file(tmp_path: Path, name: str) -> None:
    """Another query can read them; a match with an empty graph is no event."""
    empty = Match(6_000_000, 0, {}, triples=frozenset(), identity="urn:spaseq:match:3")
    file = tmp_path / f"out.{name}"
    file.write_text(written(name, [GRAPH, empty], form="construct"))
    (event,) = read_graph_events(file, stream="urn:s", file_format=name)
    assert event.time == 5_000_000
    assert event.name == NamedNode("urn:spaseq:match:2")
    assert len(event.triples) == 2


def test_wrong_formats_are_refused() -> None:
    """A name that is none, and formats that cannot hold the answer."""
    with pytest.raises(InvalidArgument, match="did you mean `jsonl`"):
        written("json", [])
    for name, form in (("nquads", "select"), ("trig", "ask"), ("sparql-json", "construct")):
        with pytest.raises(InvalidArgument, match=name):
            written(name, [], form=form)
    formats: list[OutputFormat] = [
        default_format(None, ["select"]),
        default_format(None, ["ask"]),
        default_format(None, ["construct"]),
    ]
    assert formats == ["jsonl", "jsonl", "nquads"]


@given(st.lists(st.integers(-62_135_596_800_000_000, 300_000_000_000_000_000), min_size=40, max_size=60))
def test_many_instants_are_printed_like_one(instants: list[int]) -> None:
    """In bulk, before 1970 and beyond year 9999 too."""
    times = np.array(instants, np.int64)
    terms = TermDictionary()
    text, _ = ColumnLines(terms).lines(times, times, [], generation=terms.generation)
    lines = bytes(text).decode().splitlines()
    assert lines == [match_line(Match(time, time, {})).rstrip() for time in instants]
