"""Facts about the types that variables certainly have."""

from __future__ import annotations

import pytest

import spaseq
from spaseq.planner.value_types import certain_types


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("STRLEN(?v)", "count"),
        ("COUNT(A)", "count"),
        ("TIME(B)", "dateTime"),
        ("EVENT(B)", "string"),
        ("?v = 1", "boolean"),
        ("!BOUND(?v)", "boolean"),
        ("STRLEN(?v) + 1", "integer"),
        ("STRLEN(?v) / 2", "decimal"),
        ("1.5e0 * STRLEN(?v)", "double"),
        ("xsd:date(?v)", "date"),
        ("CONCAT(?v, ?v)", "string"),
        ("?v + 1", None),
        ("IF(?v, 1, 2)", None),
        ("?v", None),
    ],
)
def test_the_type_of_an_expression(expression: str, kind: str | None) -> None:
    """None where it depends on the data."""
    query = spaseq.compile(f"""PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
        SELECT ?k ({expression} AS ?x) WITHIN 5 SECONDS SLIDING FROM STREAM S <urn:s> WHERE {{
        SEQ (A+ ; B) DEFINE GPM A ON S {{ ?k <urn:a> ?u }} DEFINE GPM B ON S {{ ?k <urn:b> ?v }} }}""")
    assert certain_types(query) == {"k": "string"} | ({} if kind is None else {"x": kind})


def test_a_variable_with_two_types_has_none() -> None:
    """Bound as a number by one pattern and as a text by another; a subject is an IRI or a blank node."""
    query = spaseq.compile("""SELECT ?k ?n ?m WITHIN 5 SECONDS SLIDING FROM STREAM S <urn:s> WHERE {
        SEQ (A ; B) DEFINE GPM A ON S { ?k <urn:a> ?u . BIND (STRLEN(?u) AS ?n) BIND (STRLEN(?u) AS ?m) }
        DEFINE GPM B ON S { ?n <urn:b> ?w . ?k <urn:c> ?u } }""")
    assert certain_types(query) == {"k": "string", "m": "count"}


HEAD = "PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> PREFIX : <urn:> "
WINDOW = "FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 10s] "


@pytest.mark.parametrize(
    ("language", "text", "kinds"),
    [
        (
            "rsepql",
            (
                f"SELECT ?k (COUNT(*) AS ?n) (SUM(?v) AS ?s) (?n + 1 AS ?m) (NOW() AS ?t) (xsd:double(SUM(?v)) AS ?d) {WINDOW}"
                "WHERE { WINDOW :w { ?k :v ?v } } GROUP BY ?k"
            ),
            {"k": "string", "n": "count", "m": "integer", "t": "dateTime", "d": "double"},
        ),
        (
            "rsepql",
            (
                f"SELECT ?x ?y {WINDOW}WHERE {{ {{ WINDOW :w {{ ?k :v ?v }} BIND(STRLEN(?v) AS ?x) BIND(STRLEN(?v) AS ?y) }} "
                "UNION { WINDOW :w { ?x :p* ?k } } }"
            ),
            {"y": "count"},
        ),
        (
            "rsepql",
            (
                f"SELECT ?x ?y {WINDOW}EVENT ON :w {{ ?k :v ?v . VALUES ?x {{ 1 2 }} VALUES ?y {{ 1 }} }} AS A "
                "WHERE { { MATCH { A } } UNION { WINDOW :w { ?k :v ?x } } }"
            ),
            {"y": "integer"},
        ),
        (
            "epsparql",
            "SELECT ?k (COUNT(?v) AS ?n) (getSTARTTIME() AS ?t) (getDURATION() AS ?d) { ?k :v ?v } GROUP BY ?k",
            {"k": "string", "n": "count", "t": "dateTime"},
        ),
    ],
)
def test_types_of_all_languages(language: str, text: str, kinds: dict[str, str]) -> None:
    """By all that binds a variable, also behind names that a query gives to aggregates."""
    assert certain_types(spaseq.compile(HEAD + text, language)) == kinds
