"""Sources of events that are followed (`spaseq.io.event_source`), and how far each was read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

import numpy as np

from spaseq.engine.feeds import pushed_batches
from spaseq.errors import IncompatibleCheckpoint
from spaseq.io.event_source import open_source
from spaseq.model.batch import EventBatch, concat
from spaseq.model.dictionary import TermDictionary
from spaseq.model.forms import Stream


class LiveSources:
    """All such sources of a run; ``positions`` are those of a checkpoint, by stream and address."""

    def __init__(
        self,
        given: Sequence[tuple[Stream, str]],
        streams: tuple[str, ...],
        dictionary: TermDictionary,
        positions: Mapping[str, Any],
        stack: ExitStack,
    ) -> None:
        self._streams, self._dictionary = streams, dictionary
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
            batch = concat(list(pushed_batches(events, stream, self._streams, self._dictionary)))
            first = self._counts[number] + 1
            self._counts[number] += len(batch)
            counted = np.arange(first, first + len(batch), dtype=np.int64)
            yield replace(batch, sources=(address,), origins=None, positions=counted)


def _key(stream: Stream, address: str) -> str:
    return f"{stream.iri} {address}"
