"""Event patterns over windows (semantics 4): the engine against the reference, and the reference against other formulations."""

from __future__ import annotations

import re
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, Triple

from spaseq.algebra.intervals import Policy
from spaseq.algebra.operator_query import OperatorQuery
from spaseq.algebra.windows import Emission, WindowQuery
from spaseq.languages.epsparql.query import compile_intervals
from spaseq.languages.rsepql.query import compile_windows
from spaseq.model.events import GraphEvent
from spaseq.model.matches import Match
from spaseq.planner import compile_query
from spaseq.planner.distribution import RouteUnit
from spaseq.reference.continuous import window_answers
from spaseq.reference.interval_answers import interval_answers
from spaseq.testing import Host, reference_host
from support.engine_hosts import ENGINE_HOSTS
from support.in_buckets import matches_in_buckets
from support.match_scenarios import match_scenarios
from support.window_scenarios import EX, KEYS, PREDICATES, WindowScenario

FEWER = settings(max_examples=settings.default.max_examples // 2)
MANY = settings(max_examples=settings.default.max_examples * 5 // 2)
HEAD = """PREFIX : <http://ex.org/>
REGISTER RSTREAM :q AS SELECT * FROM NAMED WINDOW :w ON :s [LND -1000]
EVENT ON :w { %s } AS A EVENT ON :w { %s } AS B """


@MANY
@given(match_scenarios(), st.sampled_from(ENGINE_HOSTS))
def test_the_engine_matches_events_as_the_reference_does(scenario: WindowScenario, host: Host) -> None:
    """All at once, in pieces, restored after every event, out of order: the same lines, identities and events."""
    query = compile_query(scenario.query, "rsepql")
    wanted = list(reference_host.run(query, scenario.events, scenario.knowledge))
    found = list(host.run(query, scenario.events, scenario.knowledge))
    assert isinstance(query.source, OperatorQuery)
    assert isinstance(query.source.details, WindowQuery)
    whole = (
        query.source.details.emission is Emission.RSTREAM
    )  # of equal solutions, which one is new is left open
    assert Counter(_shown(each, whole) for each in found) == Counter(_shown(each, whole) for each in wanted)
    assert Counter(match.identity for match in found) == Counter(match.identity for match in wanted)


@FEWER
@given(match_scenarios(lasting=False), st.sampled_from((1, 2, 7)), st.sampled_from((1, 2, 4)), st.booleans())
def test_buckets_match_events_together_as_the_reference_does(
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
    assert Counter(_shown(each) for each in found) == Counter(_shown(each) for each in wanted)


def _shown(match: Match, events: bool = False) -> tuple[object, ...]:
    def plain(text: object) -> str:
        return re.sub(r"_:\S+", "_:b", str(text))

    bindings = tuple(sorted((name, plain(term)) for name, term in match.bindings.items()))
    triples = None if match.triples is None else tuple(sorted(map(plain, match.triples)))
    made_of = tuple(map(str, match.events)) if events else ()
    return match.instant, match.begin, bindings, triples, match.boolean, made_of


# --- SEQ over single triples is EP-SPARQL's ---------------------------------------------------------


SHAPES = ("?x :p ?y", "?x :q ?y", "?y :q ?z", "?x :p ?z", ":k1 :p ?x")


@st.composite
def single_events(draw: st.DrawFn, *, lasting: bool) -> tuple[GraphEvent, ...]:
    """Events of one to three triples of few terms, at half seconds, with ties."""
    found = []
    for _ in range(draw(st.sampled_from(range(3, 10)))):
        triples = frozenset(
            Triple(
                draw(st.sampled_from(KEYS[:2])),
                draw(st.sampled_from(PREDICATES)),
                draw(st.sampled_from((*KEYS[:2], Literal(2)))),
            )
            for _ in range(draw(st.sampled_from((1, 1, 2, 3))))
        )
        time = draw(st.sampled_from(range(1, 13))) * 500_000
        length = draw(st.sampled_from((0, 1, 3))) * 500_000 if lasting else 0
        found.append(GraphEvent(EX + "s", time, triples, start=time - length if length else None))
    return tuple(found)


@FEWER
@given(st.sampled_from(SHAPES), st.sampled_from(SHAPES), single_events(lasting=True))
def test_plain_seq_over_single_triples_is_that_of_ep_sparql(
    first: str, second: str, events: tuple[GraphEvent, ...]
) -> None:
    """The last evaluation has a solution for each of EP-SPARQL's, which has one for each interval."""
    windows = compile_windows(HEAD % (first, second) + "{ MATCH { A SEQ B } } REPORT EVERY 100s")
    (intervals,) = compile_intervals(
        f"PREFIX : <http://ex.org/> SELECT * {{ {{ {first} }} SEQ {{ {second} }} }}"
    )
    found = Counter(_bindings(match) for match in window_answers(windows, events))
    assert found == Counter(_bindings(match) for match in interval_answers(intervals, events))


@FEWER
@given(
    st.sampled_from(SHAPES),
    st.sampled_from(SHAPES),
    st.sampled_from(Policy).flatmap(
        lambda policy: st.tuples(st.just(policy), single_events(lasting=policy is Policy.UNRESTRICTED))
    ),
)
def test_a_profile_over_single_triples_is_ep_sparql_under_its_policy(
    first: str, second: str, drawn: tuple[Policy, tuple[GraphEvent, ...]]
) -> None:
    """The same solutions at the same instants; with policies over instants, since partners are chosen by another order."""
    policy, events = drawn
    text = (HEAD % (first, second) + "{ MATCH { A SEQ B } }").replace("REGISTER RSTREAM :q AS ", "")
    windows = compile_windows(text, profile=f"epsparql-{policy.value}")
    (intervals,) = compile_intervals(
        f"PREFIX : <http://ex.org/> SELECT * {{ {{ {first} }} SEQ {{ {second} }} }}", policy=policy
    )
    found = Counter((match.instant, _bindings(match)) for match in window_answers(windows, events))
    answers = interval_answers(intervals, events, policy=policy)
    assert found == Counter((match.instant, _bindings(match)) for match in answers)


def _bindings(match: Match) -> frozenset[tuple[str, str]]:
    return frozenset((name, str(term)) for name, term in match.bindings.items())


# --- one event alone is the union of what single graphs give -----------------------------------------


@FEWER
@given(single_events(lasting=False))
def test_an_event_alone_is_the_graph_of_a_window_of_one_event(events: tuple[GraphEvent, ...]) -> None:
    """MATCH { A } at the end has what WINDOW has over each event by itself, as often as instants differ."""
    matched = compile_windows(
        HEAD % ("?x :p ?y", "?x :q ?y") + "{ MATCH { A } OPTIONAL { MATCH { B } } } REPORT EVERY 100s"
    )
    single = {
        (event.time, triple.subject, triple.object)
        for event in events
        for triple in event.triples
        if triple.predicate == NamedNode(EX + "p")
    }
    others = Counter(
        (triple.subject, triple.object)
        for _, triple in {(event.time, triple) for event in events for triple in event.triples}
        if triple.predicate == NamedNode(EX + "q")
    )
    expected = Counter[tuple[str, str]]()
    for _, subject, obj in single:
        expected[str(subject), str(obj)] += max(others[subject, obj], 1)
    found = window_answers(matched, events)
    assert Counter((str(m.bindings["x"]), str(m.bindings["y"])) for m in found) == expected
