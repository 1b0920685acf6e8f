"""Split filters into local and stateful conjuncts.

Law: ``FILTER(a && b)`` keeps a mapping iff both operands are true, whatever errors they raise, so a
filter is the set of its conjuncts. A conjunct that reads only what the event certainly binds (or what
nothing else could bind: no earlier step, no earlier iteration, no partition) is decided by the event
alone and joins the pattern; the others wait (semantics 1.4, the paper's pushing of stateful predicates,
section 7.2.1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from spaseq.algebra.events import Assignment, Condition, EventQuery, Gpm, StatefulPart
from spaseq.algebra.expressions import Expression, conjuncts, mentions_prev, reads_iterations
from spaseq.algebra.patterns import Filter, Pattern
from spaseq.algebra.rules.over_gpms import map_gpms
from spaseq.algebra.scope import certainly_bound, expression_variables
from spaseq.algebra.visibility import Visibility


def split_filters(query: EventQuery) -> EventQuery:
    """The query with every filter conjunct in the pattern or among the stateful parts."""
    visibility = Visibility(query.sequence, query.partition)
    return map_gpms(query, lambda gpm: _split(gpm, visibility))


def _split(gpm: Gpm, visibility: Visibility) -> Gpm:
    assigned = {part.variable.name for part in gpm.stateful if isinstance(part, Assignment)}
    certain = certainly_bound(gpm.pattern)

    def earlier(name: str) -> bool:
        return name not in certain and (name in assigned or visibility.decided_outside(gpm.name, name))

    pattern: Pattern = gpm.pattern
    stateful: list[StatefulPart] = list(gpm.stateful)
    for condition in (part for filter_ in gpm.filters for part in conjuncts(filter_)):
        if is_stateful(condition, earlier):
            stateful.append(Condition(condition, mentions_prev(condition), span=condition.span))
        else:
            pattern = Filter(pattern, condition)
    return replace(gpm, pattern=pattern, filters=(), stateful=tuple(stateful))


def is_stateful(expression: Expression, earlier: Callable[[str], bool]) -> bool:
    """True if the expression reads iterations or a variable that an earlier step decides."""
    return reads_iterations(expression) or any(map(earlier, expression_variables(expression)))
