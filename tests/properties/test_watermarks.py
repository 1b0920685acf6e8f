"""The watermark of streams that are followed: one rule, and both hosts keep it (docs/reference/cli.md, ``--idle-after``)."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spaseq.engine.clocks import StreamClocks
from spaseq.model.batch import EMPTY, EventBatch
from spaseq.spark.shuffle.watermark import Pace, Progress
from spaseq.temporal.instants import BEFORE_ALL

STREAMS = ("a", "b", "c")
SECOND = 1_000_000
STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["wait", "stop"]), st.integers(0, 12)),
        st.tuples(st.sampled_from(STREAMS), st.integers(-5, 40)),
    ),
    max_size=25,
)


def defined(seen: list[tuple[str, int, int]], clock: int, began: int, lateness: int, idle_after: int) -> int:
    """What the rule says of events (stream, time, wall clock when it came): each stream's latest less the lateness, the least of
    those that have not been silent for too long since the run began; if all have, the greatest.
    """
    fronts = {name: max((t for s, t, _ in seen if s == name), default=BEFORE_ALL) for name in STREAMS}
    heard = {name: max([began, *(at for s, _, at in seen if s == name)]) for name in STREAMS}
    waited = [fronts[name] for name in STREAMS if clock - heard[name] < idle_after]
    front = min(waited) if waited else max(fronts.values())
    return BEFORE_ALL if front == BEFORE_ALL else front - lateness


@given(STEPS, st.integers(0, 10), st.integers(1, 15))
def test_both_hosts_have_the_watermark_that_the_rule_defines(
    steps: list[tuple[str, int]], lateness: int, idle_after: int
) -> None:
    """After every event, every wait and every restart, whichever stream is slow, silent, or speaks again."""
    clock = began = SECOND  # Spark's worker takes a clock of 0 to be unknown

    def now() -> float:
        return clock / SECOND

    engine = StreamClocks(STREAMS, lateness, idle_after * SECOND, clock=now)
    spark, pace = Progress(), Pace(lateness, idle_after=idle_after * SECOND)
    spark.tick(clock)
    seen: list[tuple[str, int, int]] = []
    for what, number in steps:
        if what == "wait":
            clock += number * SECOND
            spark.tick(clock)
        elif what == "stop":
            clock = began = clock + number * SECOND
            engine = StreamClocks(STREAMS, lateness, idle_after * SECOND, engine.latest, now)
            spark = Progress.from_json(spark.to_json())
            spark.tick(clock, began)
        else:
            seen.append((what, number, clock))
            engine.see(event(STREAMS.index(what), number))
            spark.see(what, number)
        wanted = defined(seen, clock, began, lateness, idle_after * SECOND)
        assert engine.watermark(range(len(STREAMS))) == wanted
        assert spark.watermark(STREAMS, pace) == wanted


def event(stream: int, time: int) -> EventBatch:
    """One event without triples."""
    return EventBatch(
        EMPTY.subjects,
        EMPTY.predicates,
        EMPTY.objects,
        np.zeros(2, np.int64),
        np.array([time]),
        np.full(1, stream, np.int16),
        np.zeros(1, np.int32),
    )
