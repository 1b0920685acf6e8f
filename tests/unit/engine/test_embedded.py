"""Facts about the engine that programs push events into."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pyoxigraph import NamedNode, Triple

import spaseq
from spaseq.model.events import GraphEvent

QUERY = """PREFIX : <http://ex.org/> SELECT ?k ?name FROM STREAM S <http://ex.org/s> WHERE { SEQ (A)
DEFINE GPM A ON S { ?k :v ?v GRAPH <http://ex.org/kb> { ?k :name ?name } } }"""


def event(second: int) -> spaseq.Event:
    """An event of one thing."""
    graph = [Triple(*(NamedNode(f"http://ex.org/{name}") for name in ("k", "v", "x")))]
    return spaseq.Event(stream="S", time=second * 1_000_000, graph=graph)


def named(name: str) -> list[Triple]:
    """A background graph that gives the thing a name."""
    return [Triple(*(NamedNode(f"http://ex.org/{part}") for part in ("k", "name", name)))]


def test_a_background_graph_is_replaced_while_the_engine_runs() -> None:
    """Events pushed before see the old one, events pushed after it the new one, also one that says nothing."""
    engine = spaseq.Engine(QUERY, knowledge={"http://ex.org/kb": named("one")})
    found = []
    for second, graph in enumerate((None, named("two"), [], named("three"))):
        if graph is not None:
            engine.replace_knowledge("http://ex.org/kb", graph)
        found.append([match.bindings["name"].value[14:] for match in engine.push(event(second))])
    assert found == [["one"], ["two"], [], ["three"]]


@pytest.mark.parametrize("policy", ["unrestricted", "recent"])
def test_a_background_without_time_is_not_replaced(policy: str) -> None:
    """EP-SPARQL has joined it with events already; keeping the old graph without a word would be a wrong answer."""
    query = spaseq.compile("SELECT ?n { ?k a ?t ; <http://ex.org/name> ?n }", language="epsparql")
    engine = spaseq.Engine(query, knowledge={"http://ex.org/kb": named("one")}, policy=policy)
    with pytest.raises(spaseq.InvalidArgument, match="make a new engine"):
        engine.replace_knowledge("http://ex.org/kb", named("two"))
    assert engine.knowledge.triples("http://ex.org/kb") == frozenset(named("one"))


@pytest.mark.parametrize("time", [2**63 - 1, 10**30, -(10**18)])
def test_a_time_outside_the_years_1_to_9999_reaches_no_engine(time: int) -> None:
    """Neither as the time of an event of any sort nor as the time to advance to; the engine goes on."""
    engine = spaseq.Engine(QUERY, knowledge={"http://ex.org/kb": named("one")})
    plain = GraphEvent("http://ex.org/s", time, event(0).triples())
    for refused in (
        lambda: engine.push(replace(event(0), time=time)),
        lambda: engine.push(plain),
        lambda: engine.advance_to(time),
        lambda: list(spaseq.run(QUERY, {"S": [plain]}, knowledge={"http://ex.org/kb": named("one")})),
    ):
        with pytest.raises(spaseq.InvalidArgument, match="outside the years 1 to 9999"):
            refused()
    assert len(engine.push(event(1))) == 1


@pytest.mark.parametrize("lateness", [-1, 2**63, 10**30])
def test_a_lateness_that_no_column_of_times_holds_is_refused(lateness: int) -> None:
    """The error shows it."""
    with pytest.raises(spaseq.InvalidArgument, match=f"lateness .* not {lateness}"):
        spaseq.Engine(QUERY, knowledge={"http://ex.org/kb": named("one")}, lateness=lateness)


WAITING = {
    "SPAseq, a negation that ends with the window": """PREFIX : <http://ex.org/> SELECT ?k WITHIN 2 SECONDS SLIDING
      FROM STREAM S <http://ex.org/s> WHERE { SEQ (A ; B!) DEFINE GPM A ON S { ?k a :Key } DEFINE GPM B ON S { ?k :no ?n } }""",
    "EP-SPARQL, an optional part": "PREFIX : <http://ex.org/> SELECT ?k { ?k a :Key OPTIONAL { ?k :no ?n } }",
    "RSP-QL, an evaluation": "PREFIX : <http://ex.org/> SELECT ?k FROM NAMED WINDOW :w ON :s [RANGE 1s] WHERE { WINDOW :w { ?k a :Key } }",
}


@pytest.mark.parametrize("language", WAITING)
def test_advancing_to_an_instant_ends_it(language: str) -> None:
    """What waits until the instant is over is returned; an event at that instant is late from then on."""
    key = Triple(
        NamedNode("http://ex.org/k"),
        NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type"),
        NamedNode("http://ex.org/Key"),
    )
    plain = "epsparql" if language.startswith("EP") else None  # it is SPARQL as well
    engine = spaseq.Engine(spaseq.compile(WAITING[language], language=plain))
    at = 3_000_000 if language.startswith("SPAseq") else 1_000_000
    assert engine.push(spaseq.Event(stream="http://ex.org/s", time=1_000_000, graph=[key])) == []
    assert engine.advance_to(at - 1) == []
    assert len(engine.advance_to(at)) == 1
    assert engine.push(spaseq.Event(stream="http://ex.org/s", time=at, graph=[key])) == []
    assert engine.metrics.late == 1
