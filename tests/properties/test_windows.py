"""Laws of queries over windows: the reference against second, independent formulations of the same meaning."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import NamedNode, Quad, QuerySolutions, Store, Triple

from spaseq.algebra.windows import (
    Emission,
    Everything,
    Interval,
    Landmark,
    Range,
    StreamWindow,
    Trigger,
    Unit,
    WindowBody,
    WindowQuery,
)
from spaseq.languages.rsepql.query import compile_windows
from spaseq.model.events import GraphEvent, localised
from spaseq.model.forms import EVERY_STREAM
from spaseq.model.matches import Match
from spaseq.model.terms import BlankScopes
from spaseq.planner import compile_query
from spaseq.planner.distribution import RouteUnit
from spaseq.reference.continuous import Matching, answer_at, window_answers
from spaseq.reference.evaluations import Evaluation, evaluations
from spaseq.reference.sparql import Solution
from spaseq.settings import changed_settings
from spaseq.testing import Host, reference_host
from support.continuous import followed_answers
from support.engine_hosts import ENGINE_HOSTS
from support.in_buckets import matches_in_buckets
from support.window_scenarios import HALF, WindowScenario, window_scenarios

FEWER = settings(max_examples=settings.default.max_examples // 2)
"""The reference asks a store at every evaluation, which takes time."""
MORE = settings(max_examples=settings.default.max_examples * 5 // 2)
"""Three hundred in CI."""


def _localised(events: Iterable[GraphEvent]) -> list[GraphEvent]:
    scopes = BlankScopes()
    return [localised(event, scopes) for event in events]


# --- answers: SPARQL by a store, from the text ---------------------------------------------------------


@FEWER
@given(window_scenarios(portable=True))
def test_every_answer_is_what_a_store_gives_over_the_contents(scenario: WindowScenario) -> None:
    """The text of the query, with GRAPH for WINDOW, over a store that holds the windows as named graphs."""
    query = compile_windows(scenario.query)
    text = _as_sparql(scenario.query)
    matching = Matching(query, list(scenario.events), scenario.knowledge)
    for evaluation in evaluations(query, scenario.events):
        expected = _asked(text, _store(query, evaluation, scenario.knowledge))
        found = [each.solution for each in answer_at(query, evaluation, scenario.knowledge, matching)]
        assert bool(found) == expected if isinstance(expected, bool) else _bag(found) == expected


def _as_sparql(text: str) -> str:
    lines = [line for line in text.split("\n") if not line.startswith(("FROM", "REGISTER", "REPORT"))]
    lines = ["SELECT *" if line.startswith("CONSTRUCT") else line for line in lines]
    return "\n".join(lines).replace("WINDOW ", "GRAPH ")


def _store(query: WindowQuery, evaluation: Evaluation, knowledge: dict[str, frozenset[Triple]]) -> Store:
    store = Store()
    graphs = {**knowledge}
    for window, held in zip(query.windows, evaluation.held, strict=True):
        graphs[window.name] = frozenset(triple for event in held for triple in event.triples)
    for name, triples in graphs.items():
        default = name in query.default_windows or name in query.default_graphs
        for triple in triples:
            store.add(Quad(*triple, NamedNode(name)))
            if default:
                store.add(Quad(*triple))
    return store


def _asked(text: str, store: Store) -> Counter[frozenset[tuple[str, str]]] | bool:
    results = store.query(text)
    if not isinstance(results, QuerySolutions):
        return bool(results)
    names = [variable.value for variable in results.variables]
    return Counter(
        frozenset((name, str(row[name])) for name in names if row[name] is not None) for row in results
    )


def _bag(solutions: list[Solution]) -> Counter[frozenset[tuple[str, str]]]:
    return Counter(frozenset((name, str(term)) for name, term in solution.items()) for solution in solutions)


# --- stream operators ----------------------------------------------------------------------------------


@FEWER
@given(window_scenarios())
def test_what_is_new_and_what_is_gone_lead_from_one_answer_to_the_next(scenario: WindowScenario) -> None:
    """Ω before, minus DSTREAM, plus ISTREAM is Ω: as bags, at every evaluation."""
    query = compile_windows(scenario.query)
    events = _localised(scenario.events)
    whole, new, gone = (
        _by_instant(window_answers(replace(query, emission=emission), events, scenario.knowledge))
        for emission in (Emission.RSTREAM, Emission.ISTREAM, Emission.DSTREAM)
    )
    before: Counter[str] = Counter()
    instants = [evaluation.instant for evaluation in evaluations(query, events)]
    if len(set(instants)) < len(instants) or scenario.query.find("SELECT", 0, 80) < 0:
        return  # several evaluations at one instant, or graphs and truths, are not told apart by their lines
    for instant in instants:
        assert gone[instant] <= before
        after = before - gone[instant] + new[instant]
        assert after == whole[instant]
        assert not gone[instant] & new[instant]
        before = after


def _by_instant(lines: list[Match]) -> dict[int, Counter[str]]:
    found: dict[int, Counter[str]] = _Counters()
    for line in lines:
        found[line.instant][str(sorted((name, str(term)) for name, term in line.bindings.items()))] += 1
    return found


class _Counters(dict[int, Counter[str]]):
    def __missing__(self, instant: int) -> Counter[str]:
        self[instant] = Counter()
        return self[instant]


# --- contents: queues that events enter and leave --------------------------------------------------------


@given(window_scenarios(most_events=16))
def test_contents_kept_in_queues_are_those_of_the_definition(scenario: WindowScenario) -> None:
    """Event by event, evaluation by evaluation: what enters a window, and what leaves it."""
    query = compile_windows(scenario.query)
    events = sorted(scenario.events, key=lambda event: event.time)
    found = evaluations(query, events)
    for index, window in enumerate(query.windows):
        queue = _Queue(window, query.report.trigger is Trigger.WINDOW_CLOSE)
        stream = [event for event in events if window.stream in (EVERY_STREAM, event.stream)]
        fed = 0
        for evaluation in found:
            while fed < len(stream) and stream[fed].time <= evaluation.instant:
                queue.push(stream[fed])
                fed += 1
            # An event without triples has the position of the one before it; a queue that has closed takes it no more.
            held = [event for event in evaluation.held[index] if event.triples]
            kept = queue.at(evaluation.instant, evaluation.number)
            assert [event for event in kept if event.triples] == held


class _Queue:
    """A window that keeps its stream's events with their counts, and closes as they come."""

    def __init__(self, window: StreamWindow, closing: bool) -> None:
        self.bodies = window.bodies
        self.closing = closing
        self.events: deque[GraphEvent] = deque()
        self.closed: list[tuple[int, list[GraphEvent]]] = []
        """The instances of counted steps that have closed: when, and what they held."""
        self._seen: list[tuple[int, GraphEvent]] = []
        self._total = 0

    def push(self, event: GraphEvent) -> None:
        self.events.append(event)
        last = self.bodies[-1]
        if isinstance(last, Range) and last.unit is not Unit.TIME and not _early(last, event):
            before = self._total
            self._total += 1 if last.unit is Unit.EVENTS else len(event.triples)
            self._seen.append((self._total, event))
            if last.step is not None:
                for end in range(before // last.step * last.step + last.step, self._total + 1, last.step):
                    held = [seen for count, seen in self._seen if end - last.size < count <= end]
                    self.closed.append((event.time, held))

    def at(self, t: int, number: int) -> list[GraphEvent]:
        held = list(self.events)
        for body in reversed(self.bodies):
            held = self._narrowed(body, held, t, number)
        return held

    def _narrowed(self, body: WindowBody, held: list[GraphEvent], t: int, number: int) -> list[GraphEvent]:
        match body:
            case Everything():
                return held
            case Landmark(start):
                return _since(held, start)
            case Interval(first, last):
                return [event for event in _since(held, first) if event.time <= last]
            case Range(size, step, Unit.TIME):
                held = [event for event in held if not _early(body, event)]
                end = t
                if step is not None:
                    end = (body.start or 0) - (10**12 // step + 1) * step * 10**5
                    end += (t - end) // step * step
                    end += step if end < t and not self.closing else 0
                return [event for event in held if event.time <= end and end < event.time + size]
            case Range(_, step):
                if step is not None and self.closing:
                    now = [content for at, content in self.closed if at == t]
                    past = [content for at, content in self.closed if at < t]
                    return now[: number + 1][-1] if now else past[-1] if past else []
                return self._last(body, [event for event in held if not _early(body, event)])

    def _last(self, body: Range, held: list[GraphEvent]) -> list[GraphEvent]:
        """Events are taken off the front while so many counts lie behind them."""
        weights = [1 if body.unit is Unit.EVENTS else len(event.triples) for event in held]
        behind = 0
        if body.step is not None:
            while (sum(weights) + behind) % body.step:
                behind += 1
        kept: deque[GraphEvent] = deque()
        for event, weight in zip(reversed(held), reversed(weights), strict=True):
            if behind < body.size:
                kept.appendleft(event)
            behind += weight
        return list(kept)


def _early(body: Range, event: GraphEvent) -> bool:
    return body.start is not None and event.time < body.start


def _since(held: list[GraphEvent], start: int) -> list[GraphEvent]:
    return [event for event in held if not event.time < start]


# --- instants: every half second is asked whether it is one ------------------------------------------------


@given(window_scenarios())
def test_the_instants_are_those_that_a_clock_would_find(scenario: WindowScenario) -> None:
    """All times are multiples of half a second, so a clock that ticks so often meets every evaluation."""
    query = compile_windows(scenario.query)
    events = sorted(scenario.events, key=lambda event: event.time)
    streams = {window.stream for window in query.windows}
    times = [event.time for event in events if event.stream in streams or EVERY_STREAM in streams]
    found = [
        evaluation.instant
        for evaluation in evaluations(replace(query, report=replace(query.report, non_empty=False)), events)
    ]
    if not times:
        assert found == []
        return
    ticks = range(times[0], times[-1] + 60_000_000, HALF)
    match query.report.trigger:
        case Trigger.EVERY:
            assert query.report.every is not None
            start, every = query.report.start, query.report.every
            due = [t for t in ticks if (t - (start or 0)) % every == 0 and (start is None or t >= start)]
            late = [t for t in due if t >= times[-1]]
            assert found == [t for t in due if t < times[-1]] + late[:1]
        case Trigger.CONTENT_CHANGE:
            assert set(found) <= set(times)
            assert found == sorted(set(found))
        case Trigger.WINDOW_CLOSE:
            timed = [
                body
                for window in query.windows
                if (body := window.stepping) is not None and body.unit is Unit.TIME
            ]
            due = [t for t in ticks if t <= times[-1] and any(_closes(body, t) for body in timed)]
            assert set(due) <= set(found)
            rest = set(found) - set(due)
            assert all(
                t in times or (t > times[-1] and any(_closes(body, t) for body in timed)) for t in rest
            )


def _closes(body: Range, t: int) -> bool:
    assert body.step is not None
    return (t - (body.start or 0)) % body.step == 0 and (body.start is None or t >= body.start)


# --- views: what is followed equals what is evaluated at every instant -------------------------------------


@given(window_scenarios(), st.integers(0, 1000), st.sampled_from((3, 1 << 16)))
def test_views_report_what_the_reference_does(scenario: WindowScenario, seed: int, listed: int) -> None:
    """Whatever the pieces in which the input comes, and whether all evaluations are listed or only those that differ.

    Blank nodes that a template or BNODE makes have labels of their own.
    """
    query = compile_windows(scenario.query)
    events = _localised(scenario.events)
    wanted = window_answers(query, events, scenario.knowledge)
    with changed_settings(listed_evaluations=listed):
        found = followed_answers(query, events, scenario.knowledge, seed=seed)
    assert [match.time for match in found] == [match.time for match in wanted]
    assert Counter(map(_shown, found)) == Counter(map(_shown, wanted))
    if scenario.ordered:
        assert list(map(_shown, found)) == list(map(_shown, wanted))


def _shown(match: Match) -> tuple[object, ...]:
    def plain(text: object) -> str:
        return re.sub(r"_:\S+", "_:b", str(text))

    bindings = tuple(sorted((name, plain(term)) for name, term in match.bindings.items()))
    triples = None if match.triples is None else tuple(sorted(map(plain, match.triples)))
    return match.time, match.start, bindings, triples, match.boolean


@MORE
@given(window_scenarios(), st.sampled_from(ENGINE_HOSTS))
def test_the_engine_reports_what_the_reference_does(scenario: WindowScenario, host: Host) -> None:
    """All at once, in pieces, restored after every event, out of order: the same lines, and the same identities."""
    query = compile_query(scenario.query, "rsepql")
    wanted = list(reference_host.run(query, scenario.events, scenario.knowledge))
    found = list(host.run(query, scenario.events, scenario.knowledge))
    assert Counter(map(_shown, found)) == Counter(map(_shown, wanted))
    if scenario.ordered:
        assert list(map(_shown, found)) == list(map(_shown, wanted))
    assert Counter(match.identity for match in found) == Counter(match.identity for match in wanted)


@MORE
@given(window_scenarios(open_choices=True), st.sampled_from(ENGINE_HOSTS[1:]))
def test_what_sparql_leaves_open_depends_on_the_contents_alone(scenario: WindowScenario, host: Host) -> None:
    """GROUP_CONCAT, SAMPLE, MIN and MAX of terms of equal value, LIMIT without an order: the same lines however the input comes."""
    query = compile_query(scenario.query, "rsepql")
    wanted = list(ENGINE_HOSTS[0].run(query, scenario.events, scenario.knowledge))
    found = list(host.run(query, scenario.events, scenario.knowledge))
    assert Counter(map(_shown, found)) == Counter(map(_shown, wanted))
    assert Counter(match.identity for match in found) == Counter(match.identity for match in wanted)


@given(
    window_scenarios(paths=False),
    st.sampled_from((1, 2, 7, 64)),
    st.sampled_from((1, 2, 4)),
    st.booleans(),
)
def test_buckets_report_together_what_the_reference_does(
    scenario: WindowScenario, buckets: int, tasks: int, streaming: bool
) -> None:
    """Spread by a variable or by time, read by several tasks or in micro-batches: each solution is reported once."""
    query = compile_query(scenario.query, "rsepql")
    if query.distribution.unit is RouteUnit.WHOLE:
        return  # that one bucket is enough, the tests of the engine show
    wanted = reference_host.run(query, scenario.events, scenario.knowledge)
    found = matches_in_buckets(
        query, scenario.events, scenario.knowledge, buckets, tasks=tasks, streaming=streaming
    )
    assert Counter(map(_shown, found)) == Counter(map(_shown, wanted))
