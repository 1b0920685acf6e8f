"""How a MATCH is followed: by which key its events can be looked at apart, or why they cannot (semantics 4.7)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement, product
from types import NoneType

from spaseq.algebra.event_patterns import (
    Consumption,
    DeclaredEvent,
    EventDuring,
    EventPattern,
    EventSeq,
    FirstOf,
    LastOf,
    Selected,
    declared_events,
    format_events,
    operands,
    seqs,
)
from spaseq.algebra.expressions import Var
from spaseq.algebra.patterns import Bgp, Filter, Join, TriplePattern, Union
from spaseq.algebra.scope import certainly_bound, lowered
from spaseq.algebra.windows import Range, Unit, WindowQuery
from spaseq.windowed.inputs import consuming_event, matches, may_meet, nodes_of


@dataclass(frozen=True, slots=True)
class MatchPlan:
    """The variables by whose values events never meet; without any, the reason.

    With ``by_last`` no event brings or changes a solution by coming but one of the last EVENT. With ``settled`` an evaluation
    that finds nothing for an event of the last EVENT has settled that: it will be part of no solution.
    """

    key: tuple[str, ...]
    reason: str = ""
    by_last: bool = False
    settled: bool = False
    only_last: bool = False
    """Of either EVENT only the last events matter."""
    joined: bool = False
    """Joins of views follow it."""
    looks_back: bool = False
    """A solution comes with its last event and lasts until its first one leaves: it is enough to look back from each one that comes."""


def match_plan(pattern: EventPattern, query: WindowQuery) -> MatchPlan:
    """How a MATCH of a query is followed."""
    consumption = query.consumption
    key, reason = _key(pattern, consumption)
    by_last = _by_last(pattern)
    only_last = (
        consumption is Consumption.NONE
        and isinstance(pattern, EventSeq)
        and pattern.selected is Selected.NAIVE
        and pattern.absent is None
        and _of_two(pattern)
    )
    none = consumption is Consumption.NONE
    looks_back = none and by_last and _is_chain(pattern) and not _is_counted(pattern, query)
    joined = none and _is_plain(pattern) and not (looks_back and _is_pair(pattern))
    settled = by_last and _of_two(pattern) and not (not none and _changes(pattern))
    return MatchPlan(key, reason, by_last, settled, only_last, joined, looks_back)


def match_facts(query: WindowQuery) -> Iterator[str]:
    """How every SEQ of every MATCH is followed."""
    for match in matches(query):
        plan = match_plan(match.events, query)
        if plan.joined or (plan.looks_back and _is_plain(match.events)):
            how = "a join over time that follows events as they come and leave"
        elif plan.looks_back:
            how = "looked for when its last event comes, and there until its first one leaves"
            if any(seq.selected is Selected.NEXT for seq in seqs(match.events)):
                how += "; made anew once an event comes that lasts"
        elif plan.only_last:
            how = "only the last events of either side are kept"
        elif plan.key:
            shared = " ".join(f"?{name}" for name in plan.key)
            how = f"made anew for the values of {shared} of which an event comes or leaves"
        else:
            how = f"made anew whenever an event comes or leaves, because {plan.reason}"
        if query.consumption is not Consumption.NONE:
            how += "; what it uses is consumed"
        yield from (f"{format_events(seq)}: {how}" for seq in seqs(match.events))


def _is_plain(pattern: EventPattern) -> bool:
    """True for events that plain SEQ and DURING put together."""
    match pattern:
        case DeclaredEvent() | EventDuring() | EventSeq(selected=Selected.ANY, absent=None):
            return all(map(_is_plain, operands(pattern)))
        case _:
            return False


def _by_last(pattern: EventPattern) -> bool:
    """In one window events come in order of time: what comes later than the last event of a solution does not concern it.

    But for DURING, NAIVE and patterns under NOT, which look at all that there is.
    """
    return len({each.window for each in declared_events(pattern)}) == 1 and not any(
        isinstance(node, EventDuring)
        or (isinstance(node, EventSeq) and node.selected is Selected.NAIVE)
        or (isinstance(node, EventSeq) and not isinstance(node.absent, (DeclaredEvent, NoneType)))
        for node in _nodes(pattern)
    )


def _is_chain(pattern: EventPattern) -> bool:
    """True if only events between the first and the last one of a solution have a say in it: they leave after the first."""
    match pattern:
        case EventSeq(
            left, DeclaredEvent(), Selected.ANY | Selected.NEXT | Selected.STRICT | Selected.PARTITION
        ):
            return isinstance(left, DeclaredEvent) or _is_chain(left)
        case _:
            return False


def _is_pair(pattern: EventPattern) -> bool:
    return (
        isinstance(pattern, EventSeq)
        and isinstance(pattern.left, DeclaredEvent)
        and isinstance(pattern.right, DeclaredEvent)
    )


def _is_counted(pattern: EventPattern, query: WindowQuery) -> bool:
    """True if simultaneous events may leave, or come, apart."""
    used = {each.window for each in declared_events(pattern)}
    bodies = (body for window in query.windows if window.name in used for body in window.bodies)
    return any(isinstance(body, Range) and body.unit is not Unit.TIME for body in bodies)


def _of_two(pattern: EventPattern) -> bool:
    """True for a SEQ of two EVENTs that ask for different things."""
    if not isinstance(pattern, EventSeq):
        return False
    events = [each for each in (pattern.left, pattern.absent, pattern.right) if each is not None]
    asked = {(each.window, each.pattern) for each in events if isinstance(each, DeclaredEvent)}
    return len(asked) == len(events)


def _changes(pattern: EventPattern) -> bool:
    """True if what is consumed may change what EXISTS in an EVENT says."""
    events = tuple(declared_events(pattern))
    return any(consuming_event(each, events).changing for each in events)


def _key(pattern: EventPattern, consumption: Consumption) -> tuple[tuple[str, ...], str]:
    """By which key a MATCH is followed, or why by none."""
    events = declared_events(pattern)
    shared = frozenset.intersection(*(certainly_bound(lowered(each.pattern)) for each in events))
    names = sorted(name for name in shared if not name.startswith("_:"))
    reasons = {name: not_split(pattern, consumption, name) for name in names}
    key = tuple(name for name, reason in reasons.items() if reason is None)
    none = "no variable is bound by every EVENT of it"
    return key, "" if key else next((reason for reason in reasons.values() if reason is not None), none)


def not_split(pattern: EventPattern, consumption: Consumption, name: str) -> str | None:
    """Why the events of a MATCH with different values of a variable may meet; None if they never do (semantics 4.7)."""
    for node in _nodes(pattern):
        match node:
            case DeclaredEvent(event, pattern=inner) if name not in certainly_bound(lowered(inner)):
                return f"EVENT {event} may leave ?{name} unbound"
            case FirstOf():
                return "FIRST compares all events"
            case LastOf():
                return "LAST compares all events"
            case EventSeq(selected=Selected.NAIVE | Selected.STRICT as selected):
                return f"SEQ {selected.value} compares all events"
            case EventSeq(key=Var(other)) if other != name:
                return f"SEQ PARTITION compares events by ?{other}"
            case _:
                pass
    if consumption is not Consumption.NONE and not _apart(tuple(declared_events(pattern)), name):
        return f"what is consumed for one value of ?{name} may be used for another"
    return None


def _nodes(pattern: EventPattern) -> Iterator[EventPattern]:
    yield pattern
    for operand in operands(pattern):
        yield from _nodes(operand)


def _apart(events: tuple[DeclaredEvent, ...], name: str) -> bool:
    """True if no triple can be used for two values of a variable: wherever patterns meet they have it in the same place.

    What EXISTS reads of an event has the variable as well, if consuming may change it.
    """
    consuming = [(event.window, consuming_event(event, events)) for event in events]
    placed = [(window, triple) for window, each in consuming for triple in each.triples]
    read = [(window, each) for window, event in consuming for each in event.read_by_exists()]
    if not all(isinstance(each, (Bgp, Filter, Join, Union)) for _, each in read):
        return False
    inner = [(window, triple) for window, each in read if isinstance(each, Bgp) for triple in each.triples]
    return all(not triple.is_path and _places(triple, name) for _, triple in inner) and all(
        _places(one, name) & _places(other, name)
        for (window, one), (own, other) in (
            *combinations_with_replacement(placed, 2),
            *product(placed, inner),
        )
        if window == own and may_meet(one, other)
    )


def _places(triple: TriplePattern, name: str) -> frozenset[int]:
    return frozenset(at for at, node in enumerate(nodes_of(triple)) if node == Var(name))
