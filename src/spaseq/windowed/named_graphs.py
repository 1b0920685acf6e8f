"""GRAPH around what no graph has a say in, and GRAPH with a variable, as patterns without them."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from pyoxigraph import NamedNode

from spaseq.algebra.event_patterns import DeclaredEvent, EventPattern, rebuilt
from spaseq.algebra.expressions import Call, Constant, Term, Unary, Var
from spaseq.algebra.patterns import Bgp, EventMatch, Graph, Join, Pattern, Union, Values
from spaseq.algebra.scope import lowered
from spaseq.algebra.visibility import every_pattern
from spaseq.algebra.windows import WindowQuery


def outside_graphs(
    node: Any, graphs: Sequence[str], windows: Container[Term], around: Constant | None = None
) -> Any:
    """A pattern without a MATCH or a WINDOW inside the GRAPH of a background graph: all else in there has its own GRAPH.

    Background graphs are evaluated once, windows and MATCH at every evaluation. ``around`` is the background graph whose GRAPH was
    taken away; it has no windows, so `timestamp` is an error there.
    """
    match node:
        case Graph(Constant(term) as name, inner) if term not in windows and _reads_more(inner, windows):
            return outside_graphs(inner, graphs, windows, name)
        case Graph(Var() as name, inner) if _reads_more(inner, windows):
            return outside_graphs(alternatives(name, inner, graphs), graphs, windows)
        case Graph(_, inner):
            return replace(node, pattern=outside_graphs(inner, graphs, windows))
        case Bgp() if around is not None:
            return Graph(around, node)
        case EventMatch() | Values() | Constant() | Var():
            return node
        case Call("TIMESTAMP") if around is not None:
            return Unary("-", around)
        case tuple():
            return tuple(outside_graphs(part, graphs, windows, around) for part in node)
        case _ if is_dataclass(node) and not isinstance(node, type):
            changed = {
                item.name: outside_graphs(getattr(node, item.name), graphs, windows, around)
                for item in fields(node)
            }
            return replace(node, **changed)
        case _:
            return node


def with_listed_graphs(node: Any, graphs: Sequence[str]) -> Any:
    """A pattern in which every ``GRAPH ?g`` ranges over some graphs, those in EXISTS too."""
    match node:
        case Graph(Var() as name, inner):
            return alternatives(name, with_listed_graphs(inner, graphs), graphs)
        case tuple():
            return tuple(with_listed_graphs(part, graphs) for part in node)
        case Constant() | Var() | Bgp() | Values() | EventMatch():
            return node
        case _ if is_dataclass(node) and not isinstance(node, type):
            changed = {
                item.name: with_listed_graphs(getattr(node, item.name), graphs) for item in fields(node)
            }
            return replace(node, **changed)
        case _:
            return node


def with_listed_events(query: WindowQuery) -> WindowQuery:
    """A query in whose EVENT patterns every ``GRAPH ?g`` ranges over the graphs of FROM NAMED, if there are any.

    What events are matched with is found before any view is made, so this comes first.
    """
    if query.named_graphs is None:
        return query
    return replace(query, pattern=_with_events(query.pattern, query.named_graphs))


def _with_events(node: Any, graphs: Sequence[str]) -> Any:
    match node:
        case EventMatch(events):
            return EventMatch(rebuilt(events, lambda part: _listed(part, graphs)))
        case tuple():
            return tuple(_with_events(part, graphs) for part in node)
        case Constant() | Var() | Bgp() | Values():
            return node
        case _ if is_dataclass(node) and not isinstance(node, type):
            return replace(
                node, **{item.name: _with_events(getattr(node, item.name), graphs) for item in fields(node)}
            )
        case _:
            return node


def _listed(part: EventPattern, graphs: Sequence[str]) -> EventPattern:
    if not isinstance(part, DeclaredEvent):
        return part
    return replace(part, pattern=with_listed_graphs(lowered(part.pattern), graphs))


def _reads_more(pattern: Pattern, windows: Container[Term]) -> bool:
    """Whether a pattern has a MATCH, or reads one of some windows."""
    return any(
        isinstance(part, EventMatch)
        or (isinstance(part, Graph) and isinstance(part.name, Constant) and part.name.term in windows)
        for part in every_pattern(pattern)
    )


def alternatives(name: Var, inner: Pattern, graphs: Sequence[str]) -> Pattern:
    """``GRAPH ?g`` over the graphs that FROM NAMED lists."""
    found: Pattern = Join(Values((name,), ()), inner)
    for number, graph in enumerate(map(NamedNode, graphs)):
        one = Join(Values((name,), ((graph,),)), Graph(Constant(graph), inner))
        found = one if number == 0 else Union(found, one)
    return found
