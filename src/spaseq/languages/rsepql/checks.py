"""The static rules of queries over windows (semantics 3.1), besides SPARQL's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from spaseq.algebra.expressions import Constant, Var
from spaseq.algebra.windows import Range, Trigger, Unit
from spaseq.errors import QueryError, Span, did_you_mean, listed
from spaseq.languages.rsepql.errors import (
    CountedStepInside,
    DefaultGraphEmpty,
    NoWindowCloses,
    SeveralSteps,
    StreamTwice,
    UndeclaredWindow,
    UnusedWindow,
    WindowDeclaredTwice,
    WindowVariable,
)
from spaseq.languages.rsepql.tree import RsepqlQuery, StreamClause
from spaseq.languages.sparql import FormUnsupported, ServiceUnsupported
from spaseq.syntax.ast import DescribeQuery, GraphClause, ServiceClause, Triples
from spaseq.syntax.rules import check_sparql


def check_rsepql(query: RsepqlQuery) -> list[QueryError]:
    """All static errors of a query over windows."""
    if isinstance(query.query, DescribeQuery):
        return [FormUnsupported(form="DESCRIBE", span=query.span)]
    return [*check_sparql(query.query), *_names(query), *_windows(query), *_patterns(query)]


def shown(name: Constant) -> str:
    """A name as the author wrote it."""
    return name.written or str(name.term)


def _names(query: RsepqlQuery) -> Iterator[QueryError]:
    """Each window has one name, each stream stands once in FROM STREAM, each named window is used."""
    windows: dict[object, StreamClause] = {}
    streams: set[object] = set()
    graphs = (clause.name for clause, _ in _clauses(query) if isinstance(clause, GraphClause))
    used = {name.term for name in graphs if isinstance(name, Constant)}
    for clause in query.streams:
        name = clause.window_name
        if clause.name is None and clause.iri.term in streams:
            yield StreamTwice(stream=shown(clause.iri), span=clause.iri.span)
        elif name is not None and name.term in windows:
            yield WindowDeclaredTwice(name=shown(name), span=name.span)
        elif name is not None:
            windows[name.term] = clause
            if name.term not in used:
                yield UnusedWindow(name=shown(name), span=name.span)
        if clause.name is None:
            streams.add(clause.iri.term)


def _windows(query: RsepqlQuery) -> Iterator[QueryError]:
    """Steps: at most one in a window, where it has closing instants; one somewhere if closings are to be reported."""
    for clause in query.streams:
        stepped = [bracket for bracket in clause.window if bracket.step is not None]
        yield from (SeveralSteps(span=bracket.span) for bracket in stepped[1:])
        for bracket in stepped[:1]:
            body = bracket.body
            if isinstance(body, Range) and body.unit is not Unit.TIME and bracket is not clause.window[-1]:
                yield CountedStepInside(unit=body.unit.value, span=bracket.span)
    steps = [bracket.step for clause in query.streams for bracket in clause.window]
    if query.report is not None and query.report.policy.trigger is Trigger.WINDOW_CLOSE and not any(steps):
        yield NoWindowCloses(span=query.report.span)


def _patterns(query: RsepqlQuery) -> Iterator[QueryError]:
    """What WHERE reads: windows that are declared, and a default graph that something fills."""
    known = [name for clause in query.streams if (name := clause.window_name) is not None]
    filled = any(not clause.named for clause in query.query.datasets) or not query.streams
    for clause, inside in _clauses(query):
        match clause:
            case GraphClause(Var() as variable, window=True):
                yield WindowVariable(variable=variable.name, span=variable.span)
            case GraphClause(Constant() as name, window=True) if name not in known:
                names = [shown(each) for each in known]
                hint = did_you_mean(shown(name), names)
                fields = {"name": shown(name), "hint": hint, "known": listed(names)}
                yield UndeclaredWindow(**fields, span=name.span)
            case ServiceClause():
                yield ServiceUnsupported(span=clause.span)
            case Triples(triples) if not (inside or filled) and triples:
                example = shown(known[0]) if known else "<w>"
                yield DefaultGraphEmpty(example=example, span=triples[0].span)
            case _:
                pass


def _clauses(query: RsepqlQuery) -> Iterator[tuple[GraphClause | ServiceClause | Triples, bool]]:
    """The clauses of all groups, sub-SELECTs and EXISTS; true if they stand inside a GRAPH or WINDOW."""
    stack: list[tuple[object, bool]] = [(query.query, False)]
    found = []
    while stack:
        node, inside = stack.pop()
        if isinstance(node, tuple):
            stack.extend((part, inside) for part in node)
        elif is_dataclass(node) and not isinstance(node, Span):
            if isinstance(node, (GraphClause, ServiceClause, Triples)):
                found.append((node, inside))
            within = inside or isinstance(node, (GraphClause, ServiceClause))
            stack.extend((getattr(node, item.name), within) for item in fields(node))
    return iter(found)
