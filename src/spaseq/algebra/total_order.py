"""An order on all solutions for LIMIT, OFFSET and GROUP_CONCAT, so that what they give depends on the solutions alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache

from spaseq.algebra.expressions import Var
from spaseq.algebra.patterns import Distinct, Extend, OrderBy, OrderKey, Pattern, Project, Slice
from spaseq.algebra.scope import visible


@lru_cache
def settled(pattern: Pattern) -> Pattern:
    """The pattern with an order in every LIMIT and OFFSET at its top: that of ORDER BY, then that of the terms, in the order of variables.

    SPARQL leaves the choice among solutions that ORDER BY does not tell apart open (section 15.4).
    """
    match pattern:
        case Slice(inner, offset, limit):
            return Slice(_in_order(settled(inner), visible(inner)), offset, limit)
        case Distinct() | Project() | OrderBy():
            return replace(pattern, pattern=settled(pattern.pattern))
        case _:
            return pattern


def ordered(pattern: Pattern) -> Pattern | None:
    """The pattern with an order of all its solutions that begins with that of its ORDER BY; None if it has none at its top.

    GROUP_CONCAT around it follows that order, as in other engines.
    """
    if _has_order(pattern):
        return _in_order(settled(pattern), visible(pattern))
    match pattern:
        case Slice(inner) if _has_order(inner):
            return settled(pattern)
        case Distinct(inner) | Project(inner):
            found = ordered(inner)
            return None if found is None else replace(pattern, pattern=found)
        case _:
            return None


def _in_order(pattern: Pattern, variables: tuple[Var, ...]) -> Pattern:
    keys = tuple(OrderKey(variable, exact=True) for variable in variables)
    if not _has_order(pattern):
        return OrderBy(pattern, keys)
    if isinstance(pattern, OrderBy):
        return OrderBy(pattern.pattern, pattern.keys + keys)
    assert isinstance(pattern, (Distinct, Project))
    return replace(pattern, pattern=_in_order(pattern.pattern, variables))


def _has_order(pattern: Pattern) -> bool:
    """True if an ORDER BY decides the order of the solutions."""
    return isinstance(pattern, OrderBy) or (
        isinstance(pattern, (Distinct, Project)) and _has_order(pattern.pattern)
    )


def with_bound_keys(
    pattern: Pattern, keys: Sequence[OrderKey], wanted: Callable[[OrderKey], bool]
) -> tuple[Pattern, tuple[OrderKey, ...]]:
    """A pattern and the keys of ORDER BY over it: those that are wanted become variables, which the pattern binds.

    For keys that are no functions of a row alone, so that they have their values where solutions arise.
    """
    found = []
    for number, key in enumerate(keys, start=1):
        if wanted(key):
            variable = Var(f"_:order#{number}")
            pattern = Extend(pattern, variable, key.expression)
            key = replace(key, expression=variable)
        found.append(key)
    return pattern, tuple(found)
