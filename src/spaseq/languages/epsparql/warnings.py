"""What runs, but can never do what it says: comparisons that are never true, rules that produce nothing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pyoxigraph import Literal

from spaseq.algebra.expressions import (
    Arithmetic,
    Call,
    Compare,
    Constant,
    Expression,
    Term,
    Var,
    walk,
)
from spaseq.algebra.intervals import GET_DURATION, GET_END_TIME, GET_START_TIME, IntervalQuery, Rule
from spaseq.algebra.patterns import Pattern
from spaseq.algebra.scope import in_scope, pattern_expressions
from spaseq.algebra.visibility import every_pattern
from spaseq.errors import QueryWarning, did_you_mean
from spaseq.languages.epsparql.dialect import SHOWN
from spaseq.languages.epsparql.errors import NeverTrueOfTime, UnboundTemplateVariable
from spaseq.temporal.instants import XSD

_INSTANTS: Final = (GET_START_TIME, GET_END_TIME)


def warnings_of(query: IntervalQuery) -> tuple[QueryWarning, ...]:
    """Everything in a query and its rules that cannot come true."""
    patterns = [rule.pattern for rule in query.rules]
    if query.asked is not None:
        patterns.append(query.asked.read)
    found = [each for pattern in patterns for part in every_pattern(pattern) for each in _in_pattern(part)]
    return (*found, *(each for rule in query.rules for each in _unbound(rule)))


# --- rules ----------------------------------------------------------------------------------------


def _unbound(rule: Rule) -> Iterator[QueryWarning]:
    """The template's variables that no solution binds, each once."""
    known = in_scope(rule.pattern)
    nodes = (node for triple in rule.template for node in (triple.subject, triple.predicate, triple.object))
    missing = {
        node.name: node
        for node in nodes
        if isinstance(node, Var) and not node.hidden and node.name not in known
    }
    for name, node in missing.items():
        visible = [f"?{each}" for each in known if not each.startswith("_:")]
        yield UnboundTemplateVariable(name=name, near=did_you_mean(f"?{name}", visible), span=node.span)


# --- comparisons ----------------------------------------------------------------------------------


def _in_pattern(pattern: Pattern) -> Iterator[QueryWarning]:
    for expression in pattern_expressions(pattern):
        for node in walk(expression):
            if isinstance(node, Compare) and node.op != "!=":
                yield from _compared(node, node.left, node.right)
                yield from _compared(node, node.right, node.left)


def _compared(node: Compare, time: Expression, other: Expression) -> Iterator[QueryWarning]:
    kind = _time(time)
    if kind is None or not isinstance(other, Constant):
        return
    function, duration = kind
    term = other.term
    if isinstance(term, Literal) and _is(term.value, term.datatype.value, duration=duration):
        return
    yield NeverTrueOfTime(
        function=function,
        wanted="a duration" if duration else "an xsd:dateTime",
        given=other.written or _shown(term),
        written=_as_duration(term) if duration else _as_instant(term),
        span=node.span,
    )


def _is(text: str, datatype: str, *, duration: bool) -> bool:
    """Whether a literal is a duration, or an instant."""
    from spaseq.model.values import Kind, literal_value  # loads numpy, which few texts need to be checked

    kinds = (
        (Kind.DURATION, Kind.DAY_TIME_DURATION, Kind.YEAR_MONTH_DURATION) if duration else (Kind.DATETIME,)
    )
    return literal_value(text, datatype).kind in kinds


def _time(expression: Expression) -> tuple[str, bool] | None:
    """What an expression says of an interval, and whether that is a duration."""
    match expression:
        case Call(name) if name in SHOWN:
            return SHOWN[name], name == GET_DURATION
        case Arithmetic("-", Call(first), Call(second)) if first in _INSTANTS and second in _INSTANTS:
            return f"{SHOWN[first]} - {SHOWN[second]}", True
        case _:
            return None


def _shown(term: Term) -> str:
    """A constant as it is usually written."""
    if not isinstance(term, Literal) or not term.datatype.value.startswith(XSD):
        return str(term)
    datatype = term.datatype.value.removeprefix(XSD)
    if datatype in ("integer", "decimal", "double", "boolean"):
        return term.value
    return f'"{term.value}"' if datatype == "string" else f'"{term.value}"^^xsd:{datatype}'


def _as_duration(term: Term) -> str:
    """What was meant, as a duration: seconds, or the same text with what it lacks."""
    text = term.value if isinstance(term, Literal) else ""
    for written in (text, f"P{text}", f"PT{text}", f"PT{text}S"):
        if _is(written.upper(), XSD + "duration", duration=True):
            return f'"{written.upper()}"^^xsd:duration'
    return '"PT1H"^^xsd:duration'


def _as_instant(term: Term) -> str:
    text = term.value if isinstance(term, Literal) else ""
    for written in (text, f"{text}Z", f"{text}T00:00:00Z"):
        if _is(written, XSD + "dateTime", duration=False):
            return f'"{written}"^^xsd:dateTime'
    return '"2026-01-31T12:00:00Z"^^xsd:dateTime'
