"""The watermark that the data carries."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from spaseq.spark.shuffle.watermark import Pace, Progress
from spaseq.spark.sources.clock_source import ClockReader
from spaseq.temporal.instants import BEFORE_ALL, FOREVER


def test_the_slowest_stream_sets_the_pace() -> None:
    """Right for replays, where streams are read at different speeds."""
    progress = Progress({"a": 100, "b": 40})
    assert progress.watermark(["a", "b"], Pace(5)) == 35


def test_a_stream_that_was_never_seen_stalls() -> None:
    """Nobody knows whether it will still deliver."""
    assert Progress({"a": 100}).watermark(["a", "b"], Pace(0)) == BEFORE_ALL


def test_a_lag_bounds_how_long_a_slow_stream_is_waited_for() -> None:
    """The fastest stream's front less the lag."""
    progress = Progress({"a": 100, "b": 40})
    assert progress.watermark(["a", "b"], Pace(0, 30)) == 70
    assert progress.watermark(["a", "b"], Pace(0, 1000)) == 40


def test_a_promise_moves_an_idle_stream_on() -> None:
    """A heartbeat needs no event, and no lateness is taken off it."""
    progress = Progress({"a": 100, "b": 40}, {"b": 90})
    assert progress.watermark(["a", "b"], Pace(20)) == 80


def test_ended_streams_hold_nobody_back() -> None:
    """When all have ended, everything is decided."""
    assert Progress({"a": 100}, {"b": FOREVER}).watermark(["a", "b"], Pace(10)) == 90
    assert Progress({}, {"a": FOREVER, "b": FOREVER}).watermark(["a", "b"], Pace(10, 5)) == FOREVER


def test_it_never_goes_back() -> None:
    """What one task has seen earlier does not undo what another has seen."""
    progress = Progress({"a": 100}, {"a": 50})
    progress.merge(Progress({"a": 7}, {"a": 3}))
    assert progress == Progress({"a": 100}, {"a": 50})
    assert Progress.from_json(progress.to_json()) == progress


SECOND = 1_000_000


def told(clock: int, *seen: tuple[str, int]) -> Progress:
    """What a task tells that has seen events of the sources of one stream when the clock said so."""
    progress = Progress()
    progress.tick(clock * SECOND)
    for source, time in seen:
        progress.see("s", time, source)
    return progress


def test_every_source_of_a_stream_has_its_own_watermark() -> None:
    """The least counts, so a partition that is read more slowly than the others loses nothing."""
    progress = told(1, ("p0", 100), ("p1", 40))
    assert progress.watermark(["s"], Pace(5)) == 35
    progress.merge(told(2, ("p1", 90)))
    assert progress.watermark(["s"], Pace(5)) == 85
    assert Progress.from_json(progress.to_json()) == progress


def test_a_silent_source_is_not_waited_for_until_it_speaks_again() -> None:
    """Its silence is measured by the wall clock; what it has seen stays with its stream."""
    pace = Pace(idle_after=10 * SECOND)
    progress = told(1, ("p0", 100), ("p1", 140))
    progress.merge(told(8, ("p0", 110)))
    progress.merge(told(11))
    assert progress.watermark(["s"], pace) == 110
    progress.forget_idle(pace.idle_after)
    assert list(progress.sources["s"]) == ["p0"]
    progress.merge(told(30))
    progress.forget_idle(pace.idle_after)
    assert progress.watermark(["s"], pace) == 140, "nobody speaks, so the furthest counts"
    progress.merge(told(31, ("p1", 120)))
    assert progress.watermark(["s"], pace) == 120


def test_no_source_is_silent_while_the_query_is_stopped() -> None:
    """What a source has to tell then waits for the next run, whose first micro-batch may not bring it yet."""
    pace = Pace(idle_after=10 * SECOND, close_after=10 * SECOND)
    progress = told(1, ("p0", 100), ("p1", 140))
    again = told(60, ("p1", 150))
    again.tick(60 * SECOND, 58 * SECOND)
    progress = Progress.from_json(progress.to_json())
    progress.merge(again)
    progress.forget_idle(pace.idle_after)
    assert progress.watermark(["s"], pace) == 100
    progress.merge(told(67))
    assert progress.watermark(["s"], pace) == 100
    progress.merge(told(68))
    progress.forget_idle(pace.idle_after)
    assert list(progress.sources["s"]) == ["p1"]
    assert progress.watermark(["s"], pace) == 150


def test_the_state_of_an_earlier_release_knows_no_run() -> None:
    """Silence is then counted as it was."""
    progress = told(1, ("p0", 100), ("p1", 140))
    assert Progress(*progress.to_list()[:6]) == progress


def test_the_first_micro_batch_of_a_run_tells_that_it_began(monkeypatch: pytest.MonkeyPatch) -> None:
    """The offset has it, so a repeated micro-batch has the same, and those that follow in the run."""
    clock = iter((100, 105, 111, 115))
    monkeypatch.setattr("spaseq.spark.sources.clock_source.wall_microseconds", lambda: next(clock))

    def tick(reader: ClockReader, offset: dict[str, Any]) -> tuple[dict[str, Any], list[tuple[int, int]]]:
        end = reader.latestOffset(offset, ReadAllAvailable())
        rows = (
            []
            if end == offset
            else [row for part in reader.partitions(offset, end) for row in reader.read(part)]
        )
        return end, rows

    first, offset, found = ClockReader(10), {"clock": 0}, []
    for _ in range(3):
        offset, rows = tick(first, offset)
        found.append(rows)
    assert found == [[(100, 100)], [], [(111, 100)]]
    again = ClockReader(10)
    end, rows = tick(again, offset)
    assert rows == [(115, 115)]
    assert [*again.read(again.partitions(offset, end)[0])] == rows
    assert [*again.read(again.partitions({"clock": 0}, {"clock": 7})[0])] == [(7, 0)], "of an earlier release"


def test_in_silence_time_passes_with_the_wall_clock_if_that_is_asked_for() -> None:
    """So that windows end; one source that speaks is enough to hold time back."""
    pace = Pace(lateness=5, close_after=10 * SECOND)
    progress = told(1, ("p0", 100), ("p1", 140))
    progress.merge(told(10))
    assert progress.watermark(["s"], pace) == 95
    progress.merge(told(11))
    assert progress.watermark(["s"], pace) == 135 + 10 * SECOND
    progress.merge(told(12, ("p0", 120)))
    assert progress.watermark(["s"], pace) == 115
    assert told(99).watermark(["s"], pace) == BEFORE_ALL, "nothing has ever come"
