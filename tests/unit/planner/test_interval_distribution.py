"""Facts about how EP-SPARQL queries are distributed (semantics 2.10): by a variable that all triple patterns share, rules included."""

from __future__ import annotations

import pytest

from spaseq.planner import compile_query

PREFIX = "PREFIX : <http://example.org/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> "


def distribution(text: str) -> tuple[tuple[str, ...], str]:
    """The variables by which a query's occurrences go apart, and why."""
    found = compile_query(PREFIX + text, "epsparql").distribution
    return tuple(found.variables), found.reason


@pytest.mark.parametrize(
    "text",
    [
        "SELECT ?p { ?c :price ?p }",
        "SELECT ?p { { ?c :price ?p } SEQ { ?agency :rates ?c } }",
        "CONSTRUCT { ?x :downrated true } WHERE { ?agency :rates ?x } SELECT ?c { { ?c :downrated true } SEQ { ?c :price ?p } }",
        "CONSTRUCT { ?x :l ?v } WHERE { ?x :p ?v } CONSTRUCT { ?y :l ?w } WHERE { { ?y :l ?v } SEQ { ?y :p ?w } } SELECT ?z { ?z :l ?v }",
        "CONSTRUCT { ?x :seen ?v } WHERE { ?x :price ?v } SELECT ?z { ?z :price ?v FILTER NOT EXISTS { ?z :seen 3 } }",
        "CONSTRUCT { ?v :of ?x } WHERE { ?x :has ?v } SELECT ?z { ?a :of ?z . ?z :has ?b }",
        "CONSTRUCT { ?v :unread ?x } WHERE { ?x :price ?v } SELECT ?z { ?z :price ?v }",
    ],
)
def test_occurrences_go_apart_by_a_shared_variable(text: str) -> None:
    """Whatever rules call it, as long as what they produce stays with it."""
    assert distribution(text)[0] == ("key",)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("SELECT ?p { ?c :price ?p . ?d :price ?q }", "no variable"),
        ("CONSTRUCT { ?b :reaches ?a } WHERE { ?a :edge ?b } SELECT ?a { ?a :reaches ?b . ?a :edge ?c }", "what they produce"),
        ("CONSTRUCT { ?a :r ?c } WHERE { ?a :r ?b . ?b :edge ?c } SELECT ?a { ?a :r ?b }", "what they produce"),
        ("CONSTRUCT { ?a ?p 1 } WHERE { ?x ?p ?a } SELECT ?a { ?b :x ?a }", "what they produce"),
        ("CONSTRUCT { :all :n ?n } WHERE { SELECT (COUNT(*) AS ?n) { ?a :p ?b } } SELECT ?a { ?a :p ?b }", "what they produce"),
        ("CONSTRUCT { ?a :r ?b } WHERE { ?a :p ?b }", "one graph for each interval"),
        ("SELECT ?a { ?a :p/:q ?b }", "path"),
        ("SELECT ?a { ?a :p ?b } LIMIT 3", "LIMIT"),
        ("SELECT ?k { { ?k :p ?v } SEQ { ?u :p ?k } }", "?k is the subject of one triple pattern and the object of another"),
        ("SELECT ?a { ?a :q ?c { SELECT ?a { ?a :p ?b } LIMIT 3 } }", "LIMIT and OFFSET of a sub-SELECT"),
        ("SELECT (COUNT(*) AS ?n) { ?a :p ?b }", "a group that is not by ?a"),
        ("SELECT ?b { ?a :p ?b FILTER EXISTS { SELECT ?c { ?a :q ?c } } }", "?a does not stay in scope"),
    ],
)  # fmt: skip
def test_one_bucket_says_why(text: str, reason: str) -> None:
    """Something may need what another key has."""
    variables, why = distribution(text)
    assert variables == ()
    assert reason in why
