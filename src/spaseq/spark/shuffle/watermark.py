"""The watermark, carried by the data: how far each stream has come, hence how far a query may go.

Spark's own watermark compares milliseconds, drops ties of the latest instant and stalls with an idle source; what
it drops is only a number in a report. Here every task sends every bucket the latest instant it has seen of each
stream, in microseconds, so all buckets know the same watermark after every micro-batch, and each decides lateness
itself (docs/decisions/0010-own-watermark.md).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from spaseq.operators.machine import FOREVER

BEFORE_ALL: Final = -FOREVER


@dataclass(slots=True)
class Progress:
    """How far the streams have come, by their IRIs."""

    latest: dict[str, int] = field(default_factory=dict)
    """The latest instant seen."""
    promised: dict[str, int] = field(default_factory=dict)
    """The instant before which nothing more will come; `FOREVER` once the stream has ended."""
    heard: dict[str, int] = field(default_factory=dict)
    """The wall clock when the last events came; this and the next two in microseconds, 0 if it is not known."""
    clock: int = 0
    """The wall clock now."""
    started: int = 0
    """The wall clock when it was first known."""

    def see(self, stream: str, time: int) -> None:
        self.latest[stream] = max(self.latest.get(stream, BEFORE_ALL), time)

    def promise(self, stream: str, time: int) -> None:
        self.promised[stream] = max(self.promised.get(stream, BEFORE_ALL), time)

    def hear(self, stream: str, clock: int) -> None:
        self.heard[stream] = max(self.heard.get(stream, 0), clock)

    def tick(self, clock: int) -> None:
        self.clock = max(self.clock, clock)
        self.started = min(self.started or clock, clock)

    def merge(self, other: Progress) -> None:
        for stream, time in other.latest.items():
            self.see(stream, time)
        for stream, time in other.promised.items():
            self.promise(stream, time)
        for stream, clock in other.heard.items():
            self.hear(stream, clock)
        for clock in filter(None, (other.started, other.clock)):
            self.tick(clock)

    def watermark(
        self, streams: Iterable[str], lateness: int, lag: int | None, idle_after: int | None = None
    ) -> int:
        """The instant before which no event of these streams is waited for.

        It follows the slowest stream; ``lag`` bounds how far behind the fastest one, in event time, a stream may be
        before it is no longer waited for, and ``idle_after`` for how long, by the wall clock, it may be silent. If all
        are idle the fastest counts. A stream that has ended delays none.
        """
        fronts = {stream: self._front(stream, lateness) for stream in streams}
        running = [front for front in fronts.values() if front < FOREVER]
        if not running:
            return FOREVER
        fastest = max(running)
        waited = [
            front
            for stream, front in fronts.items()
            if front < FOREVER and not self._idle(stream, idle_after)
        ]
        slowest = min(waited, default=fastest)
        return slowest if lag is None else max(slowest, fastest - lag)

    def _front(self, stream: str, lateness: int) -> int:
        seen = self.latest.get(stream)
        waited = BEFORE_ALL if seen is None else seen - lateness
        return max(waited, self.promised.get(stream, BEFORE_ALL))

    def _idle(self, stream: str, idle_after: int | None) -> bool:
        return idle_after is not None and self.clock - self.heard.get(stream, self.started) >= idle_after

    def to_list(self) -> list[Any]:
        """Everything, as JSON knows it."""
        return [self.latest, self.promised, self.heard, self.clock, self.started]

    def to_json(self) -> str:
        return json.dumps(self.to_list())

    @staticmethod
    def from_json(text: str | bytes) -> Progress:
        return Progress(*json.loads(text))
