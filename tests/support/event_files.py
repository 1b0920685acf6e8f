"""Events as event files, for tests that read them back (docs/reference/event-formats.md)."""

from __future__ import annotations

from collections.abc import Iterable

from spaseq.io.options import TIMESTAMP_PREDICATE
from spaseq.model.events import GraphEvent
from spaseq.temporal.instants import XSD, format_instant


def nquads(events: Iterable[GraphEvent], *, first: int = 0) -> str:
    """Events as N-Quads, in this order, each with its timestamp after it.

    An event without a name gets one that counts from ``first``. An event without triples is no graph, so it
    is left out.
    """
    return "".join(_event(event, number) for number, event in enumerate(events, first))


def _event(event: GraphEvent, number: int) -> str:
    name = f"<urn:event:{number}>" if event.name is None else str(event.name)
    quads = sorted(f"{triple} {name} .\n" for triple in event.triples)
    if not quads:
        return ""
    stamp = f'"{format_instant(event.time)}"^^<{XSD}dateTime>'
    return "".join(quads) + f"{name} <{TIMESTAMP_PREDICATE}> {stamp} .\n"


START, END = "http://ex.org/from", "http://ex.org/until"


def interval_nquads(events: Iterable[GraphEvent], *, first: int = 0) -> str:
    """The same for events that last: each with both ends, `START` and `END`, before it."""
    found = []
    for number, event in enumerate(events, first):
        name = f"<urn:event:{number}>" if event.name is None else str(event.name)
        ends = {START: event.time if event.start is None else event.start, END: event.time}
        if event.triples:
            found += [
                f'{name} <{iri}> "{format_instant(at)}"^^<{XSD}dateTime> .\n' for iri, at in ends.items()
            ]
            found += sorted(f"{triple} {name} .\n" for triple in event.triples)
    return "".join(found)
