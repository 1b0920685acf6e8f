"""Facts about the engine that programs push events into."""

from __future__ import annotations

from pyoxigraph import NamedNode, Triple

import spaseq

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
