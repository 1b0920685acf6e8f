"""Sources of events that are followed (`spaseq.io.event_source`), and how far each was read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np

from spaseq.engine.feeds import plain_event
from spaseq.errors import IncompatibleCheckpoint, InvalidArgument
from spaseq.io.bad_input import BadInput, OnBad, excerpt, fail
from spaseq.io.encode import encode_pushed
from spaseq.io.event_source import open_source
from spaseq.model.batch import EventBatch
from spaseq.model.dictionary import TermDictionary
from spaseq.model.events import Event, GraphEvent, checked_event, warn_of_unit
from spaseq.model.forms import Stream


class LiveSources:
    """All such sources of a run; ``positions`` are those of a checkpoint, by stream and address.

    Malformed events are handed to ``on_bad``. What is no event at all is a fault of the source, and an error.
    """

    def __init__(
        self,
        given: Sequence[tuple[Stream, str]],
        streams: tuple[str, ...],
        dictionary: TermDictionary,
        positions: Mapping[str, Any],
        stack: ExitStack,
        on_bad: OnBad = fail,
    ) -> None:
        self._streams, self._dictionary, self._on_bad = streams, dictionary, on_bad
        self._sources = [(stream, address, open_source(address)) for stream, address in given]
        self._counts = [0] * len(self._sources)
        self.positions: dict[str, Any] = dict(positions)
        """How far every source was read, for the next checkpoint."""
        for stream, address, source in self._sources:
            stack.callback(source.close)
            key = _key(stream, address)
            if key in positions:
                try:
                    source.seek(positions[key])
                except ValueError as error:
                    raise IncompatibleCheckpoint(
                        f"`{address}` cannot go on where the checkpoint says: {error}; remove the checkpoint to start again"
                    ) from None

    def __bool__(self) -> bool:
        return bool(self._sources)

    @property
    def done(self) -> bool:
        """True if all have ended."""
        return all(source.ended for _, _, source in self._sources)

    def take(self) -> Iterator[EventBatch]:
        """What has come, source by source: all of it or nothing is in the next checkpoint, and so is its position."""
        for number, (stream, address, source) in enumerate(self._sources):
            events = source.poll()
            if not events:
                continue
            self.positions[_key(stream, address)] = source.position
            if self._counts[number] == 0:
                warn_of_unit(events[0])
            first = self._counts[number] + 1
            self._counts[number] += len(events)
            good = dict(self._good(events, first, stream, address))
            if good:
                batch = encode_pushed(list(good.values()), self._streams, self._dictionary)
                counted = np.array(list(good), np.int64)
                yield replace(batch, sources=(address,), origins=None, positions=counted)

    def _good(
        self, events: Sequence[Event | GraphEvent], first: int, stream: Stream, address: str
    ) -> Iterator[tuple[int, GraphEvent]]:
        """The events that are well formed, with their numbers in the source."""
        for position, event in enumerate(events, first):
            given = checked_event(event)
            try:
                yield position, plain_event(given, stream, self._dictionary)
            except InvalidArgument as error:
                text = excerpt(str(given.graph)) if isinstance(given, Event) else ""
                self._on_bad(BadInput(str(error), address, position, "event", text))


def _key(stream: Stream, address: str) -> str:
    return f"{stream.iri} {address}"
