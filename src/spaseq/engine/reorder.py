"""The reorder buffer: events leave it in time order, as late as the lateness asks and no later.

The watermark is the greatest time seen less the lateness. It follows the fastest stream, so an idle one
stalls nobody. An event before the watermark is late: it is not lost silently, the caller gets it back.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from spaseq.model.batch import EMPTY, EventBatch, concat

BEFORE_ALL = int(np.iinfo(np.int64).min)


class ReorderBuffer:
    """Holds batches over one dictionary until the watermark passes their events."""

    def __init__(self, lateness: int = 0, *, whole_instants: bool = False) -> None:
        self.lateness = lateness
        self.watermark = BEFORE_ALL
        self._whole = whole_instants
        self._held: list[EventBatch] = []
        self._latest = BEFORE_ALL

    def __len__(self) -> int:
        return sum(len(batch) for batch in self._held)

    @property
    def held(self) -> EventBatch:
        """The events still waiting, in arrival order."""
        self._held = [concat(self._held)] if self._held else []
        return self._held[0] if self._held else EMPTY

    def restore(self, held: EventBatch, watermark: int, latest: int) -> None:
        self._held = [held] if len(held) else []
        self.watermark, self._latest = watermark, latest

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
        if len(batch) == 1 and not self._held and not self._whole and self.lateness == 0:
            return self._push_one(batch)
        seen = np.maximum.accumulate(np.concatenate([[self._latest], batch.times[:-1]]))
        floor = np.where(seen > BEFORE_ALL + self.lateness, seen - self.lateness, BEFORE_ALL)
        late = batch.times < np.maximum(floor, self.watermark)
        self._latest = max(self._latest, int(batch.times.max()))
        self._held.append(batch if not late.any() else batch.take(np.flatnonzero(~late)))
        return self.advance_to(self._latest - self.lateness), np.flatnonzero(late)

    def _push_one(self, batch: EventBatch) -> tuple[EventBatch, npt.NDArray[np.intp]]:
        """The commonest case, one event in order that nothing waits for, without any array arithmetic."""
        time = int(batch.times[0])
        if time < self.watermark or time < self._latest:
            return EMPTY, np.zeros(1, np.intp)
        self._latest = time
        self.watermark = max(self.watermark, time)
        return batch, np.zeros(0, np.intp)

    def advance_to(self, time: int) -> EventBatch:
        """Events that may go on when no event before this time will come any more."""
        self.watermark = max(self.watermark, time)
        held = self.held
        if not len(held):
            return EMPTY
        ready = held.times < self.watermark if self._whole else held.times <= self.watermark
        if not ready.any():
            return EMPTY
        out = held if ready.all() else held.take(np.flatnonzero(ready))
        rest = EMPTY if ready.all() else held.take(np.flatnonzero(~ready))
        self._held = [rest] if len(rest) else []
        return in_order(out)

    def remap(self, mapping: npt.NDArray[np.int32]) -> None:
        self._held = [batch.remapped(mapping) for batch in self._held]


def in_order(batch: EventBatch) -> EventBatch:
    """By time, then by the order of the stream declarations, then by arrival (SEMANTICS 1.8)."""
    key_sorted = len(batch) < 2 or bool(
        (
            (batch.times[1:] > batch.times[:-1])
            | ((batch.times[1:] == batch.times[:-1]) & (batch.streams[1:] >= batch.streams[:-1]))
        ).all()
    )
    return batch if key_sorted else batch.take(np.lexsort((batch.streams, batch.times)))
