"""Stateful conditions as small stack programs, so that the kernels can decide them.

Only what numbers, IRIs and booleans decide is compiled: comparison, arithmetic, ``&& || !``, BOUND, and the
functions over iterations that a run carries along. A kernel answers true, false or *unsure*; unsure (a
tie of inexact decimals, a string, any function left out here) is decided exactly by the expression
evaluator. So this file may be incomplete, never wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

from spaseq.algebra.events import Condition
from spaseq.algebra.expressions import (
    And,
    Arithmetic,
    Call,
    Compare,
    Constant,
    Expression,
    GpmFunction,
    Iterated,
    Or,
    Term,
    Unary,
    Var,
)
from spaseq.automaton.sequence_program import SequenceProgram
from spaseq.settings import settings

(
    LOAD_SLOT, LOAD_TRACK, LOAD_CONSTANT, LOAD_COUNT,
    ADD, SUBTRACT, MULTIPLY, DIVIDE, NEGATE,
    LESS, LESS_EQUAL, GREATER, GREATER_EQUAL, EQUAL, NOT_EQUAL,
    ALL, SOME, NOT, BOUND,
) = range(19)  # fmt: skip

_COMPARE = {"<": LESS, "<=": LESS_EQUAL, ">": GREATER, ">=": GREATER_EQUAL, "=": EQUAL, "!=": NOT_EQUAL}
_ARITHMETIC = {"+": ADD, "-": SUBTRACT, "*": MULTIPLY, "/": DIVIDE}
MAX_DEPTH = 24
"""The kernels' stack; a condition deeper than that, or than the setting, goes to the evaluator."""


class Unsupported(Exception):
    """This condition needs the evaluator."""


@dataclass(frozen=True, slots=True)
class StackCode:
    """Pairs of operation and argument; ``constants`` are the terms that LOAD_CONSTANT counts."""

    code: tuple[int, ...]
    constants: tuple[Term, ...]
    after_first: bool


def stack_code(condition: Condition, program: SequenceProgram, repetition: int | None) -> StackCode | None:
    """The condition as a stack program, or None if only the evaluator can decide it.

    ``repetition`` is the innermost one around the condition's GPM.
    """
    builder = _Builder(program, repetition)
    try:
        depth = builder.emit(condition.expression)
    except Unsupported:
        return None
    if depth > min(MAX_DEPTH, settings().condition_depth):
        return None
    return StackCode(tuple(builder.code), tuple(builder.constants), condition.after_first)


class _Builder:
    def __init__(self, program: SequenceProgram, repetition: int | None) -> None:
        self.program = program
        self.repetition = repetition
        self.code: list[int] = []
        self.constants: list[Term] = []

    def _add(self, operation: int, argument: int = 0) -> None:
        self.code += [operation, argument]

    def emit(self, node: Expression) -> int:
        """Append the code of an expression; returns the stack it needs."""
        match node:
            case Var(name):
                if name not in self.program.variables:
                    raise Unsupported
                self._add(LOAD_SLOT, self.program.slot(name))
                return 1
            case Constant(term):
                self.constants.append(term)
                self._add(LOAD_CONSTANT, len(self.constants) - 1)
                return 1
            case Iterated(name, variable):
                track = self.program.track(name, variable.name, self.repetition)
                if track is None:
                    raise Unsupported
                self._add(LOAD_TRACK, track)
                return 1
            case GpmFunction("COUNT", gpm):
                self._add(LOAD_COUNT, self.program.counters.index(gpm))
                return 1
            case Compare(op, left, right):
                return self._binary(_COMPARE[op], left, right)
            case Arithmetic(op, left, right):
                return self._binary(_ARITHMETIC[op], left, right)
            case And(left, right):
                return self._binary(ALL, left, right)
            case Or(left, right):
                return self._binary(SOME, left, right)
            case Unary("!", operand):
                return self._unary(NOT, operand)
            case Unary("-", operand):
                return self._unary(NEGATE, operand)
            case Call("BOUND", (Var(name),)) if name in self.program.variables:
                self._add(BOUND, self.program.slot(name))
                return 1
            case _:
                raise Unsupported

    def _binary(self, operation: int, left: Expression, right: Expression) -> int:
        first, second = self.emit(left), self.emit(right)
        self._add(operation)
        return max(first, second + 1)

    def _unary(self, operation: int, operand: Expression) -> int:
        depth = self.emit(operand)
        self._add(operation)
        return depth
