"""Laws of EP-SPARQL (semantics 2): the reference against what the paper promises of the language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import cast

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pyoxigraph import BlankNode, Quad, QuerySolutions, Store, Triple

import spaseq
from spaseq.algebra.intervals import IntervalQuery
from spaseq.algebra.strata import NegativeCycle
from spaseq.columnar.knowledge import Knowledge as Known
from spaseq.errors import QueryError
from spaseq.languages.epsparql.query import compile_intervals
from spaseq.model.events import GraphEvent, localised
from spaseq.model.matches import Match
from spaseq.model.terms import BlankScopes
from spaseq.planner import CompiledQuery, compile_query
from spaseq.planner.distribution import RouteUnit
from spaseq.planner.in_run import Choices, in_run
from spaseq.reference.interval_answers import interval_answers
from spaseq.settings import changed_settings
from support.engine_hosts import ENGINE_HOSTS
from support.event_files import END, START, interval_nquads
from support.in_buckets import matches_in_buckets
from support.interval_hosts import WAYS, column_answers
from support.interval_scenarios import IntervalScenario, interval_scenarios, plain_scenarios
from support.join_orders import shuffled_joins
from support.policy_scenarios import policy_scenario

Knowledge = dict[str, frozenset[Triple]]
FEWER = settings(max_examples=settings.default.max_examples // 2)
"""The reference asks a store for every expression, which takes time."""
MORE = settings(max_examples=5 * settings.default.max_examples // 2)


def _compiled(scenario: IntervalScenario) -> IntervalQuery:
    try:
        (query,) = compile_intervals(scenario.query, policy=scenario.policy)
    except QueryError as error:
        raise AssertionError(f"{error}\n{scenario.query}") from error
    return query


def _answers(query: IntervalQuery, scenario: IntervalScenario, events: Iterable[GraphEvent]) -> list[Match]:
    try:
        return interval_answers(query, events, scenario.knowledge, policy=scenario.policy, rdfs=scenario.rdfs)
    except NegativeCycle:
        assume(False)  # with RDFS a rule may read what it produces
        raise


def _localised(events: Iterable[GraphEvent]) -> list[GraphEvent]:
    scopes = BlankScopes()
    return [localised(event, scopes) for event in events]


def _lines(found: Iterable[Match]) -> Counter[tuple[object, ...]]:
    """What matches say; labels of blank nodes mean nothing."""
    return Counter(
        (
            match.begin,
            match.instant,
            match.boolean,
            tuple((name, _shown(term)) for name, term in match.bindings.items()),
            None if match.triples is None else tuple(sorted(" ".join(map(_shown, t)) for t in match.triples)),
        )
        for match in found
    )


def _said(query: IntervalQuery, found: Iterable[Match]) -> object:
    """What must be the same: the lines, and their order if ORDER BY settles it, as it does where it is drawn."""
    matches = list(found)
    asked = query.asked
    in_order = asked is not None and asked.order and not asked.distinct
    return [line for match in matches for line in _lines([match])] if in_order else _lines(matches)


def _shown(term: object) -> str:
    return "_:" if isinstance(term, BlankNode) else str(term)


@FEWER
@given(interval_scenarios())
def test_what_is_answered_before_an_instant_depends_on_what_ended_before_it(
    scenario: IntervalScenario,
) -> None:
    """Timewise monotonicity, at every prefix of the stream."""
    query, events = _compiled(scenario), _localised(scenario.events)
    whole = _answers(query, scenario, events)
    for instant in sorted({event.time for event in events}):
        before = _answers(query, scenario, [event for event in events if event.time < instant])
        assert _lines(before) == _lines(match for match in whole if match.instant < instant)


@given(interval_scenarios(), st.sampled_from(sorted(WAYS)))
def test_columns_answer_as_the_reference_does(scenario: IntervalScenario, way: str) -> None:
    """However events are handed over: together, by instant, or one by one."""
    query, events = _compiled(scenario), _localised(scenario.events)
    expected = _answers(query, scenario, events)
    wanted = replace(query, policy=scenario.policy)
    found = column_answers(wanted, events, scenario.knowledge, WAYS[way], rdfs=scenario.rdfs)
    assert _said(query, found) == _said(query, expected)


@MORE
@given(st.integers(0, 2**32), st.sampled_from(sorted(WAYS)), st.sampled_from((1, 2, 3, 1024)))
def test_what_answers_consume_is_gone_for_those_after_them(seed: int, way: str, together: int) -> None:
    """However many instants are looked at together; nested sequences choose again what they have lost."""
    scenario = policy_scenario(Random(seed))
    query, events = _compiled(scenario), list(scenario.events)
    expected = _answers(query, scenario, events)
    with changed_settings(policy_instants=together):
        found = column_answers(replace(query, policy=scenario.policy), events, {}, WAYS[way])
    assert _lines(found) == _lines(expected)


@given(interval_scenarios(), st.sampled_from(sorted(WAYS)), st.randoms(use_true_random=False))
def test_joins_answer_as_the_reference_does_in_every_order(
    scenario: IntervalScenario, way: str, chance: Random
) -> None:
    """The order of joins changes at random as events come; a policy's choice stays what it is."""
    query, events = _compiled(scenario), _localised(scenario.events)
    expected = _answers(query, scenario, events)
    wanted = replace(query, policy=scenario.policy)
    with shuffled_joins(chance):
        found = column_answers(wanted, events, scenario.knowledge, WAYS[way], rdfs=scenario.rdfs)
    assert _said(query, found) == _said(query, expected)


def _from_files(
    query: CompiledQuery, events: Sequence[GraphEvent], knowledge: Knowledge, **options: object
) -> list[Match]:
    """Two files, in no order of time."""
    with TemporaryDirectory() as folder:
        paths = [Path(folder, f"{number}.nq") for number in range(2)]
        for number, path in enumerate(paths):
            path.write_text(interval_nquads(events[number::2][::-1], first=number * len(events)), "utf-8")
        found = spaseq.run(
            query, {"*": [str(path) for path in paths]}, knowledge,
            start_predicate=START, end_predicate=END, quarantine=Path(folder, "bad"), **options,  # type: ignore[arg-type]
        )  # fmt: skip
        return list(found)


HOSTS = {host.name: cast(Callable[..., list[Match]], host.run) for host in ENGINE_HOSTS} | {
    "engine, from files": _from_files
}


@MORE
@given(interval_scenarios(), st.sampled_from(sorted(HOSTS)))
def test_the_engine_answers_as_the_reference_does(scenario: IntervalScenario, way: str) -> None:
    """However its input comes: together, in pieces, out of order, from files, restored after every event."""
    query = _compiled(scenario)
    expected = _answers(query, scenario, _localised(scenario.events))
    found = HOSTS[way](
        compile_query(scenario.query, "epsparql"), scenario.events, scenario.knowledge,
        policy=scenario.policy.value, rdfs=scenario.rdfs,
    )  # fmt: skip
    assert _said(query, found) == _said(query, expected)


@MORE
@given(
    interval_scenarios() | st.integers(0, 2**32).map(lambda seed: policy_scenario(Random(seed))),
    st.sampled_from((1, 2, 7)),
    st.sampled_from((1, 3)),
    st.booleans(),
)
def test_buckets_answer_together_as_the_reference_does(
    scenario: IntervalScenario, buckets: int, tasks: int, streaming: bool
) -> None:
    """Spread by a variable, with what rules produce and what answers consume: each answer is there once."""
    query = _compiled(scenario)
    choices = Choices(scenario.policy.value)
    known = Known(scenario.knowledge, rdfs=scenario.rdfs)
    (program,) = in_run([compile_query(scenario.query, "epsparql")], known, choices)
    asked = query.asked
    later = program.form.compares or asked is None or asked.limit is not None or asked.offset
    if program.distribution.unit is RouteUnit.WHOLE or later:
        return  # that one bucket is enough, other tests show; DISTINCT, ASK and LIMIT are finished over all buckets
    expected = _answers(query, scenario, _localised(scenario.events))
    found = matches_in_buckets(
        program, scenario.events, scenario.knowledge, buckets,
        tasks=tasks, streaming=streaming, rdfs=scenario.rdfs,
    )  # fmt: skip
    assert _lines(found) == _lines(expected)


@FEWER
@given(plain_scenarios())
def test_over_one_instant_the_answers_are_those_of_sparql(scenario: IntervalScenario) -> None:
    """Downward compatibility: the set of rows of plain SPARQL by pyoxigraph."""
    events = _localised(scenario.events)
    store = Store()
    for event in events:
        for triple in event.triples:
            store.add(Quad(*triple))
    results = store.query(scenario.query)
    assert isinstance(results, QuerySolutions)
    names = [variable.value for variable in results.variables]
    expected = {
        tuple(sorted((name, str(row[name])) for name in names if row[name] is not None)) for row in results
    }
    found = _answers(_compiled(scenario), scenario, events)
    assert {tuple(sorted((n, str(t)) for n, t in match.bindings.items())) for match in found} == expected
