"""Which variables have values of one type, whatever the data: for columns of tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pyoxigraph import Literal

from spaseq.algebra.events import SelectForm
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
    Or,
    Unary,
    Var,
)
from spaseq.algebra.functions import XSD
from spaseq.algebra.patterns import Bgp, Extend, Graph, Group, Pattern, Values
from spaseq.algebra.visibility import every_pattern
from spaseq.planner.compiled import CompiledQuery

TEXT: Final = "string"
"""The type of IRIs, blank nodes and strings: all are texts in a table."""
COUNT: Final = "count"
"""Integers that are never large."""

_CALLS: Final = {
    name: kind
    for kind, names in {
        "boolean": "BOUND SAMETERM ISIRI ISURI ISBLANK ISLITERAL ISNUMERIC STRSTARTS STRENDS CONTAINS LANGMATCHES REGEX",
        COUNT: "STRLEN YEAR MONTH DAY HOURS MINUTES",
        "decimal": "SECONDS",
        "double": "RAND",
        "dateTime": "NOW TIMESTAMP",
        TEXT: "STR LANG DATATYPE IRI URI UUID STRUUID UCASE LCASE SUBSTR STRBEFORE STRAFTER ENCODE_FOR_URI CONCAT REPLACE TZ "
        "MD5 SHA1 SHA256 SHA384 SHA512 BNODE STRLANG",
    }.items()
    for name in names.split()
}
_GPM: Final = {"COUNT": COUNT, "TIME": "dateTime", "EVENT": TEXT}
_NUMBERS: Final = (COUNT, "integer", "decimal", "float", "double")
"""Types of numbers; the result of arithmetic has the later one of two."""


def certain_types(query: CompiledQuery) -> dict[str, str]:
    """The local names of XML Schema types, or `TEXT` and `COUNT`, of the selected variables whose values are certainly of one."""
    sites: dict[str, list[str | None]] = {}
    for pattern in query.patterns:
        for part in every_pattern(pattern.pattern):
            for variable, kind in _bound(part):
                sites.setdefault(variable, []).append(kind)
    if query.plan is not None and isinstance(query.rewritten.form, SelectForm):
        for item in query.rewritten.form.items:
            if item.expression is not None:
                sites[item.variable.name] = [_type(item.expression)]
    found = {name: kinds[0] for name, kinds in sites.items() if len(set(kinds)) == 1}
    return {name: kind for name, kind in found.items() if kind is not None and name in query.form.variables}


def _bound(pattern: Pattern) -> Iterator[tuple[str, str | None]]:
    """The variables that a pattern itself binds, each with the type of its values, None if that may be any."""
    match pattern:
        case Bgp(triples):
            for triple in triples:
                places = ((triple.subject, TEXT), (triple.predicate, TEXT), (triple.object, None))
                yield from ((node.name, kind) for node, kind in places if isinstance(node, Var))
        case Extend(variable=variable, expression=expression):
            yield variable.name, _type(expression)
        case Group(keys=keys, aggregates=aggregates):
            yield from ((variable.name, _type(expression)) for variable, expression in (*keys, *aggregates))
        case Graph(name=Var(name=name)):
            yield name, TEXT
        case Values(variables, rows):
            for place, variable in enumerate(variables):
                kinds = {_type(Constant(row[place])) for row in rows if row[place] is not None}  # type: ignore[arg-type]
                yield variable.name, kinds.pop() if len(kinds) == 1 else None


def _type(expression: Expression) -> str | None:
    """The type of the values of an expression, None if it depends on the data."""
    match expression:
        case Compare() | In() | And() | Or() | Exists() | Unary(op="!"):
            return "boolean"
        case Unary(operand=operand):
            return _type(operand)
        case Constant(term=Literal() as term):
            return TEXT if term.language else term.datatype.value.removeprefix(XSD)
        case Constant():
            return TEXT
        case Call(name=name):
            return _CALLS.get(name)
        case FunctionCall(function=function):
            return str(getattr(function.term, "value", "")).removeprefix(XSD)
        case Aggregate(name="COUNT"):
            return COUNT
        case Aggregate(name="GROUP_CONCAT"):
            return TEXT
        case GpmFunction(name=name):
            return _GPM.get(name)
        case Arithmetic(op=op, left=left, right=right):
            kinds = {_type(left), _type(right)}
            if not kinds <= set(_NUMBERS):
                return None
            wider = max(map(_NUMBERS.index, filter(None, kinds)))
            least = _NUMBERS.index("decimal" if op == "/" else "integer")
            return _NUMBERS[max(wider, least)]
        case _:
            return None
