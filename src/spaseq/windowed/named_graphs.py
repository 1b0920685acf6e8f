"""GRAPH around what no graph has a say in, and GRAPH with a variable, as patterns without them."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from pyoxigraph import NamedNode

from spaseq.algebra.expressions import Constant, Term, Var
from spaseq.algebra.patterns import Bgp, EventMatch, Graph, Join, Pattern, Union, Values
from spaseq.columnar.needs import parts


def outside_graphs(
    node: Any, graphs: Sequence[str], windows: Container[Term], around: Constant | None = None
) -> Any:
    """A pattern without a MATCH inside GRAPH or WINDOW, which changes nothing for it: all else in there has its own GRAPH.

    Nor with a WINDOW inside GRAPH: background graphs are evaluated once, windows at every evaluation.
    """
    match node:
        case Graph(Constant(term) as name, inner) if _reads_more(inner, () if term in windows else windows):
            return outside_graphs(inner, graphs, windows, name)
        case Graph(Var() as name, inner) if _reads_more(inner, windows):
            return outside_graphs(alternatives(name, inner, graphs), graphs, windows)
        case Graph(_, inner):
            return replace(node, pattern=outside_graphs(inner, graphs, windows))
        case Bgp() if around is not None:
            return Graph(around, node)
        case EventMatch() | Values() | Constant() | Var():
            return node
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


def _reads_more(pattern: Pattern, windows: Container[Term]) -> bool:
    """Whether a pattern has a MATCH, or reads one of some windows."""
    return any(
        isinstance(part, EventMatch)
        or (isinstance(part, Graph) and isinstance(part.name, Constant) and part.name.term in windows)
        for part in parts(pattern)
    )


def alternatives(name: Var, inner: Pattern, graphs: Sequence[str]) -> Pattern:
    """``GRAPH ?g`` over the graphs that FROM NAMED lists."""
    found: Pattern = Join(Values((name,), ()), inner)
    for number, graph in enumerate(map(NamedNode, graphs)):
        one = Join(Values((name,), ((graph,),)), Graph(Constant(graph), inner))
        found = one if number == 0 else Union(found, one)
    return found
