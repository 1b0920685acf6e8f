"""From the parts of the grammar's rules to the tree: statements, patterns without braces, chains, `AS` (semantics 2.1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from spaseq.algebra.expressions import Call, Constant, Expression, Var
from spaseq.algebra.patterns import Relation
from spaseq.errors import Span
from spaseq.languages.epsparql.errors import ItemWithoutName, MisplacedAs
from spaseq.languages.epsparql.tree import EpsparqlFile, Statement
from spaseq.syntax.ast import (
    AskQuery,
    BaseDeclaration,
    ConstructQuery,
    DatasetClause,
    DescribeQuery,
    Group,
    GroupElement,
    GroupPattern,
    Modifiers,
    PrefixDeclaration,
    Prologue,
    SelectClause,
    SelectItem,
    SelectQuery,
    UnionClause,
    ValuesClause,
)
from spaseq.syntax.builder import SparqlActions
from spaseq.syntax.builder.triples import TripleList
from spaseq.syntax.errors import WrongArgumentCount
from spaseq.syntax.lexer import Token


class Where(NamedTuple):
    """What follows WHERE; a `ValuesClause` at its end is the query's own if no modifiers follow."""

    elements: tuple[GroupElement, ...]
    span: Span


class Unnamed(NamedTuple):
    """One side of an AS, or a variable alone; one in parentheses is an expression like any other."""

    expression: Expression
    variable: Var | None
    span: Span


class EpsparqlActions(SparqlActions):
    """Builds files of statements."""

    def epsparql_file(
        self, span: Span, *parts: BaseDeclaration | PrefixDeclaration | Statement
    ) -> EpsparqlFile:
        declared = tuple(part for part in parts if isinstance(part, (BaseDeclaration, PrefixDeclaration)))
        statements = tuple(
            part for part in parts if not isinstance(part, (BaseDeclaration, PrefixDeclaration))
        )
        return EpsparqlFile(statements, Prologue(declared, frozenset(self.used_prefixes)), span)

    # --- statements ---

    def select_statement(
        self,
        span: Span,
        select: SelectClause,
        datasets: tuple[DatasetClause, ...],
        where: Where,
        tail: Modifiers | None = None,
    ) -> SelectQuery:
        pattern, modifiers = _completed(where, tail)
        return SelectQuery(select, pattern, modifiers, datasets, span=span)

    def sub_select(  # type: ignore[override]
        self, span: Span, select: SelectClause, where: Where, tail: Modifiers | None = None
    ) -> SelectQuery:
        return self.select_statement(span, select, (), where, tail)

    def ask_statement(
        self, span: Span, datasets: tuple[DatasetClause, ...], where: Where, tail: Modifiers | None = None
    ) -> AskQuery:
        pattern, modifiers = _completed(where, tail)
        return AskQuery(pattern, modifiers, datasets, span=span)

    def rule(
        self,
        span: Span,
        template: TripleList,
        datasets: tuple[DatasetClause, ...],
        where: Where,
        tail: Modifiers | None = None,
    ) -> ConstructQuery:
        pattern, modifiers = _completed(where, tail)
        return ConstructQuery(tuple(template.triples), pattern, modifiers, datasets, span=span)

    def short_rule(
        self,
        span: Span,
        datasets: tuple[DatasetClause, ...],
        template: TripleList,
        tail: Modifiers | ValuesClause | None = None,
    ) -> ConstructQuery:
        modifiers = replace(Modifiers(), values=tail) if isinstance(tail, ValuesClause) else tail
        return self.construct_where(span, datasets, template, modifiers or Modifiers())

    def describe_statement(
        self,
        span: Span,
        resources: tuple[Var | Constant, ...] | None,
        datasets: tuple[DatasetClause, ...],
        *_rest: Where | Modifiers,
    ) -> DescribeQuery:
        """Only its place is kept: the checks refuse it."""
        return DescribeQuery(resources, None, datasets=datasets, span=span)

    def tail(self, _span: Span, modifiers: Modifiers, values: ValuesClause | None = None) -> Modifiers:
        return replace(modifiers, values=values)

    # --- patterns ---

    def where_body(self, span: Span, *parts: GroupElement | TripleList) -> Where:
        return Where(self.group(span, *parts).elements, span)

    def chain(self, span: Span, first: GroupPattern, *rest: Relation | GroupPattern | None) -> UnionClause:
        words, groups = rest[::2], rest[1::2]
        relations = tuple(word for word in words if word is None or isinstance(word, Relation))
        others = tuple(group for group in groups if group is not None and not isinstance(group, Relation))
        return UnionClause((first, *others), span, relations if any(relations) else ())

    def join_word(self, _span: Span, token: Token) -> Relation | None:
        return None if token.type == "UNION" else Relation(token.type)

    # --- SELECT ---

    def select_units(self, span: Span, *parts: str | SelectItem | Unnamed | Token) -> SelectClause:
        modifier = parts[0] if isinstance(parts[0], str) else ""
        units = [part for part in parts if not isinstance(part, str)]
        return SelectClause(tuple(self._items(units)), modifier, span)

    def unnamed(self, span: Span, expression: Expression) -> Unnamed:
        variable = expression if isinstance(expression, Var) and expression.span == span else None
        return Unnamed(expression, variable, span)

    def as_word(self, _span: Span, token: Token) -> Token:
        return token

    def _items(self, units: list[SelectItem | Unnamed | Token]) -> Iterator[SelectItem]:
        """``?a``, ``(… AS ?a)``, ``… AS ?a`` and ``?a AS …``, one after another; an AS too many is an error."""
        at = 0
        while at < len(units):
            unit = units[at]
            at += 1
            if isinstance(unit, SelectItem):
                yield unit
            elif isinstance(unit, Token):
                problem = "what stands before it has an AS" if at > 1 else "nothing to name before it"
                self.report(MisplacedAs(problem=problem, span=unit.span))
            elif at < len(units) and isinstance(word := units[at], Token):
                other = units[at + 1] if at + 1 < len(units) else None
                at += 2
                if isinstance(other, Unnamed):
                    yield from self._named(unit, word, other)
                else:
                    self.report(MisplacedAs(problem="no name after it", span=word.span))
            elif unit.variable is not None:
                yield SelectItem(unit.variable, None, unit.span)
            else:
                self.report(ItemWithoutName(span=unit.span))

    def _named(self, left: Unnamed, word: Token, right: Unnamed) -> Iterator[SelectItem]:
        span = Span(left.span.start, right.span.end)
        if right.variable is not None:
            yield SelectItem(right.variable, left.expression, span)
        elif left.variable is not None:
            yield SelectItem(left.variable, right.expression, span)
        else:
            self.report(MisplacedAs(problem="a variable on neither side", span=word.span))

    # --- time functions ---

    def time_function(self, span: Span, token: Token, arguments: tuple[Expression, ...]) -> Call:
        if arguments:
            given = {"function": token.text, "wanted": "no arguments", "given": len(arguments)}
            self.report(WrongArgumentCount(**given, span=span))
        return Call(token.text.upper(), (), span)


def _completed(where: Where, tail: Modifiers | None) -> tuple[GroupPattern, Modifiers]:
    """The pattern and the modifiers of a statement."""
    elements, modifiers = where.elements, tail or Modifiers()
    if tail is None and isinstance(values := elements[-1], ValuesClause):
        elements, modifiers = elements[:-1], replace(modifiers, values=values)
    if len(elements) == 1 and isinstance(elements[0], UnionClause) and len(elements[0].groups) == 1:
        return elements[0].groups[0], modifiers
    return Group(elements, where.span), modifiers
