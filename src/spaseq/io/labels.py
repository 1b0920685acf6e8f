"""Stable labels for the anonymous blank nodes of an event, which pyoxigraph labels at random in TriG and JSON-LD."""

from __future__ import annotations

from dataclasses import replace

from spaseq.io.assemble import RawEvent
from spaseq.model.terms import stable_labels


def numbered(event: RawEvent) -> RawEvent:
    """The event with its anonymous blank nodes numbered in the order of their first occurrence."""
    name, triples = stable_labels(event.name, event.triples)
    return event if triples is event.triples else replace(event, name=name, triples=triples)
