"""SPARQL's static rules over a finished tree: what the grammar allows and the recommendation forbids.

One pass over the groups computes which variables are in scope (SPARQL 1.1, 18.2.1) and checks on the way:
blank node labels, BIND, the names of SELECT, grouping and the places of aggregates.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from spaseq.algebra.event_patterns import declared_events
from spaseq.algebra.expressions import Aggregate, Exists, Expression, Var, children
from spaseq.algebra.patterns import TriplePattern
from spaseq.errors import QueryError
from spaseq.syntax.ast import (
    BindClause,
    FilterClause,
    GraphClause,
    Group,
    GroupElement,
    GroupPattern,
    MatchClause,
    MinusClause,
    Modifiers,
    OptionalClause,
    SelectItem,
    SelectQuery,
    ServiceClause,
    SparqlQuery,
    SubSelect,
    Triples,
    UnionClause,
    ValuesClause,
)
from spaseq.syntax.errors import (
    AliasInScope,
    BindInScope,
    BlankNodeReused,
    DuplicateAlias,
    MisplacedAggregate,
    NestedAggregate,
    SelectStarGrouped,
    UngroupedVariable,
)

_USE_HAVING = "aggregates stand in SELECT, HAVING and ORDER BY; filter groups with HAVING or use a sub-SELECT"


def check_sparql(query: SparqlQuery) -> list[QueryError]:
    """All static errors of a SPARQL query."""
    rules = Rules(_USE_HAVING)
    if isinstance(query, SelectQuery):
        rules.select(query)
    else:
        rules.modifiers(query.modifiers, set() if query.where is None else rules.group(query.where))
    return rules.errors


def check_group(group: GroupPattern) -> list[QueryError]:
    """All static errors of a group that is a pattern by itself."""
    rules = Rules(_USE_HAVING)
    rules.group(group)
    return rules.errors


def group_scope(group: GroupPattern) -> set[str]:
    """The variables that a group may bind."""
    return Rules(_USE_HAVING).group(group)


class Rules:
    """One pass over one query; ``misplaced`` is the cure for an aggregate in a wrong place."""

    def __init__(self, misplaced: str) -> None:
        self.errors: list[QueryError] = []
        self._misplaced = misplaced
        self._homes: dict[str, int] = {}
        self._patterns = 0

    # --- groups: each method returns the variables in scope ---

    def group(self, pattern: GroupPattern, *, iterations: bool = False) -> set[str]:
        """Check a group; ``iterations`` allows aggregates in its own filters, as in a GPM."""
        if isinstance(pattern, SubSelect):
            return self.select(pattern.query)
        scope: set[str] = set()
        connected = False
        for element in pattern.elements:
            # A basic graph pattern goes on across filters and ends with anything else.
            if isinstance(element, Triples):
                self._patterns += not connected
                self._labels(element.triples, self._patterns)
            connected = isinstance(element, Triples) or (connected and isinstance(element, FilterClause))
            scope |= self._element(element, scope, iterations)
        return scope

    def _element(self, element: GroupElement, scope: set[str], iterations: bool) -> set[str]:
        match element:
            case Triples(triples):
                return _variables(triples)
            case FilterClause(condition):
                self.expression(condition, "" if iterations else "FILTER")
                return set()
            case BindClause(expression, variable):
                self.expression(expression, "" if iterations else "BIND")
                if variable.name in scope:
                    self.errors.append(BindInScope(variable=variable.name, span=variable.span))
                return {variable.name}
            case OptionalClause(group):
                return self.group(group)
            case MinusClause(group):
                self.group(group)
                return set()
            case UnionClause(groups):
                return set().union(*(self.group(group) for group in groups))
            case GraphClause(name, group) | ServiceClause(name, group):
                inside = self.group(group)
                return inside | {name.name} if isinstance(name, Var) else inside
            case ValuesClause(variables):
                return {variable.name for variable in variables}
            case MatchClause(events):
                # What is wrong inside the pattern of an event is told where that is declared, once.
                within = (each.pattern for each in declared_events(events, absent=False))
                own = (each for each in within if isinstance(each, (Group, SubSelect)))
                return set().union(*(Rules(self._misplaced).group(each) for each in own))
            case _:
                assert_never(element)

    def _labels(self, triples: Iterable[TriplePattern], home: int) -> None:
        for triple in triples:
            for node in (triple.subject, triple.object):
                if isinstance(node, Var) and node.hidden and self._homes.setdefault(node.name, home) != home:
                    self.errors.append(BlankNodeReused(label=node.name, span=node.span))
                    self._homes[node.name] = home

    # --- SELECT ---

    def select(self, query: SelectQuery) -> set[str]:
        scope = self.group(query.where)
        modifiers, items = query.modifiers, query.select.items
        self.modifiers(modifiers, scope)
        if modifiers.values is not None:
            scope |= {variable.name for variable in modifiers.values.variables}
        computed = [item.expression for item in items or () if item.expression is not None]
        for expression in computed:
            self.expression(expression, "")
        ordered = [condition.expression for condition in modifiers.order_by]
        grouped = modifiers.group_by or any(map(_aggregates, [*computed, *modifiers.having, *ordered]))
        keys = {key.variable.name for key in modifiers.group_by if key.variable is not None}
        if items is None:
            if grouped:
                self.errors.append(SelectStarGrouped(span=query.select.span))
            return scope
        self.names(items, scope | keys)
        if grouped:
            self._grouped(
                items, keys | {k.expression.name for k in modifiers.group_by if isinstance(k.expression, Var)}
            )
        return {item.variable.name for item in items}

    def names(self, items: Iterable[SelectItem], scope: set[str]) -> None:
        """A name after AS is new: no other result and no variable of the pattern has it."""
        seen: set[str] = set()
        given: set[str] = set()
        for item in items:
            name = item.variable.name
            if name in (given if item.expression is None else seen):
                self.errors.append(DuplicateAlias(variable=name, span=item.variable.span))
            elif item.expression is not None and name in scope:
                self.errors.append(AliasInScope(clause="SELECT", variable=name, span=item.variable.span))
            seen.add(name)
            if item.expression is not None:
                given.add(name)

    def _grouped(self, items: Iterable[SelectItem], keys: set[str]) -> None:
        known = set(keys)
        for item in items:
            for variable in _plain_variables(item.variable if item.expression is None else item.expression):
                if variable.name not in known:
                    self.errors.append(UngroupedVariable(variable=variable.name, span=variable.span))
            known.add(item.variable.name)

    def modifiers(self, modifiers: Modifiers, scope: set[str]) -> None:
        """Check the solution modifiers of a query whose pattern has these variables."""
        for key in modifiers.group_by:
            self.expression(key.expression, "GROUP BY")
            if key.variable is not None and key.variable.name in scope:
                name = key.variable
                self.errors.append(AliasInScope(clause="GROUP BY", variable=name.name, span=name.span))
        for condition in modifiers.having:
            self.expression(condition, "")
        for order in modifiers.order_by:
            self.expression(order.expression, "")

    # --- expressions ---

    def expression(self, node: Expression, forbidden: str, outer: str = "") -> None:
        """Check aggregates and nested patterns; ``forbidden`` names the place if it allows no aggregate."""
        if isinstance(node, Aggregate):
            if outer:
                self.errors.append(NestedAggregate(inner=node.name, outer=outer, span=node.span))
            elif forbidden:
                fields = {"aggregate": node.name, "where": forbidden, "hint": self._misplaced}
                self.errors.append(MisplacedAggregate(**fields, span=node.span))
            outer = node.name
        elif isinstance(node, Exists):
            assert isinstance(node.pattern, (Group, SubSelect))
            self.group(node.pattern)
        for child in children(node):
            self.expression(child, forbidden, outer)


def _variables(triples: Iterable[TriplePattern]) -> set[str]:
    nodes = (node for triple in triples for node in (triple.subject, triple.predicate, triple.object))
    return {node.name for node in nodes if isinstance(node, Var) and not node.hidden}


def _aggregates(node: Expression) -> bool:
    return isinstance(node, Aggregate) or any(_aggregates(child) for child in children(node))


def _plain_variables(node: Expression) -> Iterable[Var]:
    """The variables of an expression that stand outside every aggregate."""
    if isinstance(node, Var):
        yield node
    elif not isinstance(node, Aggregate):
        for child in children(node):
            yield from _plain_variables(child)
