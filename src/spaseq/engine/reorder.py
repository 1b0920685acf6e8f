"""The reorder buffer: events leave it in time order, as late as the lateness asks and no later.

What is pushed is one sequence with one watermark, the greatest time seen less the lateness, whatever its streams
(docs/reference/python.md). Where streams have watermarks of their own (`spaseq.engine.clocks`) events are held, and
the caller says how far time has come. An event before the watermark is late: the caller gets it back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from spaseq.model.batch import EMPTY, EventBatch, concat
from spaseq.settings import settings
from spaseq.temporal.instants import BEFORE_ALL, FOREVER


@dataclass(slots=True)
class _Run:
    """Events in order, of which the first ones are gone."""

    batch: EventBatch
    gone: int = 0

    def __len__(self) -> int:
        return len(self.batch) - self.gone

    @property
    def rest(self) -> EventBatch:
        return self.batch.slice(self.gone, len(self.batch))

    def taken(self, watermark: int, side: Literal["left", "right"]) -> EventBatch:
        """The events that the watermark has passed; they go."""
        first = self.gone
        self.gone += int(np.searchsorted(self.batch.times[first:], watermark, side))
        if self.gone == first:
            return EMPTY
        out = self.batch.slice(first, self.gone)
        if 2 * self.gone > len(self.batch):
            self.batch, self.gone = self.batch.take(np.arange(self.gone, len(self.batch))), 0
        return out


class ReorderBuffer:
    """Holds batches over one dictionary until the watermark passes their events.

    Events are held in runs, by arrival, each at least twice as long as the next when that came, and the latest as they
    came. So there are few runs, and an event is copied a few times in all, however many wait.
    """

    def __init__(self, lateness: int = 0, *, whole_instants: bool = False) -> None:
        self.lateness = lateness
        self.watermark = BEFORE_ALL
        self.whole_instants = whole_instants
        """True if simultaneous events are handed on together; it may change while events are held."""
        self._runs: list[_Run] = []
        self._fresh: list[EventBatch] = []
        self._first = FOREVER
        """The first of the times of the latest."""
        self._latest = BEFORE_ALL

    def __len__(self) -> int:
        return sum(map(len, self._runs)) + sum(map(len, self._fresh))

    @property
    def nbytes(self) -> int:
        """The size of the events still waiting."""
        return sum(run.batch.nbytes for run in self._runs) + sum(batch.nbytes for batch in self._fresh)

    @property
    def held(self) -> EventBatch:
        """The events still waiting; simultaneous ones of one stream in arrival order."""
        return concat([*(run.rest for run in self._runs), *self._fresh])

    def restore(self, held: EventBatch, watermark: int, latest: int) -> None:
        self._runs, self._fresh = [], [held]
        self._sort_in()
        self.watermark, self._latest = watermark, latest

    def _keep(self, batch: EventBatch) -> None:
        """Let events wait."""
        self._fresh.append(batch)
        self._first = min(self._first, int(batch.times.min(initial=FOREVER)))
        if len(self._fresh) >= settings().held_batches:
            self._sort_in()

    def _sort_in(self) -> None:
        """Make a run of the latest."""
        batch = concat(self._fresh)
        self._fresh, self._first = [], FOREVER
        if not len(batch):
            return
        self._runs.append(_Run(in_order(batch)))
        while len(self._runs) > 1 and len(self._runs[-2]) < 2 * len(self._runs[-1]):
            last = self._runs.pop()
            self._runs[-1] = _Run(in_order(concat([self._runs[-1].rest, last.rest])))

    @property
    def latest(self) -> int:
        """The greatest time seen."""
        return self._latest

    def push(self, batch: EventBatch) -> tuple[EventBatch, npt.NDArray[np.intp]]:
        """Take events in; returns those that may go on, in time order, and which of the batch are late.

        An event is judged by the watermark that the events before it have left behind.
        """
        if not len(batch):
            return EMPTY, np.zeros(0, np.intp)
        if len(batch) == 1 and self.lateness == 0 and not self.whole_instants and not len(self):
            return self._push_one(batch)
        seen = np.maximum.accumulate(np.concatenate([[self._latest], batch.times[:-1]]))
        floor = np.where(seen > BEFORE_ALL + self.lateness, seen - self.lateness, BEFORE_ALL)
        late = batch.times < np.maximum(floor, self.watermark)
        self._latest = max(self._latest, int(batch.times.max()))
        self._keep(batch if not late.any() else batch.take(np.flatnonzero(~late)))
        return self.advance_to(self._latest - self.lateness), np.flatnonzero(late)

    def _push_one(self, batch: EventBatch) -> tuple[EventBatch, npt.NDArray[np.intp]]:
        """The commonest case, one event in order that nothing waits for, without any array arithmetic."""
        time = int(batch.times[0])
        if time < self.watermark or time < self._latest:
            return EMPTY, np.zeros(1, np.intp)
        self._latest = time
        self.watermark = max(self.watermark, time)
        return batch, np.zeros(0, np.intp)

    def hold(self, batch: EventBatch) -> npt.NDArray[np.intp]:
        """Take events in without letting time pass; which of the batch are late."""
        late = batch.times < self.watermark
        if len(batch):
            self._latest = max(self._latest, int(batch.times.max()))
            self._keep(batch if not late.any() else batch.take(np.flatnonzero(~late)))
        return np.flatnonzero(late)

    def advance_to(self, time: int) -> EventBatch:
        """Events that may go on when no event before this time will come any more."""
        self.watermark = max(self.watermark, time)
        if self._first <= self.watermark:
            self._sort_in()
        ready = [run.taken(self.watermark, "left" if self.whole_instants else "right") for run in self._runs]
        self._runs = [run for run in self._runs if len(run)]
        return in_order(concat(ready))

    def remap(self, mapping: npt.NDArray[np.int32]) -> None:
        self._runs = [_Run(run.rest.remapped(mapping)) for run in self._runs]
        self._fresh = [batch.remapped(mapping) for batch in self._fresh]


def in_order(batch: EventBatch) -> EventBatch:
    """By time, then by the order of the stream declarations, then by arrival (semantics 1.8)."""
    key_sorted = len(batch) < 2 or bool(
        (
            (batch.times[1:] > batch.times[:-1])
            | ((batch.times[1:] == batch.times[:-1]) & (batch.streams[1:] >= batch.streams[:-1]))
        ).all()
    )
    return batch if key_sorted else batch.take(np.lexsort((batch.streams, batch.times)))
