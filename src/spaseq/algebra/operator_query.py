"""A query that an operator of its own answers, as a value: what hosts must know of it, and what only the operator knows."""

from __future__ import annotations

from dataclasses import dataclass, field

from spaseq.algebra.patterns import Pattern, TriplePattern
from spaseq.errors import NOWHERE, Span
from spaseq.model.forms import CountLimit, ResultForm, Stream


@dataclass(frozen=True, slots=True)
class StreamPattern:
    """A graph pattern that is matched with every event of a stream; ``{ ?s ?p ?o }`` hands on all of an event's triples."""

    name: str
    stream: str
    """The IRI of the stream."""
    pattern: Pattern
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    only_counted: bool = False
    """Whether it is ``{ ?s ?p ?o }`` and only how many triples an event has matters."""


@dataclass(frozen=True, slots=True)
class Stretches:
    """Stretches of time by which evaluations go apart: about how long they are, and where one begins.

    ``reach`` is how long before an evaluation the events may have come that it depends on; 0 if all of them lie in its stretch.
    """

    length: int
    reach: int
    origin: int


@dataclass(frozen=True, slots=True)
class OperatorQuery:
    """Graph patterns per event, and an operator with state over their solutions.

    ``operator`` names the module of `spaseq.operators` that makes it; ``details`` is what it alone reads: any frozen value that
    can be pickled. Rows go apart by the values of ``key``, variables that every pattern certainly binds; without one, all rows
    go to one worker. ``reason`` says why, and ``cure`` what would change it. With ``hears_instants`` the operator also hears of the instants at which no
    pattern matches, with ``instants_everywhere`` every worker does. With ``stretches`` the answers at
    different instants of a finite input go apart. With ``counts_events`` it hears of all events, instant by instant, simultaneous ones in order of arrival, and finds
    their streams by their serial numbers. ``template`` is that of a CONSTRUCT.
    """

    operator: str
    form: ResultForm
    streams: tuple[Stream, ...]
    patterns: tuple[StreamPattern, ...]
    details: object = None
    key: tuple[str, ...] = ()
    reason: str = "its operator keeps one state for all rows"
    cure: str = "nothing in the query changes that"
    stretches: Stretches | None = None
    hears_instants: bool = False
    instants_everywhere: bool = False
    counts_events: bool = False
    reads_background: bool = False
    """Whether the operator itself reads background graphs; patterns may in any case."""
    template: tuple[TriplePattern, ...] = ()
    counted: CountLimit | None = None
    """What the operators of several workers count together, if they go apart."""
