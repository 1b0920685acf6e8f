"""Which variables have values of one type, whatever the data: for columns of tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
from spaseq.algebra.intervals import GET_END_TIME, GET_START_TIME, Asked, IntervalQuery
from spaseq.algebra.operator_query import OperatorQuery
from spaseq.algebra.patterns import Bgp, EventMatch, Extend, Graph, Group, Pattern, Values
from spaseq.algebra.scope import matched_patterns
from spaseq.algebra.visibility import every_pattern
from spaseq.algebra.windows import WindowQuery
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
        "dateTime": f"NOW TIMESTAMP {GET_START_TIME} {GET_END_TIME}",
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
    patterns = list(_patterns(query))
    items = query.rewritten.form.items if query.plan and isinstance(query.rewritten.form, SelectForm) else ()
    found: dict[str, str] = {}
    while True:
        before = found
        sites: dict[str, set[str | None]] = {}
        for pattern in patterns:
            for variable, kind in _bound(pattern, before):
                sites.setdefault(variable, set()).add(kind)
        for item in items:
            if item.expression is not None:
                sites[item.variable.name] = {_type(item.expression, before)}
        single = ((name, next(iter(kinds))) for name, kinds in sites.items() if len(kinds) == 1)
        found = {name: kind for name, kind in single if kind is not None}
        if found == before:  # types of expressions over other variables follow from those
            return {name: kind for name, kind in found.items() if name in query.form.variables}


def _patterns(query: CompiledQuery) -> Iterator[Pattern]:
    """All patterns that bind variables of the query."""
    match query.source:
        case OperatorQuery(details=WindowQuery(pattern=pattern)):
            whole = [pattern]
        case OperatorQuery(details=IntervalQuery(asked=Asked(pattern=pattern))):
            whole = [pattern]
        case _:
            whole = [each.pattern for each in query.patterns]
    for pattern in whole:
        for part in every_pattern(pattern):
            yield part
            if isinstance(part, EventMatch):
                for event in matched_patterns(part):
                    yield from every_pattern(event)


def _bound(pattern: Pattern, known: Mapping[str, str]) -> Iterator[tuple[str, str | None]]:
    """The variables that a pattern itself binds, each with the type of its values, None if that may be any."""
    match pattern:
        case Bgp(triples):
            for triple in triples:
                begin = None if triple.is_path else TEXT  # an empty path may begin at a literal
                places = ((triple.subject, begin), (triple.predicate, TEXT), (triple.object, None))
                yield from ((node.name, kind) for node, kind in places if isinstance(node, Var))
        case Extend(variable=variable, expression=expression):
            yield variable.name, _type(expression, known)
        case Group(keys=keys, aggregates=aggregates):
            made = (
                each for each in (*keys, *aggregates) if each[0] != each[1]
            )  # GROUP BY ?k makes no new values
            yield from ((variable.name, _type(expression, known)) for variable, expression in made)
        case Graph(name=Var(name=name)):
            yield name, TEXT
        case Values(variables, rows):
            for place, variable in enumerate(variables):
                kinds = {_type(Constant(row[place]), known) for row in rows if row[place] is not None}  # type: ignore[arg-type]
                yield variable.name, kinds.pop() if len(kinds) == 1 else None


def _type(expression: Expression, known: Mapping[str, str]) -> str | None:
    """The type of the values of an expression, None if it depends on the data; ``known`` are those of variables."""
    match expression:
        case Var(name=name):
            return known.get(name)
        case Compare() | In() | And() | Or() | Exists() | Unary(op="!"):
            return "boolean"
        case Unary(operand=operand):
            return _type(operand, known)
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
            kinds = {_type(left, known), _type(right, known)}
            if not kinds <= set(_NUMBERS):
                return None
            wider = max(map(_NUMBERS.index, filter(None, kinds)))
            least = _NUMBERS.index("decimal" if op == "/" else "integer")
            return _NUMBERS[max(wider, least)]
        case _:
            return None
