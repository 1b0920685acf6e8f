"""Profiles: the same text as another engine would run it (semantics 4.6, table 1 of the paper)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Final

from pyoxigraph import NamedNode

from spaseq.algebra.event_patterns import (
    Consumption,
    EventDuring,
    EventPattern,
    EventSeq,
    FirstOf,
    LastOf,
    Selected,
    declared_events,
    operands,
    rebuilt,
)
from spaseq.algebra.expressions import Constant, Var
from spaseq.algebra.windows import Emission, Range, ReportPolicy, Trigger, Unit
from spaseq.errors import QueryError, Span
from spaseq.languages.rsepql.errors import ProfileNeedsStep, ProfileWithout
from spaseq.languages.rsepql.tree import (
    ConsumeClause,
    EventClause,
    Registration,
    ReportClause,
    RsepqlQuery,
    StreamClause,
    with_matches,
)
from spaseq.syntax.ast import GraphClause, Group, GroupElement, MatchClause, SubSelect


@dataclass(frozen=True, slots=True)
class Profile:
    """What an engine does with a text.

    ``everything`` replaces the windows of events; ``windows`` reads MATCH as WINDOW. ``closes`` is true for engines whose windows
    close in steps of time, which have no FIRST, LAST, NOT and DURING.
    """

    selected: Selected
    consumption: Consumption
    report: ReportPolicy
    emission: Emission
    everything: bool = False
    closes: bool = False
    windows: bool = False


_CHANGE: Final = ReportPolicy(Trigger.CONTENT_CHANGE)
_CLOSE: Final = ReportPolicy(Trigger.WINDOW_CLOSE, non_empty=True)
PROFILES: Final[dict[str, Profile]] = {
    "epsparql-unrestricted": Profile(
        Selected.ANY, Consumption.NONE, _CHANGE, Emission.ISTREAM, everything=True
    ),
    "epsparql-chronological": Profile(
        Selected.CHRONOLOGICAL, Consumption.CHRONOLOGICAL, _CHANGE, Emission.RSTREAM, everything=True
    ),
    "epsparql-recent": Profile(
        Selected.RECENT, Consumption.RECENT, _CHANGE, Emission.RSTREAM, everything=True
    ),
    "csparql-seq": Profile(Selected.NAIVE, Consumption.NONE, _CLOSE, Emission.RSTREAM, closes=True),
    "csparql-window": Profile(
        Selected.ANY, Consumption.NONE, _CLOSE, Emission.RSTREAM, closes=True, windows=True
    ),
}


def with_profile(query: RsepqlQuery, name: str) -> RsepqlQuery:
    """The query as the engine of a profile would run it; REPORT and the stream operator as they are, if it has them."""
    profile = PROFILES[name]
    matches = bool(query.matches)
    if profile.everything:
        query = _over_everything(query)
    if profile.windows:
        query = _with_windows(query)
    else:
        query = replace(query, query=with_matches(query.query, lambda each: _selecting(each, profile)))
    consume = ConsumeClause(profile.consumption) if matches and not profile.windows else None
    registration = query.registration or Registration("answers")
    if registration.emission is None:
        registration = replace(registration, emission=profile.emission)
    report = query.report or ReportClause(profile.report, query.span)
    return replace(query, consume=consume, report=report, registration=registration)


def profile_errors(query: RsepqlQuery, name: str) -> Iterator[QueryError]:
    """What the engine of a profile does not have."""
    if not PROFILES[name].closes:
        return
    for clause in query.streams:
        body = clause.window[0].body if len(clause.window) == 1 else None
        if not isinstance(body, Range) or body.unit is not Unit.TIME or body.step is None:
            yield ProfileNeedsStep(profile=name, span=clause.span)
    if not query.streams:
        yield ProfileNeedsStep(profile=name, span=query.span)
    for match in query.matches:
        words = dict.fromkeys(_words(match.events))
        yield from (ProfileWithout(profile=name, word=word, span=match.span) for word in words)


def _words(pattern: EventPattern) -> Iterator[str]:
    """The words of an event pattern besides SEQ."""
    match pattern:
        case FirstOf():
            yield "FIRST"
        case LastOf():
            yield "LAST"
        case EventDuring():
            yield "DURING"
        case EventSeq(absent=absent) if absent is not None:
            yield "NOT"
        case _:
            pass
    for operand in operands(pattern):
        yield from _words(operand)


def _selecting(pattern: EventPattern, profile: Profile) -> EventPattern:
    def change(part: EventPattern) -> EventPattern:
        return replace(part, selected=profile.selected, key=None) if isinstance(part, EventSeq) else part

    return rebuilt(pattern, change)


def _over_everything(query: RsepqlQuery) -> RsepqlQuery:
    """The windows of events hold everything so far."""
    names = {event.iri for event in query.events}
    datasets = tuple(
        replace(clause, window=())
        if isinstance(clause, StreamClause) and clause.window_name in names
        else clause
        for clause in query.query.datasets
    )
    return replace(query, query=replace(query.query, datasets=datasets))


def _with_windows(query: RsepqlQuery) -> RsepqlQuery:
    """WINDOW for each event of a MATCH; the events themselves are gone."""
    used = {each.name for match in query.matches for each in declared_events(match.events)}
    datasets = tuple(
        clause
        for clause in query.query.datasets
        if not isinstance(clause, EventClause) or clause.name not in used
    )
    return replace(query, query=replace(_Windows().rewritten(query.query), datasets=datasets))


class _Windows:
    """Replaces every MATCH by the windows of its events; the blank nodes of each copy have labels of their own."""

    def __init__(self) -> None:
        self._copies = 0

    def rewritten(self, node: Any) -> Any:
        if isinstance(node, Group):
            elements = (part for element in node.elements for part in self._element(element))
            return replace(node, elements=tuple(elements))
        if isinstance(node, tuple):
            return tuple(map(self.rewritten, node))
        if not is_dataclass(node) or isinstance(node, (Span, Constant, type)):
            return node
        return replace(node, **{item.name: self.rewritten(getattr(node, item.name)) for item in fields(node)})

    def _element(self, element: GroupElement) -> Iterator[GroupElement]:
        if not isinstance(element, MatchClause):
            yield self.rewritten(element)
            return
        for event in dict.fromkeys(declared_events(element.events)):
            self._copies += 1
            pattern = _relabelled(event.pattern, f".{self._copies}")
            assert isinstance(pattern, (Group, SubSelect))
            name = Constant(NamedNode(event.window), "", element.span)
            yield GraphClause(name, pattern, element.span, window=True)


def _relabelled(node: Any, mark: str) -> Any:
    """A pattern with a mark on the labels of its blank nodes."""
    if isinstance(node, Var):
        return replace(node, name=node.name + mark) if node.hidden else node
    if isinstance(node, tuple):
        return tuple(_relabelled(part, mark) for part in node)
    if not is_dataclass(node) or isinstance(node, (Span, Constant, type)):
        return node
    return replace(node, **{item.name: _relabelled(getattr(node, item.name), mark) for item in fields(node)})
