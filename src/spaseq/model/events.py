"""Graph events: the event a user pushes, and the plain event that the reference implementation evaluates (semantics 0).

An event is ``(u, τ, G)``: the IRI of its stream, an instant, a set of RDF triples. Blank nodes are local
to their event.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol, TypeAlias, TypeVar, runtime_checkable

from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, Triple, parse

from spaseq.errors import InvalidArgument, described
from spaseq.model.entities import check_entities
from spaseq.model.terms import Scopes, Term, scoped_label, stable_labels
from spaseq.temporal.instants import (
    FIRST_INSTANT,
    LAST_INSTANT,
    XSD,
    format_instant,
    from_datetime,
    mistaken_units,
    parse_instant,
)


@runtime_checkable
class RdflibTerm(Protocol):
    """What an rdflib term shows; rdflib itself is an optional extra and is never imported here."""

    def n3(self) -> str: ...


_T = TypeVar("_T")

TripleLike: TypeAlias = Triple | Quad | tuple[object, object, object]
"""A triple of pyoxigraph, or three terms of pyoxigraph or rdflib."""

GraphLike: TypeAlias = str | bytes | Iterable[TripleLike]
"""An rdflib Graph, an iterable of triples, or text in the syntax that ``format`` names."""

FORMATS: Final[dict[str, RdfFormat]] = {
    "turtle": RdfFormat.TURTLE,
    "ttl": RdfFormat.TURTLE,
    "ntriples": RdfFormat.N_TRIPLES,
    "nt": RdfFormat.N_TRIPLES,
    "nquads": RdfFormat.N_QUADS,
    "nq": RdfFormat.N_QUADS,
    "trig": RdfFormat.TRIG,
    "jsonld": RdfFormat.JSON_LD,
    "json-ld": RdfFormat.JSON_LD,
    "rdfxml": RdfFormat.RDF_XML,
    "xml": RdfFormat.RDF_XML,
}
"""Names of syntaxes in which the graph of a pushed event may be written."""


@dataclass(frozen=True, slots=True)
class GraphEvent:
    """One event as plain Python: what the reference reads.

    ``time`` is in microseconds, ``name`` the graph's name if it has one; ``source`` and ``position`` say
    where it was read (line, byte or ordinal, as the syntax allows). An interval event has a ``start``; ``time`` is its end.
    """

    stream: str
    time: int
    triples: frozenset[Triple]
    name: Term | None = None
    source: str = ""
    position: int = 0
    start: int | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """An event as users push it.

    ``stream`` is the alias or the IRI of a declared stream. ``time`` is a datetime (without zone: UTC), a
    text in ``xsd:dateTime`` syntax, or an int in microseconds since the epoch. ``graph`` is read when the
    event is used, not before. ``start``, written like ``time``, makes it an event from there to ``time``.
    """

    stream: str
    time: datetime | int | str
    graph: GraphLike = ()
    name: Term | str | None = None
    format: str | None = None
    start: datetime | int | str | None = None
    _read: dict[str, frozenset[Triple]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def instant(self) -> int:
        """The event's time in microseconds; `InvalidArgument` if it is not a valid time."""
        return instant_of(self.time)

    @property
    def begin(self) -> int | None:
        """Where an interval event starts, in microseconds; `InvalidArgument` if that is after its time."""
        if self.start is None:
            return None
        start, end = instant_of(self.start), self.instant
        if start > end:
            raise InvalidArgument(
                f"an event starts at {format_instant(start)}, after its time {format_instant(end)}: `time` is its end"
            )
        return start

    @property
    def graph_name(self) -> Term | None:
        """The graph's name as a term; a text is an IRI."""
        return term_from(self.name, "graph name") if self.name is not None else None

    def triples(self) -> frozenset[Triple]:
        """The event's graph; blank nodes keep their written labels."""
        if "triples" not in self._read:
            self._read["triples"] = triples_from(self.graph, self.format)
        return self._read["triples"]

    def to_graph_event(self, stream: str, scopes: Scopes) -> GraphEvent:
        """The event under its stream's IRI, its blank nodes distinct from those of other events."""
        plain = GraphEvent(stream, self.instant, self.triples(), self.graph_name, start=self.begin)
        return localised(plain, scopes)


def instant_of(time: object) -> int:
    """A time as users give it, in microseconds; `InvalidArgument` if it is not a valid one."""
    match time:
        case bool():
            pass
        case int():
            return checked_instant(time)
        case datetime():
            return checked_instant(from_datetime(time))
        case str():
            try:
                return parse_instant(time, XSD + "dateTime", "ms")
            except ValueError as error:
                raise InvalidArgument(f"the event's time cannot be read: {error}") from None
        case _:
            pass
    raise InvalidArgument(f"an event's time is a datetime, a text or an int of microseconds, not {time!r}")


def checked_instant(instant: int) -> int:
    """The same instant, if it lies in the years 1 to 9999: those that are read, compared and written."""
    if FIRST_INSTANT <= instant <= LAST_INSTANT:
        return instant
    raise InvalidArgument(
        f"the time {instant} lies outside the years 1 to 9999; an int counts microseconds since 1970"
    )


def warn_of_unit(first: Event | GraphEvent) -> None:
    """Warn if the time of a first event is an int that makes sense in a longer unit than microseconds."""
    if not isinstance(first, Event) or not isinstance(first.time, int):
        return
    for unit, (begin, end) in mistaken_units("us").items():
        if begin <= first.time < end:
            factor, name = {"s": ("1_000_000", "seconds"), "ms": ("1_000", "milliseconds")}[unit]
            warnings.warn(
                f"the first event has the time {first.time}, which is {format_instant(first.time)}: an int counts microseconds; "
                f"multiply {name} by {factor}, or give a datetime",
                stacklevel=3,
            )


Events: TypeAlias = Iterable[Event | GraphEvent]


def as_events(given: object, where: str) -> Events:
    """Events as a program hands them over, one or many; what cannot be events is refused: ``where`` says what belongs there.

    Whether each item is an event is checked by `checked_event` when it is used: an iterator may be endless.
    """
    if isinstance(given, (Event, GraphEvent)):
        return [given]
    table = hasattr(given, "columns")  # of pandas, polars or PySpark: they are iterable, but not over events
    if table or isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise InvalidArgument(f"{where}, not {described(given)}: {_MAKE}")
    return given


def checked_event(given: Event | GraphEvent) -> Event | GraphEvent:
    """The event, if it is one."""
    if not isinstance(given, (Event, GraphEvent)):
        raise InvalidArgument(f"{described(given)} is not an event: {_MAKE}")
    if not isinstance(given.stream, str):
        raise InvalidArgument(
            f"an event's stream is the alias or the IRI of a stream as text, not {described(given.stream)}"
        )
    return given


_MAKE: Final = "make one with spaseq.Event(stream=…, time=…, graph=…)"


def term_from(value: object, what: str = "term") -> Term:
    """A term of pyoxigraph or rdflib as a term of pyoxigraph; a plain text is an IRI."""
    if isinstance(value, (NamedNode, BlankNode, Literal)):
        return value
    kind = type(value).__name__
    if isinstance(value, RdflibTerm) and isinstance(value, str):
        text = str(value)
        if kind == "BNode":
            return BlankNode(text)
        if kind == "Literal":
            language = getattr(value, "language", None)
            datatype = getattr(value, "datatype", None)
            if language:
                return Literal(text, language=str(language))
            return Literal(text, datatype=NamedNode(str(datatype))) if datatype else Literal(text)
        if kind == "URIRef":
            return _iri(text, what)
    elif isinstance(value, str):
        return _iri(value, what)
    raise InvalidArgument(f"`{value!r}` is not an RDF term of pyoxigraph or rdflib ({what})")


def _iri(text: str, what: str) -> NamedNode:
    try:
        return NamedNode(text)
    except ValueError as error:
        raise InvalidArgument(f"the {what} `{text}` is not an IRI: {error}") from None


def triple_from(value: object) -> Triple:
    """A triple of pyoxigraph or three terms as a triple of pyoxigraph."""
    match value:
        case Triple():
            return _plain(value)
        case Quad():
            return _plain(value.triple)
        case (subject, predicate, obj):
            s, p, o = (
                term_from(subject, "subject"),
                term_from(predicate, "predicate"),
                term_from(obj, "object"),
            )
            if isinstance(s, Literal) or not isinstance(p, NamedNode):
                raise InvalidArgument(f"`{s} {p} {o}` is not an RDF triple")
            return Triple(s, p, o)
        case _:
            raise InvalidArgument(f"`{value!r}` is not a triple")


def _plain(triple: Triple) -> Triple:
    if isinstance(triple.subject, Triple) or isinstance(triple.object, Triple):
        raise InvalidArgument(f"`{triple}` has a triple term, which is not supported in an event")
    return triple


def triples_from(graph: GraphLike, syntax_name: str | None = None) -> frozenset[Triple]:
    """The triples of a graph in any of the forms a user may pass."""
    if isinstance(graph, (str, bytes)):
        if syntax_name is None:
            raise InvalidArgument('a graph given as text needs `format=`, for example `format="turtle"`')
        wanted: object = syntax_name
        syntax = FORMATS.get(wanted) if isinstance(wanted, str) else None
        if syntax is None:
            raise InvalidArgument(
                f"{described(syntax_name)} is not a graph format; use one of {', '.join(sorted(FORMATS))}"
            )
        if syntax == RdfFormat.RDF_XML:
            check_entities(graph, "the graph")
        try:
            quads = list(parse(graph, format=syntax))
        except SyntaxError as error:
            raise InvalidArgument(f"the event's graph cannot be read as {syntax_name}: {error}") from None
        return frozenset(stable_labels(None, [_plain(quad.triple) for quad in quads])[1])
    given: object = graph
    if isinstance(given, Iterable) and not isinstance(given, Mapping) and not hasattr(given, "columns"):
        return frozenset(triple_from(item) for item in given)
    raise InvalidArgument(
        f"{described(graph)} is not a graph: pass an rdflib Graph, triples, or text with `format=`"
    )


def localised(event: GraphEvent, scopes: Scopes) -> GraphEvent:
    """The event with every blank node renamed into the event's own scope."""
    terms = [event.name, *(term for t in event.triples for term in (t.subject, t.object))]
    labels = {term.value for term in terms if isinstance(term, BlankNode)}
    if not labels:
        return event
    name = "" if event.name is None else str(event.name)
    scope = scopes.blank_scope(event.stream, event.time, name, labels)

    def local(term: _T) -> _T | BlankNode:
        return BlankNode(scoped_label(term.value, scope)) if isinstance(term, BlankNode) else term

    triples = frozenset(Triple(local(t.subject), t.predicate, local(t.object)) for t in event.triples)
    renamed = None if event.name is None else local(event.name)
    return GraphEvent(event.stream, event.time, triples, renamed, event.source, event.position, event.start)
