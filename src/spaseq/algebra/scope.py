"""Variables of patterns and expressions (SPARQL 1.1, section 18.2.1).

A variable is *in scope* in a pattern if some solution may bind it, and *certainly bound* if every
solution does. Joins, stateful parts (semantics 1.4) and distribution (semantics 1.9) rest on the two.
Names are without ``?``; the blank nodes of a pattern count as the variables they are, ``_:label``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import assert_never

from spaseq.algebra.event_patterns import declared_events
from spaseq.algebra.expressions import (
    Aggregate,
    Constant,
    Exists,
    Expression,
    Iterated,
    PatternNode,
    Var,
    walk,
)
from spaseq.algebra.patterns import (
    Bgp,
    Distinct,
    EventMatch,
    Extend,
    Filter,
    Graph,
    Group,
    IntervalJoin,
    Join,
    LeftJoin,
    Minus,
    OrderBy,
    Pattern,
    Project,
    Relation,
    Slice,
    TriplePattern,
    Union,
    Values,
)


def ordered(names: Iterable[str]) -> tuple[str, ...]:
    """The names without repetitions, in order of first occurrence."""
    return tuple(dict.fromkeys(names))


def triple_variables(triple: TriplePattern) -> Iterator[str]:
    """The variables of one triple pattern, subject first."""
    for node in (triple.subject, triple.predicate, triple.object):
        if isinstance(node, Var):
            yield node.name


def in_scope(pattern: Pattern) -> tuple[str, ...]:
    """The variables a solution of the pattern may bind, in order of first occurrence."""
    return ordered(_in_scope(pattern))


def visible(pattern: Pattern) -> tuple[Var, ...]:
    """What ``SELECT *`` selects: the variables in scope that are not blank nodes."""
    return tuple(Var(name) for name in in_scope(pattern) if not name.startswith("_:"))


def _in_scope(pattern: Pattern) -> Iterator[str]:
    match pattern:
        case Bgp(triples):
            for triple in triples:
                yield from triple_variables(triple)
        case Join(left, right) | LeftJoin(left, right) | Union(left, right) | IntervalJoin(left, right):
            yield from _in_scope(left)
            yield from _in_scope(right)
        case Minus(left, _):
            yield from _in_scope(left)
        case Filter(inner) | OrderBy(inner) | Distinct(inner) | Slice(inner):
            yield from _in_scope(inner)
        case Extend(inner, variable):
            yield from _in_scope(inner)
            yield variable.name
        case Values(variables):
            yield from (variable.name for variable in variables)
        case Graph(name, inner):
            if isinstance(name, Var):
                yield name.name
            yield from _in_scope(inner)
        case Group(_, keys, aggregates):
            yield from (variable.name for variable, _ in keys + aggregates)
        case Project(_, variables):
            yield from (variable.name for variable in variables)
        case EventMatch():
            yield from (name for inner in matched_patterns(pattern) for name in _in_scope(inner))
        case _:
            assert_never(pattern)


def matched_patterns(pattern: EventMatch) -> tuple[Pattern, ...]:
    """The patterns of the events that make a solution of MATCH; those under NOT bind nothing."""
    return tuple(lowered(each.pattern) for each in declared_events(pattern.events, absent=False))


def certainly_bound(pattern: Pattern) -> frozenset[str]:
    """The variables that every solution of the pattern binds."""
    match pattern:
        case Bgp(triples):
            return frozenset(name for triple in triples for name in triple_variables(triple))
        case Join(left, right):
            return certainly_bound(left) | certainly_bound(right)
        case LeftJoin(left, _) | Minus(left, _):
            return certainly_bound(left)
        case IntervalJoin(left, right, relation):
            first = frozenset[str]() if relation is Relation.OPTIONALSEQ else certainly_bound(left)
            return first if relation is Relation.EQUALSOPTIONAL else first | certainly_bound(right)
        case Union(left, right):
            return certainly_bound(left) & certainly_bound(right)
        case Filter(inner) | OrderBy(inner) | Distinct(inner) | Slice(inner):
            return certainly_bound(inner)
        case Extend(inner, variable, expression):
            bound = certainly_bound(inner)
            return bound | {variable.name} if _cannot_fail(expression, bound) else bound
        case Values(variables, rows):
            return frozenset(
                variable.name
                for index, variable in enumerate(variables)
                if all(row[index] is not None for row in rows)
            )
        case Graph(name, inner):
            named = frozenset({name.name}) if isinstance(name, Var) else frozenset[str]()
            return named | certainly_bound(inner)
        case Group(inner, keys, aggregates):
            bound = certainly_bound(inner)
            sure = {variable.name for variable, key in keys if _cannot_fail(key, bound)}
            counts = {
                variable.name
                for variable, aggregate in aggregates
                if isinstance(aggregate, Aggregate) and aggregate.name == "COUNT"
            }  # all other aggregates may fail
            return frozenset(sure | counts)
        case Project(inner, variables):
            return certainly_bound(inner) & {variable.name for variable in variables}
        case EventMatch():
            return frozenset[str]().union(*map(certainly_bound, matched_patterns(pattern)))
        case _:
            assert_never(pattern)


def _cannot_fail(expression: Expression, bound: frozenset[str]) -> bool:
    """True if the expression has a value for every solution; errors leave a variable unbound."""
    return isinstance(expression, Constant) or (isinstance(expression, Var) and expression.name in bound)


@lru_cache(maxsize=4096)
def expression_variables(expression: Expression) -> frozenset[str]:
    """Every variable an expression mentions, those inside EXISTS patterns included."""
    names: set[str] = set()
    for node in walk(expression):
        match node:
            case Var(name):
                names.add(name)
            case Iterated(_, variable):
                names.add(variable.name)
            case Exists(inner):
                names |= mentioned(lowered(inner))
            case _:
                pass
    return frozenset(names)


def lowered(node: PatternNode) -> Pattern:
    """The algebra pattern inside a lowered EXISTS; a group as written has no place here."""
    assert isinstance(
        node,
        (
            Bgp, Join, LeftJoin, Union, Minus, Filter, Extend, Values,
            Graph, Group, OrderBy, Project, Distinct, Slice, IntervalJoin, EventMatch,
        ),
    ), f"not lowered: {node!r}"  # fmt: skip
    return node


def pattern_expressions(pattern: Pattern) -> Iterator[Expression]:
    """The expressions that stand directly at a pattern's root."""
    match pattern:
        case Filter(_, condition):
            yield condition
        case LeftJoin(_, _, condition) | IntervalJoin(_, _, _, condition):
            if condition is not None:
                yield condition
        case Extend(_, _, expression):
            yield expression
        case Group(_, keys, aggregates):
            yield from (expression for _, expression in keys + aggregates)
        case OrderBy(_, order):
            yield from (key.expression for key in order)
        case Bgp() | Join() | Union() | Minus() | Values() | Graph() | Project() | Distinct() | Slice():
            pass
        case EventMatch():
            pass
        case _:
            assert_never(pattern)


def sub_patterns(pattern: Pattern) -> tuple[Pattern, ...]:
    """The direct operands of a pattern; patterns inside EXISTS are not among them."""
    match pattern:
        case Bgp() | Values() | EventMatch():  # the patterns of events are over graphs of their own
            return ()
        case (
            Join(left, right)
            | LeftJoin(left, right)
            | Union(left, right)
            | Minus(left, right)
            | IntervalJoin(left, right)
        ):
            return (left, right)
        case Graph(_, inner):
            return (inner,)
        case (
            Filter(inner)
            | Extend(inner)
            | Group(inner)
            | OrderBy(inner)
            | Project(inner)
            | Distinct(inner)
            | Slice(inner)
        ):
            return (inner,)
        case _:
            assert_never(pattern)


@lru_cache(maxsize=4096)
def mentioned(pattern: Pattern) -> frozenset[str]:
    """Every variable the pattern mentions anywhere: in scope or not, filters and EXISTS included."""
    names = set(in_scope(pattern))
    for expression in pattern_expressions(pattern):
        names |= expression_variables(expression)
    for part in sub_patterns(pattern):
        names |= mentioned(part)
    return frozenset(names)
