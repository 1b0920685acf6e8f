"""Feeds: inputs of a replay that know how far their time has come.

A feed is read batch by batch. After every batch its ``floor`` says before which time none of its events
will come any more; the merge (`spaseq.engine.replay`) lets events go on that lie before all floors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from spaseq.engine.reorder import ReorderBuffer
from spaseq.errors import InvalidArgument, SpaseqError
from spaseq.io.encode import encode_pushed
from spaseq.io.survey import Survey
from spaseq.model.batch import EventBatch
from spaseq.model.dictionary import TermDictionary
from spaseq.model.events import Event, GraphEvent, checked_event, checked_instant, localised, warn_of_unit
from spaseq.model.forms import EVERY_STREAM, Stream
from spaseq.settings import settings
from spaseq.temporal.instants import BEFORE_ALL, FOREVER

Batches: TypeAlias = Callable[[], Iterator[EventBatch]]
"""Opens an input; nothing is read before."""

OnLate: TypeAlias = Callable[[EventBatch, npt.NDArray[np.intp], int], None]
"""Takes the events of a batch that came too late, by their ordinals, and the watermark that passed them."""


class Feed(Protocol):
    """An input of a replay."""

    floor: int
    """No event before this time is still to come; `FOREVER` when the feed has ended."""

    def read(self) -> EventBatch | None:
        """The next events, None at the end."""

    @property
    def nbytes(self) -> int:
        """The size of the events that were read and have not been handed out."""

    def held(self) -> list[EventBatch]:
        """Events that were read and have not been handed out."""

    def remap(self, mapping: npt.NDArray[np.int32]) -> None:
        """Follow a compaction of the dictionary."""


class ChangedFile(SpaseqError):
    """A file that was written to while it was read; the answer would not be exact."""


class SurveyedFile:
    """A file whose times are known; it is opened when the merge reaches its first event."""

    def __init__(self, name: str, batches: Batches, survey: Survey) -> None:
        self._name = name
        self._open = batches
        self._batches: Iterator[EventBatch] | None = None
        self._survey = survey
        self._read = 0
        self.floor = survey.first

    def read(self) -> EventBatch | None:
        """The next events, None at the end."""
        if self._batches is None:
            self._batches = self._open()
        batch = next(self._batches, None)
        if batch is None:
            self.floor = FOREVER
        elif len(batch):
            if int(batch.times.min()) < self.floor:
                raise ChangedFile(
                    f"`{self._name}` was changed while it was read; run again when it is complete"
                )
            self._read += len(batch)
            self.floor = self._survey.floor(self._read)
        return batch

    nbytes = 0

    def held(self) -> list[EventBatch]:
        """Nothing: events are handed out as they are read."""
        return []

    def remap(self, mapping: npt.NDArray[np.int32]) -> None:
        """Nothing to follow."""


class WholeFeed:
    """An input without any order: nothing of it may go on before all of it was read."""

    def __init__(self, batches: Batches) -> None:
        self._open = batches
        self._batches: Iterator[EventBatch] | None = None
        self.floor = BEFORE_ALL

    def read(self) -> EventBatch | None:
        """The next events, None at the end."""
        if self._batches is None:
            self._batches = self._open()
        batch = next(self._batches, None)
        if batch is None:
            self.floor = FOREVER
        return batch

    nbytes = 0

    def held(self) -> list[EventBatch]:
        """Nothing: events are handed out as they are read."""
        return []

    def remap(self, mapping: npt.NDArray[np.int32]) -> None:
        """Nothing to follow."""


class LateFeed:
    """An input whose events are waited for as long as the lateness says; later ones are late."""

    def __init__(self, batches: Batches, lateness: int, on_late: OnLate) -> None:
        self._open = batches
        self._batches: Iterator[EventBatch] | None = None
        self._buffer = ReorderBuffer(lateness)
        self._on_late = on_late
        self.floor = BEFORE_ALL

    def read(self) -> EventBatch | None:
        """The next events that may go on, None at the end."""
        if self._batches is None:
            self._batches = self._open()
        batch = next(self._batches, None)
        if batch is None:
            rest = self._buffer.advance_to(FOREVER) if self.floor != FOREVER else None
            self.floor = FOREVER
            return rest if rest is not None and len(rest) else None
        ready, late = self._buffer.push(batch)
        if len(late):
            self._on_late(batch, late, self._buffer.watermark)
        self.floor = self._buffer.watermark
        return ready

    @property
    def nbytes(self) -> int:
        """The size of the events that wait."""
        return self._buffer.nbytes

    def held(self) -> list[EventBatch]:
        """The events that wait."""
        return [self._buffer.held]

    def remap(self, mapping: npt.NDArray[np.int32]) -> None:
        """Follow a compaction of the dictionary."""
        self._buffer.remap(mapping)


def pushed_batches(
    events: Iterable[Event | GraphEvent],
    stream: Stream,
    streams: tuple[str, ...],
    dictionary: TermDictionary,
) -> Iterator[EventBatch]:
    """Events that a program hands over for one stream, as batches; positions count them from 1."""
    remaining, count = iter(events), 0
    while block := list(islice(remaining, settings().pushed_events)):
        plain = [plain_event(checked_event(event), stream, dictionary) for event in block]
        if count == 0:
            warn_of_unit(block[0])
        batch = encode_pushed(plain, streams, dictionary)
        positions = np.arange(count + 1, count + 1 + len(block), dtype=np.int64)
        count += len(block)
        yield replace(batch, sources=(f"events of {stream.alias}",), positions=positions)


def plain_event(event: Event | GraphEvent, stream: Stream, dictionary: TermDictionary) -> GraphEvent:
    """The event under its stream's IRI, its blank nodes local; `InvalidArgument` if it is malformed."""
    if event.stream not in stream.names and stream.iri != EVERY_STREAM:
        raise InvalidArgument(
            f"an event of the stream `{event.stream}` is among those of `{stream.alias}` <{stream.iri}>"
        )
    if isinstance(event, Event):
        return event.to_graph_event(stream.iri, dictionary)
    renamed = replace(event, stream=stream.iri, time=checked_instant(event.time))
    return localised(renamed, dictionary)
