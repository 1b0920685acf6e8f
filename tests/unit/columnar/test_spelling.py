"""Terms keep their lexical form from input to output; values decide filters (semantics 0)."""

from __future__ import annotations

import pytest
from pyoxigraph import Literal, NamedNode

from spaseq import evaluate
from spaseq.columnar.kernels.spelling import decimal_parts, double_text
from spaseq.model.events import triples_from

DATA = """
@prefix : <http://e/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:a :v 05 . :b :v 5 . :c :v 5.0 . :d :v "5"^^xsd:byte . :e :v 5e0 . :f :v "+5"^^xsd:integer .
:t :at "2020-01-01T00:00:00.000+00:00"^^xsd:dateTime .
"""
XSD = "http://www.w3.org/2001/XMLSchema#"


def values(query: str) -> list[str]:
    """The texts of ?x, sorted."""
    rows = evaluate(
        "PREFIX : <http://e/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> " + query, DATA, "turtle"
    )
    return sorted(str(row["x"]) for row in rows)


def typed(text: str, kind: str) -> str:
    """A literal of an XML Schema datatype in N-Triples."""
    return str(Literal(text, datatype=NamedNode(XSD + kind)))


def test_every_spelling_is_a_term_of_its_own() -> None:
    """DISTINCT, like joins, compares terms."""
    assert len(values("SELECT DISTINCT ?x { ?s :v ?x }")) == 6
    assert values("SELECT ?x { :a :v ?v . ?x :v ?v }") == ["<http://e/a>"]


def test_filters_compare_values() -> None:
    """All six are five."""
    assert len(values("SELECT ?x { ?s :v ?x FILTER(?x = 5) }")) == 6
    assert len(values("SELECT ?x { ?s :v ?x FILTER(?x >= 5.0 && ?x <= 5e0) }")) == 6


@pytest.mark.parametrize(
    ("expression", "spelled"),
    [
        ("STR(?v)", '"05"'),
        ("?v", typed("05", "integer")),
        ("IF(?v > 4, ?v, 0)", typed("05", "integer")),
        ("COALESCE(?nothing, ?v)", typed("05", "integer")),
        ("?v + 0", typed("5", "integer")),
        ("xsd:string(?v)", '"5"'),
        ("xsd:integer(?v)", typed("5", "integer")),
        ('STRDT("007", xsd:integer)', typed("007", "integer")),
        ("SAMETERM(?v, 5)", typed("false", "boolean")),
        ("CONCAT(STR(?v), STR(05.50))", '"0505.50"'),
        ("STRLEN(STR(?v))", typed("2", "integer")),
    ],
)
def test_functions_read_and_keep_the_spelling(expression: str, spelled: str) -> None:
    """What hands a term through hands it through as it is; what computes gives the canonical spelling."""
    assert values(f"SELECT ({expression} AS ?x) {{ :a :v ?v }}") == [spelled]


def test_datatypes_are_kept() -> None:
    """Pyoxigraph's store would call a byte an integer."""
    assert values("SELECT (DATATYPE(?v) AS ?x) { :d :v ?v }") == [f"<{XSD}byte>"]


def test_aggregates_that_pick_a_term_keep_its_spelling() -> None:
    """MIN, MAX and SAMPLE give a term of the data."""
    for name in ("MIN", "MAX", "SAMPLE"):
        assert values(f"SELECT ({name}(?v) AS ?x) {{ :a :v ?v }}") == [typed("05", "integer")]


def test_groups_are_of_terms() -> None:
    """GROUP BY tells spellings apart, COUNT(DISTINCT) too."""
    assert len(values("SELECT (COUNT(*) AS ?x) { ?s :v ?v } GROUP BY ?v")) == 6
    assert values("SELECT (COUNT(DISTINCT ?v) AS ?x) { ?s :v ?v }") == [typed("6", "integer")]


def test_date_times_are_handed_through_as_written() -> None:
    """Zero fractions and +00:00 survive, and equal Z."""
    spelled = typed("2020-01-01T00:00:00.000+00:00", "dateTime")
    condition = 'FILTER(?x = "2020-01-01T00:00:00Z"^^xsd:dateTime)'
    assert values(f"SELECT ?x {{ :t :at ?x {condition} }}") == [spelled]


def test_background_graphs_keep_spellings() -> None:
    """The store rewrites them, so GRAPH is not left to it."""
    rows = evaluate(
        "SELECT ?x { GRAPH ?g { ?s ?p ?x } }",
        [],
        named={"http://g": triples_from("<http://s> <http://p> 05 .", "turtle")},
    )
    assert [row["x"].value for row in rows] == ["05"]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1e300, "1" + "0" * 300),
        (1e-7, "0.0000001"),
        (0.1 + 0.2, "0.30000000000000004"),
        (-2.0, "-2"),
        (5e-324, None),
    ],
)
def test_doubles_are_spelled_without_exponent(number: float, text: str | None) -> None:
    """As pyoxigraph spells them; the shortest digits that mean the same double."""
    spelled = double_text(number)
    assert float(spelled) == number
    assert "e" not in spelled
    assert text is None or spelled == text


@pytest.mark.parametrize(
    ("text", "parts"),
    [("-0.50", (-5, 1)), ("+7.", (7, 0)), (".25", (25, 2)), ("-.0", (0, 0)), ("9" * 19, (0, -1))],
)
def test_decimals_are_mantissa_and_scale(text: str, parts: tuple[int, int]) -> None:
    """Every lexical form of xsd:decimal, and those too long for 64 bits."""
    assert decimal_parts(text) == parts
