"""Split filters into local and stateful conjuncts.

Law: ``FILTER(a && b)`` keeps a mapping iff both operands are true, whatever errors they raise, so a
filter is the set of its conjuncts. A conjunct that reads only what the event certainly binds (or what
nothing else could bind: no earlier step, no earlier iteration, no partition) is decided by the event
alone and joins the pattern; the others wait (SEMANTICS 1.4, the paper's pushing of stateful predicates,
section 7.2.1).
"""

from __future__ import annotations

from dataclasses import replace

from spaseq.algebra.events import Assignment, Condition, EventQuery, Gpm, StatefulPart
from spaseq.algebra.expressions import Expression, conjuncts, mentions_prev, reads_iterations
from spaseq.algebra.patterns import Filter, Pattern
from spaseq.algebra.rules.over_gpms import map_gpms
from spaseq.algebra.scope import certainly_bound, expression_variables
from spaseq.algebra.visibility import decided_outside


def split_filters(query: EventQuery) -> EventQuery:
    """The query with every filter conjunct in the pattern or among the stateful parts."""
    return map_gpms(
        query, lambda gpm: _split(gpm, decided_outside(query.sequence, query.partition, gpm.name))
    )


def _split(gpm: Gpm, outside: frozenset[str]) -> Gpm:
    assigned = {part.variable.name for part in gpm.stateful if isinstance(part, Assignment)}
    earlier = (outside | assigned) - certainly_bound(gpm.pattern)
    pattern: Pattern = gpm.pattern
    stateful: list[StatefulPart] = list(gpm.stateful)
    for condition in (part for filter_ in gpm.filters for part in conjuncts(filter_)):
        if is_stateful(condition, earlier):
            stateful.append(Condition(condition, mentions_prev(condition), span=condition.span))
        else:
            pattern = Filter(pattern, condition)
    return replace(gpm, pattern=pattern, filters=(), stateful=tuple(stateful))


def is_stateful(expression: Expression, earlier: frozenset[str]) -> bool:
    """True if the expression reads iterations or a variable that an earlier step decides."""
    return reads_iterations(expression) or bool(expression_variables(expression) & earlier)
