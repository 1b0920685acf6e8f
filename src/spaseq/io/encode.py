"""Events as read by pyoxigraph, and events as pushed, encoded into a batch."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pyoxigraph import BlankNode, Triple

from spaseq.io.assemble import RawEvent
from spaseq.io.options import ReadOptions
from spaseq.model.batch import EventBatch
from spaseq.model.dictionary import TermDictionary
from spaseq.model.events import GraphEvent
from spaseq.model.terms import Term


def encode_events(
    events: Sequence[RawEvent],
    source: str,
    stream: str,
    index: int,
    dictionary: TermDictionary,
    options: ReadOptions,
) -> EventBatch:
    """A batch of these events of one stream; repeated triples of an event are one."""
    columns: tuple[list[str], list[str], list[str]] = ([], [], [])
    offsets, names = [0], []
    needed = None if options.needed_predicates is None else {f"<{iri}>" for iri in options.needed_predicates}
    for event in events:
        texts = _texts(event, stream, dictionary)
        for subject, predicate, obj in dict.fromkeys(texts[1:]):
            if needed is None or predicate in needed:
                columns[0].append(subject)
                columns[1].append(predicate)
                columns[2].append(obj)
        offsets.append(len(columns[0]))
        names.append(texts[0][0] if options.keep_names else "")
    ids = [_ids(column, dictionary) for column in columns]
    count = len(events)
    return EventBatch(
        ids[0],
        ids[1],
        ids[2],
        np.array(offsets, np.int64),
        np.fromiter((event.time for event in events), np.int64, count),
        np.full(count, index, np.int16),
        _ids(names, dictionary),
        (source,),
        np.zeros(count, np.int32),
        np.fromiter((event.position for event in events), np.int64, count),
        _starts(events),
    )


def _starts(events: Sequence[RawEvent | GraphEvent]) -> np.ndarray[tuple[int], np.dtype[np.int64]] | None:
    """Where events begin; None if all are instants."""
    if all(event.start is None for event in events):
        return None
    return np.array([event.time if event.start is None else event.start for event in events], np.int64)


def _texts(event: RawEvent, stream: str, dictionary: TermDictionary) -> list[tuple[str, str, str]]:
    """The N-Triples texts of an event's name (first row) and triples, blank nodes in the event's scope."""
    written = "" if event.name is None else str(event.name)
    labels = {
        term.value for t in event.triples for term in (t.subject, t.object) if isinstance(term, BlankNode)
    }
    if isinstance(event.name, BlankNode):
        labels.add(event.name.value)
    if not labels:
        return [
            (written, "", ""),
            *((str(t.subject), str(t.predicate), str(t.object)) for t in event.triples),
        ]
    scope = dictionary.blank_scope(stream, event.time, written, labels)
    scoped = {label: f"_:{label}-e{scope:016x}" for label in labels}

    def text(term: Term | Triple) -> str:
        return scoped[term.value] if isinstance(term, BlankNode) else str(term)

    name = "" if event.name is None else text(event.name)
    return [(name, "", ""), *((text(t.subject), str(t.predicate), text(t.object)) for t in event.triples)]


def _ids(texts: list[str], dictionary: TermDictionary) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """The ids of many terms; an empty text is none."""
    distinct = dict.fromkeys(texts)
    distinct.pop("", None)
    known = dict(zip(distinct, dictionary.encode_texts(list(distinct)), strict=True))
    known[""] = 0
    return np.fromiter((known[text] for text in texts), np.int32, len(texts))


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
        starts=_starts(events),
    )
