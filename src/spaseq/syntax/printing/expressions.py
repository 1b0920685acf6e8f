"""Expressions as text, with the fewest parentheses that keep their shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

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
    GpmFunction,
    In,
    Iterated,
    Or,
    Unary,
    Var,
)
from spaseq.syntax.ast import Group, SubSelect
from spaseq.syntax.printing.terms import Names, quoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from spaseq.syntax.ast import GroupPattern

# How tightly an expression binds: a node is put in parentheses where a tighter one is demanded.
_OR, _AND, _RELATION, _SUM, _PRODUCT, _UNARY, _PRIMARY = range(1, 8)


class Expressions:
    """Prints expressions; ``group`` prints the pattern of an EXISTS at an indentation."""

    def __init__(self, names: Names, group: Callable[[GroupPattern, str], str]) -> None:
        self._names = names
        self._group = group

    def text(self, node: Expression, pad: str = "", level: int = _OR) -> str:
        """An expression where something at least as tight as ``level`` must stand."""
        binding, text = self._bound(node, pad)
        return f"({text})" if binding < level else text

    def constraint(self, node: Expression, pad: str) -> str:
        """A condition of FILTER or HAVING: calls stand as they are, all else in parentheses."""
        text = self.text(node, pad)
        bare = isinstance(node, (Call, FunctionCall, Exists, Aggregate, Iterated, GpmFunction))
        return text if bare else f"({text})"

    def _bound(self, node: Expression, pad: str) -> tuple[int, str]:
        match node:
            case Or(left, right):
                return _OR, f"{self.text(left, pad, _OR)} || {self.text(right, pad, _AND)}"
            case And(left, right):
                return _AND, f"{self.text(left, pad, _AND)} && {self.text(right, pad, _RELATION)}"
            case Compare(op, left, right):
                return _RELATION, f"{self.text(left, pad, _SUM)} {op} {self.text(right, pad, _SUM)}"
            case In(operand, options, negated):
                word = "NOT IN" if negated else "IN"
                return _RELATION, f"{self.text(operand, pad, _SUM)} {word} ({self._listed(options, pad)})"
            case Arithmetic(op, left, right):
                level = _SUM if op in "+-" else _PRODUCT
                return level, f"{self.text(left, pad, level)} {op} {self.text(right, pad, level + 1)}"
            case Unary(op, operand):
                inner = self.text(operand, pad, _PRIMARY)
                # `-1` is a number; minus of the number 1 needs a space between.
                gap = " " if inner[0].isdigit() or inner[0] == "." else ""
                return _UNARY, f"{op}{gap}{inner}"
            case _:
                return _PRIMARY, self._primary(node, pad)

    def _primary(
        self,
        node: Var | Constant | Call | FunctionCall | Exists | Aggregate | Iterated | GpmFunction,
        pad: str,
    ) -> str:
        match node:
            case Var() | Constant():
                return self._names.node(node)
            case Call(name, arguments):
                return f"{name}({self._listed(arguments, pad)})"
            case FunctionCall(function, arguments, distinct):
                word = "DISTINCT " if distinct else ""
                return f"{self._names.constant(function)}({word}{self._listed(arguments, pad)})"
            case Exists(pattern, negated):
                assert isinstance(pattern, (Group, SubSelect))
                return f"{'NOT ' if negated else ''}EXISTS {self._group(pattern, pad)}"
            case Aggregate(name, operand, distinct, separator):
                word = "DISTINCT " if distinct else ""
                inner = "*" if operand is None else self.text(operand, pad)
                return f"{name}({word}{inner}{_separated(separator)})"
            case Iterated(name, variable, separator):
                return f"{name}({self._names.node(variable)}{_separated(separator)})"
            case GpmFunction(name, gpm):
                return f"{name}({gpm})"
            case _:
                assert_never(node)

    def _listed(self, nodes: tuple[Expression, ...], pad: str) -> str:
        return ", ".join(self.text(node, pad) for node in nodes)


def _separated(separator: str | None) -> str:
    return "" if separator is None else f"; SEPARATOR = {quoted(separator)}"
