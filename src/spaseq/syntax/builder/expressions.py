"""Expressions: operators, function calls, aggregates."""

from __future__ import annotations

from typing import NamedTuple

from spaseq.algebra.expressions import (
    Aggregate,
    And,
    Arithmetic,
    Call,
    Compare,
    Constant,
    Exists,
    Expression,
    FunctionCall,
    In,
    Or,
    Unary,
    Var,
)
from spaseq.errors import Span
from spaseq.syntax.ast import GroupPattern
from spaseq.syntax.builder.base import KeywordMark
from spaseq.syntax.builder.terms import number_constant
from spaseq.syntax.builder.triples import TripleActions
from spaseq.syntax.built_ins import ARGUMENTS, argument_words
from spaseq.syntax.errors import BoundNeedsVariable, WrongArgumentCount
from spaseq.syntax.lexer import Token, string_value


class Signed(NamedTuple):
    """``-2 * ?x`` after a sum: the sign is the operator, the rest the operand."""

    op: str
    operand: Expression


class ExpressionActions(TripleActions):
    """Builds expressions."""

    # --- operators ---

    def or_(self, span: Span, left: Expression, right: Expression) -> Or:
        return Or(left, right, span)

    def and_(self, span: Span, left: Expression, right: Expression) -> And:
        return And(left, right, span)

    def compare(self, span: Span, left: Expression, op: str, right: Expression) -> Compare:
        return Compare(op, left, right, span)

    def comparison(self, _span: Span, token: Token) -> str:
        return token.text

    def in_(self, span: Span, operand: Expression, options: tuple[Expression, ...]) -> In:
        return In(operand, options, False, span)

    def not_in(self, span: Span, operand: Expression, options: tuple[Expression, ...]) -> In:
        return In(operand, options, True, span)

    def add(self, span: Span, left: Expression, right: Expression) -> Arithmetic:
        return Arithmetic("+", left, right, span)

    def subtract(self, span: Span, left: Expression, right: Expression) -> Arithmetic:
        return Arithmetic("-", left, right, span)

    def multiply(self, span: Span, left: Expression, right: Expression) -> Arithmetic:
        return Arithmetic("*", left, right, span)

    def divide(self, span: Span, left: Expression, right: Expression) -> Arithmetic:
        return Arithmetic("/", left, right, span)

    def add_signed(self, span: Span, left: Expression, right: Signed) -> Arithmetic:
        """``?x -1``: the lexer reads ``-1`` as a number, the author meant a subtraction."""
        return Arithmetic(right.op, left, right.operand, span)

    def signed_first(self, _span: Span, token: Token) -> Signed:
        return Signed(token.text[0], number_constant(token.text[1:], Span(token.start + 1, token.end)))

    def signed_multiply(self, span: Span, left: Signed, right: Expression) -> Signed:
        return Signed(left.op, Arithmetic("*", left.operand, right, span))

    def signed_divide(self, span: Span, left: Signed, right: Expression) -> Signed:
        return Signed(left.op, Arithmetic("/", left.operand, right, span))

    def not_(self, span: Span, operand: Expression) -> Unary:
        return Unary("!", operand, span)

    def positive(self, span: Span, operand: Expression) -> Unary:
        return Unary("+", operand, span)

    def negative(self, span: Span, operand: Expression) -> Unary:
        return Unary("-", operand, span)

    # --- calls ---

    def arguments(self, _span: Span, *parts: Expression | Token) -> tuple[Expression, ...]:
        return tuple(part for part in parts if not isinstance(part, Token))

    def function_call(
        self, span: Span, function: Constant, *parts: Expression | Token | KeywordMark
    ) -> FunctionCall:
        arguments = tuple(part for part in parts if not isinstance(part, (Token, KeywordMark)))
        return FunctionCall(function, arguments, KeywordMark.DISTINCT in parts, span)

    def call(self, span: Span, token: Token, arguments: tuple[Expression, ...]) -> Call:
        name = token.text.upper()
        least, most = ARGUMENTS[name]
        if not least <= len(arguments) <= most:
            wanted = argument_words(name)
            self.report(WrongArgumentCount(function=name, wanted=wanted, given=len(arguments), span=span))
        elif name == "BOUND" and not isinstance(arguments[0], Var):
            self.report(BoundNeedsVariable(span=arguments[0].span))
        return Call(name, arguments, span)

    def exists(self, span: Span, group: GroupPattern) -> Exists:
        return Exists(group, False, span)

    def not_exists(self, span: Span, group: GroupPattern) -> Exists:
        return Exists(group, True, span)

    # --- aggregates ---

    def count_all(self, span: Span, *distinct: KeywordMark) -> Aggregate:
        return Aggregate("COUNT", None, bool(distinct), None, span)

    def count(self, span: Span, *parts: Expression | KeywordMark) -> Aggregate:
        return self._set_function("COUNT", parts, None, span)

    def aggregate(self, span: Span, token: Token, *parts: Expression | KeywordMark) -> Aggregate:
        return self._set_function(token.text.upper(), parts, None, span)

    def group_concat(self, span: Span, *parts: Expression | KeywordMark | str) -> Aggregate:
        separator = parts[-1] if isinstance(parts[-1], str) else None
        return self._set_function("GROUP_CONCAT", parts, separator, span)

    def separator(self, _span: Span, token: Token) -> str:
        return string_value(token)

    def _set_function(
        self, name: str, parts: tuple[Expression | KeywordMark | str, ...], separator: str | None, span: Span
    ) -> Aggregate:
        operand = next(part for part in parts if not isinstance(part, (KeywordMark, str)))
        return Aggregate(name, operand, KeywordMark.DISTINCT in parts, separator, span)
