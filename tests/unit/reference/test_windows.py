"""Windows and partitions of the reference implementation (semantics 1.8 and 1.9)."""

from __future__ import annotations

import pytest
from pyoxigraph import Literal, NamedNode, Triple

from spaseq.algebra.events import EventWindow, TimeWindow, Window
from spaseq.languages.spaseq.dialect import parse
from spaseq.languages.spaseq.query import lower
from spaseq.model.events import GraphEvent
from spaseq.reference.partitions import keys_of
from spaseq.reference.runs import Numbered
from spaseq.reference.windows import frames


def events(*times: int) -> tuple[Numbered, ...]:
    """Events at these instants, in this order."""
    return tuple(
        Numbered(GraphEvent("urn:s", time, frozenset()), position) for position, time in enumerate(times)
    )


@pytest.mark.parametrize(
    ("window", "times", "expected"),
    [
        (None, (1, 5, 99), [([1, 5, 99], None)]),
        (TimeWindow(10), (1, 5, 12), [([1, 5], 10), ([12], 20)]),
        (TimeWindow(10), (0,), [([0], 0), ([0], 10)]),
        (TimeWindow(10), (10,), [([10], 10), ([10], 20)]),
        (TimeWindow(10), (9, 10, 11), [([9, 10], 10), ([10, 11], 20)]),
        (TimeWindow(10), (-3, 4), [([-3], 0), ([4], 10)]),
        (TimeWindow(10), (5, 95), [([5], 10), ([95], 100)]),
        (TimeWindow(10, start=5), (4, 5, 15, 16), [([5, 15], 15), ([15, 16], 25)]),
        (TimeWindow(10, sliding=True), (1, 50), [([1, 50], None)]),
        (EventWindow(2), (1, 2, 3), [([1, 2], None), ([3], None)]),
        (EventWindow(2, sliding=True), (1, 2, 3), [([1, 2, 3], None)]),
    ],
)
def test_frames(
    window: Window | None, times: tuple[int, ...], expected: list[tuple[list[int], int | None]]
) -> None:
    """Tumbling windows are closed at both ends; a sliding one is measured, not cut."""
    found = frames(window, events(*times))
    assert [([event.time for event in frame.events], frame.end) for frame in found] == expected


def test_an_event_has_every_combination_of_its_key_values() -> None:
    """Value by value: some triple pattern with the variable matches (semantics 1.9)."""
    query = lower(
        parse(
            "PREFIX : <urn:> SELECT * FROM STREAM S <urn:s> PARTITION BY ?k ?l "
            "WHERE { SEQ (A) DEFINE GPM A ON S { ?a :k ?k ; :l ?l . ?k :p 1 } }"
        )
    ).query
    a, k, other, p = (NamedNode(f"urn:{name}") for name in "aklp")
    graph = {
        Triple(a, k, Literal(1)),
        Triple(a, k, Literal(2)),
        Triple(a, other, Literal(3)),
        Triple(a, p, Literal(1)),
    }
    found = keys_of(query, GraphEvent("urn:s", 0, frozenset(graph)))
    assert found == {(key, Literal(3)) for key in (Literal(1), Literal(2), a)}


def test_an_event_without_one_of_the_keys_is_in_no_partition() -> None:
    """Every variable needs a value."""
    query = lower(
        parse(
            "PREFIX : <urn:> SELECT * FROM STREAM S <urn:s> PARTITION BY ?k ?l "
            "WHERE { SEQ (A) DEFINE GPM A ON S { ?a :k ?k ; :l ?l } }"
        )
    ).query
    graph = {Triple(NamedNode("urn:a"), NamedNode("urn:k"), Literal(1))}
    assert keys_of(query, GraphEvent("urn:s", 0, frozenset(graph))) == set()
