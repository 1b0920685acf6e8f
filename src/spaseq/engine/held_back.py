"""Events of followed inputs, held back until the time of the queries that read them has come.

A query waits for its own streams only: its watermark is the least of theirs (docs/reference/cli.md, ``--lateness``). Queries
that read the same streams share a buffer. An event of a stream that several such sets have is held for each of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from spaseq.engine.clocks import StreamClocks
from spaseq.engine.reorder import ReorderBuffer
from spaseq.engine.replay import Portion
from spaseq.model.batch import EventBatch

StreamSet = frozenset[int]
"""The streams that some queries read, by the numbers that events carry."""


class HeldBack:
    """A buffer for every set of streams that queries read."""

    def __init__(self, sets: Iterable[StreamSet], lateness: int, *, whole_instants: bool) -> None:
        self.buffers = {
            streams: ReorderBuffer(lateness, whole_instants=whole_instants) for streams in dict.fromkeys(sets)
        }

    def hold(self, batch: EventBatch) -> Iterator[tuple[npt.NDArray[np.intp], int]]:
        """Take events in; which of them are late for a query, each of them once, and the watermark that passed them."""
        told = np.zeros(len(batch), np.bool_)
        for streams, buffer in self.buffers.items():
            own = np.flatnonzero(np.isin(batch.streams, list(streams)))
            late = own[buffer.hold(batch if len(own) == len(batch) else batch.take(own))]
            fresh = late[~told[late]]
            told[fresh] = True
            if len(fresh):
                yield fresh, buffer.watermark

    def ready(self, clocks: StreamClocks) -> Iterator[Portion]:
        """For every set of streams, the events that may go on now that more have come."""
        for streams, buffer in self.buffers.items():
            ready = buffer.advance_to(clocks.watermark(streams))
            yield Portion(ready, buffer.watermark, streams)

    def passed(self, clocks: StreamClocks) -> Iterator[Portion]:
        """What may go on because a stream has been idle for so long that it is not waited for."""
        for streams, buffer in self.buffers.items():
            now = clocks.watermark(streams)
            if now > buffer.watermark:
                yield Portion(buffer.advance_to(now), now, streams)

    def rest(self, time: int) -> Iterator[Portion]:
        """Everything up to a time that all streams have reached."""
        for streams, buffer in self.buffers.items():
            yield Portion(buffer.advance_to(time), time, streams)

    @property
    def nbytes(self) -> int:
        """The size of the events that are held."""
        return sum(buffer.nbytes for buffer in self.buffers.values())

    def held(self) -> list[EventBatch]:
        """Every event that is held."""
        return [buffer.held for buffer in self.buffers.values()]

    def remap(self, mapping: npt.NDArray[np.int32]) -> None:
        """Follow a compaction of the dictionary."""
        for buffer in self.buffers.values():
            buffer.remap(mapping)
