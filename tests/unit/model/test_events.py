"""Events as users push them: every form of graph and time, and clear errors for the rest."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import cast

import pytest
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, Triple

from spaseq.errors import InvalidArgument
from spaseq.model.events import Event, GraphLike, term_from
from spaseq.model.terms import BlankScopes
from spaseq.temporal.instants import FIRST_INSTANT, LAST_INSTANT

A, P = NamedNode("urn:a"), NamedNode("urn:p")
TRIPLE = Triple(A, P, Literal("05", datatype=NamedNode("http://www.w3.org/2001/XMLSchema#integer")))


@pytest.mark.parametrize(
    "time", [5_000_000, datetime(1970, 1, 1, 0, 0, 5, tzinfo=UTC), "1970-01-01T00:00:05Z"]
)
def test_a_time_is_an_int_a_datetime_or_a_text(time: int | datetime | str) -> None:
    """All give the same instant."""
    assert Event("s", time).instant == 5_000_000


@pytest.mark.parametrize("time", ["soon", True, None, 5.5])
def test_a_time_that_is_none_is_refused(time: object) -> None:
    """The error shows it."""
    with pytest.raises(InvalidArgument, match="time"):
        _ = Event("s", cast("int", time)).instant


@pytest.mark.parametrize("time", [FIRST_INSTANT, LAST_INSTANT])
def test_the_first_and_the_last_instant_are_times(time: int) -> None:
    """The years 1 to 9999, both ends included."""
    assert Event("s", time).instant == time


@pytest.mark.parametrize("time", [FIRST_INSTANT - 1, LAST_INSTANT + 1, 2**63 - 1, 2**63, -(2**63), 10**30])
def test_a_time_outside_the_years_1_to_9999_is_refused(time: int) -> None:
    """A column of 64 bits would let it wrap to a time long ago."""
    with pytest.raises(InvalidArgument, match=f"the time {time} lies outside the years 1 to 9999"):
        _ = Event("s", time).instant


@pytest.mark.parametrize(
    "graph",
    [
        [TRIPLE],
        (triple for triple in [TRIPLE]),
        [(A, P, TRIPLE.object)],
        [Quad(A, P, TRIPLE.object, NamedNode("urn:g"))],
    ],
)
def test_a_graph_is_an_iterable_of_triples(graph: GraphLike) -> None:
    """Of pyoxigraph's triples, quads, or three terms; lexical forms stay; it is read once."""
    event = Event("s", 0, graph)
    assert event.triples() == {TRIPLE}
    assert event.triples() == {TRIPLE}


def test_a_graph_is_a_text_in_a_named_format() -> None:
    """Turtle and others; without `format` or with a wrong one the error helps."""
    assert Event("s", 0, "<urn:a> <urn:p> 05 .", format="turtle").triples() == {TRIPLE}
    with pytest.raises(InvalidArgument, match="format="):
        Event("s", 0, "<urn:a> <urn:p> 5 .").triples()
    with pytest.raises(InvalidArgument, match="turtle"):
        Event("s", 0, "<urn:a>", format="tutle").triples()
    with pytest.raises(InvalidArgument, match="cannot be read"):
        Event("s", 0, "<urn:a> <urn:p> .", format="turtle").triples()


def test_a_graph_is_an_rdflib_graph() -> None:
    """Terms of rdflib are recognised without importing rdflib; lexical forms stay."""
    rdflib = pytest.importorskip("rdflib", reason="rdflib is an optional extra")
    graph = rdflib.Graph()
    number = rdflib.Literal("05", datatype=rdflib.XSD.integer, normalize=False)
    graph.add((rdflib.URIRef("urn:a"), rdflib.URIRef("urn:p"), number))
    graph.add((rdflib.BNode("b"), rdflib.URIRef("urn:p"), rdflib.Literal("x", lang="en")))
    triples = Event("s", 0, graph).triples()
    assert triples == {TRIPLE, Triple(BlankNode("b"), P, Literal("x", language="en"))}


@pytest.mark.parametrize(
    "graph",
    [
        [Triple(A, P, TRIPLE)],
        [5],
        [(A, P)],
        [(A, Literal("p"), A)],
        [(Literal("x"), P, A)],
        5,
        [(A, P, "a b")],
    ],
)
def test_what_is_no_graph_is_refused(graph: object) -> None:
    """The error shows what was passed."""
    with pytest.raises(InvalidArgument):
        Event("s", 0, cast("GraphLike", graph)).triples()


def test_blank_nodes_are_local_to_their_event() -> None:
    """Two pushed events with equal labels share no node, and a graph's name may be a blank node too."""
    scopes = BlankScopes()
    blank = Triple(BlankNode("b"), P, BlankNode("b"))
    one = Event("s", 0, [blank], name=BlankNode("b")).to_graph_event("urn:s", scopes)
    other = Event("s", 0, [blank], name=BlankNode("b")).to_graph_event("urn:s", scopes)
    assert one.triples.isdisjoint(other.triples)
    (triple,) = one.triples
    assert triple.subject == triple.object == one.name
    assert Event("s", 0, [TRIPLE]).to_graph_event("urn:s", scopes).triples == {TRIPLE}


def test_a_plain_text_is_an_iri_where_a_term_is_expected() -> None:
    """Graph names may be written as texts."""
    assert term_from("urn:a") == A
    with pytest.raises(InvalidArgument, match="not an IRI"):
        term_from("no iri", "graph name")


def test_an_event_may_be_an_interval() -> None:
    """Its time is its end; a start after the end is refused in a sentence."""
    event = Event("S", 5_000_000, start="1970-01-01T00:00:02Z")
    assert event.to_graph_event("urn:s", BlankScopes()).start == 2_000_000
    assert Event("S", 5_000_000).to_graph_event("urn:s", BlankScopes()).start is None
    with pytest.raises(InvalidArgument, match="starts at 1970-01-01T00:00:06Z, after its time"):
        Event("S", 5_000_000, start=6_000_000).to_graph_event("urn:s", BlankScopes())
