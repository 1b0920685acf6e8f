"""Whole SPARQL queries: SELECT, CONSTRUCT, ASK, DESCRIBE and their modifiers."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from spaseq.algebra.expressions import Constant, Expression, Var
from spaseq.algebra.patterns import TriplePattern
from spaseq.errors import Span
from spaseq.syntax.ast import (
    AskQuery,
    ConstructQuery,
    DatasetClause,
    DescribeQuery,
    Group,
    GroupKey,
    GroupPattern,
    Modifiers,
    OrderCondition,
    Prologue,
    SelectClause,
    SelectItem,
    SelectQuery,
    SparqlQuery,
    SubSelect,
    Triples,
    ValuesClause,
)
from spaseq.syntax.builder.groups import GroupActions
from spaseq.syntax.builder.triples import TripleList
from spaseq.syntax.lexer import Token


class Modifier(NamedTuple):
    """One solution modifier: the field of `Modifiers` that it fills, and with what."""

    field: str
    value: object


class SparqlActions(GroupActions):
    """Builds SPARQL queries."""

    def sparql_query(
        self, span: Span, prologue: Prologue, query: SparqlQuery, values: ValuesClause | None = None
    ) -> SparqlQuery:
        prologue = replace(prologue, used_prefixes=frozenset(self.used_prefixes))
        return replace(query, prologue=prologue, modifiers=replace(query.modifiers, values=values), span=span)

    # --- SELECT ---

    def select_query(
        self,
        span: Span,
        select: SelectClause,
        datasets: tuple[DatasetClause, ...],
        where: GroupPattern,
        modifiers: Modifiers,
    ) -> SelectQuery:
        return SelectQuery(select, where, modifiers, datasets, span=span)

    def sub_select(
        self,
        span: Span,
        select: SelectClause,
        where: GroupPattern,
        modifiers: Modifiers,
        values: ValuesClause | None = None,
    ) -> SelectQuery:
        return SelectQuery(select, where, replace(modifiers, values=values), span=span)

    def select_all(self, span: Span, modifier: str = "") -> SelectClause:
        return SelectClause(None, modifier, span)

    def select_items(self, span: Span, *parts: str | SelectItem) -> SelectClause:
        modifier = parts[0] if isinstance(parts[0], str) else ""
        return SelectClause(tuple(part for part in parts if isinstance(part, SelectItem)), modifier, span)

    def select_modifier(self, _span: Span, token: Token) -> str:
        return token.text.upper()

    def select_variable(self, span: Span, variable: Var) -> SelectItem:
        return SelectItem(variable, None, span)

    def select_expression(self, span: Span, expression: Expression, variable: Var) -> SelectItem:
        return SelectItem(variable, expression, span)

    # --- CONSTRUCT, DESCRIBE, ASK ---

    def construct_query(
        self,
        span: Span,
        template: TripleList,
        datasets: tuple[DatasetClause, ...],
        where: GroupPattern,
        modifiers: Modifiers,
    ) -> ConstructQuery:
        return ConstructQuery(tuple(template.triples), where, modifiers, datasets, span=span)

    def construct_where(
        self, span: Span, datasets: tuple[DatasetClause, ...], template: TripleList, modifiers: Modifiers
    ) -> ConstructQuery:
        """The short form: the template is also the pattern."""
        elements = (Triples(tuple(template.triples), template.span),) if template.triples else ()
        return ConstructQuery(None, Group(elements, template.span), modifiers, datasets, span=span)

    def construct_template(self, span: Span, block: TripleList | None = None) -> TripleList:
        triples: list[TriplePattern] = block.triples if block else []
        return TripleList(triples, span)

    def describe_query(
        self,
        span: Span,
        resources: tuple[Var | Constant, ...] | None,
        datasets: tuple[DatasetClause, ...],
        *rest: GroupPattern | Modifiers,
    ) -> DescribeQuery:
        where = rest[0] if isinstance(rest[0], (Group, SubSelect)) else None
        modifiers = rest[-1]
        assert isinstance(modifiers, Modifiers)
        return DescribeQuery(resources, where, modifiers, datasets, span=span)

    def where_clause(self, _span: Span, group: GroupPattern) -> GroupPattern:
        return group

    def describe_all(self, _span: Span) -> None:
        return None

    def describe_resources(self, _span: Span, *resources: Var | Constant) -> tuple[Var | Constant, ...]:
        return resources

    def ask_query(
        self, span: Span, datasets: tuple[DatasetClause, ...], where: GroupPattern, modifiers: Modifiers
    ) -> AskQuery:
        return AskQuery(where, modifiers, datasets, span=span)

    def datasets(self, _span: Span, *clauses: DatasetClause) -> tuple[DatasetClause, ...]:
        return clauses

    def default_graph(self, _span: Span, iri: Constant) -> DatasetClause:
        return DatasetClause(iri, named=False)

    def named_graph(self, _span: Span, iri: Constant) -> DatasetClause:
        return DatasetClause(iri, named=True)

    # --- solution modifiers ---

    def modifiers(self, _span: Span, *parts: Modifier) -> Modifiers:
        return replace(Modifiers(), **{part.field: part.value for part in parts})  # type: ignore[arg-type]

    def group_by(self, _span: Span, *keys: GroupKey) -> Modifier:
        return Modifier("group_by", keys)

    def group_key(self, _span: Span, expression: Expression, variable: Var | None = None) -> GroupKey:
        return GroupKey(expression, variable)

    def having(self, _span: Span, *conditions: Expression) -> Modifier:
        return Modifier("having", conditions)

    def order_by(self, _span: Span, *conditions: OrderCondition) -> Modifier:
        return Modifier("order_by", conditions)

    def ascending(self, _span: Span, expression: Expression) -> OrderCondition:
        return OrderCondition(expression, descending=False)

    def descending(self, _span: Span, expression: Expression) -> OrderCondition:
        return OrderCondition(expression, descending=True)

    def limit(self, _span: Span, token: Token) -> Modifier:
        return Modifier("limit", self.integer(token))

    def offset(self, _span: Span, token: Token) -> Modifier:
        return Modifier("offset", self.integer(token))
