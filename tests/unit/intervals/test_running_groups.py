"""Groups by time: what can get no more solutions is dropped."""

from __future__ import annotations

import pytest
from pyoxigraph import Literal, NamedNode, Triple

from spaseq import Engine
from spaseq.intervals.evaluation import IntervalEvaluation
from spaseq.intervals.running_groups import GroupedSolutions
from spaseq.languages.epsparql.query import compile_intervals
from spaseq.model.events import GraphEvent
from spaseq.model.matches import Match
from spaseq.planner import compile_query
from spaseq.reference.interval_answers import interval_answers
from spaseq.settings import changed_settings
from support.interval_hosts import by_instant, column_answers

EX = "http://ex.org/"
PREFIXES = f"PREFIX : <{EX}> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>"


def readings(count: int) -> list[GraphEvent]:
    """One a second, of two gauges in turn."""
    return [
        GraphEvent(
            f"{EX}s",
            number * 1_000_000,
            frozenset({Triple(NamedNode(f"{EX}g{number % 2}"), NamedNode(f"{EX}p"), Literal(number))}),
        )
        for number in range(count)
    ]


def means(function: str, aggregate: str = "AVG(?r)") -> str:
    """A mean over the last seconds, for each reading of a gauge."""
    return f"""{PREFIXES} SELECT ?g ?at ({aggregate} AS ?mean) (COUNT(*) AS ?n) WHERE {{
        {{ {{ ?g :p ?r }} SEQ {{ ?g :p ?last }} }}
        FILTER(getDURATION() <= "PT6S"^^xsd:duration)
        BIND({function} AS ?at) }} GROUP BY ?g ?at"""


@pytest.mark.parametrize("function", ["getENDTIME()", "getSTARTTIME()"])
@pytest.mark.parametrize("aggregate", ["AVG(?r)", "MAX(?r)", "GROUP_CONCAT(?r)"])
def test_groups_that_are_over_are_dropped(function: str, aggregate: str) -> None:
    """By their end at once, by their start when the bound on the duration has passed; answers stay the same."""
    kept = list[tuple[int, int]]()

    def look(evaluation: IntervalEvaluation) -> None:
        (grouped,) = {each for _, each in evaluation.everything() if isinstance(each, GroupedSolutions)}
        kept.append((len(grouped._groups), len(grouped._members.end)))

    (query,) = compile_intervals(means(function, aggregate))
    given = readings(60)
    with changed_settings(forgotten_rows=4):
        found = column_answers(query, given, {}, by_instant, watch=look)
    expected = interval_answers(query, given, {})
    assert sorted(map(str, found)) == sorted(map(str, expected))
    assert max(groups for groups, _ in kept) <= 20
    assert max(members for _, members in kept) <= 64


def test_groups_of_a_restored_engine_are_dropped_too() -> None:
    """When each is over is part of a snapshot."""
    text, found = means("getENDTIME()"), list[Match]()
    query, given = compile_query(text, "epsparql"), readings(40)
    with changed_settings(forgotten_rows=2):
        engine = Engine(query, compile_kernels=False)
        for each in given:
            found += engine.push(each)
            engine = Engine.restore(query, engine.snapshot(), compile_kernels=False)
        size = len(engine.snapshot())
        found += engine.finish()
    expected = interval_answers(compile_intervals(text)[0], given, {})
    assert sorted(map(str, found)) == sorted(map(str, expected))
    assert size < 4000


def test_a_group_by_what_a_join_may_end_later_stays() -> None:
    """The time is that of the reading, but a later event of another kind makes a solution of it."""
    text = f"""{PREFIXES} SELECT ?g ?at (COUNT(*) AS ?n) WHERE {{
        {{ ?g :p ?r BIND(getENDTIME() AS ?at) }} SEQ {{ ?g :p ?last }} }} GROUP BY ?g ?at"""
    (query,) = compile_intervals(text)
    with changed_settings(forgotten_rows=1):
        found = column_answers(query, readings(14), {}, by_instant)
    assert sorted(map(str, found)) == sorted(map(str, interval_answers(query, readings(14), {})))
