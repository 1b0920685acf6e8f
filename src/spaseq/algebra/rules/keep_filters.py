"""Keep filters whole: every top-level FILTER becomes a condition on ``μ₁ ∪ μ₂`` (semantics 1.4).

Law: a filter that reads the event alone is true of ``μ₁ ∪ μ₂`` exactly if it is true of ``μ₂``, so deciding
it late changes nothing. The reference implementation works this way, so that it can be used to test the splitting; it is
also what the engine does with stateful pushing switched off. EXISTS needs the event's graph and stays in
the pattern.
"""

from __future__ import annotations

from dataclasses import replace

from spaseq.algebra.events import Condition, EventQuery, Gpm
from spaseq.algebra.expressions import Exists, Expression, conjuncts, mentions_prev, walk
from spaseq.algebra.patterns import Filter
from spaseq.algebra.rules.over_gpms import map_gpms


def keep_filters(query: EventQuery) -> EventQuery:
    """The query with every top-level FILTER as a condition of its step."""
    return map_gpms(query, _conditioned)


def _conditioned(gpm: Gpm) -> Gpm:
    parts = [part for condition in gpm.filters for part in conjuncts(condition)]
    pattern = gpm.pattern
    for part in parts:
        if _needs_graph(part):
            pattern = Filter(pattern, part)
    conditions = tuple(Condition(part, mentions_prev(part)) for part in parts if not _needs_graph(part))
    return replace(gpm, pattern=pattern, filters=(), stateful=gpm.stateful + conditions)


def _needs_graph(expression: Expression) -> bool:
    return any(isinstance(node, Exists) for node in walk(expression))
