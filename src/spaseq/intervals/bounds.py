"""What an expression says of the interval of its solution."""

from __future__ import annotations

from typing import Final

from pyoxigraph import Literal

from spaseq.algebra.expressions import (
    Arithmetic,
    Call,
    Compare,
    Constant,
    Expression,
    Var,
    conjuncts,
    rebuild,
    walk,
)
from spaseq.algebra.intervals import GET_DURATION, GET_END_TIME, GET_START_TIME
from spaseq.algebra.patterns import (
    Distinct,
    Extend,
    Filter,
    IntervalJoin,
    Minus,
    OrderBy,
    Pattern,
    Project,
    Relation,
    Slice,
)
from spaseq.intervals.timed_expressions import DURATION, END, START
from spaseq.model.values import Kind, literal_value
from spaseq.temporal.instants import XSD

_DURATIONS: Final = (XSD + "duration", XSD + "dayTimeDuration")
_ENDS: Final = {GET_START_TIME, GET_END_TIME}
_FUNCTIONS: Final = {GET_DURATION: DURATION, GET_START_TIME: START, GET_END_TIME: END}


def over_columns(expression: Expression) -> Expression:
    """The functions of time as columns."""
    if isinstance(expression, Call) and expression.name in _FUNCTIONS:
        return Var(_FUNCTIONS[expression.name])
    return rebuild(expression, over_columns)


def reads_time(expression: Expression) -> bool:
    """True if an expression reads the interval of its solution."""
    return any(isinstance(node, Call) and node.name in _FUNCTIONS for node in walk(expression))


def longest_of(condition: Expression) -> int | None:
    """The longest duration that a condition allows, as does ``getDURATION() < "PT1H"^^xsd:duration``; None if there is none."""
    if not isinstance(condition, Compare):
        return None
    op, left, right = condition.op, condition.left, condition.right
    if op in (">", ">=") or (op == "=" and isinstance(left, Constant)):
        op, left, right = {">": "<", ">=": "<=", "=": "="}[op], right, left
    if op == "=" and {each.name for each in (left, right) if isinstance(each, Call)} == _ENDS:
        return 0
    if op not in ("<", "<=", "=") or not _is_duration(left) or not isinstance(right, Constant):
        return None
    if not isinstance(right.term, Literal) or right.term.datatype.value not in _DURATIONS:
        return None
    value = literal_value(right.term.value, XSD + "dayTimeDuration")
    if value.kind is not Kind.DAY_TIME_DURATION or not value.exact:
        return None
    return value.instant - (op == "<")


def is_bound(condition: Expression) -> bool:
    """True if a condition says no more than how long a solution lasts at most."""
    return isinstance(condition, Compare) and condition.op != "=" and longest_of(condition) is not None


def longest_in(pattern: Pattern) -> int | None:
    """How long the solutions of a pattern last at most, by its own filters; None if they do not say."""
    match pattern:
        case Filter(inner, condition):
            found = [longest_in(inner), *map(longest_of, conjuncts(condition))]
        case IntervalJoin(left, right, Relation.EQUALS):
            found = [longest_in(left), longest_in(right)]
        case Extend(inner) | Project(inner) | Distinct(inner) | OrderBy(inner) | Slice(inner):
            found = [longest_in(inner)]
        case Minus(inner) | IntervalJoin(inner, _, Relation.EQUALSOPTIONAL):
            found = [longest_in(inner)]
        case _:
            return None
    return min((each for each in found if each is not None), default=None)


def _is_duration(expression: Expression) -> bool:
    match expression:
        case Call(name) if name == GET_DURATION:
            return True
        case Arithmetic("-", Call(first), Call(second)):
            return (first, second) == (GET_END_TIME, GET_START_TIME)
        case _:
            return False
