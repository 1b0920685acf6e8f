"""Facts about the events an engine remembers for the matches that will name them."""

from __future__ import annotations

from pyoxigraph import Literal, NamedNode, Triple

from spaseq import Engine
from spaseq.model.events import GraphEvent

BOTH = """
PREFIX : <http://e/>
SELECT ?x WITHIN 1 HOUR FROM STREAM S <http://e/s>
WHERE { SEQ (A & B) DEFINE GPM A ON S { ?x :a 1 } DEFINE GPM B ON S { ?x :b 1 } }
"""


def event(number: int, time: int, predicate: str) -> GraphEvent:
    """An event with one triple, named by its number."""
    one = Literal("1", datatype=NamedNode("http://www.w3.org/2001/XMLSchema#integer"))
    triple = Triple(NamedNode("http://e/x"), NamedNode(f"http://e/{predicate}"), one)
    return GraphEvent("http://e/s", time, frozenset({triple}), NamedNode(f"http://e/g{number}"))


def test_an_event_that_waits_for_its_partner_in_a_conjunction_is_not_forgotten() -> None:
    """Old events are dropped after some thousands; the rows of the open instant still need theirs."""
    engine = Engine(BOTH)
    engine.push([event(number, number, "c") for number in range(5000)] + [event(5000, 5000, "a")])
    (match,) = engine.push(event(5001, 5000, "b"))
    assert [str(each.graph) for each in match.events] == ["<http://e/g5000>", "<http://e/g5001>"]
