"""The operator of continuous queries: what it keeps, and what it follows besides events."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyoxigraph import Literal, NamedNode, Triple

import spaseq
from spaseq.errors import SpaseqError

COUNT = """PREFIX : <http://e/>
SELECT ?k (COUNT(*) AS ?n) FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 5s]
WHERE { WINDOW :w { ?k :p ?v } OPTIONAL { WINDOW :w { ?v :q ?x } } FILTER NOT EXISTS { WINDOW :w { ?k :r ?x } } } GROUP BY ?k"""


def _event(second: int, key: str) -> spaseq.Event:
    return spaseq.Event("s", second * 1_000_000, f"<http://e/{key}> <http://e/p> {second} .", format="turtle")


def _label(text: str) -> list[Triple]:
    return [Triple(NamedNode("http://e/a"), NamedNode("http://e/label"), Literal(text))]


def test_keys_that_come_once_leave_nothing_behind(change_settings: Callable[..., None]) -> None:
    """Groups, partners and triples that left their window are forgotten, so an endless stream fits."""
    change_settings(forgotten_rows=20, forgotten_events=20)
    engine = spaseq.Engine(COUNT)
    sizes = []
    for second in range(600):
        engine.push(_event(second, f"k{second}"))
        if second % 200 == 199:
            sizes.append(len(engine.snapshot()))
    assert max(sizes) < 1.5 * sizes[0]


def test_a_background_graph_that_is_replaced_shows_at_the_next_evaluation() -> None:
    """Background graphs are as they are at the instant of an evaluation."""
    query = """PREFIX : <http://e/> SELECT ?k ?l FROM NAMED WINDOW :w ON :s [RANGE 10s]
    WHERE { WINDOW :w { ?k :p ?v } GRAPH :names { ?k :label ?l } } REPORT ON CONTENT CHANGE"""
    engine = spaseq.Engine(query, knowledge={"http://e/names": _label("old")})
    engine.push(_event(1, "a"))
    found = engine.advance_to(2_000_000)
    engine.replace_knowledge("http://e/names", _label("new"))
    engine.push(_event(3, "b"))
    found += engine.finish()
    assert [match.values["l"] for match in found] == ["old", "new"]


@pytest.mark.parametrize("cut", [1, 40, 200])
def test_a_damaged_state_is_refused(cut: int) -> None:
    """Whatever is missing, the error says so instead of a wrong answer."""
    engine = spaseq.Engine(COUNT)
    engine.push([_event(second, "a") for second in range(20)])
    with pytest.raises(SpaseqError):
        spaseq.Engine.restore(COUNT, engine.snapshot()[:-cut])
