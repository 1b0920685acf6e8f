"""Terms that a query computes while it runs: later steps compare them like terms that events carry."""

from __future__ import annotations

from collections import Counter
from random import Random

import numpy as np
import pytest
from pyoxigraph import Literal, NamedNode, Triple

from spaseq.automaton.kernels import stack
from spaseq.engine import Engine
from spaseq.model.events import GraphEvent
from spaseq.planner import compile_query
from spaseq.settings import changed_settings, small_settings
from spaseq.testing.runner import reference_host

EX = "http://ex.org/"
QUERY = """
PREFIX : <http://ex.org/>
SELECT ?a ?b ?c ?d
WITHIN 100 DAYS SLIDING FROM STREAM S <http://ex.org/s>
WHERE {
  SEQ (A ; B ; C)
  DEFINE GPM A ON S { :x :a ?a }
  DEFINE GPM B ON S { :x :b ?b BIND(?a + ?b AS ?d) }
  DEFINE GPM C ON S { :x :c ?c FILTER(?c > ?d) }
}
"""


def stream(count: int) -> list[GraphEvent]:
    """Numbers under the predicates a, b, c in turn; hardly any comes twice."""
    chance = Random(count)
    return [
        GraphEvent(
            EX + "s",
            second * 1_000_000,
            frozenset(
                [
                    Triple(
                        NamedNode(EX + "x"),
                        NamedNode(EX + "abc"[second % 3]),
                        Literal(chance.randrange(10**6) * (1 + second % 3)),
                    )
                ]
            ),
        )
        for second in range(count)
    ]


def numbers(event: GraphEvent) -> int:
    """The number that an event carries."""
    (triple,) = event.triples
    assert isinstance(triple.object, Literal)
    return int(triple.object.value)


def direct(events: list[GraphEvent]) -> Counter[tuple[int, ...]]:
    """The answers by plain Python: the next b after each a, then the first c above their sum."""
    found: Counter[tuple[int, ...]] = Counter()
    for at in range(0, len(events) - 2, 3):
        a, b = numbers(events[at]), numbers(events[at + 1])
        for event in events[at + 2 :: 3]:
            if numbers(event) > a + b:
                found[a, b, numbers(event), a + b] += 1
                break
    return found


@pytest.mark.parametrize("compiled", [False, True], ids=["interpreted", "compiled"])
@pytest.mark.parametrize(("count", "piece"), [(60, 60), (2_400, 2_400), (600, 7)])
def test_a_later_step_compares_what_a_bind_computed(compiled: bool, count: int, piece: int) -> None:
    """New terms come up in the middle of a step; the rows behind them compare these terms."""
    events = stream(count)
    engine = Engine(compile_query(QUERY), compile_kernels=compiled)
    found = [match for at in range(0, count, piece) for match in engine.push(events[at : at + piece])]
    got = Counter(tuple(int(match.bindings[name].value) for name in "abcd") for match in found)
    assert got == direct(events)


def test_small_settings_change_no_comparison_with_a_computed_term() -> None:
    """With every threshold tiny, dictionaries are compacted and caches emptied between two steps."""
    events = stream(60)
    query = compile_query(QUERY)
    small = {name: getattr(small_settings(), name) for name in small_settings().__slots__}
    with changed_settings(**small):
        engine = Engine(query, compile_kernels=False)
        found = [match for event in events for match in engine.push(event)]
    wanted = reference_host.run(query, tuple(events), {})
    assert Counter(match.identity for match in found) == Counter(match.identity for match in wanted)


def test_kernels_see_the_values_of_all_ids_and_of_no_others() -> None:
    """The value arrays end with the last id, so that a check of bounds finds an id that they do not cover."""
    engine = Engine(compile_query(QUERY), compile_kernels=False)
    engine.push(stream(3))
    values = engine.machine.operator.values()
    assert len(values.kind) == len(values.number) == len(values.exact) == len(engine.dictionary) + 1
    with pytest.raises(IndexError):
        stack.load(values, len(engine.dictionary) + 1, 0, np.zeros((4, 4)))
