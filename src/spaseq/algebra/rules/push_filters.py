"""Push filters down to the smallest pattern that decides them.

Laws (SPARQL algebra, over mappings with unbound variables): a filter whose variables are certainly
bound by one side of a join moves into that side; it moves below OPTIONAL, MINUS and BIND on the left,
and into both branches of UNION always. EXISTS reads the whole solution and stays.
"""

from __future__ import annotations

from dataclasses import replace

from spaseq.algebra.events import EventQuery, Gpm
from spaseq.algebra.expressions import Exists, Expression, walk
from spaseq.algebra.patterns import Extend, Filter, Join, LeftJoin, Minus, Pattern, Union
from spaseq.algebra.rules.over_gpms import map_gpms
from spaseq.algebra.scope import certainly_bound, expression_variables


def push_filters(query: EventQuery) -> EventQuery:
    """The query with the filters of every GPM as deep as they go."""
    return map_gpms(query, _pushed_gpm)


def _pushed_gpm(gpm: Gpm) -> Gpm:
    return replace(gpm, pattern=pushed(gpm.pattern))


def pushed(pattern: Pattern) -> Pattern:
    """The pattern with every filter at its root moved as deep as the laws allow."""
    if isinstance(pattern, Filter):
        return _push(pushed(pattern.pattern), pattern.condition)
    return pattern


def _push(pattern: Pattern, condition: Expression) -> Pattern:
    needed = expression_variables(condition)
    if any(isinstance(node, Exists) for node in walk(condition)):
        return Filter(pattern, condition)
    match pattern:
        case Filter(inner, other):
            return Filter(_push(inner, condition), other) if _moves(inner) else Filter(pattern, condition)
        case Join(left, right):
            if needed <= certainly_bound(left):
                return Join(_push(left, condition), right)
            if needed <= certainly_bound(right):
                return Join(left, _push(right, condition))
        case LeftJoin(left, right, on) if needed <= certainly_bound(left):
            return LeftJoin(_push(left, condition), right, on)
        case Minus(left, right):
            return Minus(_push(left, condition), right)
        case Union(left, right):
            return Union(_push(left, condition), _push(right, condition))
        case Extend(inner, variable, expression) if variable.name not in needed:
            return Extend(_push(inner, condition), variable, expression)
        case _:
            pass
    return Filter(pattern, condition)


def _moves(pattern: Pattern) -> bool:
    """True if a filter may find a deeper place below; otherwise filters keep the order written."""
    return isinstance(pattern, (Join, LeftJoin, Minus, Union, Extend, Filter))
