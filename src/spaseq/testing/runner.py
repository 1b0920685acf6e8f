"""Runs spec cases on hosts. A host is a value, so this package imports none of them but the reference."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pyoxigraph import BlankNode, Triple

from spaseq.algebra.operator_query import OperatorQuery
from spaseq.algebra.windows import WindowQuery
from spaseq.errors import QueryError
from spaseq.model.events import GraphEvent, localised
from spaseq.model.matches import Match
from spaseq.model.terms import BlankScopes, Term
from spaseq.planner import CompiledQuery, compile_query, explain
from spaseq.reference import answers
from spaseq.reference.continuous import window_answers
from spaseq.temporal.instants import format_instant
from spaseq.testing.specs import Case, Expected

Run = Callable[[CompiledQuery, tuple[GraphEvent, ...], dict[str, frozenset[Triple]]], Iterable[Match]]


@dataclass(frozen=True, slots=True)
class Host:
    """A way to run a query over a finite streamset."""

    name: str
    run: Run


def _judge(
    query: CompiledQuery, events: tuple[GraphEvent, ...], knowledge: dict[str, frozenset[Triple]]
) -> list[Match]:
    scopes = BlankScopes()
    local = [localised(event, scopes) for event in events]
    if isinstance(query.source, OperatorQuery):
        assert isinstance(query.source.details, WindowQuery), f"there is no reference for {query.language}"
        return window_answers(query.source.details, local, knowledge, query.normal_text)
    return answers(query.algebra, local, knowledge, query.normal_text)


reference_host = Host("reference", _judge)
"""The reference implementation as a host."""


def check(case: Case, host: Host) -> None:
    """Assert everything that a case expects."""
    query = _compiled(case)
    if query is None:
        return
    _check_plan(case, query)
    if case.expected is not None:
        found = list(host.run(query, case.events, case.knowledge))
        check_matches(case, host.name, found)


def _compiled(case: Case) -> CompiledQuery | None:
    """The compiled query; None if the case expects an error and the error came."""
    try:
        query = compile_query(case.query, case.language, profile=case.profile, name=case.id)
    except QueryError as error:
        check_error(case, error)
        return None
    assert case.error is None, f"{case.id}: expected {case.error}, but it compiles"
    return query


def check_error(case: Case, error: QueryError) -> None:
    """Assert that a case expects this error at its place."""
    assert case.error is not None, f"{case.id}\n{error}"
    code, where = case.error
    every = [error, *error.also]
    codes = [each.code for each in every]
    assert code in codes, f"{case.id}: expected {code}, got {', '.join(codes)}\n{error}"
    named = every[codes.index(code)]
    at = f"{named.line}:{named.column}"
    assert where in ("", at), f"{case.id}: expected {code} at {where}, got it at {at}\n{named}"


def _check_plan(case: Case, query: CompiledQuery) -> None:
    codes = [warning.code for warning in query.warnings]
    for code in case.warnings:
        assert code in codes, f"{case.id}: expected warning {code}, got {codes}"
    if case.automaton is not None:
        assert str(query.automaton) == case.automaton, f"{case.id}: the automaton is\n{query.automaton}"
    for wanted, regex in case.plan:
        text = explain(query)
        assert bool(re.search(regex, text)) is wanted, f"{case.id}: plan ~ {regex}\n{text}"


def check_matches(case: Case, host: str, found: list[Match]) -> None:
    """Assert that a case expects these matches, in any order."""
    assert case.expected is not None
    with_events = any(expected.events is not None for expected in case.expected)
    wanted = Counter(_expected_line(expected, with_events) for expected in case.expected)
    got = Counter(_line(match, with_events) for match in found)
    assert wanted == got, "\n".join(
        [f"{case.id} on {host} ({case.path}:{case.line})"]
        + [f"  missing: {line} (x{count})" for line, count in sorted((wanted - got).items())]
        + [f"  extra:   {line} (x{count})" for line, count in sorted((got - wanted).items())]
    )


def _line(match: Match, with_events: bool) -> str:
    events = [f"{event.step}@{format_instant(event.instant)}" for event in match.events]
    bindings = [] if match.triples is not None else list(match.bindings.items())
    truth = match.boolean is not False
    return _text(match.begin, match.instant, bindings, match.triples, events if with_events else [], truth)


def _expected_line(expected: Expected, with_events: bool) -> str:
    events = []
    for event in expected.events or ():
        step, _, time = event.partition("@")
        instant = time if "T" in time else format_instant(round(float(time) * 1_000_000))
        events.append(f"{step}@{instant}")
    return _text(
        expected.start,
        expected.time,
        list(expected.bindings),
        expected.triples,
        events if with_events else [],
        expected.boolean,
    )


def _text(
    start: int,
    time: int,
    bindings: list[tuple[str, Term]],
    triples: frozenset[Triple] | None,
    events: list[str],
    truth: bool,
) -> str:
    parts = [f"{format_instant(start)}..{format_instant(time)}"]
    parts += [f"{name}={_shown(term)}" for name, term in sorted(bindings, key=lambda item: item[0])]
    if triples is not None:
        parts += sorted(" ".join(_shown(term) for term in triple) for triple in triples)
    parts += [] if truth else ["false"]
    return " ".join(parts + (["[" + " ".join(events) + "]"] if events else []))


def _shown(term: object) -> str:
    """A term as text; all blank nodes are the same text, since their labels mean nothing."""
    return "_:" if isinstance(term, BlankNode) else str(term)
