"""A whole query over windows, checked and lowered: the defaults of semantics 3.4, 3.5 and 4.1 are made explicit here."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Final, assert_never

from pyoxigraph import NamedNode

from spaseq.algebra.event_patterns import Consumption
from spaseq.algebra.events import AskForm, ConstructForm, Form, ProjectionItem, SelectForm
from spaseq.algebra.expressions import Constant
from spaseq.algebra.patterns import Pattern
from spaseq.algebra.scope import visible
from spaseq.algebra.windows import (
    Emission,
    Everything,
    ReportPolicy,
    StreamWindow,
    Trigger,
    WindowQuery,
)
from spaseq.errors import QueryError
from spaseq.languages.registry import Lowered
from spaseq.languages.rsepql.checks import growing
from spaseq.languages.rsepql.dialect import parse_rsepql
from spaseq.languages.rsepql.printer import format_rsepql
from spaseq.languages.rsepql.tree import Answering, EventClause, RsepqlQuery, StreamClause
from spaseq.languages.sparql import lower_query
from spaseq.model.forms import EVERY_STREAM, Stream
from spaseq.syntax import ast

DEFAULT_WINDOW: Final = "urn:spaseq:default:"
"""The names of windows of the default graph, which no query can read as a graph."""


def compile_windows(text: str, name: str = "query", profile: str | None = None) -> WindowQuery:
    """Parse, check and lower a query over windows; `QueryError` says what is wrong and where."""
    written = parse_rsepql(text, name=name, profile=profile)
    try:
        return lower(written)
    except QueryError as error:
        error.located(text, name)
        raise


def compile_text(text: str, name: str, profile: str | None = None) -> Lowered:
    """Parse, check and lower a query; `QueryError` says what is wrong and where."""
    written = parse_rsepql(text, name=name, profile=profile)
    try:
        query = lower(written)
    except QueryError as error:
        error.located(text, name)
        raise
    declared = (each for each in written.prologue.declarations if isinstance(each, ast.PrefixDeclaration))
    plain = replace(written, query=replace(written.query, prologue=ast.Prologue()))
    warning = growing(written)
    return Lowered(
        query,
        () if warning is None else (warning,),
        format_rsepql(plain),
        tuple({each.name: each.iri for each in declared}.items()),
        written.span,
    )


def lower(written: RsepqlQuery) -> WindowQuery:
    """The query as a value that belongs to no spelling of it."""
    plain = [
        clause for clause in written.query.datasets if not isinstance(clause, (StreamClause, EventClause))
    ]
    named, default = (
        tuple(dict.fromkeys(_iri(clause.iri) for clause in plain if clause.named is kind))
        for kind in (True, False)
    )
    windows = tuple(_windows(written))
    pattern = lower_query(replace(written.query, datasets=()))
    report = written.report.policy if written.report is not None else _default_report(written, windows)
    return WindowQuery(
        form=_form(written.query, pattern),
        pattern=pattern,
        streams=tuple(_streams(written)),
        windows=windows,
        default_windows=tuple(w.name for w in windows if w.name.startswith(DEFAULT_WINDOW)),
        default_graphs=default,
        named_graphs=named or None,
        report=report,
        emission=_emission(written, report),
        consumption=_consumption(written),
    )


def _windows(written: RsepqlQuery) -> Iterator[StreamWindow]:
    """A window for each stream clause; a query without any reads everything so far of every stream."""
    for number, clause in enumerate(written.streams):
        name = clause.window_name
        called = f"{DEFAULT_WINDOW}{number}" if name is None else _iri(name)
        bodies = tuple(bracket.body for bracket in clause.window) or (Everything(),)
        yield StreamWindow(called, _iri(clause.iri), bodies)
    if not written.streams:
        yield StreamWindow(f"{DEFAULT_WINDOW}0", EVERY_STREAM, (Everything(),))


def _streams(written: RsepqlQuery) -> Iterator[Stream]:
    """Each stream once, under its IRI, the name that the query writes first, and its local name if that is unique."""
    if not written.streams:
        yield Stream("*", EVERY_STREAM)
    spelled = {_iri(clause.iri): clause.iri.written.strip("<>") for clause in reversed(written.streams)}
    locals_ = Counter(map(_local, spelled))
    for iri in dict.fromkeys(_iri(clause.iri) for clause in written.streams):
        local = _local(iri)
        yield Stream(spelled[iri] or iri, iri, (local,) if local and locals_[local] == 1 else ())


def _local(iri: str) -> str:
    """The last part of an IRI: a stream may be called so if no other stream of the query ends alike."""
    return re.split("[#/:]", iri)[-1]


def _default_report(written: RsepqlQuery, windows: tuple[StreamWindow, ...]) -> ReportPolicy:
    """WINDOW CLOSE if a window has a step, CONTENT CHANGE if none has or with MATCH; C-SPARQL reports no empty window (3.4)."""
    closes = any(window.stepping is not None for window in windows) and not written.matches
    return ReportPolicy(
        Trigger.WINDOW_CLOSE if closes else Trigger.CONTENT_CHANGE,
        non_empty=any(clause.name is None for clause in written.streams),
    )


def _emission(written: RsepqlQuery, report: ReportPolicy) -> Emission:
    if written.registration is not None and written.registration.emission is not None:
        return written.registration.emission
    if _consumption(written) is not Consumption.NONE:
        return Emission.RSTREAM
    return Emission.ISTREAM if report.trigger is Trigger.CONTENT_CHANGE else Emission.RSTREAM


def _consumption(written: RsepqlQuery) -> Consumption:
    return Consumption.NONE if written.consume is None else written.consume.policy


def _form(query: Answering, pattern: Pattern) -> Form:
    match query:
        case ast.SelectQuery():
            return SelectForm(tuple(ProjectionItem(variable) for variable in visible(pattern)))
        case ast.AskQuery():
            return AskForm()
        case ast.ConstructQuery(None, where):
            assert isinstance(where, ast.Group)
            blocks = (element for element in where.elements if isinstance(element, ast.Triples))
            return ConstructForm(tuple(triple for block in blocks for triple in block.triples))
        case ast.ConstructQuery(template):
            assert template is not None
            return ConstructForm(template)
        case ast.DescribeQuery():
            raise AssertionError("the checks refuse DESCRIBE")
        case _:
            assert_never(query)


def _iri(name: Constant) -> str:
    assert isinstance(name.term, NamedNode)
    return name.term.value
