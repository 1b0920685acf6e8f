"""Event patterns over windows go on after a restart as if there had been none, what they consumed included (semantics 4.5)."""

from __future__ import annotations

import random

import numpy as np
import pytest

import spaseq
from spaseq.model.matches import Match
from spaseq.model.packing import Damaged

EVENTS = 100
CUTS = 20


def query(select: str, consume: str) -> spaseq.CompiledQuery:
    """A sequence over everything so far, beside a count over a window that slides."""
    return spaseq.compile(
        f"""PREFIX : <http://ex.org/>
        SELECT ?k ?a ?b ?n
        FROM NAMED WINDOW :all ON :s [LND 0] FROM NAMED WINDOW :last ON :s [RANGE 5s]
        EVENT ON :all {{ ?k :a ?a }} AS A EVENT ON :all {{ ?k :b ?b }} AS B
        WHERE {{ MATCH {{ A SEQ {select} B }}
                 {{ SELECT ?k (COUNT(*) AS ?n) {{ WINDOW :last {{ ?k :b ?c }} }} GROUP BY ?k }} }}
        CONSUME {consume}""",
        language="rsepql",
    )


def stream() -> list[spaseq.Event]:
    """Events of three keys, some of them simultaneous, some with two triples."""
    chance, time, events = random.Random(4), 0, []
    for number in range(EVENTS):
        time += chance.choice((0, 1_000_000, 1_000_000, 2_000_000))
        triples = "".join(
            f"<http://ex.org/k{chance.randrange(3)}> <http://ex.org/{chance.choice('ab')}> {number % 7} ."
            for _ in range(chance.choice((1, 1, 2)))
        )
        events.append(spaseq.Event("http://ex.org/s", time, triples, format="turtle"))
    return events


def shown(matches: list[Match]) -> list[tuple[str, object]]:
    """What is compared, in the order of evaluations."""
    return sorted((str(match.time), match.identity, str(match.events)) for match in matches)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("select", "consume"),
    [
        ("CHRONOLOGICAL", "CHRONOLOGICAL"),
        ("RECENT", "RECENT"),
        ("NEXT", "RECENT"),
        ("NAIVE", "NONE"),
        ("", "NONE"),
    ],
)
def test_restarts_at_twenty_places_change_nothing(select: str, consume: str) -> None:
    """Each cut lies between two pushes; the state goes on as bytes."""
    asked, events = query(select, consume), stream()
    whole = spaseq.Engine(asked)
    wanted = [match for event in events for match in whole.push(event)] + list(whole.finish())
    cuts = set(random.Random(9).sample(range(1, EVENTS), CUTS))
    engine, found = spaseq.Engine(asked), list[Match]()
    for number, event in enumerate(events):
        if number in cuts:
            engine = spaseq.Engine.restore(asked, engine.snapshot())
        found += engine.push(event)
    found += engine.finish()
    assert shown(found) == shown(wanted)
    assert wanted


@pytest.mark.parametrize("name", ["_last_key", "_again", "events0:key", "events1:key"])
def test_a_state_with_a_key_that_is_not_there_is_refused(name: str) -> None:
    """Nothing in a snapshot is believed: the numbers of keys lead somewhere."""
    asked = query("CHRONOLOGICAL", "CHRONOLOGICAL")
    engine = spaseq.Engine(asked)
    for event in stream()[:20]:
        engine.push(event)
    operator = engine.machine.operator
    state = operator.dump()
    assert state is not None
    (damaged,) = (each for each in state.arrays if each.endswith(name))
    state.arrays[damaged] = np.full(max(len(state.arrays[damaged]), 1), 10**6, np.int64)
    with pytest.raises(Damaged):
        spaseq.Engine(asked).machine.operator.load([state])
