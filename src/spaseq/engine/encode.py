"""Pushed events as a batch of columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spaseq.model.batch import EventBatch
from spaseq.model.dictionary import TermDictionary
from spaseq.model.events import GraphEvent


def encode_pushed(
    events: Sequence[GraphEvent], streams: tuple[str, ...], dictionary: TermDictionary
) -> EventBatch:
    """A batch of these events, whose blank nodes are local already."""
    index = {iri: number for number, iri in enumerate(streams)}
    encode = dictionary.encode
    triples = [(encode(t.subject), encode(t.predicate), encode(t.object)) for e in events for t in e.triples]  # type: ignore[arg-type]
    columns = np.array(triples, np.int32).reshape(-1, 3)
    offsets = np.zeros(len(events) + 1, np.int64)
    np.cumsum([len(event.triples) for event in events], out=offsets[1:])
    return EventBatch(
        np.ascontiguousarray(columns[:, 0]),
        np.ascontiguousarray(columns[:, 1]),
        np.ascontiguousarray(columns[:, 2]),
        offsets,
        np.array([event.time for event in events], np.int64),
        np.array([index[event.stream] for event in events], np.int16),
        np.array([0 if event.name is None else encode(event.name) for event in events], np.int32),
    )
