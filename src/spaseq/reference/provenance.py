"""Which solution of MATCH a solution of the query comes from, where that is defined (semantics 4.4)."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from spaseq.algebra.expressions import Var
from spaseq.algebra.patterns import (
    EventMatch,
    Extend,
    Filter,
    Join,
    LeftJoin,
    Minus,
    OrderBy,
    Pattern,
    Project,
    Slice,
)
from spaseq.algebra.visibility import every_pattern

ORIGIN: Final = "spaseq_origin_of_this_solution"
"""The variable that carries the number of a solution of MATCH through the query."""


def with_origin(pattern: Pattern) -> Pattern | None:
    """The query with `ORIGIN` in its solutions; None unless it has one MATCH, at its top, and groups nothing."""
    if sum(isinstance(part, EventMatch) for part in every_pattern(pattern)) != 1:
        return None
    match pattern:
        case Slice(inner) | OrderBy(inner):
            found = with_origin(inner)
            return None if found is None else replace(pattern, pattern=found)
        case Project(inner, variables):
            found = with_origin(inner) if isinstance(inner, OrderBy) else inner if _at_top(inner) else None
            return None if found is None else Project(found, (*variables, Var(ORIGIN)))
        case _:
            return pattern if _at_top(pattern) else None


def _at_top(pattern: Pattern) -> bool:
    """True if every solution is joined from one of MATCH."""
    match pattern:
        case EventMatch():
            return True
        case Join(left, right):
            return _at_top(left) or _at_top(right)
        case LeftJoin(left) | Minus(left):
            return _at_top(left)
        case Filter(inner) | Extend(inner):
            return _at_top(inner)
        case _:
            return False
