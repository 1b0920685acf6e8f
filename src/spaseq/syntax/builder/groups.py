"""Group graph patterns and inline data."""

from __future__ import annotations

from typing import NamedTuple

from spaseq.algebra.expressions import Constant, Expression, Term, Var
from spaseq.errors import Span
from spaseq.syntax.ast import (
    BindClause,
    FilterClause,
    GraphClause,
    Group,
    GroupElement,
    GroupPattern,
    MinusClause,
    OptionalClause,
    SelectQuery,
    ServiceClause,
    SubSelect,
    Triples,
    UnionClause,
    ValuesClause,
)
from spaseq.syntax.builder.base import KeywordMark
from spaseq.syntax.builder.expressions import ExpressionActions
from spaseq.syntax.builder.triples import TripleList
from spaseq.syntax.errors import ValuesRowLength, ValuesVariableTwice
from spaseq.syntax.lexer import Token


class Row(NamedTuple):
    """A row of inline data; None is UNDEF."""

    cells: tuple[Term | None, ...]
    span: Span


class GroupActions(ExpressionActions):
    """Builds groups and what stands in them."""

    def group(self, span: Span, *parts: GroupElement | TripleList) -> Group:
        elements = (
            Triples(tuple(part.triples), part.span) if isinstance(part, TripleList) else part
            for part in parts
        )
        return Group(tuple(elements), span)

    def sub_select_group(self, span: Span, query: SelectQuery) -> SubSelect:
        return SubSelect(query, span)

    def optional(self, span: Span, group: GroupPattern) -> OptionalClause:
        return OptionalClause(group, span)

    def union(self, span: Span, *groups: GroupPattern) -> UnionClause:
        return UnionClause(groups, span)

    def minus(self, span: Span, group: GroupPattern) -> MinusClause:
        return MinusClause(group, span)

    def graph(self, span: Span, name: Var | Constant, group: GroupPattern) -> GraphClause:
        return GraphClause(name, group, span)

    def service(self, span: Span, *parts: KeywordMark | Var | Constant | GroupPattern) -> ServiceClause:
        *before, name, group = parts
        assert isinstance(name, (Var, Constant))
        assert isinstance(group, (Group, SubSelect))
        return ServiceClause(name, group, KeywordMark.SILENT in before, span)

    def filter(self, span: Span, condition: Expression) -> FilterClause:
        return FilterClause(condition, span)

    def bind(self, span: Span, expression: Expression, variable: Var) -> BindClause:
        return BindClause(expression, variable, span)

    # --- inline data ---

    def inline_values(self, span: Span, variables: tuple[Var, ...], *rows: Row) -> ValuesClause:
        for index, variable in enumerate(variables):
            if variable in variables[:index]:
                self.report(ValuesVariableTwice(variable=variable.name, span=variable.span))
        for row in rows:
            if len(row.cells) != len(variables):
                found = _counted(len(row.cells), "value")
                wanted = _counted(len(variables), "variable")
                self.report(ValuesRowLength(found=found, wanted=wanted, span=row.span))
        return ValuesClause(variables, tuple(row.cells for row in rows), span)

    def values_clause(self, span: Span, variables: tuple[Var, ...], *rows: Row) -> ValuesClause:
        return self.inline_values(span, variables, *rows)

    def values_variable(self, _span: Span, variable: Var) -> tuple[Var, ...]:
        return (variable,)

    def values_variables(self, _span: Span, *parts: Var | Token) -> tuple[Var, ...]:
        return tuple(part for part in parts if isinstance(part, Var))

    def values_cell(self, span: Span, cell: Constant | KeywordMark) -> Row:
        return self.values_row(span, cell)

    def values_row(self, span: Span, *parts: Constant | KeywordMark | Token) -> Row:
        cells = (part for part in parts if not isinstance(part, Token))
        return Row(tuple(cell.term if isinstance(cell, Constant) else None for cell in cells), span)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
