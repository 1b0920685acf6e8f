"""The identity of matches (semantics 1.10): one per match, the same however the input comes."""

from __future__ import annotations

import pytest

import spaseq
from spaseq import Engine, Event
from spaseq.model.matches import Match

PREFIX = "PREFIX : <http://ex.org/>\n"
SEQ = PREFIX + "SELECT {select} FROM STREAM S <http://ex.org/s> {where}"
TWO_WAYS = SEQ.format(
    select="{select}",
    where="WHERE {{ SEQ (A ; B) DEFINE GPM A ON S {{ ?x :p ?v }} DEFINE GPM B ON S {{ ?y :q ?w }} }}",
)
PARTITIONED = SEQ.format(
    select="{select}",
    where="PARTITION BY ?k WHERE {{ SEQ (A ; B) DEFINE GPM A ON S {{ ?k :p ?v }} DEFINE GPM B ON S {{ ?k :q ?w }} }}",
)


def event(time: int, text: str, name: str | None = None) -> Event:
    """An event of the stream S."""
    return Event("S", time, f"@prefix : <http://ex.org/> . {text}", name=name, format="turtle")


EVENTS = [
    event(1, ":a :p 1, 2 . :b :p 1 ."),
    event(2, ":a :q 7 . :b :q 7 ."),
    event(2, ":a :q 7 . :b :q 7 ."),
]


def whole(query: str, events: list[Event] = EVENTS) -> list[Match]:
    """The matches of all events at once."""
    engine = Engine(query)
    return [*engine.push(events), *engine.finish()]


def one_by_one(query: str) -> list[Match]:
    """The matches of events that come alone, so that one instant comes in pieces."""
    engine = Engine(query)
    return [match for each in EVENTS for match in engine.push(each)] + engine.finish()


def restored(query: str) -> list[Match]:
    """The same, with a new engine after every event."""
    engine, found = Engine(query), list[Match]()
    for each in EVENTS:
        found += engine.push(each)
        engine = Engine.restore(query, engine.snapshot())
    return found + engine.finish()


@pytest.mark.parametrize("text", [TWO_WAYS, PARTITIONED], ids=["mappings", "partitions"])
@pytest.mark.parametrize("select", ["*", "?v", "?w", "(1 AS ?one)"])
def test_every_match_has_an_identity_of_its_own(text: str, select: str) -> None:
    """Whatever it reports, one event may match in several ways, and two events may be equal."""
    query = text.format(select=select)
    found = [match.identity for match in whole(query)]
    assert len(found) == len(set(found)) >= 6
    assert sorted(match.identity for match in one_by_one(query)) == sorted(found)
    assert sorted(match.identity for match in restored(query)) == sorted(found)
    assert sorted(match.identity for match in spaseq.run(query, {"S": EVENTS})) == sorted(found)


def test_the_identity_names_the_bindings_that_are_reported() -> None:
    """What another event adds to the stream does not change the identity of a match."""
    query = TWO_WAYS.format(select="?v")
    before = {match.bindings["v"].value: match.identity for match in Engine(query).push(EVENTS[:2])}
    more = [EVENTS[0], event(2, ":c :q 7 ."), EVENTS[1]]
    after = {(match.bindings["v"].value, match.identity) for match in Engine(query).push(more)}
    assert set(before.items()) <= after


def test_the_graphs_of_a_construct_have_names_of_their_own() -> None:
    """The template's variables are what a CONSTRUCT reports; its blank nodes are called after the identity."""
    query = TWO_WAYS.format(select="?v").replace("SELECT ?v", "CONSTRUCT { [] :saw ?v }")
    found = whole(query)
    assert len({match.identity for match in found}) == len(found) == 12
    assert len({match.triples for match in found}) == len(found)


@pytest.mark.parametrize("form", ["ASK", "SELECT DISTINCT ?w"])
def test_a_choice_among_equal_answers_is_the_same_every_time(form: str) -> None:
    """DISTINCT and ASK keep the earliest start, and of those the least identity, whatever comes first."""
    query = TWO_WAYS.format(select="?v").replace("SELECT ?v", form)
    names = ["http://ex.org/e1", "http://ex.org/e2", "http://ex.org/e3"]
    events = [event(1, ":a :p 1 .", name) for name in names] + [event(2, ":a :q 7 .")]
    found = {
        tuple(match.identity for match in whole(query, order))
        for order in (events, [events[2], events[0], events[1], events[3]])
    }
    assert len(found) == 1


def test_anonymous_nodes_of_a_pushed_text_have_the_same_labels_every_time() -> None:
    """A replay of the same texts gives the same identities."""
    query = TWO_WAYS.format(select="?x")
    events = [event(1, "[ :p 1 ] :r [ :p 2 ] ."), event(2, ":a :q 7 .")]
    again = [Event(each.stream, each.time, each.graph, format=each.format) for each in events]
    assert [m.identity for m in whole(query, events)] == [m.identity for m in whole(query, again)]
