"""Stable labels for anonymous blank nodes, which pyoxigraph labels at random in TriG and JSON-LD."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TypeVar

from pyoxigraph import BlankNode, Triple

from spaseq.io.assemble import RawEvent

_RANDOM = re.compile(r"[0-9a-f]{20,32}\Z")
_T = TypeVar("_T")


def numbered(event: RawEvent) -> RawEvent:
    """The event with its anonymous blank nodes numbered in the order of their first occurrence."""
    terms = [event.name, *(term for triple in event.triples for term in (triple.subject, triple.object))]
    labels = dict.fromkeys(term.value for term in terms if isinstance(term, BlankNode))
    random = [label for label in labels if _RANDOM.match(label)]
    if not random:
        return event
    free = (f"anon{i}" for i in range(len(labels) * 2) if f"anon{i}" not in labels)
    names = {label: BlankNode(new) for label, new in zip(random, free, strict=False)}

    def stable(term: _T) -> _T | BlankNode:
        return names.get(term.value, term) if isinstance(term, BlankNode) else term

    triples = [Triple(stable(t.subject), t.predicate, stable(t.object)) for t in event.triples]
    return replace(event, name=stable(event.name), triples=triples)
