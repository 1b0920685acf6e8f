"""The watermark, carried by the data: how far each source has come, hence how far a query may go.

Spark's own watermark compares milliseconds, drops ties of the latest instant and stalls with an idle source; what
it drops is only a number in a report. Here every task sends every bucket the latest instant it has seen of each
source, in microseconds, so all buckets know the same watermark after every micro-batch, and each decides lateness
itself (docs/decisions/0010-own-watermark.md). The rule is that of `spaseq.temporal.watermarks`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from spaseq.temporal.instants import BEFORE_ALL, FOREVER
from spaseq.temporal.watermarks import Front, watermark


@dataclass(frozen=True, slots=True)
class Pace:
    """How long sources are waited for, in microseconds; None: for ever."""

    lateness: int = 0
    lag: int | None = None
    idle_after: int | None = None
    close_after: int | None = None


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
    sources: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    """By stream and source, where sources are told apart: the latest instant seen, and the wall clock then."""
    began: int = 0
    """The wall clock when this run of the query began: while none ran, no source was silent."""

    def see(self, stream: str, time: int, source: str = "") -> None:
        """Note the time of an event, and that it came now."""
        self.latest[stream] = max(self.latest.get(stream, BEFORE_ALL), time)
        self.heard[stream] = max(self.heard.get(stream, 0), self.clock)
        if source:
            self._see(stream, source, time, self.clock)

    def _see(self, stream: str, source: str, time: int, clock: int) -> None:
        known = self.sources.setdefault(stream, {}).setdefault(source, [time, clock])
        known[:] = max(known[0], time), max(known[1], clock)

    def promise(self, stream: str, time: int) -> None:
        self.promised[stream] = max(self.promised.get(stream, BEFORE_ALL), time)

    def tick(self, clock: int, began: int = 0) -> None:
        """Note the wall clock, and when the run began that has read it."""
        self.clock = max(self.clock, clock)
        self.started = min(self.started or clock, clock)
        self.began = max(self.began, began)

    def merge(self, other: Progress) -> None:
        for stream, time in other.latest.items():
            self.latest[stream] = max(self.latest.get(stream, BEFORE_ALL), time)
        for stream, time in other.promised.items():
            self.promise(stream, time)
        for stream, clock in other.heard.items():
            self.heard[stream] = max(self.heard.get(stream, 0), clock)
        for clock in filter(None, (other.started, other.clock)):
            self.tick(clock, other.began)
        for stream, sources in other.sources.items():
            for source, (time, clock) in sources.items():
                self._see(stream, source, time, clock)

    def forget_idle(self, idle_after: int | None) -> None:
        """Drop sources that are not waited for: what they have seen is kept for their streams."""
        if idle_after is None:
            return
        for stream, sources in self.sources.items():
            self.sources[stream] = {
                name: known for name, known in sources.items() if self._silent(known[1]) < idle_after
            }

    def watermark(self, streams: Iterable[str], pace: Pace) -> int:
        """The instant before which no event of these streams is waited for; a stream that has ended delays none."""
        fronts = [front for stream in streams for front in self._fronts(stream, pace.lateness)]
        found = watermark(fronts, idle_after=pace.idle_after, lag=pace.lag, close_after=pace.close_after)
        return FOREVER if found is None else found

    def _fronts(self, stream: str, lateness: int) -> Iterator[Front]:
        promised = self.promised.get(stream, BEFORE_ALL)
        if promised >= FOREVER:
            return
        whole = self.latest.get(stream, BEFORE_ALL), self.heard.get(stream, 0)
        for latest, heard in self.sources.get(stream, {}).values() or [whole]:
            yield Front(max(latest - lateness, promised, BEFORE_ALL), self._silent(heard))

    def _silent(self, heard: int) -> int:
        return self.clock - max(heard or self.started, self.began)

    def to_list(self) -> list[Any]:
        """Everything, as JSON knows it."""
        return [self.latest, self.promised, self.heard, self.clock, self.started, self.sources, self.began]

    def to_json(self) -> str:
        return json.dumps(self.to_list())

    @staticmethod
    def from_json(text: str | bytes) -> Progress:
        return Progress(*json.loads(text))
