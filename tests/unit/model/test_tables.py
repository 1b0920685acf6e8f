"""Batches of events and tables of mappings: slicing, ordering and joining columns."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaseq.model.batch import EMPTY, EventBatch, concat
from spaseq.model.mappings import MappingTable, empty_table

Plain = tuple[int, list[tuple[int, int, int]]]
TRIPLES = st.tuples(st.integers(1, 5), st.integers(1, 5), st.integers(1, 5))
EVENTS = st.lists(st.tuples(st.integers(0, 9), st.lists(TRIPLES, max_size=4)), max_size=8)


def batch_of(events: list[Plain], source: str = "a") -> EventBatch:
    """A batch with these times and triples."""
    rows = [triple for _, triples in events for triple in triples]
    columns = np.array(rows, np.int32).reshape(-1, 3)
    lengths = [len(triples) for _, triples in events]
    count = len(events)
    return EventBatch(
        columns[:, 0].copy(),
        columns[:, 1].copy(),
        columns[:, 2].copy(),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        np.array([time for time, _ in events], np.int64),
        np.zeros(count, np.int16),
        np.arange(count, dtype=np.int32),
        (source,),
        np.zeros(count, np.int32),
        np.arange(1, count + 1, dtype=np.int64),
    )


def plain(batch: EventBatch) -> list[Plain]:
    """The times and triples of a batch."""
    columns = (zip(*(c.tolist() for c in batch.triples_of(i)), strict=True) for i in range(len(batch)))
    return [(int(time), list(rows)) for time, rows in zip(batch.times, columns, strict=True)]


@given(EVENTS, st.integers(0, 9), st.integers(0, 9))
def test_a_slice_holds_the_events_of_a_list_slice(events: list[Plain], start: int, stop: int) -> None:
    """Offsets start anew, triples stay with their events."""
    part = batch_of(events).slice(start, stop)
    assert plain(part) == events[start:stop]
    assert part.offsets[0] == 0
    assert part.triple_count == sum(len(triples) for _, triples in events[start:stop])


@given(EVENTS, st.randoms(use_true_random=False))
def test_taking_events_in_an_order_takes_their_triples_along(events: list[Plain], rng: object) -> None:
    """`take` permutes, repeats and leaves out."""
    order = np.array([i % len(events) for i in range(0, 13, 3)] if events else [], np.int64)
    taken = batch_of(events).take(order)
    assert plain(taken) == [events[i] for i in order]


@given(EVENTS)
def test_sorting_by_time_keeps_the_order_of_simultaneous_events(events: list[Plain]) -> None:
    """Two events of one instant stay in arrival order."""
    assert plain(batch_of(events).by_time()) == sorted(events, key=lambda event: event[0])


@given(EVENTS, EVENTS, st.integers(0, 4))
def test_concatenating_is_concatenating(one: list[Plain], other: list[Plain], start: int) -> None:
    """Also of slices, and every event still knows where it was read."""
    joined = concat([batch_of(one, "a").slice(start, 99), EMPTY, batch_of(other, "b")])
    assert plain(joined) == one[start:] + other
    if other:
        assert joined.origin_of(len(joined) - 1) == ("b", len(other))


def test_a_batch_follows_a_compacted_dictionary() -> None:
    """Every id is replaced by its new one."""
    mapping = np.array([0, 3, 1, 2], np.int32)
    moved = batch_of([(1, [(1, 2, 3)])]).remapped(mapping)
    assert plain(moved) == [(1, [(3, 1, 2)])]


def table(rows: list[tuple[int, int, int]]) -> MappingTable:
    """A table over two variables."""
    columns = np.array(rows, np.int32).reshape(-1, 3)
    return MappingTable(
        columns[:, 0].astype(np.int64), {"x": columns[:, 1].copy(), "y": columns[:, 2].copy()}
    )


def rows_of(found: MappingTable) -> list[tuple[int, ...]]:
    """The rows of a table."""
    columns = [found.events.tolist(), *(column.tolist() for column in found.columns.values())]
    return list(zip(*columns, strict=True))


def test_rows_of_a_table_are_taken_and_follow_a_compacted_dictionary() -> None:
    """A variable without column is unbound."""
    one = table([(0, 1, 2), (1, 3, 0)])
    assert one.column("new").tolist() == [0, 0]
    assert rows_of(one.take(np.array([False, True]))) == [(1, 3, 0)]
    assert rows_of(one.remapped(np.array([0, 5, 6, 7], np.int32))) == [(0, 5, 6), (1, 7, 0)]
    assert empty_table(["x"]).variables == ("x",)


@pytest.mark.parametrize("length", [0, 1])
def test_the_empty_batch_and_single_events_are_batches(length: int) -> None:
    """Light load: a batch of one event, or of none."""
    batch = batch_of([(5, [(1, 1, 1)])][:length])
    assert len(batch) == length
    assert len(concat([batch])) == length
