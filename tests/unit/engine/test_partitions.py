"""Partitions of wide events, and of many events: time and memory in proportion to what there is."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from random import Random

import pytest
from pyoxigraph import Literal, NamedNode, Triple

import spaseq
from spaseq.model.events import GraphEvent
from spaseq.settings import changed_settings
from spaseq.testing.runner import reference_host

EX = "http://ex.org/"
OPERATORS = [
    pytest.param(";", "WITHIN 10 SECONDS", id="skip-till-next"),
    pytest.param(",", "WITHIN 10 SECONDS", id="strict contiguity"),
    pytest.param(";", "WITHIN 5 EVENTS", id="counted in events"),
]


def query(operator: str, window: str, keys: str = "?k", form: str = "SELECT ?k ?v ?w") -> str:
    """A then B for each key; what a key is of is a second one, if it is asked for."""
    more = ". ?k :of ?j" if "?j" in keys else ""
    return f"""PREFIX : <{EX}>
    {form} {window} FROM STREAM S <{EX}s> PARTITION BY {keys}
    WHERE {{
      SEQ (A {operator} B)
      DEFINE GPM A ON S {{ ?k :a ?v {more} }}
      DEFINE GPM B ON S {{ ?k :b ?w {more} }}
    }}"""


def wide(second: int, predicate: str, width: int) -> GraphEvent:
    """An event that says one thing of each of many keys."""
    said = [Triple(NamedNode(f"{EX}k{n}"), NamedNode(EX + predicate), Literal(n)) for n in range(width)]
    return GraphEvent(EX + "s", second * 1_000_000, frozenset(said))


def peak(operator: str, window: str, width: int) -> int:
    """The most memory that two events of this width take, in bytes."""
    engine = spaseq.Engine(query(operator, window), with_events=False, compile_kernels=False)
    events = [wide(1, "a", width), wide(2, "b", width)]
    tracemalloc.start()
    try:
        found = [*engine.push(events), *engine.finish()]
        assert len(found) == width
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("operator", "window"), OPERATORS)
def test_memory_grows_with_the_width_of_an_event_and_not_with_its_square(operator: str, window: str) -> None:
    """Four times the keys in an event need about four times the memory."""
    assert peak(operator, window, 1_600) < 8 * peak(operator, window, 400)


def test_an_event_in_too_many_partitions_is_an_error_that_names_the_limit() -> None:
    """Two keys of 2,000 values each are four million partitions, all of which strict contiguity looks at."""
    engine = spaseq.Engine(query(",", "WITHIN 10 SECONDS", "?k ?j"), compile_kernels=False)
    said = [
        Triple(NamedNode(f"{EX}k{n}"), NamedNode(EX + name), Literal(n))
        for n in range(2_000)
        for name in ("a", "of")
    ]
    with pytest.raises(
        spaseq.SpaseqError, match=r"4,000,000 partitions.*SPASEQ_SETTINGS=event_partitions=2000000"
    ):
        engine.push(GraphEvent(EX + "s", 0, frozenset(said)))


def narrow(number: int, predicate: str, key: int) -> GraphEvent:
    """An event about one key; two of them at every second."""
    said = Triple(NamedNode(f"{EX}k{key}"), NamedNode(EX + predicate), Literal(number))
    return GraphEvent(EX + "s", number // 2 * 1_000_000, frozenset([said]))


@pytest.mark.parametrize("piece", [1, 7])
@pytest.mark.parametrize(
    ("operator", "window"),
    [*OPERATORS[:2], pytest.param(";", "WITHIN 4 EVENTS SLIDING", id="sliding events")],
)
def test_partitions_in_which_nothing_waits_are_forgotten(operator: str, window: str, piece: int) -> None:
    """Keys that come once and never again leave the memory; matches are the same.

    A sliding window of EVENTS has no end before more events of its partition come, so there a run waits on.
    """
    chance = Random(5)
    events = [narrow(n, chance.choice("abx"), chance.choice([n // 40, n])) for n in range(400)]
    with changed_settings(forgotten_keys=10):
        engine = spaseq.Engine(query(operator, window, form="SELECT *"), compile_kernels=False)
        found = [match for at in range(0, 400, piece) for match in engine.push(events[at : at + piece])]
        kept = len(engine.machine.operator.stage.memory.keys.numbers)
    wanted = reference_host.run(engine.query, tuple(events), {})
    assert Counter(m.identity for m in [*found, *engine.finish()]) == Counter(m.identity for m in wanted)
    assert kept < 50 or "SLIDING" in window  # of some 150


def test_tumbling_windows_of_events_count_on_in_every_partition() -> None:
    """Which window an event is in depends on all events of its partition, so no partition is forgotten."""
    events = [narrow(n, "ab"[n % 2], n // 2 % 30) for n in range(240)]
    text = query(";", "WITHIN 3 EVENTS", form="SELECT *")
    with changed_settings(forgotten_keys=2):
        engine = spaseq.Engine(text, compile_kernels=False)
        found = [match for event in events for match in engine.push(event)] + engine.finish()
    wanted = reference_host.run(engine.query, tuple(events), {})
    assert Counter(m.identity for m in found) == Counter(m.identity for m in wanted)
    assert len(engine.machine.operator.stage.memory.keys.numbers) == 30
