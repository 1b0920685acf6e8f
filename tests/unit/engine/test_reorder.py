"""The reorder buffer: events in order of time, in the order of arrival among equals, at a steady cost."""

from __future__ import annotations

from random import Random
from time import process_time

import numpy as np
import pytest

from spaseq.engine.reorder import ReorderBuffer
from spaseq.model.batch import EventBatch, concat
from spaseq.temporal.instants import BEFORE_ALL

Event = tuple[int, int, int]
"""Time, stream, and a number that tells it apart."""


def batch(events: list[Event], width: int = 1) -> EventBatch:
    """Events whose triples have their number in every place."""
    numbers = np.repeat(np.array([number for _, _, number in events], np.int32), width)
    return EventBatch(
        numbers,
        numbers,
        numbers,
        np.arange(len(events) + 1, dtype=np.int64) * width,
        np.array([time for time, _, _ in events], np.int64),
        np.array([stream for _, stream, _ in events], np.int16),
        np.array([number for _, _, number in events], np.int32),
    )


def events_of(found: EventBatch) -> list[Event]:
    """The events of a batch; each still has its own triples."""
    assert found.subjects.tolist() == found.names.tolist()
    return list(zip(found.times.tolist(), found.streams.tolist(), found.names.tolist(), strict=True))


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("seed", range(20))
def test_events_leave_as_a_plain_list_would_let_them(seed: int, whole: bool) -> None:
    """Random pushes of random sizes, snapshots and compactions between, against a list that is sorted anew."""
    chance = Random(seed)
    lateness = chance.choice([0, 3, 50])
    buffer, waiting, watermark, latest, number = (
        ReorderBuffer(lateness, whole_instants=whole),
        [],
        BEFORE_ALL,
        0,
        0,
    )
    for step in range(60):
        pushed = []
        for _ in range(chance.choice([0, 1, 1, 2, 30])):
            number += 1
            pushed.append((max(0, step + chance.randint(-lateness - 2, 9)), chance.randint(0, 2), number))
        late = []
        for event in pushed:
            floor = max(watermark, latest - lateness if number else BEFORE_ALL)
            (late if event[0] < floor else waiting).append(event)
            latest = max(latest, event[0])
        if pushed:
            watermark = max(watermark, latest - lateness)
        ready = [e for e in waiting if (e[0] < watermark if whole else e[0] <= watermark)]
        waiting = [e for e in waiting if e not in ready]
        found, lost = buffer.push(batch(pushed))
        assert events_of(found) == sorted(ready, key=lambda event: event[:2])
        assert [pushed[place] for place in lost] == late
        assert len(buffer) == len(waiting)
        if chance.random() < 0.2:
            other = ReorderBuffer(lateness, whole_instants=whole)
            other.restore(buffer.held, buffer.watermark, buffer.latest)
            buffer = other
            buffer.remap(np.arange(number + 1, dtype=np.int32))
    assert events_of(buffer.advance_to(10**6)) == sorted(waiting, key=lambda event: event[:2])


def cost(held: int) -> float:
    """The processor time of many small pushes while so many events wait."""
    buffer = ReorderBuffer(10**9)
    buffer.push(concat([batch([(number, 0, number) for number in range(held)], width=40)]))
    one = [batch([(held + number, 0, number)], width=40) for number in range(300)]
    began = process_time()
    for event in one:
        buffer.push(event)
    return process_time() - began


def test_a_push_costs_the_same_however_many_events_wait() -> None:
    """What waits is not copied at each push."""
    assert min(cost(30_000) for _ in range(3)) < 5 * min(cost(300) for _ in range(3))
