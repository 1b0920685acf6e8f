"""Replay: many feeds as one sequence of events in exact time order, in bounded memory (semantics 0).

Events are ordered by time, then by the order of the stream declarations, then by arrival: files in the
order they were named, events in the order of their file. Feeds are read only as far as the merge needs
them, so what is held is the disorder of the data and one piece of every feed that is open.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spaseq.engine.feeds import Feed
from spaseq.engine.reorder import in_order
from spaseq.model.batch import EMPTY, EventBatch, concat
from spaseq.settings import settings
from spaseq.temporal.instants import BEFORE_ALL, FOREVER


@dataclass(frozen=True, slots=True)
class Portion:
    """Events in time order; those at ``now`` may not be all, those before it are."""

    batch: EventBatch
    now: int
    streams: frozenset[int] | None = None
    """The streams whose time has come so far, by number: it concerns the queries that read just these. None: all."""


class Merge:
    """Merges feeds by time.

    ``whole_instants`` keeps simultaneous events in one portion, for queries that number them and for runs
    that must cut their input at the same place twice.
    """

    def __init__(
        self,
        feeds: Sequence[Feed],
        *,
        whole_instants: bool = False,
        most: int | None = None,
        poll: Callable[[], None] = lambda: None,
    ) -> None:
        self._feeds = list(feeds)
        self._whole = whole_instants
        self._most = settings().portion_events if most is None else most
        self._poll = poll
        self._parts: list[tuple[int, int, int, EventBatch]] = []
        """A heap of sorted batches: first time, feed, serial number, events."""
        self._ready: list[tuple[int, int, EventBatch]] = []
        self._sorted = EMPTY
        self._serial = 0

    def portions(self) -> Iterator[Portion]:
        """All events of all feeds."""
        waiting = [(feed.floor, number) for number, feed in enumerate(self._feeds)]
        heapq.heapify(waiting)
        collected, released = 0, BEFORE_ALL
        while waiting:
            self._poll()
            _, number = heapq.heappop(waiting)
            feed = self._feeds[number]
            batch = feed.read()
            if batch is not None:
                self._keep(number, batch)
                heapq.heappush(waiting, (feed.floor, number))
            bound = waiting[0][0] if waiting else FOREVER
            if bound > released:
                collected += self._release(bound)
                released = bound
            if collected >= min(settings().merged_events, self._most):
                yield from self._cut(released)
                collected = 0
        yield from self._cut(FOREVER)

    def _keep(self, number: int, batch: EventBatch) -> None:
        if len(batch):
            ordered = batch.by_time()
            self._serial += 1
            heapq.heappush(self._parts, (int(ordered.times[0]), number, self._serial, ordered))

    def _release(self, bound: int) -> int:
        """Mark events as ready that nothing can come before any more; how many they are."""
        count = 0
        upto = bound - 1 if self._whole and bound != FOREVER else bound
        while self._parts and self._parts[0][0] <= upto:
            _, number, serial, batch = heapq.heappop(self._parts)
            end = int(np.searchsorted(batch.times, upto, "right"))
            self._ready.append((number, serial, batch.slice(0, end)))
            count += end
            if end < len(batch):
                rest = batch.slice(end, len(batch))
                heapq.heappush(self._parts, (int(rest.times[0]), number, serial, rest))
        return count

    def _cut(self, now: int) -> Iterator[Portion]:
        """What is ready, in order and in portions of a bearable size."""
        # Slices of one part lie in the order of their times already, so the sort may see them as one.
        self._ready.sort(key=lambda item: item[:2])
        self._sorted = in_order(concat([item[2] for item in self._ready]))
        self._ready = []
        while len(self._sorted):
            self._poll()
            batch = self._sorted
            end = min(self._most, len(batch))
            if self._whole and end < len(batch):
                end = int(np.searchsorted(batch.times, batch.times[end - 1], "right"))
            upto = now if end == len(batch) else int(batch.times[end - 1])
            # What is left must be where `remap` finds it: the dictionary may change between two portions.
            self._sorted = batch.slice(end, len(batch))
            yield Portion(batch.slice(0, end), upto)

    # --- memory ---------------------------------------------------------------------------------

    @property
    def nbytes(self) -> int:
        """The size of all events that were read and have not gone on."""
        parts = (*(part[3] for part in self._parts), self._sorted, *(item[2] for item in self._ready))
        return sum(feed.nbytes for feed in self._feeds) + sum(batch.nbytes for batch in parts)

    def held(self) -> list[EventBatch]:
        """Every event that was read and has not gone on."""
        waiting = [batch for feed in self._feeds for batch in feed.held()]
        ready = [self._sorted, *(item[2] for item in self._ready)]
        return [*waiting, *(part[3] for part in self._parts), *ready]

    def remap(self, mapping: npt.NDArray[np.int32]) -> None:
        """Follow a compaction of the dictionary."""
        for feed in self._feeds:
            feed.remap(mapping)
        self._parts = [(*part[:3], part[3].remapped(mapping)) for part in self._parts]
        self._ready = [(*item[:2], item[2].remapped(mapping)) for item in self._ready]
        self._sorted = self._sorted.remapped(mapping)


def after(portions: Iterator[Portion], time: int) -> Iterator[Portion]:
    """The portions without the events up to a time: what a resumed run has still to see."""
    for portion in portions:
        begin = int(np.searchsorted(portion.batch.times, time, "right"))
        if begin < len(portion.batch):
            yield Portion(portion.batch.slice(begin, len(portion.batch)), portion.now)


def with_end(portions: Iterator[Portion]) -> Iterator[Portion]:
    """The portions, and then the end of time: what waits for it is decided."""
    yield from portions
    yield Portion(EMPTY, FOREVER)
