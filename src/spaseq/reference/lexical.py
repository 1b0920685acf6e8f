"""Rewrites a pattern so that expressions unwrap the stand-ins of terms (see `sparql`).

An expression stands either where its *term* matters (BIND of a plain variable, branches of IF and
COALESCE, sameTerm, MIN and MAX) or where its *value* does (everything else); STR reads the lexical form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any, cast

from pyoxigraph import BlankNode, NamedNode

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
    PatternNode,
    Term,
    Unary,
    Var,
    rebuild,
)
from spaseq.algebra.patterns import Extend, Filter, Group, LeftJoin, OrderKey, Pattern, TriplePattern, Values
from spaseq.reference.numbers import CASTS, FUNCTIONS, name_of

VALUE = "urn:spaseq:function:value"
LEXICAL = "urn:spaseq:function:lexical"
AGGREGATE = "urn:spaseq:aggregate:"
AGGREGATES = ("MIN", "MAX", "SUM", "AVG", "GROUP_CONCAT")
"""Aggregates whose results keep the spelling of terms, or the size of numbers."""
TIMESTAMP = "urn:spaseq:function:timestamp:"
"""Begins the names of functions of three terms: the time of a triple in a graph (semantics 3.3)."""

Wrap = Callable[[Term], Term]


def preserve(pattern: Pattern, wrap: Wrap) -> Pattern:
    """The pattern over wrapped constants, its expressions reading wrapped variables."""
    match pattern:
        case Filter(inner, condition):
            return Filter(preserve(inner, wrap), _test(condition, wrap))
        case LeftJoin(left, right, condition):
            on = None if condition is None else _test(condition, wrap)
            return LeftJoin(preserve(left, wrap), preserve(right, wrap), on)
        case Extend(inner, variable, expression):
            return Extend(preserve(inner, wrap), variable, _term(expression, wrap))
        case Group(inner, keys, aggregates):
            inner, aggregates = _bound_counts(inner, aggregates)
            return Group(
                preserve(inner, wrap),
                tuple((variable, _term(key, wrap)) for variable, key in keys),
                tuple((variable, _term(aggregate, wrap)) for variable, aggregate in aggregates),
            )
        case Values(variables, rows):
            wrapped = tuple(tuple(None if term is None else wrap(term) for term in row) for row in rows)
            return Values(variables, wrapped)
        case _:
            return cast(Pattern, _parts(pattern, wrap))


def _bound_counts(
    inner: Pattern, aggregates: tuple[tuple[Var, Expression], ...]
) -> tuple[Pattern, tuple[tuple[Var, Expression], ...]]:
    """COUNT of expressions as COUNT of variables bound before: errors do not count (SPARQL 1.1, 18.5.1.2), but spoil a store's."""
    found = list[tuple[Var, Expression]]()
    for number, (variable, aggregate) in enumerate(aggregates, start=1):
        match aggregate:
            case Aggregate("COUNT", operand) if operand is not None and not isinstance(operand, Var):
                counted = Var(f"_:counted#{number}")
                inner = Extend(inner, counted, operand)
                found.append((variable, replace(aggregate, operand=counted)))
            case _:
                found.append((variable, aggregate))
    return inner, tuple(found)


def _parts(node: Any, wrap: Wrap) -> Any:
    """Any other pattern: the same node over its preserved parts."""
    match node:
        case Constant(term):
            return replace(node, term=wrap(term))
        case OrderKey(expression):
            return replace(node, expression=_called("order", (expression,), wrap))
        case tuple():
            return tuple(_parts(part, wrap) for part in node)
        case TriplePattern():
            return replace(node, **{n: _parts(getattr(node, n), wrap) for n in ("subject", "object")})
        case PatternNode():
            updates = {
                item.name: _part(getattr(node, item.name), wrap)
                for item in fields(node)  # type: ignore[arg-type]
            }
            return replace(node, **updates)  # type: ignore[type-var]
        case _:
            return node


def _part(part: Any, wrap: Wrap) -> Any:
    return preserve(part, wrap) if isinstance(part, PatternNode) else _parts(part, wrap)  # type: ignore[arg-type]


def _term(node: Expression, wrap: Wrap) -> Expression:
    """The expression where its term matters."""
    match node:
        case Var():
            return node
        case Constant(term):
            return replace(node, term=wrap(term))
        case Call("IF", (test, then, otherwise)):
            return replace(node, arguments=(_test(test, wrap), _term(then, wrap), _term(otherwise, wrap)))
        case Call("COALESCE", arguments):
            return replace(node, arguments=tuple(_term(argument, wrap) for argument in arguments))
        case Aggregate("COUNT" | "SAMPLE", Var()):
            return node
        case Aggregate(name, operand, distinct, separator) if operand is not None and name in AGGREGATES:
            iri = aggregate_name(name, distinct, separator)
            return FunctionCall(Constant(NamedNode(iri)), (_term(operand, wrap),))
        case _:
            return _value(node, wrap)


def _value(node: Expression, wrap: Wrap) -> Expression:
    """The expression where its value matters."""
    match node:
        case Var() | Constant(BlankNode()) | Call("IF" | "COALESCE"):
            return FunctionCall(Constant(NamedNode(VALUE)), (_term(node, wrap),))
        case Call("BOUND"):
            return node
        case Call("SAMETERM", arguments):
            return replace(node, arguments=tuple(_term(argument, wrap) for argument in arguments))
        case Call("STR", arguments):
            return _lexical(arguments[0], wrap)
        case FunctionCall(Constant(NamedNode(value=iri)), arguments) if iri.startswith(TIMESTAMP):
            return replace(node, arguments=tuple(_term(argument, wrap) for argument in arguments))
        case Compare(op, left, right) | Arithmetic(op, left, right):
            return _called(op, (left, right), wrap)
        case In(operand, (first, *others), negated):
            found: Expression = Compare("=", operand, first)
            for option in others:
                found = Or(found, Compare("=", operand, option))
            return _value(Unary("!", found) if negated else found, wrap)
        case Unary("+" | "-" as op, operand):
            return _called(op, (operand,), wrap)
        case And(left, right) | Or(left, right):
            return replace(node, left=_test(left, wrap), right=_test(right, wrap))
        case Unary(_, operand):
            return replace(node, operand=_test(operand, wrap))
        case Call(name, arguments) if name in FUNCTIONS:
            return _called(name, arguments, wrap)
        case FunctionCall(Constant(NamedNode(value=iri)), (argument,)) if iri in CASTS:
            return _called(iri, (argument,), wrap)
        case Exists(pattern):
            return replace(node, pattern=preserve(pattern, wrap))  # type: ignore[arg-type]
        case _:
            return rebuild(node, lambda part: _value(part, wrap))


def _called(name: str, arguments: tuple[Expression, ...], wrap: Wrap) -> Expression:
    """An operator or function of numbers of any size."""
    iri = Constant(NamedNode(name_of(name)))
    return FunctionCall(iri, tuple(_value(argument, wrap) for argument in arguments))


def _test(node: Expression, wrap: Wrap) -> Expression:
    """The expression where its effective boolean value matters."""
    truth = isinstance(node, (And, Or, Compare, In, Exists)) or (isinstance(node, Unary) and node.op == "!")
    return _value(node, wrap) if truth else _called("test", (node,), wrap)


def aggregate_name(name: str, distinct: bool, separator: str | None) -> str:
    """The IRI of an aggregate, which says everything about it."""
    spelled = " " if separator is None else separator
    return f"{AGGREGATE}{name}:{int(distinct)}:{spelled.encode().hex()}"


def _lexical(argument: Expression, wrap: Wrap) -> Expression:
    return FunctionCall(Constant(NamedNode(LEXICAL)), (_term(argument, wrap),))
