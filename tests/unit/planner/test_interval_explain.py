"""What explain says of EP-SPARQL queries: for each operator its bound, what it waits for, whom it chooses; the order, the key, the strata."""

from __future__ import annotations

import json

import pytest

from spaseq.columnar.knowledge import Knowledge
from spaseq.planner import compile_query
from spaseq.planner.in_run import Choices, in_run

PREFIXES = "PREFIX : <http://ex.org/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"

SHORT = '{ ?x :p 1 } SEQ { ?x :q 2 } FILTER(getDURATION() < "PT1H"^^xsd:duration)'


def plan(text: str, policy: str = "unrestricted") -> dict[str, list[str]]:
    """The lines of a plan, by name."""
    (query,) = in_run((compile_query(PREFIXES + text, "epsparql"),), Knowledge(), Choices(policy))
    found: dict[str, list[str]] = {}
    for line in query.explain().splitlines()[1:]:
        name, _, rest = line.partition(" ")
        found.setdefault(name, []).append(rest.strip())
    return found


def test_every_operator_says_what_it_keeps_and_waits_for() -> None:
    """Joins, optional parts, searches for partners, groups, paths, modifiers; a bound of ``<`` as it is written."""
    found = plan(
        """SELECT DISTINCT ?c WHERE {
          { { ?c :p ?a } SEQ { ?c :s+ ?b } FILTER(getDURATION() < "PT1H"^^xsd:duration) }
          { { ?c :q ?d } EQUALS { ?c :r ?e } OPTIONALSEQ { ?c :t ?f } EQUALSOPTIONAL { ?c :t ?k } }
          { SELECT ?c ?at (COUNT(*) AS ?n) { ?c :u ?g BIND(getENDTIME() AS ?at) } GROUP BY ?c ?at }
          OPTIONAL { ?c :v ?h } MINUS { ?c :w ?i } FILTER NOT EXISTS { ?c :x ?j } } ORDER BY ?c LIMIT 3"""
    )
    instant = "waits for the end of an instant"
    assert set(found["evaluates"]) == {
        "join on ?c: keeps everything, waits for nothing",
        "SEQ on ?c: keeps less than 1h, waits for nothing",
        "EQUALS on ?c: keeps one instant, waits for nothing",
        "OPTIONALSEQ on ?c: keeps everything, waits for nothing",
        f"EQUALSOPTIONAL on ?c: keeps one instant, {instant}",
        f"OPTIONAL on ?c: keeps everything, {instant}",
        f"MINUS on ?c: keeps the first of equal solutions, {instant}",
        f"EXISTS on ?c: keeps the first of equal solutions, {instant}",
        "path: keeps less than 1h, waits for nothing",
        f"GROUP BY on ?c ?at: keeps groups until their time has passed, {instant}",
        f"DISTINCT: keeps one instant, {instant}",
        f"ORDER BY: keeps one instant, {instant}",
        f"LIMIT: keeps a count, {instant}",
    }
    assert found["by"] == ["one worker: LIMIT and OFFSET count the answers of all keys"]


def test_joins_of_three_parts_have_an_order() -> None:
    """Two parts have none; under a policy a sequence has none either."""
    text = "SELECT ?c WHERE { { ?c :p ?a . ?c :p ?b . ?c :p ?d } SEQ { ?c :q ?e } SEQ { ?c :r ?f } }"
    measured = "as written at first, then by how many rows each part has"
    assert plan(text)["order"] == [f"SEQ of 3: {measured}", f"join of 3: {measured}"]
    found = plan(text, "recent")
    assert found["order"] == [f"join of 3: {measured}"]
    chosen = "SEQ on ?c: keeps everything, waits for the end of an instant, chooses the latest partner"
    assert found["evaluates"].count(chosen) == 2
    assert found["policy"] == ["recent: the latest partner; answers consume what they are made of"]
    assert found["by"] == ["?c: every triple pattern has ?c as subject or object"]


@pytest.mark.parametrize("right", ["{ :c :p ?x }", "{ ?z ?p ?x }"])
def test_what_one_key_consumes_no_other_key_may_still_use(right: str) -> None:
    """Under a policy an occurrence that may match two triple patterns has the key in the same place of both."""
    text = f"SELECT ?x WHERE {{ {{ ?x :p ?y }} SEQ {right} }}"
    assert plan(text)["by"] == ["?x: every triple pattern has ?x as subject or object"]
    (alone,) = plan(text, "chronological")["by"]
    assert alone.startswith("one worker: ?x is the subject of one triple pattern and the object of another")
    apart = "SELECT ?x WHERE { { ?x :p ?y } SEQ { :c :q ?x } }"
    assert plan(apart, "chronological")["by"] == ["?x: every triple pattern has ?x as subject or object"]


def test_rules_say_whose_an_operator_is_and_their_strata() -> None:
    """The second rule feeds itself."""
    found = plan(
        """CONSTRUCT { ?c :d ?a } WHERE { ?c :p ?a . ?c :o ?b }
        CONSTRUCT { ?c :d ?b } WHERE { { ?c :d ?a } SEQ { ?c :p ?b } FILTER(getDURATION() <= "PT10M"^^xsd:duration) }
        SELECT ?c WHERE { ?c :d ?a }"""
    )
    assert found["evaluates"] == [
        "rule 1: join on ?c: keeps everything, waits for nothing",
        "rule 2: SEQ on ?c: keeps 10min, waits for nothing",
    ]
    assert found["rules"][:2] == ["stratum 1: rule 1", "stratum 2: rule 2, to a fixpoint"]


def test_the_key_has_the_name_that_the_query_gives_it() -> None:
    """In JSON, too."""
    query = compile_query(PREFIXES + "SELECT ?car WHERE { { ?car :p ?a } SEQ { ?car :q ?b } }", "epsparql")
    assert json.loads(query.explain("json"))["distribution"]["by"] == ["?car"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("SELECT ?x { ?x :p ?v OPTIONAL { ?x :q ?w } }", ["OPTIONAL at ?x :q ?w"]),
        ("SELECT ?x { ?x :p ?v OPTIONAL { GRAPH ?g { ?x :q ?w } } }", []),
        ('SELECT ?x { ?x :p ?v OPTIONAL { ?x :q ?w FILTER(getDURATION() < "PT1H"^^xsd:duration) } }', []),
        ("SELECT ?x { ?x :p+ ?v }", ["a path at ?x :p+ ?v"]),
        ('SELECT ?x { ?x :p+ ?v FILTER(getDURATION() < "PT1H"^^xsd:duration) }', []),
        ("SELECT ?x { { ?x :p 1 } SEQ { ?x :q 2 } }", ["SEQ at ?x :p 1 } SEQ { ?x :q 2"]),
        ('SELECT ?x { ?x :p 1 ; :q 2 FILTER(getDURATION() = "PT0S"^^xsd:duration) }', []),
        ("SELECT ?x { ?x :p 1 ; :q 2 FILTER(getSTARTTIME() = getENDTIME()) }", []),
        (f"SELECT ?x {{ {{ {SHORT} }} EQUALSOPTIONAL {{ ?x :p 1 ; :q ?v }} }}", []),
        (f"SELECT ?x {{ {{ ?x :p 1 ; :q ?v }} EQUALS {{ {SHORT} }} }}", []),
        ("CONSTRUCT { ?x :r 1 } { ?x :p ?v OPTIONAL { ?x :q ?w } } SELECT ?x { ?x :r 1 }", ["OPTIONAL at ?x :q ?w"]),
    ],
)  # fmt: skip
def test_what_grows_with_the_stream_is_told_where_it_is_written(text: str, found: list[str]) -> None:
    """Joins over time, optional parts and paths without a duration; what reads the background alone does not grow."""
    warnings = [each for each in compile_query(PREFIXES + text, "epsparql").warnings if each.code == "SPW801"]
    shown = [f"{each.fields['join']} at {each.text[each.span.start : each.span.end]}" for each in warnings]
    assert shown == found
