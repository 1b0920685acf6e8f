"""A serialised graph in one value, as a Kafka record carries it, as events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pyoxigraph import BlankNode, DefaultGraph, NamedNode, Quad, RdfFormat, Triple, parse

from spaseq.errors import InvalidArgument, LimitReached, did_you_mean
from spaseq.io.assemble import RawEvent
from spaseq.io.bad_input import BadInput, excerpt
from spaseq.io.options import ReadOptions
from spaseq.io.readers import read_steps
from spaseq.model.entities import check_entities
from spaseq.spark.sources.splits import ValueSource

SYNTAXES: Final = {
    "turtle": RdfFormat.TURTLE,
    "ntriples": RdfFormat.N_TRIPLES,
    "nquads": RdfFormat.N_QUADS,
    "trig": RdfFormat.TRIG,
    "jsonld": RdfFormat.JSON_LD,
    "rdfxml": RdfFormat.RDF_XML,
}
"""Syntaxes of a value whose time stands beside it; ``jelly`` has its time inside, as event files do."""
WITH_TIME: Final = ("nquads", "trig", "jsonld", "jelly")
"""Formats in which the time may come from the graph."""


def checked_syntax(name: str | None, *, timed: bool) -> str:
    """The syntax a user named; ``timed`` if the time stands in a column of its own."""
    known = tuple(SYNTAXES) if timed else WITH_TIME
    if name in known:
        return name
    if name is None:
        raise InvalidArgument(f"a `value` column needs `format=`; use one of {', '.join(known)}")
    why = (
        ""
        if timed or name not in SYNTAXES
        else ", which cannot carry its time, and there is no `time` column"
    )
    raise InvalidArgument(
        f"`{name}` is not a format for `value`{why}; use one of {', '.join(known)}{did_you_mean(name, known)}"
    )


def events_of_value(
    data: bytes, syntax: str, time: int | None, options: ReadOptions, source: str
) -> Iterator[RawEvent | BadInput]:
    """The events of one value: one at the given time, or those whose times stand in it."""
    if time is None:
        for step in read_steps(ValueSource.of(data, syntax, source), options):
            yield from step.bad
            yield from step.events
        return
    try:
        if syntax == "rdfxml":
            check_entities(data, "the graph")
        quads = list(parse(data, format=SYNTAXES[syntax]))
        yield RawEvent(time, _name(quads), _triples(quads, options), 0)
    except (SyntaxError, ValueError, LimitReached) as error:
        yield BadInput(str(error), source, 1, "event", excerpt(data.decode("utf-8", "replace")))


def _name(quads: list[Quad]) -> NamedNode | BlankNode | None:
    names = {quad.graph_name for quad in quads if not isinstance(quad.graph_name, DefaultGraph)}
    if len(names) > 1:
        raise ValueError("the value has more than one named graph, but one time")
    return next(iter(names), None)


def _triples(quads: list[Quad], options: ReadOptions) -> list[Triple]:
    """The event's triples; the timestamp of its named graph is not one of them (docs/reference/event-formats.md)."""
    stamp = NamedNode(options.timestamp_predicate)
    names = {quad.graph_name for quad in quads}
    kept = [
        quad.triple
        for quad in quads
        if not (
            isinstance(quad.graph_name, DefaultGraph) and quad.predicate == stamp and quad.subject in names
        )
    ]
    if any(isinstance(triple.object, Triple) for triple in kept):
        raise ValueError("a triple term is not supported in an event")
    return kept
