"""What readers make of a file, in a form that can be compared: events, and bad input."""

from __future__ import annotations

from pathlib import Path
from typing import Final, TypeAlias

from spaseq.io.bad_input import BadInput
from spaseq.io.options import ReadOptions
from spaseq.io.readers import read_events, read_graph_events
from spaseq.model.dictionary import TermDictionary

STREAM: Final = "http://example.org/stream"
Seen: TypeAlias = tuple[int, str, int, frozenset[str]]
"""An event: its time, its name, its position, its triples."""


def read_plainly(file: Path, options: ReadOptions) -> tuple[list[Seen], list[BadInput]]:
    """Events and bad input by pyoxigraph alone."""
    bad: list[BadInput] = []
    events = [
        (event.time, str(event.name), event.position, frozenset(map(str, event.triples)))
        for event in read_graph_events(file, stream=STREAM, options=options, on_bad=bad.append)
    ]
    return events, bad


def read_in_batches(file: Path, options: ReadOptions) -> tuple[list[Seen], list[BadInput]]:
    """Events and bad input as an engine gets them."""
    bad: list[BadInput] = []
    terms = TermDictionary()
    events: list[Seen] = []
    for batch in read_events(
        file, stream=STREAM, streams=(STREAM,), dictionary=terms, options=options, on_bad=bad.append
    ):
        for i in range(len(batch)):
            rows = zip(*(column.tolist() for column in batch.triples_of(i)), strict=True)
            triples = [" ".join(terms.ntriples(term) for term in row) for row in rows]
            assert len(triples) == len(set(triples)), "the triples of an event are distinct"
            name = terms.ntriples(int(batch.names[i])) if batch.names[i] else "None"
            events.append((int(batch.times[i]), name, batch.origin_of(i)[1], frozenset(triples)))
    return events, bad
