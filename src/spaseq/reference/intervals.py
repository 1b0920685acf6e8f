"""Patterns of EP-SPARQL over a finite set of occurrences, clause by clause (semantics 2.3 to 2.5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import assert_never

from pyoxigraph import Literal, NamedNode

from spaseq.algebra.expressions import Aggregate, Call, Constant, Exists, Expression, Term, Var, rebuild
from spaseq.algebra.intervals import GET_DURATION, GET_END_TIME, GET_START_TIME, TIME_FUNCTIONS, Policy
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
    OrderKey,
    Pattern,
    Project,
    Relation,
    Slice,
    Union,
    Values,
)
from spaseq.algebra.scope import expression_variables, lowered
from spaseq.reference.sparql import bag, holds, solutions, stored, value_of
from spaseq.reference.timed_solutions import (
    Found,
    Interval,
    Occurrence,
    Timed,
    TimedData,
    combined,
    ends_of,
    joined,
    merged,
)
from spaseq.reference.walks import basic
from spaseq.temporal.instants import XSD, format_instant

_NO_TIME = Var("spaseq_no_time")
"""A variable that no query has, so that it has no value."""


def evaluate(pattern: Pattern, scene: TimedData) -> Found:
    """The set of solutions of a pattern."""
    match pattern:
        case Bgp(triples):
            return basic(triples, scene)
        case Join(left, right):
            return joined(evaluate(left, scene), evaluate(right, scene))
        case Union(left, right):
            return merged((*evaluate(left, scene).items(), *evaluate(right, scene).items()))
        case Filter(inner, condition):
            return {s: used for s, used in evaluate(inner, scene).items() if passes(condition, s, scene)}
        case Extend(inner, variable, expression):
            return merged(_extended(evaluate(inner, scene), variable, expression, scene))
        case Values(variables, rows):
            return {row: frozenset() for row in _rows(variables, rows) if _fits(row, scene)}
        case Graph(name, inner):
            return merged(_graph(name, inner, scene))
        case LeftJoin(left, right, condition):
            return merged(_left_join(evaluate(left, scene), evaluate(right, scene), condition, scene))
        case IntervalJoin():
            return merged(_interval_join(pattern, scene))
        case Minus(left, right):
            removed = evaluate(right, scene)
            return {s: used for s, used in evaluate(left, scene).items() if not _removed(s, removed)}
        case Group():
            return merged(_grouped(pattern, scene))
        case Project(inner, variables):
            names = {variable.name for variable in variables}
            seen = {name: term for name, term in scene.seed.items() if name in names}
            found = evaluate(inner, replace(scene, seed=seen))
            return merged((projected(solution, names), used) for solution, used in found.items())
        case OrderBy(inner) | Distinct(inner):
            return evaluate(inner, scene)
        case Slice(inner, offset, limit):
            counted = _counted(inner, scene)
            return dict(counted[offset:] if limit is None else counted[offset : offset + limit])
        case EventMatch():
            raise AssertionError("MATCH is over windows")
        case _:
            assert_never(pattern)


def projected(solution: Timed, names: Iterable[str]) -> Timed:
    """``(μ projected, I)``."""
    kept = set(names)
    return Timed(
        frozenset((name, term) for name, term in solution.mapping if name in kept), solution.interval
    )


# --- VALUES, GRAPH, BIND ------------------------------------------------------------------------


def _rows(variables: tuple[Var, ...], rows: tuple[tuple[Term | None, ...], ...]) -> Iterator[Timed]:
    for row in rows:
        bound = {(v.name, term) for v, term in zip(variables, row, strict=True) if term is not None}
        yield Timed(frozenset(bound), None)


def _fits(solution: Timed, scene: TimedData) -> bool:
    """Whether a solution agrees with the one that an EXISTS is tested for."""
    return all(scene.seed.get(name, term) == term for name, term in solution.mapping)


def _graph(
    name: Var | Constant, inner: Pattern, scene: TimedData
) -> Iterator[tuple[Timed, frozenset[Occurrence]]]:
    """Registered graphs only, each on its own, without time."""
    for iri, triples in scene.graphs.items():
        own = Timed(frozenset([(name.name, NamedNode(iri))] if isinstance(name, Var) else []), None)
        if (isinstance(name, Constant) and name.term != NamedNode(iri)) or not _fits(own, scene):
            continue
        inside = replace(scene, occurrences=frozenset(), background=triples, terms=ends_of(triples))
        for solution in evaluate(inner, inside):
            if (both := combined(own, solution)) is not None:
                yield both, frozenset()


def _extended(
    found: Found, variable: Var, expression: Expression, scene: TimedData
) -> Iterator[tuple[Timed, frozenset[Occurrence]]]:
    for solution, used in found.items():
        term = value(expression, solution, scene)
        more = [] if term is None else [(variable.name, term)]
        extended = Timed(solution.mapping.union(more), solution.interval)
        if _fits(extended, scene):
            yield extended, used


# --- joins over time ----------------------------------------------------------------------------


def _left_join(
    left: Found, right: Found, condition: Expression | None, scene: TimedData
) -> Iterator[tuple[Timed, frozenset[Occurrence]]]:
    """A partner of ``(μ, I)`` ends when it ends or before."""
    for solution, used in left.items():
        earlier = {other: more for other, more in right.items() if other.end <= solution.end}
        partners = list(_partners(solution, earlier, condition, scene))
        yield from ((both, used | more) for _, both, more in partners)
        if not partners:
            yield solution, used


def _interval_join(pattern: IntervalJoin, scene: TimedData) -> Iterator[tuple[Timed, frozenset[Occurrence]]]:
    left, right = evaluate(pattern.left, scene), evaluate(pattern.right, scene)
    match pattern.relation:
        case Relation.SEQ | Relation.OPTIONALSEQ:
            for solution, used in right.items():
                before = {other: more for other, more in left.items() if _before(other, solution)}
                partners = list(_partners(solution, before, pattern.condition, scene))
                yield from ((both, used | more) for _, both, more in _chosen(partners, scene.policy))
                if not partners and pattern.relation is Relation.OPTIONALSEQ:
                    yield solution, used
        case Relation.EQUALS | Relation.EQUALSOPTIONAL:
            for solution, used in left.items():
                same = {other: more for other, more in right.items() if _equal(other, solution)}
                partners = list(_partners(solution, same, pattern.condition, scene))
                yield from ((both, used | more) for _, both, more in partners)
                if not partners and pattern.relation is Relation.EQUALSOPTIONAL:
                    yield solution, used
        case _:
            assert_never(pattern.relation)


def _before(left: Timed, right: Timed) -> bool:
    """The left one ends strictly before the right one starts."""
    return left.interval is not None and right.interval is not None and left.interval[1] < right.interval[0]


def _equal(left: Timed, right: Timed) -> bool:
    return left.interval is not None and left.interval == right.interval


def _partners(
    solution: Timed, others: Found, condition: Expression | None, scene: TimedData
) -> Iterator[tuple[Timed, Timed, frozenset[Occurrence]]]:
    """The compatible ones, with the combination, whose interval the condition reads."""
    for other, more in others.items():
        both = combined(solution, other)
        if both is not None and (condition is None or passes(condition, both, scene)):
            yield other, both, more


def _chosen(
    partners: list[tuple[Timed, Timed, frozenset[Occurrence]]], policy: Policy
) -> list[tuple[Timed, Timed, frozenset[Occurrence]]]:
    """What a policy leaves: the left partners with the least or greatest end, then start (semantics 2.9)."""
    if policy is Policy.UNRESTRICTED or not partners:
        return partners
    choose = min if policy is Policy.CHRONOLOGICAL else max
    best = choose(_latest_first(other) for other, _, _ in partners)
    return [each for each in partners if _latest_first(each[0]) == best]


def _latest_first(solution: Timed) -> tuple[int, int]:
    assert solution.interval is not None
    return solution.interval[1], solution.interval[0]


def _removed(solution: Timed, others: Found) -> bool:
    """MINUS: something compatible that shares a variable and ends when the solution ends or before."""
    names = {name for name, _ in solution.mapping}
    return any(
        other.end <= solution.end
        and any(name in names for name, _ in other.mapping)
        and combined(solution, other) is not None
        for other in others
    )


# --- groups (2.5) and LIMIT (2.6) ---------------------------------------------------------------


def _grouped(pattern: Group, scene: TimedData) -> Iterator[tuple[Timed, frozenset[Occurrence]]]:
    """A row for each group and each instant at which one of its solutions ends, over all that ended by then."""
    found = evaluate(pattern.pattern, scene)
    groups: dict[frozenset[tuple[str, Term]], list[Timed]] = {}
    for solution in found:
        keys = ((variable.name, value(key, solution, scene)) for variable, key in pattern.keys)
        groups.setdefault(frozenset((n, t) for n, t in keys if t is not None), []).append(solution)
    for key, members in groups.items():
        for instant in {member.end for member in members}:  # that of timeless ones is before all others
            own = [member for member in members if member.end <= instant]
            starts = [member.interval[0] for member in own if member.interval]
            interval: Interval = (min(starts), int(instant)) if starts else None
            rows = ((variable.name, _aggregate(each, own, scene)) for variable, each in pattern.aggregates)
            mapping = key.union((name, term) for name, term in rows if term is not None)
            yield Timed(mapping, interval), frozenset().union(*(found[member] for member in own))


def _aggregate(expression: Expression, members: list[Timed], scene: TimedData) -> Term | None:
    """The value of an aggregate over members; the time functions in it read each member's interval."""
    assert isinstance(expression, Aggregate)
    if expression.operand is None:
        many = len({member.mapping for member in members}) if expression.distinct else len(members)
        return Literal(many)
    ordered = sorted(members, key=_text)
    rows = tuple((value(expression.operand, member, scene),) for member in ordered)
    over = replace(expression, operand=Var("each"))
    return solutions(Group(Values((Var("each"),), rows), (), ((Var("all"), over),)))[0].get("all")


def _counted(pattern: Pattern, scene: TimedData) -> list[tuple[Timed, frozenset[Occurrence]]]:
    """The solutions of a sub-SELECT in the order in which LIMIT counts them."""
    names = None
    while isinstance(pattern, (Distinct, Project)):
        names = {v.name for v in pattern.variables} if isinstance(pattern, Project) else names
        pattern = pattern.pattern
    keys = pattern.keys if isinstance(pattern, OrderBy) else ()
    seen = {n: t for n, t in scene.seed.items() if names is None or n in names}
    inside = replace(scene, seed=seen)
    found = evaluate(pattern, inside)
    rows = in_order(list(found), keys, inside)
    return list(merged((s if names is None else projected(s, names), found[s]) for s in rows).items())


def in_order(found: list[Timed], keys: tuple[OrderKey, ...], scene: TimedData) -> list[Timed]:
    """By end, then as ORDER BY says; what is left open by start and text, to be the same each time."""
    ordered = sorted(found, key=_text)
    if keys:
        columns = (Var("row"), *(Var(f"key{number}") for number in range(len(keys))))
        rows = tuple(
            (Literal(number), *(value(key.expression, each, scene) for key in keys))
            for number, each in enumerate(ordered)
        )
        order = tuple(OrderKey(v, k.descending) for v, k in zip(columns[1:], keys, strict=True))
        sorted_rows = bag(OrderBy(Values(columns, rows), order), (), {})
        ordered = [ordered[int(row["row"].value)] for row in sorted_rows]
    return sorted(ordered, key=lambda solution: solution.end)


def _text(solution: Timed) -> tuple[float, tuple[int, int], list[tuple[str, str]]]:
    terms = sorted((name, str(term)) for name, term in solution.mapping)
    return solution.end, solution.interval or (0, 0), terms


# --- expressions (2.4) --------------------------------------------------------------------------


def passes(condition: Expression, solution: Timed, scene: TimedData) -> bool:
    """Whether a condition is true of a solution; an error is false."""
    grounded = _grounded(condition, solution, scene)
    return _holds(grounded, _read(grounded, solution, scene.seed))


def value(expression: Expression, solution: Timed, scene: TimedData) -> Term | None:
    """The value of an expression for a solution; an error is None."""
    grounded = _grounded(expression, solution, scene)
    return _value(grounded, _read(grounded, solution, scene.seed))


def _read(expression: Expression, solution: Timed, seed: Mapping[str, Term]) -> frozenset[tuple[str, Term]]:
    """What an expression reads of a solution, and of the one that an EXISTS around it is tested for."""
    names = expression_variables(expression)
    known = {**seed, **dict(solution.mapping)}
    return frozenset((name, term) for name, term in known.items() if name in names)


def _grounded(node: Expression, solution: Timed, scene: TimedData) -> Expression:
    """The expression with constants for the time functions and for EXISTS."""
    match node:
        case Call(name) if name in TIME_FUNCTIONS:
            term = time_value(name, solution.interval)
            return _NO_TIME if term is None else Constant(term)
        case Exists(pattern, negated):
            inside = replace(scene, seed={**scene.seed, **dict(solution.mapping)})
            found = any(each.end <= solution.end for each in evaluate(lowered(pattern), inside))
            return Constant(Literal(found != negated))
        case _:
            return rebuild(node, lambda part: _grounded(part, solution, scene))


def time_value(name: str, interval: Interval) -> Term | None:
    """What a time function gives; None, an error, without time."""
    if interval is None:
        return None
    start, end = interval
    if name == GET_DURATION:
        seconds, fraction = divmod(end - start, 1_000_000)
        return stored(Literal(f"PT{seconds}.{fraction:06d}S", datatype=NamedNode(XSD + "duration")))
    instant = {GET_START_TIME: start, GET_END_TIME: end}[name]
    return Literal(format_instant(instant), datatype=NamedNode(XSD + "dateTime"))


@lru_cache(maxsize=100_000)
def _holds(condition: Expression, mapping: frozenset[tuple[str, Term]]) -> bool:
    return holds(condition, dict(mapping))


@lru_cache(maxsize=100_000)
def _value(expression: Expression, mapping: frozenset[tuple[str, Term]]) -> Term | None:
    return value_of(expression, dict(mapping))
