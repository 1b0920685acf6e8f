"""The watermark that the data carries."""

from __future__ import annotations

from spaseq.spark.shuffle.watermark import Pace, Progress
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
