"""Answers of the reference implementation as a whole: their order, their events, and what it refuses (semantics 1.10)."""

from __future__ import annotations

import pytest
from pyoxigraph import Literal, NamedNode, Triple

from spaseq.errors import InvalidArgument
from spaseq.model.events import GraphEvent
from spaseq.planner import compile_query
from spaseq.reference import answers

P = NamedNode("urn:p")


def event(time: int, value: int, stream: str = "urn:s") -> GraphEvent:
    """An event that says one number."""
    return GraphEvent(stream, time, frozenset({Triple(NamedNode("urn:x"), P, Literal(value))}))


def query(sequence: str, form: str = "SELECT *") -> str:
    """A query over one stream in which A to D read any number."""
    used = [name for name in "ABCD" if name in sequence]
    definitions = " ".join(f"DEFINE GPM {name} ON S {{ <urn:x> <urn:p> ?{name.lower()} }}" for name in used)
    return f"{form} WITHIN 1 DAY FROM STREAM S <urn:s> WHERE {{ SEQ ({sequence}) {definitions} }}"


def test_answers_come_in_order_of_their_instant_then_their_start() -> None:
    """As a complete input is answered."""
    found = answers(compile_query(query("A : B")).algebra, [event(3, 3), event(1, 1), event(2, 2)])
    assert [(match.instant, match.begin) for match in found] == [(2, 1), (3, 1), (3, 2)]


def test_events_are_listed_in_the_order_of_seq() -> None:
    """A conjunction's in the order written, whatever a rule sorted."""
    compiled = compile_query(query("A ; (C & B)"))
    (match,) = answers(compiled.rewritten, [event(1, 1), event(2, 2)])
    assert [item.step for item in match.events] == ["A", "C", "B"]


def test_equal_events_stay_two() -> None:
    """Even if nothing tells them apart."""
    assert len(answers(compile_query(query("A")).algebra, [event(1, 1), event(1, 1)])) == 2


def test_ask_gives_the_first_match_or_none() -> None:
    """And no bindings."""
    compiled = compile_query(query("A ; B", "ASK"))
    (match,) = answers(compiled.algebra, [event(1, 1), event(2, 2), event(3, 3)])
    assert (match.begin, match.instant, match.bindings) == (1, 2, {})
    assert answers(compiled.algebra, [event(1, 1)]) == []


def test_no_events_no_answers() -> None:
    """Not even for a query that is content with absence."""
    assert answers(compile_query(query("A! ; B ; C!")).algebra, []) == []


def test_an_unregistered_background_graph_is_an_error_at_start() -> None:
    """Not an empty result (semantics 1.7), not even without events."""
    text = query("A").replace("?a }", "?a GRAPH <urn:db> { ?s ?p ?o } }")
    with pytest.raises(InvalidArgument, match="no background graph is registered as <urn:db>"):
        answers(compile_query(text).algebra, [], {"urn:other": frozenset()})


def test_the_identity_depends_on_query_events_and_patterns_only() -> None:
    """Not on the other events of the stream (semantics 1.10)."""
    compiled = compile_query(query("A , B"))
    (first,) = answers(compiled.algebra, [event(1, 1), event(2, 2)], {}, compiled.normal_text)
    more = answers(compiled.algebra, [event(2, 2), event(9, 9), event(1, 1)], {}, compiled.normal_text)
    assert first.identity in {match.identity for match in more}
    (other,) = answers(compiled.algebra, [event(1, 1), event(2, 3)], {}, compiled.normal_text)
    assert other.identity != first.identity
