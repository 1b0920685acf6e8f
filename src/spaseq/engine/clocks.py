"""How far the time of several streams has come (docs/reference/cli.md, ``--lateness`` and ``--idle-after``).

The rule is that of `spaseq.temporal.watermarks`, with a front per stream.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from spaseq.model.batch import EventBatch
from spaseq.model.ordered import each_once
from spaseq.temporal.instants import BEFORE_ALL
from spaseq.temporal.watermarks import Front, watermark


def wall_microseconds() -> int:
    """The wall clock, in microseconds since the epoch."""
    return time.time_ns() // 1000


class StreamClocks:
    """The watermarks of some streams; ``idle_after`` is in microseconds of the wall clock."""

    def __init__(
        self,
        streams: Sequence[str],
        lateness: int,
        idle_after: int,
        latest: Mapping[str, int] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._streams = tuple(streams)
        self._lateness = lateness
        self._idle_after = idle_after
        self._clock = clock
        known = latest or {}
        self._latest = [known.get(stream, BEFORE_ALL) for stream in self._streams]
        self._heard = [clock()] * len(self._streams)

    @property
    def latest(self) -> dict[str, int]:
        """The latest instant seen of every stream that has spoken."""
        pairs = zip(self._streams, self._latest, strict=True)
        return {stream: time for stream, time in pairs if time != BEFORE_ALL}

    def see(self, batch: EventBatch) -> None:
        """Note the times of some events."""
        now = self._clock()
        for stream in each_once(batch.streams).tolist():
            last = int(batch.times[batch.streams == stream].max())
            self._latest[stream] = max(self._latest[stream], last)
            self._heard[stream] = now

    def watermark(self, streams: Iterable[int]) -> int:
        """The instant before which no event of these streams, by their numbers, is waited for."""
        now = self._clock()
        fronts = [
            Front(
                max(self._latest[stream] - self._lateness, BEFORE_ALL),
                round((now - self._heard[stream]) * 1_000_000),
            )
            for stream in streams
        ]
        found = watermark(fronts, idle_after=self._idle_after)
        return BEFORE_ALL if found is None else found
