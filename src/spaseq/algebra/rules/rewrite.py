"""All rules in their order, and the rewriting of a query by them.

The order is part of the design and visible here. Any rule can be left out: the answers stay the same,
the automaton only has more to do. Two are needed for the automaton to be built at all, because it has
no other place for what they decide: `split_filters` and `classify_variables`.
"""

from __future__ import annotations

from collections.abc import Callable

from spaseq.algebra.events import EventQuery
from spaseq.algebra.rules.classify_variables import classify_variables
from spaseq.algebra.rules.order_edges import order_edges
from spaseq.algebra.rules.push_filters import push_filters
from spaseq.algebra.rules.push_window import push_window
from spaseq.algebra.rules.split_filters import split_filters

Rule = Callable[[EventQuery], EventQuery]

RULES: tuple[Rule, ...] = (
    split_filters,
    push_filters,
    classify_variables,
    order_edges,
    push_window,
)


def rewrite(query: EventQuery, rules: tuple[Rule, ...] = RULES) -> EventQuery:
    """The query after all rules, in order."""
    for rule in rules:
        query = rule(query)
    return query
