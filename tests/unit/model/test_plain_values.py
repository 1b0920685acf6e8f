"""Matches as plain Python: values, dictionaries, pandas, and what a terminal and a notebook show."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from math import isnan

import pandas as pd
import pytest
from pyoxigraph import BlankNode, Literal, NamedNode

import spaseq
from spaseq import Event, InvalidArgument, Match
from spaseq.model.plain_values import Plain, json_value, plain_value

XSD = "http://www.w3.org/2001/XMLSchema#"
QUERY = """PREFIX : <http://ex.org/> {form} FROM STREAM S <http://ex.org/s>
WHERE {{ SEQ (A ; B) DEFINE GPM A ON S {{ ?k :p ?v }} DEFINE GPM B ON S {{ ?k :q ?w OPTIONAL {{ ?k :r ?time }} }} }}"""
EVENTS = [
    Event("S", 1_000_000, "@prefix : <http://ex.org/> . :a :p 5 .", name="http://ex.org/e1", format="turtle"),
    Event("S", 2_500_000, "@prefix : <http://ex.org/> . :a :q 4.50 .", format="turtle"),
    Event("S", 3_000_000, "@prefix : <http://ex.org/> . :a :p 6 .", format="turtle"),
    Event("S", 4_000_000, "@prefix : <http://ex.org/> . :a :q 7.0 ; :r 1 .", format="turtle"),
]


def found(form: str) -> list[Match]:
    """The matches of one form of the query."""
    return list(spaseq.run(spaseq.compile(QUERY.format(form=form), name="rises"), {"S": EVENTS}))


def literal(lexical: str, datatype: str) -> Literal:
    """A literal of an XML Schema type."""
    return Literal(lexical, datatype=NamedNode(XSD + datatype))


@pytest.mark.parametrize(
    ("term", "value"),
    [
        (NamedNode("http://ex.org/H1"), "http://ex.org/H1"),
        (BlankNode("b0"), "_:b0"),
        (Literal("Lyon"), "Lyon"),
        (Literal("Lyon", language="fr"), "Lyon"),
        (literal("05", "integer"), 5),
        (literal("-7", "long"), -7),
        (literal("9" * 30, "integer"), int("9" * 30)),
        (literal("4.50", "decimal"), Decimal("4.50")),
        (literal("1e3", "double"), 1000.0),
        (literal("-INF", "float"), float("-inf")),
        (literal("true", "boolean"), True),
        (literal("0", "boolean"), False),
        (literal("2024-05-01T12:00:00.5+02:00", "dateTime"), datetime(2024, 5, 1, 10, 0, 0, 500_000, UTC)),
        (literal("2024-05-01T12:00:00", "dateTime"), datetime(2024, 5, 1, 12, 0, 0, 0, UTC)),
        (literal("2024-05-01", "date"), "2024-05-01"),
        (literal("five", "integer"), "five"),
        (literal("1e3", "decimal"), "1e3"),
        (literal("nan", "double"), "nan"),
        (literal("maybe", "boolean"), "maybe"),
        (literal("2024-13-01T00:00:00Z", "dateTime"), "2024-13-01T00:00:00Z"),
        (literal("20000-01-01T00:00:00Z", "dateTime"), "20000-01-01T00:00:00Z"),
    ],
)
def test_terms_are_plain_values(term: NamedNode | BlankNode | Literal, value: Plain) -> None:
    """Numbers, truth values and times by their datatype; a literal that is none of its datatype is its text."""
    plain = plain_value(term)
    assert plain == value
    assert type(plain) is type(value)
    json.dumps(json_value(plain), allow_nan=False)


def test_not_a_number_is_a_float_and_text_in_json() -> None:
    """JSON has no number for it."""
    value = plain_value(literal("NaN", "double"))
    assert isinstance(value, float)
    assert isnan(value)
    assert json_value(value) == "NaN"


def test_a_match_has_values_and_names_its_query() -> None:
    """What SELECT asks for, unbound variables absent."""
    match = found("SELECT ?k ?v ?w ?time")[0]
    assert match.values == {"k": "http://ex.org/a", "v": 5, "w": Decimal("4.50")}
    assert (match.query, match.boolean, match.triples) == ("rises", None, None)
    assert spaseq.Engine(QUERY.format(form="ASK")).push(EVENTS[:2]) == []
    (asked,) = found("ASK")
    assert asked.boolean is True


def test_a_dictionary_goes_to_json_and_back() -> None:
    """Names, times and values; decimals keep their digits, as text."""
    match = found("SELECT ?k ?v ?w")[0]
    data = json.loads(json.dumps(match.to_dict(), allow_nan=False))
    assert data == {
        "query": "rises",
        "match": match.identity,
        "time": "1970-01-01T00:00:02.5Z",
        "start": "1970-01-01T00:00:01Z",
        "values": {"k": "http://ex.org/a", "v": 5, "w": "4.50"},
        "events": [
            {
                "step": "A",
                "stream": "http://ex.org/s",
                "time": "1970-01-01T00:00:01Z",
                "graph": "http://ex.org/e1",
            },
            {"step": "B", "stream": "http://ex.org/s", "time": "1970-01-01T00:00:02.5Z"},
        ],
    }
    graph = found("CONSTRUCT { ?k :saw ?w }")[0].to_dict()["triples"]
    assert graph == [["<http://ex.org/a>", "<http://ex.org/saw>", f'"4.50"^^<{XSD}decimal>']]
    assert found("ASK")[0].to_dict()["boolean"] is True


def test_matches_make_a_frame() -> None:
    """A variable called like another column keeps its question mark; integers stay integers beside missing values."""
    frame = spaseq.to_pandas(found("SELECT ?k ?v ?w ?time"))
    assert list(frame.columns) == ["time", "start", "k", "v", "w", "?time"]
    assert frame["v"].tolist() == [5, 6]
    assert frame["?time"].tolist() == [None, 1]
    assert frame["start"].dt.tz is not None
    assert frame["time"][0] == pd.Timestamp("1970-01-01T00:00:02.5Z")
    assert list(spaseq.to_pandas([]).columns) == ["time", "start"]
    assert spaseq.to_pandas(found("ASK"))["boolean"].tolist() == [True]
    both = spaseq.to_pandas([*found("ASK"), *spaseq.run(QUERY.format(form="ASK"), {"S": EVENTS})])
    assert both["query"].tolist() == ["rises", "query"]


def test_only_matches_make_a_frame() -> None:
    """Anything else is refused with a sentence."""
    match = found("SELECT ?v")[0]
    for wrong in (match, 5, ["x"], [None]):
        with pytest.raises(InvalidArgument, match="to_pandas"):
            spaseq.to_pandas(wrong)  # type: ignore[arg-type]


@pytest.fixture
def without_pandas(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine on which pandas cannot be imported."""
    monkeypatch.setitem(sys.modules, "pandas", None)
    return


def test_without_pandas_the_cure_is_named(without_pandas: None) -> None:
    """It is an extra."""
    with pytest.raises(InvalidArgument, match=r"pip install 'spaseq\[pandas\]'"):
        spaseq.to_pandas([])


def test_a_match_prints_on_one_line() -> None:
    """However many variables it has and however long their values are."""
    assert repr(found("SELECT ?k ?v ?w")[0]) == (
        "<Match 1970-01-01T00:00:01Z to 1970-01-01T00:00:02.5Z: k='http://ex.org/a', v=5, w=4.50>"
    )
    long = Match(0, 0, {f"v{number}": Literal("x" * 10_000) for number in range(1000)})
    assert len(repr(long)) < 1000
    assert "992 more" in repr(long)
    assert "1 triples" in repr(found("CONSTRUCT { ?k :saw ?w }")[0])


def test_a_query_prints_on_one_line_and_draws_itself() -> None:
    """A notebook gets the picture of the automaton."""
    query = spaseq.compile(QUERY.format(form="SELECT ?k"), name="<rises>")
    assert repr(query) == "<CompiledQuery <rises>: SELECT ?k SEQ (A ; B)>"
    page = query._repr_html_()
    assert "<svg" in page
    assert "&lt;rises&gt;" in page
    assert "<script" not in page


def test_a_match_is_a_table_in_a_notebook() -> None:
    """With its values and events, all escaped."""
    page = found("SELECT ?k ?v ('<b>' AS ?mark)")[0]._repr_html_()
    assert "<th" in page
    assert "&lt;b&gt;" in page
    assert "A@1970-01-01T00:00:01Z &lt;http://ex.org/e1&gt;" in page
    assert "saw" in found("CONSTRUCT { ?k :saw ?w }")[0]._repr_html_()
