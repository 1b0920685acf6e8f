"""What a continuous query asks of single events: which triples its windows must hold, and which events there are.

A window needs of every event only the triples that some triple pattern over it may match (SPECTRA's graph summary). Each
such pattern is matched event by event, wherever the data is; the windows then hold its solutions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import reduce
from typing import Any, Final

from pyoxigraph import NamedNode

from spaseq.algebra.by_place import EVERYTHING, PLACES, by_place
from spaseq.algebra.event_patterns import Consumption, DeclaredEvent, declared_events, seqs
from spaseq.algebra.expressions import And, Call, Constant, Expression, Var, conjuncts, walk
from spaseq.algebra.functions import has_exists
from spaseq.algebra.patterns import (
    Bgp,
    EventMatch,
    Filter,
    Graph,
    Node,
    Pattern,
    Project,
    TriplePattern,
)
from spaseq.algebra.scope import in_scope, lowered, pattern_expressions, sub_patterns
from spaseq.algebra.visibility import event_triples, every_pattern, exists_patterns
from spaseq.algebra.windows import Range, StreamWindow, Unit, WindowQuery
from spaseq.errors import Span
from spaseq.windowed.named_graphs import with_listed_events
from spaseq.windowed.paths import triples_for

BLANK: Final = "spaseq_blank_"
"""Begins the variables that stand for blank nodes."""


@dataclass(frozen=True, slots=True)
class Input:
    """A triple pattern over the events of a stream, its variables named by place; None: the events themselves."""

    stream: str
    triple: TriplePattern | None = None

    @property
    def pattern(self) -> Pattern:
        """The graph pattern that events are matched with."""
        return Bgp(() if self.triple is None else (self.triple,))

    @property
    def nodes(self) -> tuple[Node, Node, Node]:
        """The triple's parts: constants, and variables named by place."""
        assert self.triple is not None
        predicate = self.triple.predicate
        assert isinstance(predicate, (Var, Constant))
        return self.triple.subject, predicate, self.triple.object

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its variables."""
        return tuple(dict.fromkeys(node.name for node in self.nodes if isinstance(node, Var)))


@dataclass(frozen=True, slots=True)
class EventInput:
    """A graph pattern over the events of a stream, each by itself, for MATCH."""

    stream: str
    pattern: Pattern


def counts_triples(window: StreamWindow) -> bool:
    """True if a window is counted in triples."""
    return any(isinstance(body, Range) and body.unit is Unit.TRIPLES for body in window.bodies)


def window_inputs(query: WindowQuery) -> tuple[Input | EventInput, ...]:
    """Everything that is asked of single events: first the events of every stream, then their triples, then what MATCH names."""
    found: list[Input | EventInput] = [
        Input(stream) for stream in dict.fromkeys(window.stream for window in query.windows)
    ]
    found += [Input(window.stream, EVERYTHING) for window in query.windows if counts_triples(window)]
    return tuple(dict.fromkeys([*found, *_read_inputs(query)]))


def _read_inputs(query: WindowQuery) -> Iterator[Input | EventInput]:
    """What patterns read, and what MATCH names."""
    yield from (source for _, source in window_triples(query.pattern, query.default_windows, query))
    listed = with_listed_events(query)
    for each in matches(listed):
        yield from event_inputs(each, listed)


def counted_inputs(query: WindowQuery) -> frozenset[Input]:
    """Those of which only the number of an event's triples matters: no pattern reads them."""
    counted = (Input(window.stream, EVERYTHING) for window in query.windows if counts_triples(window))
    return frozenset(counted) - frozenset(_read_inputs(query))


def matches(query: WindowQuery) -> tuple[EventMatch, ...]:
    """Every MATCH of a query."""
    return tuple(part for part in every_pattern(query.pattern) if isinstance(part, EventMatch))


def event_inputs(match: EventMatch, query: WindowQuery) -> Iterator[Input | EventInput]:
    """What a MATCH asks of single events: its EVENT patterns, and for PARTITION which events have a key."""
    streams = {window.name: window.stream for window in query.windows}
    events = tuple(declared_events(match.events))
    for each in events:
        stream = streams[each.window]
        if query.consumption is Consumption.NONE:
            yield EventInput(stream, lowered(each.pattern))
        else:
            consuming = consuming_event(each, events)
            yield EventInput(stream, consuming.pattern)
            yield from (Input(stream, triple) for triple in consuming.graph(query.key))
    for node in seqs(match.events):
        if node.key is not None:
            for each in events:
                yield from (
                    EventInput(streams[each.window], Bgp((triple,))) for triple in key_triples(each, node.key)
                )


@dataclass(frozen=True, slots=True)
class ConsumingEvent:
    """An EVENT whose triples are consumed (semantics 4.5): triple patterns and filters.

    Blank nodes are variables, so that all that they stand for is used. ``changing`` are the conditions that may change when triples
    of the event are consumed, because EXISTS in them reads such triples; ``pattern`` is the EVENT's own without them.
    """

    pattern: Pattern
    triples: tuple[TriplePattern, ...]
    changing: tuple[Expression, ...]

    @property
    def whole(self) -> Pattern:
        """The pattern whose solutions over what is left of an event's graph are those that satisfy what may change."""
        return Filter(Bgp(self.triples), reduce(And, self.changing))

    def graph(self, key: str | None) -> tuple[TriplePattern, ...]:
        """The triples of an event that decide what may change; a key keeps its name."""
        read = _read_triples(self.whole) if self.changing else ()
        return tuple(dict.fromkeys(each for triple in read for each in triples_for(triple, key)))

    def read_by_exists(self) -> Iterator[Pattern]:
        """The patterns that EXISTS evaluates in what may change, with all that is inside them."""
        if self.changing:
            for inner in exists_patterns(self.whole):
                yield from every_pattern(inner)


def consuming_event(event: DeclaredEvent, events: tuple[DeclaredEvent, ...]) -> ConsumingEvent:
    """An EVENT of a MATCH that consumes; ``events`` are all of it."""
    consumed = [used for each in events if each.window == event.window for used in _conditions(each)[1]]
    conditions, triples = _conditions(event)
    changing = tuple(each for each in conditions if _reads(each, consumed))
    fixed = [each for each in conditions if each not in changing]
    pattern = Bgp(triples)
    return ConsumingEvent(Filter(pattern, reduce(And, fixed)) if fixed else pattern, triples, changing)


def _conditions(event: DeclaredEvent) -> tuple[tuple[Expression, ...], tuple[TriplePattern, ...]]:
    """The conditions and the triple patterns of an EVENT that has nothing else, blank nodes as variables."""
    pattern = lowered(event.pattern)
    inner: Pattern = _named(pattern.pattern if isinstance(pattern, Project) else pattern)
    conditions: tuple[Expression, ...] = ()
    while isinstance(inner, Filter):
        conditions = (*conjuncts(inner.condition), *conditions)
        inner = inner.pattern
    assert isinstance(inner, Bgp), "the checks of CONSUME allow nothing else"
    return conditions, inner.triples


def _reads(condition: Expression, consumed: list[TriplePattern]) -> bool:
    """True if EXISTS in a condition reads triples that may be consumed."""
    if not has_exists(condition):
        return False
    inner = (each for each in exists_patterns(Filter(Bgp(()), condition)))
    read = [by for pattern in inner for triple in _read_triples(pattern) for by in triples_for(triple)]
    return any(may_meet(one, other) for one in read for other in consumed)


def _read_triples(pattern: Pattern) -> Iterator[TriplePattern]:
    """The triple patterns and paths that read the graph of an event."""
    if isinstance(pattern, Graph):
        return
    if isinstance(pattern, Bgp):
        yield from pattern.triples
    for inner in (*sub_patterns(pattern), *exists_patterns(pattern)):
        yield from _read_triples(inner)


def may_meet(one: TriplePattern, other: TriplePattern) -> bool:
    """True if some triple may match both."""
    return not any(
        isinstance(left, Constant) and isinstance(right, Constant) and left.term != right.term
        for left, right in zip(nodes_of(one), nodes_of(other), strict=True)
    )


def nodes_of(triple: TriplePattern) -> tuple[object, object, object]:
    """Subject, predicate and object."""
    return triple.subject, triple.predicate, triple.object


def _named(node: Any) -> Any:
    """A pattern with variables for its blank nodes."""
    if isinstance(node, Var):
        return replace(node, name=BLANK + node.name[2:].encode().hex()) if node.hidden else node
    if isinstance(node, tuple):
        return tuple(map(_named, node))
    if not is_dataclass(node) or isinstance(node, (Constant, Span, type)):
        return node
    return replace(node, **{item.name: _named(getattr(node, item.name)) for item in fields(node)})


def key_triples(event: DeclaredEvent, key: Var) -> tuple[TriplePattern, ...]:
    """The triple patterns of an EVENT that contain a key (semantics 1.9)."""
    pattern = lowered(event.pattern)
    if key.name not in in_scope(pattern):
        return ()
    return tuple(triple for triple in event_triples(pattern) if key in nodes_of(triple))


def window_triples(
    pattern: Pattern, active: tuple[str, ...], query: WindowQuery
) -> Iterator[tuple[StreamWindow, Input]]:
    """What a pattern reads of windows; ``active`` are the names of those that make up its active graph."""
    windows = {window.name: window for window in query.windows}
    active = active_windows(pattern, active, query)
    if isinstance(pattern, Bgp):
        for triple in pattern.triples:
            for window in (windows[name] for name in active):
                yield from ((window, Input(window.stream, each)) for each in triples_for(triple, query.key))
    for expression in pattern_expressions(pattern):
        for triple in dated_triples(expression):
            asked = by_place(triple, query.key)
            yield from ((windows[name], Input(windows[name].stream, asked)) for name in active)
    for part in (*sub_patterns(pattern), *exists_patterns(pattern)):
        yield from window_triples(part, active, query)


def active_windows(pattern: Pattern, active: tuple[str, ...], query: WindowQuery) -> tuple[str, ...]:
    """The names of the windows that the inside of a pattern reads, given those that are active around it."""
    if not isinstance(pattern, Graph):
        return active
    name = pattern.name.term if isinstance(pattern.name, Constant) else None
    known = {window.name for window in query.windows}
    return (name.value,) if isinstance(name, NamedNode) and name.value in known else ()


def dated_triples(expression: Expression) -> Iterator[TriplePattern]:
    """The triples that the calls of `timestamp` in an expression may ask about; what is computed may be anything."""
    for node in walk(expression):
        if isinstance(node, Call) and node.name == "TIMESTAMP":
            subject, predicate, obj = (
                argument if isinstance(argument, (Constant, Var)) else Var(f"_:{place}")
                for place, argument in zip(PLACES, node.arguments, strict=True)
            )
            yield TriplePattern(subject, predicate, obj)
