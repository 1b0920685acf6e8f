"""What a run counts as it goes on: events by stream, mappings by step, and which predicates of its queries occur.

Counts are numbers under names, so that parts of a run, in time or on Spark's workers, simply add up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from spaseq.model.batch import EventBatch
from spaseq.model.dictionary import TermDictionary
from spaseq.temporal.instants import TIME_UNITS, TimeUnit, mistaken_units


def events_of(stream: str) -> str:
    """The name under which the events of a stream are counted, by its IRI."""
    return f"events of {stream}"


def mappings_of(query: int, gpm: str) -> str:
    """The name under which the mappings of a GPM are counted, by the number of its query."""
    return f"mappings of {query}.{gpm}"


def skipped_by(query: int, gpm: str) -> str:
    """The name under which events are counted at which a GPM was not looked for, since it could not matter."""
    return f"skips of {query}.{gpm}"


def occurrence_of(predicate: str) -> str:
    """The name that is there if a predicate occurs, by its IRI."""
    return f"occurrence of {predicate}"


def mistaken_of(unit: TimeUnit, stream: str) -> str:
    """The name under which events are counted whose times make sense in a longer unit, by the IRI of their stream."""
    return f"times in {unit} of {stream}"


def mistaken(counts: Mapping[str, int], stream: str) -> TimeUnit | None:
    """The unit in which all times of a stream make sense, if they were read in a shorter one; by the IRI of the stream."""
    events = counts.get(events_of(stream))
    units = (unit for unit in TIME_UNITS if events and counts.get(mistaken_of(unit, stream)) == events)
    return next(units, None)


def mistaken_unit(alias: str, unit: TimeUnit) -> str:
    """What to say of a stream whose times all make sense in a longer unit."""
    name = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}[unit]
    return (
        f"all events of `{alias}` lie in January 1970, where {name} land that are read in a shorter unit; "
        f'if its times are {name}, set `time_unit="{unit}"`'
    )


class Tally:
    """Counts events and looks for predicates; ``counts`` may begin with what an earlier part of the run counted.

    ``unit`` is the one in which numbers are read as times.
    """

    def __init__(
        self,
        streams: Sequence[str],
        predicates: Iterable[str],
        dictionary: TermDictionary,
        counts: Mapping[str, int] | None = None,
        *,
        unit: TimeUnit = "s",
    ) -> None:
        self._mistaken = mistaken_units(unit)
        self._streams = tuple(streams)
        self._dictionary = dictionary
        self.counts: Counter[str] = Counter(counts or {})
        self._missing = {iri for iri in predicates if not self.counts[occurrence_of(iri)]}

    @property
    def events(self) -> int:
        """How many events of all streams were read."""
        return sum(self.counts[events_of(stream)] for stream in self._streams)

    def read(self, batch: EventBatch) -> None:
        """Count some events."""
        if not len(batch):
            return
        for stream, count in enumerate(np.bincount(batch.streams).tolist()):
            if count:
                self.counts[events_of(self._streams[stream])] += count
        for unit, (first, last) in self._mistaken.items():
            odd = (batch.times >= first) & (batch.times < last)
            for stream, count in enumerate(np.bincount(batch.streams[odd]).tolist() if odd.any() else ()):
                if count:
                    self.counts[mistaken_of(unit, self._streams[stream])] += count
        if self._missing:
            self._look_for_missing(batch)

    def _look_for_missing(self, batch: EventBatch) -> None:
        names = sorted(self._missing)
        ids = self._dictionary.encode_texts([f"<{iri}>" for iri in names])
        first, last = int(batch.offsets[0]), int(batch.offsets[-1])
        present = np.isin(ids, batch.predicates[first:last])
        for number in np.flatnonzero(present).tolist():
            self._missing.discard(names[number])
            self.counts[occurrence_of(names[number])] = 1
