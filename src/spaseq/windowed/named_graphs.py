"""GRAPH around what no graph has a say in, and GRAPH with a variable, as patterns without them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from pyoxigraph import NamedNode

from spaseq.algebra.expressions import Constant, Var
from spaseq.algebra.patterns import Bgp, EventMatch, Graph, Join, Pattern, Union, Values
from spaseq.columnar.needs import parts


def outside_graphs(node: Any, graphs: Sequence[str], around: Constant | None = None) -> Any:
    """A pattern without a MATCH inside GRAPH or WINDOW, which changes nothing for it: all else in there has its own GRAPH."""
    match node:
        case Graph(Constant() as name, inner) if _has_match(inner):
            return outside_graphs(inner, graphs, name)
        case Graph(Var() as name, inner) if _has_match(inner):
            return outside_graphs(alternatives(name, inner, graphs), graphs)
        case Bgp() if around is not None:
            return Graph(around, node)
        case Graph() | EventMatch() | Values() | Constant() | Var():
            return node
        case tuple():
            return tuple(outside_graphs(part, graphs, around) for part in node)
        case _ if is_dataclass(node) and not isinstance(node, type):
            changed = {
                item.name: outside_graphs(getattr(node, item.name), graphs, around) for item in fields(node)
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


def _has_match(pattern: Pattern) -> bool:
    return any(isinstance(part, EventMatch) for part in parts(pattern))


def alternatives(name: Var, inner: Pattern, graphs: Sequence[str]) -> Pattern:
    """``GRAPH ?g`` over the graphs that FROM NAMED lists."""
    found: Pattern = Join(Values((name,), ()), inner)
    for number, graph in enumerate(map(NamedNode, graphs)):
        one = Join(Values((name,), ((graph,),)), Graph(Constant(graph), inner))
        found = one if number == 0 else Union(found, one)
    return found
