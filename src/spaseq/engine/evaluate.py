"""`spaseq.evaluate`: a plain SPARQL query over one graph, through the engine's own evaluator."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from pyoxigraph import Triple

from spaseq.engine.session import wall_clock
from spaseq.model.events import GraphLike
from spaseq.operators.one_graph import Solution
from spaseq.operators.one_graph import evaluate as evaluate_at


def evaluate(
    text: str,
    graph: GraphLike,
    format: str | None = None,  # noqa: A002 - the public name
    *,
    named: Mapping[str, GraphLike] | None = None,
    now: datetime | None = None,
    base: str | None = None,
) -> list[Solution] | bool | list[Triple]:
    """The answer of a SPARQL query: solutions for SELECT, a truth value for ASK, triples for CONSTRUCT.

    ``graph`` is an rdflib Graph, an iterable of triples, or text in the syntax ``format``; ``named`` are the
    graphs that GRAPH reads. ``now`` is what NOW() says, by default the present.

    >>> evaluate("SELECT ?o { ?s ?p ?o }", "<http://s> <http://p> 05 .", "turtle")[0]["o"].value
    '05'
    """
    return evaluate_at(text, graph, format, named=named, now=wall_clock(now), base=base)
