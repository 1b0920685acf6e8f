"""The static rules of queries over windows (semantics 3.1) and of event patterns (4.1), besides SPARQL's."""

from __future__ import annotations

from collections.abc import Iterator

from spaseq.algebra.event_patterns import Consumption, EventPattern, EventSeq, declared_events, operands
from spaseq.algebra.expressions import Constant, Var
from spaseq.algebra.windows import Interval, Landmark, Range, Trigger, Unit
from spaseq.errors import QueryError, did_you_mean, listed
from spaseq.languages.rsepql.errors import (
    ConsumeWithoutMatch,
    CountedStepInside,
    DefaultGraphEmpty,
    EndBeforeStart,
    GrowingMatch,
    KeyNotBound,
    MisplacedInEvent,
    NotConsumable,
    NoWindowCloses,
    SeveralSteps,
    StreamAsGraph,
    StreamTwice,
    UndeclaredWindow,
    UnusedEvent,
    UnusedWindow,
    WindowDeclaredTwice,
    WindowVariable,
)
from spaseq.languages.rsepql.lengths import format_moment
from spaseq.languages.rsepql.tree import EventClause, RsepqlQuery, StreamClause, calls, clauses
from spaseq.languages.sparql import FormUnsupported, ServiceUnsupported
from spaseq.syntax.ast import (
    DescribeQuery,
    FilterClause,
    GraphClause,
    GroupPattern,
    MatchClause,
    ServiceClause,
    SubSelect,
    Triples,
)
from spaseq.syntax.rules import check_group, check_sparql, group_scope


def check_rsepql(query: RsepqlQuery) -> list[QueryError]:
    """All static errors of a query over windows."""
    if isinstance(query.query, DescribeQuery):
        return [FormUnsupported(form="DESCRIBE", span=query.query.span)]
    return [
        *check_sparql(query.query),
        *_names(query),
        *_windows(query),
        *_patterns(query),
        *_events(query),
        *_matches(query),
    ]


def shown(name: Constant) -> str:
    """A name as the author wrote it."""
    return name.written or str(name.term)


def _names(query: RsepqlQuery) -> Iterator[QueryError]:
    """Each window has one name, each stream stands once in FROM STREAM, each named window is used."""
    windows: dict[object, StreamClause] = {}
    streams: set[object] = set()
    read = [clause for clause, _ in clauses(query.query) if isinstance(clause, GraphClause)]
    used = {clause.name.term for clause in read if isinstance(clause.name, Constant)}
    known = _known(query)
    unclear = any(clause.window and clause.name not in known for clause in read)  # an error by itself
    used |= {event.iri.term for event in query.events}
    for clause in query.streams:
        name = clause.window_name
        if clause.name is None and clause.iri.term in streams:
            yield StreamTwice(stream=shown(clause.iri), span=clause.iri.span)
        elif name is not None and name.term in windows:
            yield WindowDeclaredTwice(name=shown(name), span=name.span)
        elif name is not None:
            windows[name.term] = clause
            if name.term not in used and not unclear:
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
        for bracket in clause.window:
            match bracket.body:
                case Interval(first, last) if last < first:
                    turned = f"[FROM {format_moment(last)} TO {format_moment(first)}]"
                    yield EndBeforeStart(turned=turned, span=bracket.span)
    steps = [bracket.step for clause in query.streams for bracket in clause.window]
    if query.report is not None and query.report.policy.trigger is Trigger.WINDOW_CLOSE and not any(steps):
        yield NoWindowCloses(span=query.report.span)


def _patterns(query: RsepqlQuery) -> Iterator[QueryError]:
    """What WHERE reads: windows that are declared, and a default graph that something fills."""
    known = _known(query)
    filled = any(not clause.named for clause in query.query.datasets) or not query.streams
    unnamed = {clause.iri for clause in query.streams} - set(known) - _background(query)
    for clause, inside in clauses(query.query):
        match clause:
            case GraphClause(Var() as variable, window=True):
                yield WindowVariable(variable=variable.name, span=variable.span)
            case GraphClause(Constant() as name, window=True) if name not in known:
                yield _undeclared(query, name, ", or use GRAPH for a background graph")
            case GraphClause(Constant() as name) if name in unnamed:
                yield StreamAsGraph(name=shown(name), span=name.span)
            case ServiceClause():
                yield ServiceUnsupported(span=clause.span)
            case Triples(triples) if not (inside or filled) and triples:
                example = shown(known[0]) if known else "<w>"
                yield DefaultGraphEmpty(example=example, span=triples[0].span)
            case _:
                pass


def _known(query: RsepqlQuery) -> list[Constant]:
    """The names of the windows."""
    return [name for clause in query.streams if (name := clause.window_name) is not None]


def _background(query: RsepqlQuery) -> set[Constant]:
    """The background graphs that FROM and FROM NAMED declare."""
    return {each.iri for each in query.query.datasets if not isinstance(each, (StreamClause, EventClause))}


def _undeclared(query: RsepqlQuery, name: Constant, otherwise: str = "") -> UndeclaredWindow:
    names = [shown(each) for each in _known(query)]
    stream = any(clause.iri == name and clause.window_name is None for clause in query.streams)
    declaration = f"FROM NAMED WINDOW {shown(name)} ON <stream> [RANGE 10s STEP 5s]{otherwise}"
    named = f"FROM NAMED STREAM {shown(name)}, since FROM STREAM feeds the default graph"
    return UndeclaredWindow(
        name=shown(name),
        hint=did_you_mean(shown(name), names),
        known=listed(names),
        cure=f"write {named}" if stream else f"add {declaration}",
        span=name.span,
    )


# --- event patterns (4.1) -----------------------------------------------------------------------


def _events(query: RsepqlQuery) -> Iterator[QueryError]:
    """Each event is on a declared window and used, and its pattern reads one event and background graphs."""
    known = _known(query)
    used = {each.name for match in query.matches for each in declared_events(match.events)}
    consumes = query.consume is not None and query.consume.policy is not Consumption.NONE
    for event in query.events:
        yield from check_group(event.pattern)
        if event.iri not in known:
            yield _undeclared(query, event.iri)
        if event.name not in used:
            yield UnusedEvent(name=event.name, span=event.span)
        for clause, _ in clauses(event.pattern):
            match clause:
                case MatchClause():
                    yield MisplacedInEvent(word="MATCH", event=event.name, span=clause.span)
                case GraphClause(name, window=window) if window or name in known:
                    word = "WINDOW" if window else f"GRAPH {shown(name)}, a window,"  # type: ignore[arg-type]
                    yield MisplacedInEvent(word=word, event=event.name, span=clause.span)
                case ServiceClause():
                    yield ServiceUnsupported(span=clause.span)
                case _:
                    pass
        for call in calls(event.pattern):
            if call.name in ("NOW", "TIMESTAMP"):
                yield MisplacedInEvent(word=f"{call.name}()", event=event.name, span=call.span)
        if consumes:
            yield from _consumable(event)


def _consumable(event: EventClause) -> Iterator[QueryError]:
    """Triple patterns and filters, so that it is known which triples a solution uses."""
    pattern = event.pattern
    if isinstance(pattern, SubSelect):
        yield NotConsumable(found="a sub-SELECT", event=event.name, span=pattern.span)
        return
    for element in pattern.elements:
        if isinstance(element, Triples):
            paths = (triple for triple in element.triples if triple.is_path)
            yield from (NotConsumable(found="a path", event=event.name, span=t.span) for t in paths)
        elif not isinstance(element, FilterClause):
            word = type(element).__name__.removesuffix("Clause").upper()
            found = "a group in braces" if word == "UNION" and len(element.groups) == 1 else word  # type: ignore[union-attr]
            yield NotConsumable(found=found, event=event.name, span=element.span)


def _matches(query: RsepqlQuery) -> Iterator[QueryError]:
    """CONSUME has a MATCH to be about, and PARTITION a key that events have."""
    if query.consume is not None and not query.matches:
        yield ConsumeWithoutMatch(span=query.consume.span)
    for match in query.matches:
        patterns = [each.pattern for each in declared_events(match.events)]
        for key in _keys(match.events):
            if not any(_binds(pattern, key) for pattern in patterns):  # type: ignore[arg-type]
                yield KeyNotBound(variable=key.name, span=key.span)


def _keys(pattern: EventPattern) -> Iterator[Var]:
    """The variables after PARTITION."""
    if isinstance(pattern, EventSeq) and pattern.key is not None:
        yield pattern.key
    for operand in operands(pattern):
        yield from _keys(operand)


def _binds(pattern: GroupPattern, key: Var) -> bool:
    """Whether a triple pattern over the event has the variable, and the pattern binds it."""
    own = (clause for clause, inside in clauses(pattern) if isinstance(clause, Triples) and not inside)
    triples = (triple for clause in own for triple in clause.triples)
    found = any(key in (triple.subject, triple.predicate, triple.object) for triple in triples)
    return found and key.name in group_scope(pattern)


def growing(query: RsepqlQuery) -> GrowingMatch | None:
    """A warning if MATCH reads a window that drops nothing, and nothing is consumed."""
    if query.consume is not None and query.consume.policy is not Consumption.NONE:
        return None
    kept = {
        clause.window_name
        for clause in query.streams
        if all(isinstance(bracket.body, Landmark) for bracket in clause.window)
    }
    for event in query.events:
        if event.iri in kept:
            return GrowingMatch(event=event.name, span=event.span)
    return None
