"""Sort the edges of conjunctions and disjunctions by estimated cost (the paper's section 7.3).

Law: ``&`` and ``|`` are commutative; a match lists its events in the order SEQ was written, whatever
order they are looked for in. The cheapest pattern, the one most likely to fail or to be decided early,
goes first.
"""

from __future__ import annotations

from dataclasses import replace

from spaseq.algebra.events import Both, Either, Element, EventQuery, Gpm
from spaseq.algebra.expressions import Constant
from spaseq.algebra.patterns import Bgp, Filter, Graph, Pattern, TriplePattern
from spaseq.algebra.rules.over_gpms import map_steps
from spaseq.algebra.scope import sub_patterns


def order_edges(query: EventQuery) -> EventQuery:
    """The query with the parts of every conjunction and disjunction by cost."""
    return map_steps(
        query, lambda step: step if step.is_group else replace(step, body=_ordered(step.element))
    )


def _ordered(element: Element) -> Element:
    match element:
        case Gpm():
            return element
        case Both(parts):
            return Both(tuple(sorted((_ordered(part) for part in parts), key=cost)))
        case Either(parts):
            return Either(tuple(sorted((_ordered(part) for part in parts), key=cost)))


def cost(element: Element) -> int:
    """The estimated cost of matching an element: its triple patterns, cheaper the more constants they have."""
    match element:
        case Gpm(pattern=pattern):
            return max(pattern_cost(pattern), 0)
        case Both(parts):
            return min(cost(part) for part in parts)
        case Either(parts):
            return sum(cost(part) for part in parts)


def pattern_cost(pattern: Pattern) -> int:
    """One join per triple pattern; filters let the graph summary prune; a property path is a search."""
    match pattern:
        case Bgp(triples):
            return sum(_triple_cost(triple) for triple in triples)
        case Filter(inner):
            return pattern_cost(inner) - 1
        case Graph():
            return 5
        case _:
            return sum(pattern_cost(part) for part in sub_patterns(pattern))


def _triple_cost(triple: TriplePattern) -> int:
    if triple.is_path:
        return 30
    nodes = (triple.subject, triple.predicate, triple.object)
    return 10 - 3 * sum(isinstance(node, Constant) for node in nodes)
