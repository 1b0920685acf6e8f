"""The sequence stage over many rows: sweeping and limits change no answer and lose nothing silently."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from pyoxigraph import Literal, NamedNode, Triple

from spaseq.automaton.stage import TooManyRuns
from spaseq.engine import Engine
from spaseq.model.budget import TooMuchMemory
from spaseq.model.events import GraphEvent
from spaseq.model.matches import Match
from spaseq.planner import compile_query
from spaseq.testing.comparison import comparable
from spaseq.testing.runner import reference_host

EX = "http://ex.org/"
QUERY = """PREFIX : <http://ex.org/>
SELECT ?k ?a ?b {window}
FROM STREAM S <http://ex.org/s>
{partition}
WHERE {{
  SEQ (A {operator} B)
  DEFINE GPM A ON S {{ ?k :v ?a . FILTER(?a < 5) }}
  DEFINE GPM B ON S {{ ?k :v ?b . FILTER(?b > ?a + 1) }}
}}"""


def events(count: int, keys: int = 50) -> list[GraphEvent]:
    """Readings of many keys, some of them simultaneous."""
    chance = random.Random(3)
    return [
        GraphEvent(
            EX + "s",
            (number - number % 3 % 2) * 100_000,
            frozenset({Triple(NamedNode(f"{EX}k{chance.randrange(keys)}"), NamedNode(EX + "v"), Literal(chance.randrange(10)))}),
        )
        for number in range(count)
    ]  # fmt: skip


def found(query: str, pushed: list[GraphEvent], size: int) -> list[tuple[int, int, str]]:
    """The answers when events come in pieces of one size."""
    engine = Engine(query, compile_kernels=True)
    matches: list[Match] = []
    for start in range(0, len(pushed), size):
        matches += engine.push(pushed[start : start + size])
    matches += engine.finish()
    return sorted(
        (m.begin, m.instant, str(sorted((n, str(t)) for n, t in m.bindings.items()))) for m in matches
    )


@pytest.mark.parametrize("partition", ["", "PARTITION BY ?k"])
@pytest.mark.parametrize("window", ["", "WITHIN 40 EVENTS SLIDING", "WITHIN 40 EVENTS", "WITHIN 20 SECONDS"])
@pytest.mark.parametrize("operator", [",", ";"])
def test_a_sweep_in_the_middle_of_a_batch_loses_nothing(operator: str, window: str, partition: str) -> None:
    """One batch that must be swept on the way gives what many small ones give."""
    query = QUERY.format(operator=operator, window=window, partition=partition)
    pushed = events(16_000)
    whole = found(query, pushed, len(pushed))
    assert whole == found(query, pushed, 700)
    assert len(whole) > 100


def test_too_many_runs_is_an_error_that_names_the_step() -> None:
    """A limit ends in a clear error, not in lost matches."""
    engine = Engine(QUERY.format(operator=":", window="", partition=""), max_runs=100)
    with pytest.raises(TooManyRuns, match=r"max_runs=100: 1[0-9][0-9] wait for B\."):
        engine.push(events(400))


def test_too_much_memory_is_an_error_that_names_the_steps() -> None:
    """The same for the bytes that runs take; arrays do not grow beyond the limit."""
    query = QUERY.format(operator=":", window="", partition="").replace("?a + 1", "?a + 100")
    engine = Engine(query, max_memory=1_000_000, with_events=False)
    with pytest.raises(
        TooMuchMemory, match=r"max_memory=1,000,000 bytes\. .* runs [0-9.]+ kB \([0-9,]+ wait for B\)"
    ):
        engine.push(events(20_000))
    assert 200_000 < engine.machine.operator.stage.memory.nbytes < 1_000_000


@pytest.mark.parametrize("room", [1, 2, 3, 5, 8])
def test_full_cells_at_the_end_of_a_channel_do_not_overflow(
    change_settings: Callable[..., None], room: int
) -> None:
    """Runs of several kinds wait for one event; however many fit into a portion, all of them are extended once."""
    text = """PREFIX : <http://ex.org/> SELECT * WITHIN 3 SECONDS FROM STREAM S <http://ex.org/s>
    WHERE { SEQ (A? , B*[;] , C) DEFINE GPM A ON S { ?s :p ?a } DEFINE GPM B ON S { ?k :p ?b } DEFINE GPM C ON S { ?k :p ?c } }"""
    change_settings(collected_runs=room, initial_runs=1)
    triple = Triple(NamedNode("http://ex.org/k"), NamedNode("http://ex.org/p"), Literal(0))
    events = [GraphEvent("http://ex.org/s", n // 4 * 1_000_000, frozenset({triple})) for n in range(12)]
    query = compile_query(text)
    engine = Engine(query, compile_kernels=False)
    found = [*engine.push(events), *engine.finish()]
    assert comparable(query, found) == comparable(query, reference_host.run(query, tuple(events), {}))
