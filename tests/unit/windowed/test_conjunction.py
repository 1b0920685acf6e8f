"""The order of joins over windows: it follows from what the views hold, and changes no answer."""

from __future__ import annotations

import random
import tracemalloc
from collections import Counter

import numpy as np
import pytest
from pyoxigraph import NamedNode, Triple

from spaseq import Engine
from spaseq.columnar.join_order import Statistics, best_order, cost, written_order
from spaseq.languages.rsepql.query import compile_windows
from spaseq.model.events import GraphEvent
from spaseq.model.matches import Match
from spaseq.planner import compile_query
from spaseq.reference.continuous import window_answers
from spaseq.settings import changed_settings
from spaseq.windowed.conjunction import ConjunctionView
from spaseq.windowed.evaluations import Period
from support.engine_hosts import restored

EX = "http://ex.org/"
QUERY = """PREFIX : <http://ex.org/>
SELECT * FROM NAMED WINDOW :w ON :s [RANGE 40s]
WHERE { WINDOW :w { ?a :p ?b . ?b :q ?c . ?c :r ?d . FILTER(?a != ?d) } }"""


def event(time: int, subject: str, predicate: str, value: str) -> GraphEvent:
    """One triple."""
    triple = Triple(NamedNode(EX + subject), NamedNode(EX + predicate), NamedNode(EX + value))
    return GraphEvent(f"{EX}s", time * 1_000_000, frozenset({triple}))


def events(count: int, seed: int = 5) -> list[GraphEvent]:
    """Many links between few nodes, but few of the last kind: the join as written is large in the middle."""
    chance = random.Random(seed)
    return [
        event(
            time,
            f"n{chance.randrange(4)}",
            chance.choice("pq" if time % 9 else "r"),
            f"n{chance.randrange(4)}",
        )
        for time in range(count)
    ]


def test_few_rows_come_first() -> None:
    """Then always what leaves the fewest rows, connected views before others."""
    large, few = Statistics(1000, {"a": 1000, "b": 10}), Statistics(2, {"c": 2})
    between, apart = Statistics(500, {"b": 10, "c": 500}), Statistics(1, {"z": 1})
    parts = [large, between, few, apart]
    assert best_order([large, between, few]) == (2, 1, 0)
    assert best_order(parts)[-3:] == (2, 1, 0)
    assert cost((2, 1, 0), parts) < cost((0, 1, 2), parts)
    assert written_order([["a"], ["z"], ["a", "b"], ["b", "z"]]) == (0, 2, 3, 1)


def test_a_join_has_as_many_rows_as_values_allow() -> None:
    """Rows over the values that the side with more of them has."""
    found = Statistics(100, {"a": 100, "b": 5}).joined(Statistics(50, {"b": 10, "c": 50}))
    assert (found.rows, found.values["b"]) == (500, 5)


@pytest.mark.parametrize("seed", range(4))
def test_whatever_order_is_chosen_the_answers_are_the_same(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another order at random after every few rows, with windows that expire in between, and snapshots."""
    chance, orders = random.Random(seed), set()

    def look(self: ConjunctionView, period: Period, _: object) -> None:
        low = np.array([each[0] for each in period.low], np.int64)
        order = tuple(chance.sample(range(3), 3))
        orders.add(order)
        self.reorder(order, self._held(low), low)

    monkeypatch.setattr(ConjunctionView, "_look", look)
    given = events(90, seed)
    wanted = window_answers(compile_windows(QUERY), given, {})
    with changed_settings(forgotten_rows=2):
        found = restored(compile_query(QUERY, "rsepql"), given, {}, every=7)
    assert len(orders) == 6
    assert found
    assert Counter(map(shown, found)) == Counter(map(shown, wanted))


def shown(match: Match) -> tuple[object, ...]:
    """When, and what."""
    return match.time, tuple(sorted((name, str(term)) for name, term in match.bindings.items()))


def test_a_large_join_in_the_middle_is_avoided(monkeypatch: pytest.MonkeyPatch) -> None:
    """Links of a rare kind are joined first, once there is enough to see that they are rare."""
    made: list[tuple[int, ...]] = []
    reorder = ConjunctionView.reorder

    def noted(self: ConjunctionView, order: tuple[int, ...], *rest: object) -> None:
        made.append(order)
        reorder(self, order, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(ConjunctionView, "reorder", noted)
    with changed_settings(ordered_rows=20):
        engine = Engine(compile_query(QUERY, "rsepql"), compile_kernels=False)
        for each in events(80):
            list(engine.push(each))
    assert made[0][0] == 2  # the pattern of the rare links


def test_patterns_without_a_common_variable_are_joined_last() -> None:
    """Three kinds of things in the background, each known by one triple of the window: not all combinations of them."""
    things = frozenset(
        Triple(NamedNode(f"{EX}{kind}{number}"), NamedNode(f"{EX}type"), NamedNode(EX + kind))
        for kind in "abc"
        for number in range(300)
    )
    query = compile_query(
        """PREFIX : <http://ex.org/> SELECT * FROM :g FROM STREAM :s [RANGE 1s STEP 1s]
        WHERE { ?a :type :a . ?b :type :b . ?c :type :c . { ?x :p ?a } { ?x :q ?b } { ?x :r ?c } }""",
        "rsepql",
    )
    given = [event(time, "x", "pqr"[time % 3], f"{'abc'[time % 3]}{time % 7}") for time in range(300)]
    given += [event(300, "x", predicate, f"{kind}1") for predicate, kind in zip("pqr", "abc", strict=True)]
    tracemalloc.start()
    engine = Engine(query, knowledge={f"{EX}g": things}, compile_kernels=False)
    found = [*engine.push(given), *engine.finish()]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found) == 1
    assert peak < 300_000_000  # all combinations are 27 million rows
