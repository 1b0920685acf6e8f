"""`EventBatch`: from one to a few hundred thousand graph events as a few arrays of ids.

The ids belong to the `TermDictionary` that is passed with the batch. Events stand in arrival order; the
triples of one event are distinct, and blank nodes of two events have two ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from spaseq.model.packing import INSTANT, Field

Ids = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Shorts = npt.NDArray[np.int16]


@dataclass(frozen=True, slots=True, eq=False)
class EventBatch:
    """Events as columns.

    Event ``i`` has the triples ``offsets[i] : offsets[i + 1]`` of ``subjects``, ``predicates`` and
    ``objects``, the instant ``times[i]`` in microseconds, the stream ``streams[i]`` (an index into the
    stream IRIs the reader was given) and the graph name ``names[i]`` (0: none). ``origins[i]`` indexes
    ``sources``, the files or feeds the events came from; ``positions[i]`` is the line, byte or ordinal there. Interval events
    begin at ``starts[i]`` and end at their instant; None: all are instants.
    """

    subjects: Ids
    predicates: Ids
    objects: Ids
    offsets: Longs
    times: Longs
    streams: Shorts
    names: Ids
    sources: tuple[str, ...] = ("",)
    origins: Ids | None = None
    positions: Longs | None = None
    starts: Longs | None = None

    def __len__(self) -> int:
        return len(self.times)

    @property
    def nbytes(self) -> int:
        """The size of all columns."""
        columns = (
            self.subjects, self.predicates, self.objects, self.offsets, self.times, self.streams, self.names,
            self.origins, self.positions, self.starts,
        )  # fmt: skip
        return sum(column.nbytes for column in columns if column is not None)

    @property
    def triple_count(self) -> int:
        """How many triples all events have together."""
        return int(self.offsets[-1] - self.offsets[0])

    def triples_of(self, event: int) -> tuple[Ids, Ids, Ids]:
        """The subject, predicate and object ids of one event's triples."""
        here = slice(int(self.offsets[event]), int(self.offsets[event + 1]))
        return self.subjects[here], self.predicates[here], self.objects[here]

    def origin_of(self, event: int) -> tuple[str, int]:
        """The source and the position one event was read from."""
        source = self.sources[0 if self.origins is None else int(self.origins[event])]
        return source, 0 if self.positions is None else int(self.positions[event])

    def slice(self, start: int, stop: int) -> EventBatch:
        """The events ``start : stop``, without copying triples."""
        start, stop, _ = slice(start, stop).indices(len(self))
        stop = max(start, stop)
        first, last = int(self.offsets[start]), int(self.offsets[stop])
        return EventBatch(
            self.subjects[first:last],
            self.predicates[first:last],
            self.objects[first:last],
            self.offsets[start : stop + 1] - first,
            self.times[start:stop],
            self.streams[start:stop],
            self.names[start:stop],
            self.sources,
            None if self.origins is None else self.origins[start:stop],
            None if self.positions is None else self.positions[start:stop],
            None if self.starts is None else self.starts[start:stop],
        )

    def take(self, order: npt.NDArray[np.integer]) -> EventBatch:
        """The events at these ordinals, in this order."""
        starts, lengths = self.offsets[:-1][order], np.diff(self.offsets)[order]
        offsets = np.zeros(len(order) + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        rows = np.arange(int(offsets[-1]), dtype=np.int64) + np.repeat(starts - offsets[:-1], lengths)
        return EventBatch(
            self.subjects[rows],
            self.predicates[rows],
            self.objects[rows],
            offsets,
            self.times[order],
            self.streams[order],
            self.names[order],
            self.sources,
            None if self.origins is None else self.origins[order],
            None if self.positions is None else self.positions[order],
            None if self.starts is None else self.starts[order],
        )

    def by_time(self) -> EventBatch:
        """The same events sorted by time; simultaneous ones keep their order."""
        if len(self) < 2 or bool((self.times[1:] >= self.times[:-1]).all()):
            return self
        return self.take(np.argsort(self.times, kind="stable"))

    def remapped(self, mapping: Ids) -> EventBatch:
        """The same events after the dictionary was compacted (old id to new id)."""
        return EventBatch(
            mapping[self.subjects],
            mapping[self.predicates],
            mapping[self.objects],
            self.offsets,
            self.times,
            self.streams,
            mapping[self.names],
            self.sources,
            self.origins,
            self.positions,
            self.starts,
        )


BATCH_FIELDS: Final[dict[str, Field]] = {
    "subjects": Field(np.int32, ("triples",), (1, "ids")),
    "predicates": Field(np.int32, ("triples",), (1, "ids")),
    "objects": Field(np.int32, ("triples",), (1, "ids")),
    "offsets": Field(np.int64, ("offsets",)),
    "times": Field(np.int64, ("events",), INSTANT),
    "streams": Field(np.int16, ("events",), (0, "streams")),
    "names": Field(np.int32, ("events",), (0, "ids")),
}
"""What the arrays of a saved batch must be like."""


EMPTY = EventBatch(
    np.zeros(0, np.int32),
    np.zeros(0, np.int32),
    np.zeros(0, np.int32),
    np.zeros(1, np.int64),
    np.zeros(0, np.int64),
    np.zeros(0, np.int16),
    np.zeros(0, np.int32),
)
"""The batch without events."""


def concat(batches: Sequence[EventBatch]) -> EventBatch:
    """All events of several batches over one dictionary, one batch after the other."""
    parts = [batch for batch in batches if len(batch)]
    if len(parts) < 2:
        return parts[0] if parts else EMPTY
    ends = np.cumsum([0] + [batch.triple_count for batch in parts])
    offsets = [b.offsets[:-1] - b.offsets[0] + end for b, end in zip(parts, ends[:-1], strict=True)]
    sources = tuple(dict.fromkeys(source for batch in parts for source in batch.sources))
    index = {source: i for i, source in enumerate(sources)}
    origins = [
        np.array([index[s] for s in b.sources], np.int32)[
            np.zeros(len(b), np.int32) if b.origins is None else b.origins
        ]
        for b in parts
    ]
    positions = [np.zeros(len(b), np.int64) if b.positions is None else b.positions for b in parts]
    spans = [slice(int(b.offsets[0]), int(b.offsets[-1])) for b in parts]
    return EventBatch(
        np.concatenate([b.subjects[span] for b, span in zip(parts, spans, strict=True)]),
        np.concatenate([b.predicates[span] for b, span in zip(parts, spans, strict=True)]),
        np.concatenate([b.objects[span] for b, span in zip(parts, spans, strict=True)]),
        np.concatenate([*offsets, ends[-1:]]).astype(np.int64, copy=False),
        np.concatenate([b.times for b in parts]),
        np.concatenate([b.streams for b in parts]),
        np.concatenate([b.names for b in parts]),
        sources,
        np.concatenate(origins),
        np.concatenate(positions),
        starts_of(parts),
    )


def starts_of(batches: Sequence[EventBatch]) -> Longs | None:
    """Where the events of all batches begin, None if they are instants."""
    if all(batch.starts is None for batch in batches):
        return None
    return np.concatenate([batch.times if batch.starts is None else batch.starts for batch in batches])
