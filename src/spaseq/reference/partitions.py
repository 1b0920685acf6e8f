"""PARTITION BY: the query separately for every key, everything included (semantics 1.9)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from pyoxigraph import Triple

from spaseq.algebra.events import EventQuery
from spaseq.algebra.expressions import Constant, Term, Var
from spaseq.algebra.patterns import TriplePattern
from spaseq.algebra.visibility import key_triples
from spaseq.model.events import GraphEvent
from spaseq.reference.sparql import Solution


def partitions(
    query: EventQuery, events: tuple[GraphEvent, ...]
) -> list[tuple[Solution, tuple[GraphEvent, ...]]]:
    """Every key with its events; without PARTITION BY one empty key with all of them."""
    if not query.partition:
        return [({}, events)]
    keys = [keys_of(query, event) for event in events]
    return [
        (
            dict(zip(query.partition, key, strict=True)),
            tuple(e for e, own in zip(events, keys, strict=True) if key in own),
        )
        for key in sorted({key for own in keys for key in own}, key=str)
    ]


def keys_of(query: EventQuery, event: GraphEvent) -> set[tuple[Term, ...]]:
    """The value tuples of the partition variables that an event has."""
    return set(product(*({*_values(query, event, name)} for name in query.partition)))


def _values(query: EventQuery, event: GraphEvent, name: str) -> Iterator[Term]:
    """``v`` is a key if a triple pattern with ``?k`` in a GPM on the stream matches with ``?k = v``."""
    for gpm in query.gpms:
        if gpm.stream == event.stream:
            for pattern in key_triples(gpm, name):
                for triple in event.triples:
                    found = _matched(pattern, triple)
                    if found is not None:
                        yield found[name]


def _matched(pattern: TriplePattern, triple: Triple) -> Solution | None:
    mapping: Solution = {}
    for node, term in zip((pattern.subject, pattern.predicate, pattern.object), triple, strict=True):
        match node:
            case Constant(constant) if constant != term:
                return None
            case Var(name) if mapping.setdefault(name, term) != term:
                return None
    return mapping
