"""What is kept of events after their triples are gone: where they came from, and a digest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from spaseq.model.batch import EventBatch
from spaseq.model.dictionary import TermDictionary
from spaseq.model.matches import event_digest
from spaseq.model.ordered import each_once
from spaseq.model.packing import INSTANT, LARGEST, Damaged, Field, check_arrays, whole_number
from spaseq.operators.state import State

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]


_FIELDS: Final[dict[str, Field]] = {
    "serials": Field(np.int64, ("logged",), (0, "serials")),
    "times": Field(np.int64, ("logged",), INSTANT),
    "streams": Field(np.int16, ("logged",), (0, "streams")),
    "names": Field(np.int32, ("logged",), (0, "ids")),
    "digested": Field(np.int64, ("digested",), (0, "serials")),
    "digests": Field(np.uint8, ("digested", 32)),
}
"""What a saved log must be like; ``digested`` are the events that have a digest."""


class EventLog:
    """Events by serial number, as columns; those that no match can name any more are dropped."""

    def __init__(self, dictionary: TermDictionary, *, events: bool = True, digests: bool = False) -> None:
        self._dictionary = dictionary
        self.with_events = events
        """Whether answers name their events."""
        self.with_digests = digests
        self.serials: Longs = np.zeros(0, np.int64)
        self.times: Longs = np.zeros(0, np.int64)
        self.streams: npt.NDArray[np.int16] = np.zeros(0, np.int16)
        self.names: Ints = np.zeros(0, np.int32)
        self.digests: dict[int, bytes] = {}
        self.next = 0
        self.kept = 0

    def __len__(self) -> int:
        return len(self.serials)

    @property
    def nbytes(self) -> int:
        """About how much memory it takes: columns, and a digest in a dict for some events."""
        columns = (self.serials, self.times, self.streams, self.names)
        return sum(column.nbytes for column in columns) + 200 * len(self.digests)

    def append(
        self,
        batch: EventBatch,
        taken: npt.NDArray[np.integer],
        dictionary: TermDictionary,
        streams: tuple[str, ...],
    ) -> Longs:
        """Number the events of a batch, of which only those ``taken`` can be part of a match; returns their serials."""
        serials = self.append_known(batch.times, batch.streams, batch.names)
        if self.with_digests:
            digests = digests_of(batch, taken, dictionary, streams)
            self.digests.update(zip(serials[taken].tolist(), digests, strict=True))
        return serials

    def append_known(
        self,
        times: Longs,
        streams: npt.NDArray[np.int16],
        names: Ints,
        digests: Sequence[bytes] | None = None,
    ) -> Longs:
        """Number events of which no more is known than this; returns their serials."""
        serials = np.arange(self.next, self.next + len(times), dtype=np.int64)
        self.next += len(times)
        self.serials = np.concatenate([self.serials, serials])
        self.times = np.concatenate([self.times, times])
        self.streams = np.concatenate([self.streams, streams])
        self.names = np.concatenate([self.names, names])
        if self.with_digests and digests is not None:
            self.digests.update(zip(serials.tolist(), digests, strict=True))
        return serials

    def place(self, serials: Longs) -> Longs:
        """Where these events stand in the columns."""
        return np.searchsorted(self.serials, serials)

    def keep(self, serials: Longs) -> None:
        """Drop all other events."""
        rows = self.place(serials)
        self.serials, self.times = self.serials[rows], self.times[rows]
        self.streams, self.names = self.streams[rows], self.names[rows]
        if self.with_digests:
            self.digests = {serial: self.digests[serial] for serial in serials.tolist()}
        self.kept = len(self.serials)

    def remap(self, mapping: Ints) -> None:
        self.names = mapping[self.names]

    def dump(self, since: int = 0) -> State:
        """The events with this serial number and later ones."""
        fresh = self.serials >= since
        digested = [serial for serial in self.serials[fresh].tolist() if serial in self.digests]
        digests = b"".join(self.digests[serial] for serial in digested)
        return State(
            {"next": self.next},
            {
                "serials": self.serials[fresh],
                "times": self.times[fresh],
                "streams": self.streams[fresh],
                "digested": np.array(digested, np.int64),
                "digests": np.frombuffer(digests, np.uint8).reshape(-1, 32),
            },
            {"names": self.names[fresh]},
        )

    def load(self, parts: list[State], streams: int) -> None:
        """Take up what `dump` gave, in order."""
        given = [{**part.arrays, **part.ids} for part in parts]
        arrays = {name: np.concatenate([each[name] for each in given]) for name in _FIELDS}
        self.next = whole_number(parts[-1].facts, "next", 0, LARGEST)
        sizes = {"serials": self.next, "streams": streams, "ids": len(self._dictionary) + 1}
        check_arrays(arrays, _FIELDS, sizes)
        if (np.diff(arrays["serials"]) <= 0).any():
            raise Damaged("the events are not in order")
        self.serials, self.times = arrays["serials"], arrays["times"]
        self.streams, self.names = arrays["streams"], arrays["names"]
        self.kept = len(self.serials)
        digests = [row.tobytes() for row in arrays["digests"]]
        self.digests = dict(zip(arrays["digested"].tolist(), digests, strict=True))

    def require(self, used: Longs) -> None:
        """Refuse a state that mentions events which are not there, or which have no digest where digests are asked for."""
        if (len(self) or self.with_digests) and not np.isin(used, self.serials).all():
            raise Damaged("a partial match names an event that is not there")
        if self.with_digests and not np.isin(used, np.array(list(self.digests), np.int64)).all():
            raise Damaged("an event has no digest")

    def graph(self, serial: int) -> int:
        """The id of the name of an event's graph if that is an IRI, else 0."""
        known = int(self.names[np.searchsorted(self.serials, serial)])
        return known if known and self._dictionary.ntriples(known).startswith("<") else 0


def digests_of(
    batch: EventBatch, events: npt.NDArray[np.integer], dictionary: TermDictionary, streams: tuple[str, ...]
) -> list[bytes]:
    """The digests of some events of a batch."""
    first, last = batch.offsets[events].tolist(), batch.offsets[events + 1].tolist()
    rows = np.concatenate([np.zeros(0, np.int64), *map(np.arange, first, last)])
    columns = [column[rows] for column in (batch.subjects, batch.predicates, batch.objects)]
    texts = {known: dictionary.ntriples(known) for known in each_once(np.concatenate(columns)).tolist()}
    lines = [
        f"{texts[subject]} {texts[predicate]} {texts[value]}"
        for subject, predicate, value in zip(*(column.tolist() for column in columns), strict=True)
    ]
    found, at = [], 0
    for event, begin, end in zip(events.tolist(), first, last, strict=True):
        name = int(batch.names[event])
        found.append(
            event_digest(
                streams[int(batch.streams[event])],
                int(batch.times[event]),
                dictionary.decode(name) if name else None,
                lines[at : at + end - begin],
            )
        )
        at += end - begin
    return found
