"""What EXISTS and MINUS keep: of equal solutions the first."""

from __future__ import annotations

import pytest
from pyoxigraph import Literal, NamedNode, Triple

from spaseq import Engine
from spaseq.intervals.evaluation import IntervalEvaluation
from spaseq.intervals.interval_joins import Partners
from spaseq.languages.epsparql.query import compile_intervals
from spaseq.model.events import GraphEvent
from spaseq.model.matches import Match
from spaseq.planner import compile_query
from spaseq.reference.interval_answers import interval_answers
from support.interval_hosts import by_instant, column_answers

EX = "http://ex.org/"
PREFIXES = f"PREFIX : <{EX}> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>"
SEARCHES = {
    "?s :a ?x FILTER EXISTS { ?s :a ?y FILTER(?y > ?x) }": 8,
    "?s :a ?x FILTER NOT EXISTS { ?z :a ?y . ?s :b ?n FILTER(?y > ?x + 1) }": 8,
    "?s :b ?n FILTER EXISTS { ?z :a 3 ; :b ?m }": 1,
    '?s :a ?x FILTER NOT EXISTS { ?s :b ?n FILTER(getDURATION() < "PT1S"^^xsd:duration) }': 2,
    "?s :a ?x MINUS { ?s :a 2 ; :b ?n }": 2,
}


def readings(count: int) -> list[GraphEvent]:
    """One a second, of two gauges in turn: four different values and a number of its own."""
    return [
        GraphEvent(
            f"{EX}s",
            number * 1_000_000,
            frozenset(
                Triple(NamedNode(f"{EX}g{number % 2}"), NamedNode(EX + name), Literal(value))
                for name, value in (("a", number // 2 % 4), ("b", number))
            ),
        )
        for number in range(count)
    ]


@pytest.mark.parametrize(("search", "most"), SEARCHES.items())
def test_a_search_keeps_no_more_than_what_differs(search: str, most: int) -> None:
    """In what the rows share and the filters read; answers stay the same."""
    kept = list[int]()

    def look(evaluation: IntervalEvaluation) -> None:
        (partners,) = {each for _, each in evaluation.everything() if isinstance(each, Partners)}
        kept.append(len(partners._table))

    (query,) = compile_intervals(f"{PREFIXES} SELECT * {{ {search} }}")
    given = readings(24)
    found = column_answers(query, given, {}, by_instant, watch=look)
    assert sorted(map(str, found)) == sorted(map(str, interval_answers(query, given, {})))
    assert 0 < max(kept) <= most


@pytest.mark.parametrize("search", SEARCHES)
def test_a_search_goes_on_after_a_restore(search: str) -> None:
    """What was there is not taken again, and what was not there is."""
    text, found = f"{PREFIXES} SELECT * {{ {search} }}", list[Match]()
    query, given = compile_query(text, "epsparql"), readings(16)
    engine = Engine(query, compile_kernels=False)
    for each in given:
        found += engine.push(each)
        engine = Engine.restore(query, engine.snapshot(), compile_kernels=False)
    found += engine.finish()
    expected = interval_answers(compile_intervals(text)[0], given, {})
    assert sorted(map(str, found)) == sorted(map(str, expected))
