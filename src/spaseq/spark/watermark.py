"""The watermark, carried by the data: how far each stream has come, hence how far a query may go.

Spark's own watermark compares milliseconds, drops ties of the latest instant and stalls with an idle source; what
it drops is only a number in a report. Here every task tells every bucket the latest instant it has seen of each
stream, in microseconds, so all buckets know the same watermark after every micro-batch, and each judges lateness
itself (docs/decisions/0010-own-watermark.md).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from spaseq.engine.machine import FOREVER

BEFORE_ALL: Final = -FOREVER


@dataclass(slots=True)
class Progress:
    """How far the streams have come, by their IRIs."""

    latest: dict[str, int] = field(default_factory=dict)
    """The latest instant seen."""
    promised: dict[str, int] = field(default_factory=dict)
    """The instant before which nothing more will come; `FOREVER` once the stream has ended."""

    def see(self, stream: str, time: int) -> None:
        self.latest[stream] = max(self.latest.get(stream, BEFORE_ALL), time)

    def promise(self, stream: str, time: int) -> None:
        self.promised[stream] = max(self.promised.get(stream, BEFORE_ALL), time)

    def merge(self, other: Progress) -> None:
        for stream, time in other.latest.items():
            self.see(stream, time)
        for stream, time in other.promised.items():
            self.promise(stream, time)

    def watermark(self, streams: Iterable[str], lateness: int, lag: int | None) -> int:
        """The instant before which no event of these streams is waited for.

        It follows the slowest stream, which is right for replays; ``lag`` bounds how far behind the fastest one a
        stream may be before it is no longer waited for. A stream that has ended holds nobody back.
        """
        fronts = [self._front(stream, lateness) for stream in streams]
        slowest = min(fronts)
        running = [front for front in fronts if front < FOREVER]
        if lag is None or not running:
            return slowest
        return max(slowest, max(running) - lag)

    def _front(self, stream: str, lateness: int) -> int:
        seen = self.latest.get(stream)
        waited = BEFORE_ALL if seen is None else seen - lateness
        return max(waited, self.promised.get(stream, BEFORE_ALL))

    def to_json(self) -> str:
        return json.dumps([self.latest, self.promised])

    @staticmethod
    def from_json(text: str | bytes) -> Progress:
        latest, promised = json.loads(text)
        return Progress(latest, promised)
