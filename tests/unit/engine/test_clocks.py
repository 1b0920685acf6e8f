"""Facts about the watermarks of several streams."""

from __future__ import annotations

import numpy as np

from spaseq.engine.clocks import StreamClocks
from spaseq.engine.notices import EVERY, Notices
from spaseq.model.batch import EMPTY, EventBatch
from spaseq.temporal.instants import BEFORE_ALL


class Time:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def events(stream: int, *times: int) -> EventBatch:
    """Events without triples."""
    count = len(times)
    streams, names = np.full(count, stream, np.int16), np.zeros(count, np.int32)
    return EventBatch(
        EMPTY.subjects, EMPTY.predicates, EMPTY.objects, np.zeros(count + 1, np.int64), np.array(times), streams, names
    )  # fmt: skip


def test_the_slowest_stream_is_waited_for_until_it_has_been_silent_for_long_enough() -> None:
    """By the wall clock, whatever its events say; one that has never spoken counts from the start."""
    time = Time()
    clocks = StreamClocks(["a", "b"], 5, 10_000_000, clock=time)
    clocks.see(events(0, 90, 100, 70))
    assert clocks.watermark((0, 1)) == BEFORE_ALL
    time.now += 9
    clocks.see(events(0, 110))
    assert clocks.watermark((0, 1)) == BEFORE_ALL
    time.now += 1
    assert clocks.watermark((0, 1)) == 105
    clocks.see(events(1, 40))
    assert clocks.watermark((0, 1)) == 35, "it is waited for again once it speaks"
    assert clocks.watermark((0,)) == 105, "whoever reads another stream only does not wait for it"
    assert clocks.latest == {"a": 110, "b": 40}


def test_if_all_streams_are_silent_the_fastest_one_counts() -> None:
    """Nobody is waited for."""
    time = Time()
    clocks = StreamClocks(["a", "b"], 0, 10_000_000, {"a": 100, "b": 40}, clock=time)
    assert clocks.watermark((0, 1)) == 40
    time.now += 10
    assert clocks.watermark((0, 1)) == 100


def test_the_first_of_a_kind_is_told_at_once_and_then_how_many_more() -> None:
    """A million late events are a few lines."""
    time, told = Time(), list[str]()
    notices = Notices(told.append, time)
    for number in range(100):
        notices.note("late", f"late {number}")
        notices.note("bad", f"bad {number}")
    assert told == ["late 0", "bad 0"]
    time.now += EVERY
    notices.poll()
    assert told[2:] == ["99 more: late", "99 more: bad"]
    notices.note("late", "late again")
    notices.flush()
    assert told[4:] == ["1 more: late"]


def test_endless_kinds_are_told_as_one() -> None:
    """Reasons that all differ must not flood the screen."""
    told: list[str] = []
    notices = Notices(told.append, Time())
    for number in range(1000):
        notices.note(f"kind {number}", f"text {number}")
    assert len(told) == 21
    notices.flush()
    assert told[21:] == ["979 more: other bad input"]
