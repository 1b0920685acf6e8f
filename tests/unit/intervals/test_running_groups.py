"""Groups by time: what can get no more solutions is dropped."""

from __future__ import annotations

from typing import Any

import pytest
from pyoxigraph import Literal, NamedNode, Triple

import spaseq
from spaseq import Engine
from spaseq.columnar.rows import RowEvaluator
from spaseq.intervals.evaluation import IntervalEvaluation
from spaseq.intervals.running_groups import GroupedSolutions
from spaseq.languages.epsparql.query import compile_intervals
from spaseq.model.events import GraphEvent
from spaseq.model.matches import Match
from spaseq.planner import compile_query
from spaseq.reference.interval_answers import interval_answers
from spaseq.settings import changed_settings
from support.interval_hosts import by_instant, column_answers

XSD = "http://www.w3.org/2001/XMLSchema#"
EX = "http://ex.org/"
PREFIXES = f"PREFIX : <{EX}> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>"


def readings(count: int, repeated: int | None = None) -> list[GraphEvent]:
    """One a second, of two gauges in turn; of so many different values, if asked for."""
    return [
        GraphEvent(
            f"{EX}s",
            number * 1_000_000,
            frozenset(
                {
                    Triple(
                        NamedNode(f"{EX}g{number % 2}"),
                        NamedNode(f"{EX}p"),
                        Literal(number if repeated is None else number // 2 % repeated),
                    )
                }
            ),
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


def mixed(count: int) -> list[GraphEvent]:
    """Readings of three gauges: whole numbers first, then decimals, doubles, a text for one of them, and a huge one."""
    kinds = [
        Literal(3),
        Literal("1.5", datatype=NamedNode(XSD + "decimal")),
        Literal(0.1),
        Literal("0.00025", datatype=NamedNode(XSD + "decimal")),
        Literal(4),
        Literal("1e30", datatype=NamedNode(XSD + "double")),
    ]
    return [
        GraphEvent(
            f"{EX}s",
            number * 1_000_000,
            frozenset(
                {
                    Triple(
                        NamedNode(f"{EX}g{number % 3}"),
                        NamedNode(f"{EX}p"),
                        Literal("none")
                        if number == 11
                        else Literal(1 << 70)
                        if number == 22
                        else kinds[number // 7 % 6],
                    )
                }
            ),
        )
        for number in range(count)
    ]


EVERY = """(COUNT(DISTINCT ?r) AS ?cd) (SUM(DISTINCT ?r) AS ?sd) (AVG(DISTINCT ?r) AS ?ad) (COUNT(?r) AS ?c) (SUM(?r) AS ?s)
    (COUNT(DISTINCT *) AS ?d) (SAMPLE(?g) AS ?one) (MIN(?r) AS ?least) (STRLEN(GROUP_CONCAT(DISTINCT STR(DATATYPE(?r)))) AS ?texts)
    (SUM(?r * 2) AS ?twice) (SAMPLE(STRLEN(?r)) AS ?length) (GROUP_CONCAT(DISTINCT ?g) AS ?gauges) (MAX(getENDTIME()) AS ?t)"""


def lines(found: list[Match]) -> list[str]:
    """All that matches say."""
    return sorted(f"{each.begin} {each.instant} {list(each.bindings.items())}" for each in found)


@pytest.mark.parametrize("small", [False, True])
def test_every_aggregate_is_that_of_all_members_so_far(small: bool) -> None:
    """One by one, with snapshots, and all at once; whatever kinds of numbers come."""
    text = f"{PREFIXES} SELECT ?g {EVERY} WHERE {{ ?g :p ?r }} GROUP BY ?g"
    query, (asked,), events = compile_query(text, "epsparql"), compile_intervals(text), mixed(48)
    expected = lines(interval_answers(asked, events, {}))
    with changed_settings(**({"totalled_rows": 3, "joined_pairs": 2} if small else {})):
        found = list[Match]()
        engine = Engine(query, compile_kernels=False)
        for number, each in enumerate(events):
            found += engine.push(each)
            if number % 5 == 0:
                engine = Engine.restore(query, engine.snapshot(), compile_kernels=False)
        found += engine.finish()
        assert lines(found) == expected
        assert lines(column_answers(asked, events, {}, by_instant)) == expected


@pytest.mark.parametrize(
    ("aggregate", "most"),
    [
        ("COUNT(DISTINCT ?r)", 0),
        ("SUM(DISTINCT ?r)", 0),
        ("AVG(DISTINCT ?r)", 0),
        ("COUNT(DISTINCT *)", 0),
        ("SAMPLE(?r)", 0),
        ("MIN(STR(?r))", 0),
        ("AVG(STR(?r))", 0),
        ("GROUP_CONCAT(DISTINCT ?r)", 100),
    ],
)
def test_what_members_repeat_is_not_looked_at_again(
    aggregate: str, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cost of a member does not grow with those before it: four different values among 400."""
    looked: list[int] = []
    groups = RowEvaluator.groups

    def counted(*arguments: Any) -> Any:
        looked.append(len(arguments[2]))
        return groups(*arguments)

    monkeypatch.setattr(RowEvaluator, "groups", counted)
    text = f"{PREFIXES} SELECT ?g ({aggregate} AS ?x) {{ ?g :p ?r }} GROUP BY ?g"
    events = readings(400, repeated=4)
    query = spaseq.compile(text, language="epsparql")
    with changed_settings(
        totalled_rows=1 << 24, portion_events=1 << 10, pushed_events=1 << 10, batch_events=1 << 10
    ):
        assert len(list(spaseq.run(query, {f"{EX}s": events}))) == 400
    assert sum(looked) <= most


def test_wider_numbers_do_not_make_all_results_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """A number with more decimal places than any before begins the totals anew, once."""
    monkeypatch.delattr(RowEvaluator, "groups")
    text = f"{PREFIXES} SELECT ?g (SUM(?r) AS ?x) {{ ?g :p ?r }} GROUP BY ?g"
    events = [each for each in mixed(30) if "none" not in str(each) and str(1 << 70) not in str(each)]
    found = list[Match]()
    engine = Engine(compile_query(text, "epsparql"), compile_kernels=False)
    with changed_settings(totalled_rows=1 << 24):
        for each in events:
            found += engine.push(each)
        found += engine.finish()
    assert lines(found) == lines(interval_answers(compile_intervals(text)[0], events, {}))
