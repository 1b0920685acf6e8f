"""A second reference implementation, written differently, agrees with the first.

`spaseq.reference` grows runs step by step. The one here takes every assignment of events to steps as a
whole and asks of it whether semantics 1.3, 1.4, 1.6, 1.8 and 1.9 hold. It knows no repetitions. Graph
patterns and expressions are pyoxigraph's in both; the second one reads the query after all rules, the
first reads it before them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

from hypothesis import given
from pyoxigraph import NamedNode, Triple

from spaseq.algebra.events import (
    Absent,
    Assignment,
    Contiguity,
    Element,
    EventQuery,
    EventWindow,
    Gpm,
    ProjectionItem,
    SelectForm,
    Step,
    TimeWindow,
    choices,
)
from spaseq.algebra.expressions import Var
from spaseq.algebra.stateful import stateful_parts
from spaseq.algebra.visibility import result_variables
from spaseq.model.events import GraphEvent, localised
from spaseq.model.terms import BlankScopes
from spaseq.planner import compile_query
from spaseq.reference import answers
from spaseq.reference.partitions import partitions
from spaseq.reference.sparql import Solution, holds, solutions, value_of
from support.scenarios import Scenario, scenarios

Key = tuple[int, int, frozenset[tuple[str, object]], tuple[tuple[str, str], ...]]
"""Start, instant, bindings, and the GPMs with the names of their events."""


@given(scenarios(kleene=False, most_events=8))
def test_whole_assignments_and_growing_runs_give_the_same_matches(scenario: Scenario) -> None:
    """Two implementations of semantics 1 that share no control flow agree on every query."""
    query = compile_query(scenario.query)
    scopes = BlankScopes()
    events = [
        localised(replace(event, name=NamedNode(f"http://ex.org/event{number}")), scopes)
        for number, event in enumerate(scenario.events)
    ]
    everything = tuple(ProjectionItem(Var(name)) for name in result_variables(query.algebra.sequence))
    first = Counter(
        (
            match.begin,
            match.instant,
            frozenset(match.bindings.items()),
            tuple((event.step, str(event.graph)) for event in match.events),
        )
        for match in answers(replace(query.algebra, form=SelectForm(everything)), events, scenario.knowledge)
    )
    assert first == naive_matches(query.rewritten, events, scenario.knowledge)


# --- the second reference implementation ----------------------------------------------------------


@dataclass(frozen=True)
class Moment:
    """One way in which an element matches at one instant."""

    time: int
    gpms: tuple[Gpm, ...]
    events: tuple[GraphEvent, ...]
    mapping: Solution


@dataclass(frozen=True)
class Span:
    """A window that holds an assignment: since when, until when, and which events are in it."""

    low: float
    high: float
    events: tuple[GraphEvent, ...]


def naive_matches(
    query: EventQuery, events: list[GraphEvent], knowledge: dict[str, frozenset[Triple]]
) -> Counter[Key]:
    """All matches of a query without repetitions, before its form is applied."""
    declared = [stream.iri for stream in query.streams]
    known = [event for event in events if event.stream in declared]
    known.sort(key=lambda event: (event.time, declared.index(event.stream)))
    return Counter(
        match
        for key, own in partitions(query, tuple(known))
        for match in Partition(query, own, key, knowledge).matches()
    )


class Partition:
    """One partition: its events in order, its key, and all mappings of every GPM."""

    def __init__(
        self,
        query: EventQuery,
        events: tuple[GraphEvent, ...],
        key: Solution,
        knowledge: dict[str, frozenset[Triple]],
    ) -> None:
        self.query, self.events, self.key = query, events, key
        self.rows = {
            gpm.name: [
                (event, mapping)
                for event in events
                if event.stream == gpm.stream
                for mapping in solutions(gpm.pattern, event.triples, knowledge)
            ]
            for gpm in query.gpms
        }

    def matches(self) -> Iterator[Key]:
        """Every assignment for every choice of optional steps that is a match."""
        steps = self.query.sequence.steps
        options = [
            (True,) if step.positive else (False,) if isinstance(step.quantifier, Absent) else (True, False)
            for step in steps
        ]
        for taken in product(*options):
            positive = [step for step, yes in zip(steps, taken, strict=True) if yes]
            for moments in product(*(self.moments(step.element) for step in positive)):
                yield from self.checked(taken, moments)

    def moments(self, element: Element) -> list[Moment]:
        """``⟦Ψ⟧`` without stateful parts, each compatible with the partition's key."""
        found = []
        for choice in choices(element):
            for rows in product(*(self.rows[gpm.name] for gpm in choice)):
                times = {event.time for event, _ in rows}
                mapping = joined(self.key, *(mapping for _, mapping in rows))
                if len(times) == 1 and mapping is not None:
                    found.append(Moment(times.pop(), choice, tuple(event for event, _ in rows), mapping))
        return found

    def checked(self, taken: tuple[bool, ...], moments: tuple[Moment, ...]) -> Iterator[Key]:
        """The assignment, if it is a match, under the instants it has in its windows."""
        times = [moment.time for moment in moments]
        if times != sorted(set(times)):
            return
        before: list[Solution] = [self.key]
        for moment in moments:
            after = self.combined(before[-1], moment)
            if after is None:
                return
            before.append(after)
        pairs = [(gpm.name, str(e.name)) for m in moments for gpm, e in zip(m.gpms, m.events, strict=True)]
        pairs.sort(key=lambda pair: self.query.names.index(pair[0]))
        for end in {self.end(taken, moments, before, span) for span in self.spans(moments)} - {None}:
            assert end is not None
            yield times[0], end, frozenset(before[-1].items()), tuple(pairs)

    def combined(self, before: Solution, moment: Moment) -> Solution | None:
        """``μ₁ ∪ μ₂`` with its stateful parts, if the two are compatible and the parts hold."""
        mapping = joined(before, moment.mapping)
        for part in stateful_parts(moment.gpms):
            if mapping is None:
                return None
            if isinstance(part, Assignment):
                term = value_of(part.expression, mapping)
                mapping = mapping if term is None else joined(mapping, {part.variable.name: term})
            elif not holds(part.expression, mapping):
                return None
        return mapping

    def spans(self, moments: tuple[Moment, ...]) -> list[Span]:
        """The windows that hold all events of the assignment (semantics 1.8)."""
        first, last = moments[0].time, moments[-1].time
        everything = Span(float("-inf"), float("inf"), self.events)
        positions = [self.events.index(event) for moment in moments for event in moment.events]
        match self.query.window:
            case TimeWindow(size, sliding=True):
                return [Span(first - size, first + size, self.events)] if last - first <= size else []
            case TimeWindow(size, start=start):
                origin = start or 0
                grid = [origin + k * size for k in range(-1 if start is None else 0, 20)]
                return [
                    Span(low, low + size, tuple(e for e in self.events if low <= e.time <= low + size))
                    for low in grid
                    if low <= first and last <= low + size
                ]
            case EventWindow(size, sliding=True):
                return [everything] if max(positions) - min(positions) < size else []
            case EventWindow(size):
                block, *more = {position // size for position in positions}
                return [] if more else [replace(everything, events=self.events[block * size :][:size])]
            case None:
                return [everything]

    def end(
        self, taken: tuple[bool, ...], moments: tuple[Moment, ...], before: list[Solution], span: Span
    ) -> int | None:
        """The match's instant in this window, if its operators and absences hold there (1.3, 1.6)."""
        steps = self.query.sequence.steps
        last = max(index for index, yes in enumerate(taken) if yes)
        done = 0
        for step, yes in zip(steps[: last + 1], taken, strict=False):
            gap = (moments[done - 1].time, moments[done].time - 1)
            if yes and done and not self.selected(step, before[done], gap, span):
                return None
            if not yes and done and self.occurs(step, before[done], *gap, span):
                return None
            if not yes and not done and self.occurred(step, before[1], moments[0].time, span):
                return None
            done += yes
        negated = [i for i, step in enumerate(steps) if i > last and isinstance(step.quantifier, Absent)]
        if not negated:
            return moments[-1].time  # optional steps in last place may just be missing
        assert isinstance(self.query.window, TimeWindow)
        if not self.query.window.sliding and moments[0].time == span.high:
            return None  # on a boundary it counts for the later window only
        waiting = steps[last + 1 : max(negated) + 1]
        since, until = moments[-1].time, span.high
        if any(self.occurs(step, before[-1], since, until, span) for step in waiting):
            return None
        return int(span.high)

    def selected(self, step: Step, before: Solution, gap: tuple[int, int], span: Span) -> bool:
        match step.operator:
            case Contiguity.STRICT:
                return not any(gap[0] < event.time <= gap[1] for event in self.events)
            case Contiguity.NEXT:
                return not self.occurs(step, before, *gap, span)
            case _:
                return True

    def occurs(self, step: Step, before: Solution, since: int, until: float, span: Span) -> bool:
        """True if the element matches after ``since``, up to ``until``, and combines with the run."""
        return any(
            since < moment.time <= until and self.combined(before, moment) is not None
            for moment in self.moments(step.element)
            if set(moment.events) <= set(span.events)
        )

    def occurred(self, step: Step, mapping: Solution, until: int, span: Span) -> bool:
        """True if the element matches before the first event and is compatible with its mapping."""
        return any(
            span.low <= moment.time < until
            and (own := self.combined(self.key, moment)) is not None
            and joined(mapping, own) is not None
            for moment in self.moments(step.element)
            if set(moment.events) <= set(span.events)
        )


def joined(*mappings: Solution) -> Solution | None:
    """The union of mappings, if all are compatible."""
    result: Solution = {}
    for mapping in mappings:
        for name, term in mapping.items():
            if result.setdefault(name, term) != term:
                return None
    return result
