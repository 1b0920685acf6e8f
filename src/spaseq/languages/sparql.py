"""SPARQL syntax tree -> algebra, after section 18.2 of the SPARQL 1.1 recommendation.

Groups become joins, filters move to the end of their group, OPTIONAL takes its group's own filters as
its condition, aggregates become variables over a `Group`. EXISTS patterns are lowered where they stand.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from typing import TypeAlias, TypeGuard, assert_never

from spaseq.algebra.event_patterns import DeclaredEvent, EventPattern, rebuilt
from spaseq.algebra.expressions import (
    Aggregate,
    And,
    Constant,
    Exists,
    Expression,
    FunctionCall,
    PatternNode,
    Var,
    rebuild,
)
from spaseq.algebra.functions import CASTS, known_function
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
    may_be_empty,
)
from spaseq.algebra.scope import in_scope, visible
from spaseq.errors import QueryError
from spaseq.syntax import ast

EMPTY = Bgp(())
"""The pattern ``{}``: one solution that binds nothing; the unit of Join."""


class ServiceUnsupported(QueryError):
    """SERVICE asks another machine; evaluation here is local and repeatable."""

    code = "SPQ401"
    message_template = "SERVICE is not supported: no part of a query is sent to another machine"
    label_template = "remote pattern"
    cure_template = "load the remote data as a background graph and read it with GRAPH"


class DatasetUnsupported(QueryError):
    """FROM in a plain SPARQL query would fetch a graph; the caller hands the graph over instead."""

    code = "SPQ402"
    message_template = "FROM <{iri}> is not supported: the graph to query is given by the caller"
    label_template = "dataset clause"
    cure_template = "take the FROM clause out and pass the graph"


class FormUnsupported(QueryError):
    """A query form that has no algebra here."""

    code = "SPQ403"
    message_template = "{form} queries are not supported here"
    label_template = "query form"
    cure_template = "write a SELECT, CONSTRUCT or ASK query"


class UnknownFunction(QueryError):
    """A function named by an IRI that is none of the casts."""

    code = "SPQ404"
    message_template = "there is no function <{iri}>"
    label_template = "unknown function"
    cure_template = "the functions with an IRI are the casts: {known}"


# --- groups -------------------------------------------------------------------------------------


def lower_group(group: ast.GroupPattern) -> Pattern:
    """The algebra of a group graph pattern, its filters applied last (18.2.2)."""
    pattern, filters = lower_group_parts(group)
    return filtered(pattern, filters)


def lower_group_parts(group: ast.GroupPattern) -> tuple[Pattern, tuple[Expression, ...]]:
    """The pattern of a group and its own filters, apart: OPTIONAL and SPAseq's GPMs treat them differently."""
    if isinstance(group, ast.SubSelect):
        return _select(group.query), ()
    pattern: Pattern = EMPTY
    filters: list[Expression] = []
    clauses: list[_Clause] = []
    for element in group.elements:
        if isinstance(element, ast.FilterClause):
            filters.append(lower_expression(element.condition))
        elif isinstance(element, ast.Triples) and clauses and isinstance(clauses[-1], ast.Triples):
            # Triples after a filter still belong to the basic graph pattern before it.
            clauses[-1] = replace(clauses[-1], triples=clauses[-1].triples + element.triples)
        else:
            clauses.append(element)
    for clause in clauses:
        pattern = _extend_with(pattern, clause)
    return pattern, tuple(filters)


def filtered(pattern: Pattern, filters: Iterable[Expression]) -> Pattern:
    """The pattern under the conjunction of the filters; no filter, no node."""
    condition = conjunction(filters)
    return pattern if condition is None else Filter(pattern, condition)


def conjunction(filters: Iterable[Expression]) -> Expression | None:
    """The filters joined by ``&&``, or None."""
    parts = tuple(filters)
    return reduce(And, parts) if parts else None


def join(left: Pattern, right: Pattern) -> Pattern:
    """Join, without the unit; two basic graph patterns that meet are one.

    Not if one has a path that may have no edge: which terms that ranges over depends on its own basic graph pattern
    (semantics 2.3).
    """
    if left == EMPTY:
        return right
    if right == EMPTY:
        return left
    if _mergeable(left) and _mergeable(right):
        return Bgp(left.triples + right.triples)
    return Join(left, right)


def _mergeable(pattern: Pattern) -> TypeGuard[Bgp]:
    return isinstance(pattern, Bgp) and not any(
        not isinstance(triple.predicate, (Var, Constant)) and may_be_empty(triple.predicate)
        for triple in pattern.triples
    )


def _chain(clause: ast.UnionClause) -> Pattern:
    """UNION and the joins over time, from the left; an optional operand's own filters are the join's (semantics 2.3)."""
    first, *rest = clause.groups
    relations = clause.relations or (None,) * len(rest)
    own: tuple[Expression, ...] = ()
    if relations and relations[0] is Relation.OPTIONALSEQ:
        pattern, own = lower_group_parts(first)
    else:
        pattern = lower_group(first)
    for relation, group in zip(relations, rest, strict=True):
        if relation is None:
            pattern = Union(pattern, lower_group(group))
        elif relation is Relation.EQUALSOPTIONAL:
            right, filters = lower_group_parts(group)
            pattern = IntervalJoin(pattern, right, relation, conjunction(filters))
        else:
            pattern = IntervalJoin(pattern, lower_group(group), relation, conjunction(own))
        own = ()
    return pattern


_Clause: TypeAlias = (
    ast.Triples
    | ast.BindClause
    | ast.OptionalClause
    | ast.MinusClause
    | ast.UnionClause
    | ast.GraphClause
    | ast.MatchClause
    | ast.ServiceClause
    | ast.ValuesClause
)


def _extend_with(pattern: Pattern, element: _Clause) -> Pattern:
    """The group so far, with its next element."""
    match element:
        case ast.Triples(triples):
            return _join_triples(pattern, Bgp(triples))
        case ast.BindClause(expression, variable):
            return Extend(pattern, variable, lower_expression(expression))
        case ast.OptionalClause(group):
            right, filters = lower_group_parts(group)
            return LeftJoin(pattern, right, conjunction(filters))
        case ast.MinusClause(group):
            return Minus(pattern, lower_group(group))
        case ast.UnionClause():
            return join(pattern, _chain(element))
        case ast.GraphClause(name, group):
            return join(pattern, Graph(name, lower_group(group)))
        case ast.MatchClause(events):
            return join(pattern, EventMatch(rebuilt(events, _lower_event)))
        case ast.ValuesClause(variables, rows):
            return join(pattern, Values(variables, rows))
        case ast.ServiceClause():
            raise ServiceUnsupported(span=element.span)
        case _:
            assert_never(element)


def _lower_event(part: EventPattern) -> EventPattern:
    """An event with its pattern lowered; its blank nodes are projected away, so that no two events are joined by a label."""
    if not isinstance(part, DeclaredEvent):
        return part
    pattern = _lower_node(part.pattern)
    names = visible(pattern)
    hidden = any(name.startswith("_:") for name in in_scope(pattern))
    return replace(part, pattern=Project(pattern, names) if hidden else pattern)


def _join_triples(pattern: Pattern, triples: Bgp) -> Pattern:
    if isinstance(pattern, Join) and _mergeable(pattern.right) and _mergeable(triples):
        return Join(pattern.left, Bgp(pattern.right.triples + triples.triples))
    return join(pattern, triples)


def lower_expression(expression: Expression) -> Expression:
    """The expression with every EXISTS pattern lowered and every function known."""
    if isinstance(expression, FunctionCall) and not known_function(expression):
        known = ", ".join(cast.name for cast in CASTS.values())
        iri = getattr(expression.function.term, "value", "")
        raise UnknownFunction(iri=iri, known=known, span=expression.function.span)
    if isinstance(expression, Exists):
        return replace(expression, pattern=_lower_node(expression.pattern))
    return rebuild(expression, lower_expression)


def _lower_node(node: PatternNode) -> Pattern:
    if isinstance(node, (ast.Group, ast.SubSelect)):
        return lower_group(node)
    raise AssertionError(f"EXISTS holds a group as written, not {type(node).__name__}")


# --- queries ------------------------------------------------------------------------------------


def lower_query(query: ast.SparqlQuery) -> Pattern:
    """The algebra of a whole query; for ASK and CONSTRUCT, of its solutions before the form applies."""
    for dataset in query.datasets:
        iri = getattr(dataset.iri.term, "value", str(dataset.iri.term))
        raise DatasetUnsupported(iri=iri, span=dataset.iri.span)
    match query:
        case ast.SelectQuery():
            return _select(query)
        case ast.AskQuery(where, modifiers) | ast.ConstructQuery(_, where, modifiers):
            return _sliced(_Solutions(lower_group(where), modifiers).ordered(), modifiers)
        case ast.DescribeQuery():
            raise FormUnsupported(form="DESCRIBE", span=query.span)
        case _:
            assert_never(query)


def lower_solutions(query: ast.SelectQuery | ast.AskQuery) -> tuple[Pattern, tuple[Var, ...]]:
    """The solutions of a query in order, before projection, and the variables that it selects."""
    where, modifiers = lower_group(query.where), query.modifiers
    if isinstance(query, ast.AskQuery):
        return _Solutions(where, modifiers).ordered(), ()
    items = query.select.items
    if items is None:
        variables = visible(
            where if modifiers.values is None else Join(where, lower_values(modifiers.values))
        )
    else:
        variables = tuple(item.variable for item in items)
    return _Solutions(where, modifiers, items or ()).ordered(), variables


def _select(query: ast.SelectQuery) -> Pattern:
    select, modifiers = query.select, query.modifiers
    pattern: Pattern = Project(*lower_solutions(query))
    if select.modifier:
        pattern = Distinct(pattern, reduced=select.modifier == "REDUCED")
    return _sliced(pattern, modifiers)


def _sliced(pattern: Pattern, modifiers: ast.Modifiers) -> Pattern:
    if modifiers.offset is None and modifiers.limit is None:
        return pattern
    return Slice(pattern, modifiers.offset or 0, modifiers.limit)


def lower_values(clause: ast.ValuesClause) -> Values:
    """Inline data behind a query."""
    return Values(clause.variables, clause.rows)


class _Solutions:
    """Grouping, HAVING, SELECT expressions and ORDER BY over a WHERE clause (18.2.4).

    Aggregates become variables named ``_:aggregate#n``, which no query can write, so nothing clashes.
    """

    def __init__(
        self, where: Pattern, modifiers: ast.Modifiers, items: tuple[ast.SelectItem, ...] = ()
    ) -> None:
        self._where = where
        self._modifiers = modifiers
        self._items = items
        self._aggregates: dict[Aggregate, Var] = {}

    def ordered(self) -> Pattern:
        """The solutions in order, before projection."""
        modifiers = self._modifiers
        having = [self._without_aggregates(condition) for condition in modifiers.having]
        computed = [
            (item.variable, self._without_aggregates(item.expression))
            for item in self._items
            if item.expression is not None
        ]
        order = tuple(
            OrderKey(self._without_aggregates(key.expression), key.descending) for key in modifiers.order_by
        )
        pattern = filtered(self._grouped(), having)
        if modifiers.values is not None:
            pattern = join(pattern, lower_values(modifiers.values))
        for variable, expression in computed:
            pattern = Extend(pattern, variable, expression)
        return OrderBy(pattern, order) if order else pattern

    def _grouped(self) -> Pattern:
        if not self._modifiers.group_by and not self._aggregates:
            return self._where
        keys = tuple(
            (_key_variable(key, position), lower_expression(key.expression))
            for position, key in enumerate(self._modifiers.group_by, start=1)
        )
        aggregates = tuple((variable, aggregate) for aggregate, variable in self._aggregates.items())
        return Group(self._where, keys, aggregates)

    def _without_aggregates(self, expression: Expression) -> Expression:
        if isinstance(expression, Aggregate):
            aggregate = lower_expression(expression)
            assert isinstance(aggregate, Aggregate)
            fresh = Var(f"_:aggregate#{len(self._aggregates) + 1}")
            return self._aggregates.setdefault(aggregate, fresh)
        if isinstance(expression, Exists):
            return lower_expression(expression)
        return rebuild(expression, self._without_aggregates)


def _key_variable(key: ast.GroupKey, position: int) -> Var:
    if key.variable is not None:
        return key.variable
    if isinstance(key.expression, Var):
        return key.expression
    return Var(f"_:key#{position}")
