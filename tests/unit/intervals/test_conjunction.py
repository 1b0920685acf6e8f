"""The order of joins over intervals: it follows from what the parts hold, and changes no answer."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
import pytest
from pyoxigraph import NamedNode, Triple

from spaseq import Engine
from spaseq.algebra.intervals import Policy
from spaseq.algebra.patterns import Relation
from spaseq.columnar.join_order import Condition, Statistics, best_order, cost
from spaseq.intervals.conjunction import ConjoinedSolutions
from spaseq.intervals.evaluation import IntervalEvaluation
from spaseq.intervals.solution_views import TimelessView
from spaseq.languages.epsparql.query import compile_intervals
from spaseq.model.events import GraphEvent
from spaseq.model.matches import Match
from spaseq.model.packing import Damaged
from spaseq.planner import compile_query
from spaseq.reference.interval_answers import interval_answers
from spaseq.settings import changed_settings
from support.engine_hosts import restored
from support.interval_hosts import at_once, by_instant, column_answers
from support.join_orders import shuffled_joins

EX = "http://ex.org/"
SECOND = 1_000_000


def query(*operands: str, operator: str = "", bound: str = "") -> str:
    """Some patterns joined as they are written."""
    body = f" {operator} ".join(f"{{ {each} }}" for each in operands)
    return (
        f"PREFIX : <{EX}> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> SELECT * WHERE {{ {body} {bound} }}"
    )


def event(time: int, predicate: str, value: str, *, start: int | None = None) -> GraphEvent:
    """One triple of one subject."""
    triple = Triple(NamedNode(f"{EX}n"), NamedNode(EX + predicate), NamedNode(EX + value))
    return GraphEvent(
        f"{EX}s", time * SECOND, frozenset({triple}), start=None if start is None else start * SECOND
    )


def events(count: int, *, rare: str = "r", every: int = 50) -> list[GraphEvent]:
    """Many of two kinds, and few of a third, now and then at the same time."""
    usual = [each for each in "pqr" if each != rare]
    return [
        event(number // 2, rare if number % every == every - 1 else usual[number % 2], f"v{number % 7}")
        for number in range(count)
    ]


@dataclass
class Cost:
    """How much joins have done."""

    between: int = 0
    kept: int = 0

    def look(self, evaluation: IntervalEvaluation) -> None:
        """Count the rows that joins gave to each other, and the rows that are kept."""
        views = {
            id(each): each for _, each in evaluation.everything() if isinstance(each, ConjoinedSolutions)
        }
        self.between = sum(each.between for each in views.values())
        self.kept = max(self.kept, evaluation.solutions)


def shown(found: list[Match]) -> Counter[tuple[object, ...]]:
    """When, and what."""
    return Counter(
        (match.begin, match.instant, *sorted((name, str(term)) for name, term in match.bindings.items()))
        for match in found
    )


def answers(text: str, given: list[GraphEvent], counted: Cost | None = None, **changed: int) -> list[Match]:
    """What a query answers, event by event."""
    watch = (lambda _: None) if counted is None else counted.look
    with changed_settings(forgotten_rows=16, **changed):
        return column_answers(compile_intervals(text)[0], given, {}, by_instant, watch=watch)


BOUND = 'FILTER(getDURATION() < "PT60S"^^xsd:duration)'
PARTS = ("?x :p ?a", "?x :q ?b", "?x :r ?c")


def together(given: list[GraphEvent]) -> list[GraphEvent]:
    """The same events, four seconds' at one instant."""
    return [replace(each, time=each.time // (4 * SECOND) * 4 * SECOND) for each in given]


@pytest.mark.parametrize("operator", ["", "EQUALS"])
def test_a_selective_pattern_costs_the_same_wherever_it_is_written(operator: str) -> None:
    """Last instead of first: as many answers, about as many rows between joins and kept, and far fewer than as written."""
    given = together(events(300))
    good, bad, written = Cost(), Cost(), Cost()
    first = answers(query(*PARTS[::-1], operator=operator, bound=BOUND), given, good, ordered_rows=16)
    text = query(*PARTS, operator=operator, bound=BOUND)
    assert shown(answers(text, given, bad, ordered_rows=16)) == shown(first)
    answers(text, given, written, ordered_rows=10**9)
    assert bad.between < good.between + 100
    assert bad.kept < 1.2 * good.kept
    assert written.between > 10 * bad.between


def test_a_rare_end_of_a_sequence_costs_what_a_rare_beginning_does() -> None:
    """Pairs of the usual parts are not made before the rare one is there."""
    text = query(*PARTS, operator="SEQ", bound=BOUND)
    good, bad, written = Cost(), Cost(), Cost()
    answers(text, events(400, rare="p"), good, ordered_rows=16)
    found = answers(text, events(400, rare="r"), bad, ordered_rows=16)
    assert shown(answers(text, events(400, rare="r"), written, ordered_rows=10**9)) == shown(found)
    assert bad.between < 1.5 * good.between
    assert bad.kept < good.kept
    assert written.between > 10 * bad.between


def test_what_conditions_drop_counts() -> None:
    """A sequence of equal parts stays as written if a condition drops most of its first pairs."""
    parts = [Statistics(100, {"x": 1, name: 100}) for name in "abc"]
    condition = [Condition(frozenset("ab"), 0.01)]
    assert best_order(parts, condition, adjacent=True)[:2] in ((0, 1), (1, 0))
    assert cost((0, 1, 2), parts, condition) < cost((2, 1, 0), parts, condition)
    assert cost((0, 1, 2), parts) == cost((2, 1, 0), parts)


def test_a_sequence_is_joined_without_gaps() -> None:
    """However few rows two parts have that are not next to each other."""
    parts = [Statistics(count, {"x": 1}) for count in (1, 100, 2, 50)]
    order = best_order(parts, adjacent=True)
    assert all(max(order[:n]) - min(order[:n]) == n - 1 for n in range(1, 5))


@pytest.mark.parametrize("operator", ["", "SEQ", "EQUALS"])
@pytest.mark.parametrize("bound", ["", BOUND])
def test_whatever_order_is_chosen_the_answers_are_the_same(operator: str, bound: str) -> None:
    """Another order at random after every few events, some of which are intervals, and snapshots in between."""
    chance = random.Random(3)
    given = [
        event(time, chance.choice("pqr"), f"v{chance.randrange(3)}", start=time - chance.choice((0, 0, 1, 5)))
        for time in (number // 5 for number in range(48))
    ]
    text = query(*PARTS, "?y :r ?c", operator=operator, bound=f"FILTER(?a != ?c) {bound}")
    wanted = interval_answers(compile_intervals(text)[0], given, {})
    with changed_settings(forgotten_rows=2), shuffled_joins(chance) as taken:
        found = restored(compile_query(text, "epsparql"), given, {}, every=5)
    assert len(taken) > 4
    assert found
    assert shown(found) == shown(wanted)


@pytest.mark.parametrize("policy", [Policy.CHRONOLOGICAL, Policy.RECENT])
def test_a_policy_keeps_the_order_of_a_sequence(policy: Policy) -> None:
    """Its choice depends on what is the left side; joins of one instant are free."""
    text = query(*PARTS, operator="SEQ")
    given = events(60, every=6)
    wanted = interval_answers(compile_intervals(text)[0], given, {}, policy=policy)
    asked = replace(compile_intervals(text)[0], policy=policy)
    with shuffled_joins(random.Random(1)) as taken:
        found = column_answers(asked, given, {}, at_once)
    assert not taken
    assert shown(found) == shown(wanted)


def test_an_order_that_cannot_be_is_refused() -> None:
    """A saved sequence of three parts that joins the first one with the last."""
    view = ConjoinedSolutions(
        [TimelessView((name,), frozenset(name), lambda: ({}, 0)) for name in "abc"], relation=Relation.SEQ
    )
    view.check()
    view._arranged = np.array([0, 2, 1], np.int64)
    with pytest.raises(Damaged, match="not an order of 3 views"):
        view.check()


def test_a_restored_sequence_gives_no_solution_twice() -> None:
    """Two right sides make one solution if only their starts differ: an interval before the snapshot, an instant after it."""
    text = query(*PARTS[:2], operator="SEQ")
    given = [event(1, "p", "v"), event(5, "q", "v", start=3), event(5, "q", "v")]
    compiled, found = compile_query(text, "epsparql"), list[Match]()
    engine = Engine(compiled, compile_kernels=False)
    for each in given:
        found += engine.push(each)
        engine = Engine.restore(compiled, engine.snapshot(), compile_kernels=False)
    assert len(found) == 1
