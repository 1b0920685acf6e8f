"""Lowering: a TALLY query names its operator and what that must know."""

from __future__ import annotations

from spaseq.languages.tally.dialect import DIALECT
from spaseq.languages.tally.errors import NothingToCountBy
from spaseq.languages.tally.tree import TallyQuery

from spaseq.algebra.operator_query import OperatorQuery, StreamPattern
from spaseq.algebra.scope import certainly_bound
from spaseq.errors import QueryError
from spaseq.languages.registry import Lowered
from spaseq.languages.report import Report
from spaseq.languages.sparql import lower_group
from spaseq.model.forms import ResultForm, Stream
from spaseq.syntax.ast import PrefixDeclaration
from spaseq.syntax.parser import parse_dialect
from spaseq.syntax.printer import format_group


def compile_text(text: str, name: str) -> Lowered:
    """Parse, check and lower a query."""
    query = parse_dialect(text, DIALECT, name)
    assert isinstance(query, TallyQuery)
    try:
        return lower(query)
    except QueryError as error:
        raise error.located(text, name) from None


def lower(query: TallyQuery) -> Lowered:
    """The operator of the query and its pattern."""
    report, key, pattern = Report(), query.variable.name, lower_group(query.pattern)
    if key not in certainly_bound(pattern):
        report.error(NothingToCountBy(name=key, span=query.variable.span))
    report.raise_errors()
    stream = Stream("events", query.stream.term.value)
    lowered = OperatorQuery(
        operator="tally",
        form=ResultForm("select", (key, "count")),
        streams=(stream,),
        patterns=(StreamPattern("counted", stream.iri, pattern, query.span),),
        details=(key, query.seconds * 1_000_000),
        key=(key,),
        reason=f"every value of ?{key} is counted for itself",
    )
    normal = f"TALLY ?{key} EVERY {query.seconds} ON <{stream.iri}> {format_group(query.pattern)}"
    declared = (each for each in query.prologue.declarations if isinstance(each, PrefixDeclaration))
    prefixes = tuple((each.name, each.iri) for each in declared)
    return Lowered(lowered, report.warnings, normal, prefixes, query.span)
