"""Matches: what a query answers (SEMANTICS 1.10)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from pyoxigraph import BlankNode, NamedNode, Triple

from spaseq.errors import InvalidArgument
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

    def __str__(self) -> str:
        name = f" {self.graph}" if self.graph is not None else ""
        return f"{self.step}@{format_instant(self.instant)}{name}"


@dataclass(frozen=True, slots=True)
class Match:
    """One answer of a query.

    ``instant`` and ``begin`` are t₂ and t₁ in microseconds, ``time`` and ``start`` the same as datetimes.
    ``bindings`` are the selected variables that have a value, in the order of SELECT. ``triples`` is the
    graph of a CONSTRUCT query, None for the other forms. ``identity`` is the same on every host.
    """

    instant: int
    begin: int
    bindings: dict[str, Term]
    events: tuple[MatchedEvent, ...] = ()
    triples: frozenset[Triple] | None = None
    identity: str = ""

    @property
    def time(self) -> datetime:
        return to_datetime(self.instant)

    @property
    def start(self) -> datetime:
        return to_datetime(self.begin)

    def to_rdflib(self) -> dict[str, rdflib.term.Identifier]:
        """The bindings as rdflib terms; needs the extra ``spaseq[rdflib]``."""
        try:
            from rdflib import BNode, Literal, URIRef
        except ImportError:
            raise InvalidArgument("to_rdflib() needs rdflib: pip install 'spaseq[rdflib]'") from None

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


def event_digest(stream: str, instant: int, name: Term | None, triples: Iterable[str]) -> bytes:
    """A digest of one event: its stream, time, graph name if an IRI, and sorted triples.

    Labels of blank nodes count as they were written: what tells equal ones of two events apart depends on how many
    such events a process has read, and identities must not.
    """
    head = f"{stream}\n{instant}\n{name.value if isinstance(name, NamedNode) else ''}\n"
    body = unscoped("\n".join(sorted(triples)))
    return hashlib.sha256((head + body).encode("utf-8", "surrogatepass")).digest()


def match_identity(query: str, events: Iterable[tuple[str, bytes]]) -> str:
    """The deterministic name of a match: of the query's normalised text and its events in step order.

    Each event comes as the name of its GPM and its digest.
    """
    digest = hashlib.sha256(query.encode("utf-8", "surrogatepass"))
    for gpm, event in events:
        digest.update(gpm.encode())
        digest.update(event)
    return f"urn:spaseq:match:{digest.hexdigest()[:32]}"
