"""Expressions: the one tree for FILTER, BIND, HAVING, ORDER BY and SELECT, as written and as lowered.

Syntax and algebra share these nodes, so nothing is converted between them. A node is a frozen record;
its span says where it was written and takes no part in equality.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import TypeAlias

from pyoxigraph import BlankNode, Literal, NamedNode

from spaseq.errors import NOWHERE, Span

Term: TypeAlias = NamedNode | BlankNode | Literal
"""An RDF term. pyoxigraph's classes are the project's term classes; they keep the lexical form."""


class PatternNode:
    """A graph pattern inside an expression (EXISTS): a group as written, an algebra tree once lowered."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Var:
    """A variable; ``name`` is without ``?``. A blank node of a pattern is a variable named ``_:label``."""

    name: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def hidden(self) -> bool:
        """True for a blank node of the pattern: it joins like a variable but is never a result."""
        return self.name.startswith("_:")


@dataclass(frozen=True, slots=True)
class Constant:
    """An RDF term written in the query; ``written`` keeps a prefixed name for printing."""

    term: Term
    written: str = field(default="", compare=False, repr=False)
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Or:
    left: Expression
    right: Expression
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class And:
    left: Expression
    right: Expression
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Compare:
    """``op`` is one of ``= != < > <= >=``."""

    op: str
    left: Expression
    right: Expression
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class In:
    """``operand IN (options)`` or, negated, ``NOT IN``."""

    operand: Expression
    options: tuple[Expression, ...]
    negated: bool = False
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """``op`` is one of ``+ - * /``."""

    op: str
    left: Expression
    right: Expression
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Unary:
    """``op`` is one of ``! + -``."""

    op: str
    operand: Expression
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Call:
    """A SPARQL built-in (``STRLEN``, ``IF``, ``BOUND`` …) by its upper-case name."""

    name: str
    arguments: tuple[Expression, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A function named by an IRI: a cast such as ``xsd:integer(?x)`` or an extension."""

    function: Constant
    arguments: tuple[Expression, ...]
    distinct: bool = False
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Exists:
    """``EXISTS { … }`` or, negated, ``NOT EXISTS { … }``."""

    pattern: PatternNode
    negated: bool = False
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A SPARQL set function by its upper-case name; ``operand`` is None for ``COUNT(*)``."""

    name: str
    operand: Expression | None
    distinct: bool = False
    separator: str | None = None
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Iterated:
    """A function over the iterations of a repeated GPM (semantics 1.5).

    ``name`` is FIRST, LAST, PREV, SUM, AVG, MIN, MAX or GROUP_CONCAT.
    """

    name: str
    variable: Var
    separator: str | None = None
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class GpmFunction:
    """``COUNT(A)``, ``TIME(A)``, ``EVENT(A)``: how often GPM ``A`` took part in the match so far, and the instant and the
    graph name of the last event that it took.
    """

    name: str
    gpm: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


Expression: TypeAlias = (
    Var
    | Constant
    | Or
    | And
    | Compare
    | In
    | Arithmetic
    | Unary
    | Call
    | FunctionCall
    | Exists
    | Aggregate
    | Iterated
    | GpmFunction
)


def children(node: Expression) -> Iterator[Expression]:
    """The direct sub-expressions of an expression, left to right; a pattern in EXISTS is not one."""
    for name in node.__dataclass_fields__:  # `fields` would make a tuple of them every time
        value = getattr(node, name)
        for part in value if isinstance(value, tuple) else (value,):
            if hasattr(part, "__dataclass_fields__") and not isinstance(part, (Span, PatternNode, type)):
                yield part


def walk(node: Expression) -> Iterator[Expression]:
    """The expression and everything below it, parents first."""
    yield node
    for child in children(node):
        yield from walk(child)


def rebuild(node: Expression, change: Callable[[Expression], Expression]) -> Expression:
    """The same node with every direct sub-expression replaced by ``change`` of it."""
    updates: dict[str, object] = {}
    for item in fields(node):
        value = getattr(node, item.name)
        if isinstance(value, tuple):
            updates[item.name] = tuple(change(part) for part in value)
        elif is_dataclass(value) and not isinstance(value, (Span, PatternNode, type)):
            updates[item.name] = change(value)  # type: ignore[arg-type]
    return replace(node, **updates) if updates else node  # type: ignore[arg-type]


def conjuncts(node: Expression) -> tuple[Expression, ...]:
    """The operands of a top-level ``&&``, left to right; any other expression is its own conjunct."""
    if isinstance(node, And):
        return conjuncts(node.left) + conjuncts(node.right)
    return (node,)


def reads_iterations(node: Expression) -> bool:
    """True if the expression has a function over iterations (semantics 1.5)."""
    return any(isinstance(part, (Iterated, GpmFunction)) for part in walk(node))


def mentions_prev(node: Expression) -> bool:
    """True if the expression reads the previous iteration; the first iteration skips such a conjunct."""
    return any(isinstance(part, Iterated) and part.name == "PREV" for part in walk(node))
