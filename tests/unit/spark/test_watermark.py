"""The watermark that the data carries."""

from __future__ import annotations

from spaseq.operators.machine import FOREVER
from spaseq.spark.shuffle.watermark import BEFORE_ALL, Progress


def test_the_slowest_stream_sets_the_pace() -> None:
    """Right for replays, where streams are read at different speeds."""
    progress = Progress({"a": 100, "b": 40})
    assert progress.watermark(["a", "b"], 5, None) == 35


def test_a_stream_that_was_never_seen_stalls() -> None:
    """Nobody knows whether it will still deliver."""
    assert Progress({"a": 100}).watermark(["a", "b"], 0, None) == BEFORE_ALL


def test_a_lag_bounds_how_long_a_slow_stream_is_waited_for() -> None:
    """The fastest stream's front less the lag."""
    progress = Progress({"a": 100, "b": 40})
    assert progress.watermark(["a", "b"], 0, 30) == 70
    assert progress.watermark(["a", "b"], 0, 1000) == 40


def test_a_promise_moves_an_idle_stream_on() -> None:
    """A heartbeat needs no event, and no lateness is taken off it."""
    progress = Progress({"a": 100, "b": 40}, {"b": 90})
    assert progress.watermark(["a", "b"], 20, None) == 80


def test_ended_streams_hold_nobody_back() -> None:
    """When all have ended, everything is decided."""
    assert Progress({"a": 100}, {"b": FOREVER}).watermark(["a", "b"], 10, None) == 90
    assert Progress({}, {"a": FOREVER, "b": FOREVER}).watermark(["a", "b"], 10, 5) == FOREVER


def test_it_never_goes_back() -> None:
    """What one task has seen earlier does not undo what another has seen."""
    progress = Progress({"a": 100}, {"a": 50})
    progress.merge(Progress({"a": 7}, {"a": 3}))
    assert progress == Progress({"a": 100}, {"a": 50})
    assert Progress.from_json(progress.to_json()) == progress
