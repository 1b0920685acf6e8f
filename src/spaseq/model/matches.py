"""Matches: what a query answers (semantics 1.10)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from html import escape
from typing import TYPE_CHECKING, Any, Final

from pyoxigraph import BlankNode, NamedNode, Triple

from spaseq.errors import MissingPackage
from spaseq.model.plain_values import Plain, json_value, plain_value
from spaseq.model.terms import Term, unscoped
from spaseq.temporal.instants import format_instant, to_datetime

if TYPE_CHECKING:
    import rdflib


@dataclass(frozen=True, slots=True)
class MatchedEvent:
    """One event of a match: the GPM it was taken for and where it comes from."""

    step: str
    stream: str
    instant: int
    graph: Term | None = None

    @property
    def time(self) -> datetime:
        return to_datetime(self.instant)

    def to_dict(self) -> dict[str, str]:
        """The event as data that `json.dumps` takes; a graph name that is an IRI as plain text."""
        found = {"step": self.step, "stream": self.stream, "time": format_instant(self.instant)}
        if self.graph is not None:
            found["graph"] = self.graph.value if isinstance(self.graph, NamedNode) else str(self.graph)
        return found

    def __str__(self) -> str:
        name = f" {self.graph}" if self.graph is not None else ""
        return f"{self.step}@{format_instant(self.instant)}{name}"


MOST_SHOWN: Final = 8
"""Bindings in the text of a match; more are counted."""


@dataclass(frozen=True, slots=True, repr=False)
class Match:
    """One answer of a query.

    ``instant`` and ``begin`` are t₂ and t₁ in microseconds, ``time`` and ``start`` the same as datetimes.
    ``bindings`` are the selected variables that have a value, in the order of SELECT. ``triples`` is the
    graph of a CONSTRUCT query, None for the other forms; ``boolean`` is True for ASK, None for the other forms.
    ``identity`` is the same on every host, ``query`` the name of the query. ``values`` are the bindings as plain Python.
    """

    instant: int
    begin: int
    bindings: dict[str, Term]
    events: tuple[MatchedEvent, ...] = ()
    triples: frozenset[Triple] | None = None
    identity: str = ""
    query: str = ""
    boolean: bool | None = None

    @property
    def time(self) -> datetime:
        return to_datetime(self.instant)

    @property
    def start(self) -> datetime:
        return to_datetime(self.begin)

    @property
    def values(self) -> dict[str, Plain]:
        """The bindings as plain Python values: str, int, Decimal, float, bool or datetime; IRIs as str."""
        return {name: plain_value(term) for name, term in self.bindings.items()}

    def to_dict(self) -> dict[str, Any]:
        """The match as data that `json.dumps` takes: times and decimals as text, terms as N-Triples in ``triples``."""
        found: dict[str, Any] = {"query": self.query} if self.query else {}
        if self.identity:
            found["match"] = self.identity
        found |= {"time": format_instant(self.instant), "start": format_instant(self.begin)}
        if self.boolean is not None:
            found["boolean"] = self.boolean
        elif self.triples is not None:
            lines = ([str(t.subject), str(t.predicate), str(t.object)] for t in self.triples)
            found["triples"] = sorted(lines)
        else:
            found["values"] = {name: json_value(value) for name, value in self.values.items()}
        if self.events:
            found["events"] = [event.to_dict() for event in self.events]
        return found

    def __repr__(self) -> str:
        """One line that fits a screen: when, and what was found."""
        if self.boolean is not None:
            found = [str(self.boolean)]
        elif self.triples is not None:
            found = [f"{len(self.triples)} triples"]
        else:
            found = [f"{name}={_short(value)}" for name, value in self.values.items()]
        more = [f"{len(found) - MOST_SHOWN} more"] if len(found) > MOST_SHOWN else []
        when = f"{format_instant(self.begin)} to {format_instant(self.instant)}"
        return f"<Match {when}: {', '.join([*found[:MOST_SHOWN], *more])}>"

    def _repr_html_(self) -> str:
        """A small table, for notebooks."""
        return match_html(self)

    def to_rdflib(self) -> dict[str, rdflib.term.Identifier]:
        """The bindings as rdflib terms; needs the extra ``spaseq[rdflib]``."""
        try:
            from rdflib import BNode, Literal, URIRef
        except ImportError:
            raise MissingPackage("to_rdflib() needs rdflib: pip install 'spaseq[rdflib]'") from None

        def converted(term: Term) -> rdflib.term.Identifier:
            match term:
                case NamedNode(value=value):
                    return URIRef(value)
                case BlankNode(value=value):
                    return BNode(value)
                case _ if term.language is not None:
                    return Literal(term.value, lang=term.language)
                case _:
                    # Without normalize=False rdflib would rewrite "05" to "5".
                    return Literal(term.value, datatype=URIRef(term.datatype.value), normalize=False)

        return {name: converted(term) for name, term in self.bindings.items()}


def _short(value: Plain) -> str:
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else f"{text[:56]}...{text[-1]}"


def event_digest(stream: str, instant: int, name: Term | None, triples: Iterable[str]) -> bytes:
    """A digest of one event: its stream, time, graph name if an IRI, and sorted triples.

    Labels of blank nodes count as they were written: what distinguishes equal ones of two events depends on how many
    such events a process has read, and identities must not.
    """
    head = f"{stream}\n{instant}\n{name.value if isinstance(name, NamedNode) else ''}\n"
    body = unscoped("\n".join(sorted(triples)))
    return hashlib.sha256((head + body).encode("utf-8", "surrogatepass")).digest()


def match_key(query: str, events: Iterable[tuple[str, bytes]], bindings: Iterable[tuple[str, str]]) -> bytes:
    """What makes a match equal to another: the query's normalised text, its events and the bindings it reports.

    Each event, in step order, comes as the name of its GPM and its digest; each binding as variable and N-Triples text.
    """
    digest = hashlib.sha256(query.encode("utf-8", "surrogatepass"))
    for gpm, event in events:
        digest.update(b"\0event\0" + gpm.encode() + b"\0" + event)
    for variable, text in bindings:
        term = _label(text) if text.startswith("_:") else text
        digest.update(f"\0binding\0{variable}\0{term}".encode("utf-8", "surrogatepass"))
    return digest.digest()


def _label(text: str) -> str:
    """A blank node as every process knows it: an event's by the label it was written with, any other by none."""
    written = unscoped(text)
    return written if written != text else "_:"


def match_identity(key: bytes, number: int) -> str:
    """The deterministic name of a match: of its key and of its number among matches with the same key."""
    return f"urn:spaseq:match:{hashlib.sha256(key + str(number).encode()).hexdigest()[:32]}"


class Numbering:
    """Numbers matches that have the same key: 0, 1, 2, and so on.

    The key fixes the instant of a match, so only the counts of the latest instant are kept.
    """

    __slots__ = ("counts", "instant")

    def __init__(self) -> None:
        self.instant = 0
        self.counts: dict[bytes, int] = {}

    def next(self, instant: int, key: bytes) -> int:
        """The number of the next match with this key; matches come in order of their instants."""
        if instant != self.instant:
            self.instant = instant
            self.counts.clear()
        number = self.counts.get(key, 0)
        self.counts[key] = number + 1
        return number


MOST_LINES = 20
"""Triples and events beyond these are counted, not shown."""


def match_html(match: Match) -> str:
    """A match as a small table for notebooks: when it began and ended, what it found, and its events."""
    rows = [("start", format_instant(match.begin)), ("time", format_instant(match.instant))]
    if match.boolean is not None:
        rows.append(("answer", str(match.boolean).lower()))
    elif match.triples is not None:
        rows.append(("graph", _lines(sorted(f"{triple} ." for triple in match.triples))))
    else:
        rows += [(f"?{name}", escape(str(value))) for name, value in match.values.items()]
    if match.events:
        rows.append(("events", _lines([str(event) for event in match.events])))
    cells = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{value}</td></tr>'
        for name, value in rows
    )
    return f"<table>{cells}</table>"


def _lines(lines: list[str]) -> str:
    shown = [escape(line) for line in lines[:MOST_LINES]]
    more = len(lines) - len(shown)
    return "<br>".join([*shown, *([f"and {more} more"] if more else [])])
