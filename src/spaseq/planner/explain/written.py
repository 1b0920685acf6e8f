"""Patterns for readers: aggregates and keys stand where the query has them, without the variables that lowering made for them."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import Any, Final, get_args

from spaseq.algebra.expressions import Aggregate, Exists, Expression, Var, rebuild
from spaseq.algebra.format import format_pattern
from spaseq.algebra.patterns import Extend, Filter, Group, OrderBy, Pattern, Project

_KEYS: Final = re.compile(r" AS \?__key_\d+(?=\))| \?__key_\d+\b")
"""The names of keys without one, where SPARQL asks for a name."""

_PATTERNS: Final = get_args(Pattern)


def as_written(pattern: Pattern) -> str:
    """A pattern as text, as close to the query's as the algebra is."""
    shown, _ = _spelled(pattern)
    text = _KEYS.sub("", format_pattern(shown))
    return text.replace("SELECT (true AS ?__group) WHERE", "SELECT * WHERE").replace(
        "SELECT WHERE", "SELECT * WHERE"
    )


Names = dict[Var, Expression]


def _spelled(pattern: Pattern) -> tuple[Pattern, Names]:
    """A pattern whose expressions have aggregates again, and what stands for the variables of those in its rows."""
    match pattern:
        case Group(inner, keys, aggregates):
            names: Names = {variable: item for variable, item in aggregates if variable.hidden}
            names |= {variable: key for variable, key in keys if variable.hidden}
            kept = tuple((variable, item) for variable, item in aggregates if not variable.hidden)
            return Group(_spelled(inner)[0], keys, kept), names
        case Extend(inner, variable, expression):
            below, names = _spelled(inner)
            return Extend(below, variable, _put(expression, names)), names
        case Filter(inner, condition):
            below, names = _spelled(inner)
            return Filter(below, _put(condition, names)), names
        case OrderBy(inner, order):
            below, names = _spelled(inner)
            put = tuple(replace(key, expression=_put(key.expression, names)) for key in order)
            return OrderBy(below, put), names
        case Project(inner, variables):
            return Project(_spelled(inner)[0], variables), {}
        case _:
            return _inside(pattern), {}


def _put(expression: Expression, names: Names) -> Expression:
    if isinstance(expression, Var):
        return names.get(expression, expression)
    return (
        expression
        if isinstance(expression, (Aggregate, Exists))
        else rebuild(expression, lambda part: _put(part, names))
    )


def _inside(node: Any) -> Any:
    """The same for the patterns inside another one."""
    inner = {
        item.name: _spelled(each)[0]
        for item in fields(node)
        if isinstance(each := getattr(node, item.name), _PATTERNS)
    }
    return replace(node, **inner)
