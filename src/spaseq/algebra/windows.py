"""Continuous queries: SPARQL over windows of streams (semantics 3), as values that belong to no spelling of them.

A window is named; ``GRAPH name { … }`` with the name of a window reads that window, any other name a background graph. What
stands outside reads the default graph, the union of some windows and background graphs. ``timestamp(?s ?p ?o)`` is a
`Call` named ``TIMESTAMP`` with three arguments; it reads the events of the windows of its active graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from spaseq.algebra.event_patterns import Consumption
from spaseq.algebra.events import Form
from spaseq.algebra.patterns import Pattern
from spaseq.model.forms import Stream


class Unit(Enum):
    """What a window is counted in: microseconds, events, or triples."""

    TIME = "time"
    EVENTS = "events"
    TRIPLES = "triples"


@dataclass(frozen=True, slots=True)
class Range:
    """``RANGE size STEP step STARTING AT start``; no step: it ends at every instant. TUMBLING has a step of its size."""

    size: int
    step: int | None = None
    unit: Unit = Unit.TIME
    start: int | None = None


@dataclass(frozen=True, slots=True)
class Landmark:
    """``LND start``: everything from an instant on."""

    start: int


@dataclass(frozen=True, slots=True)
class Interval:
    """``FROM first TO last``, both included."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Everything:
    """A stream without a window: everything so far."""


WindowBody: TypeAlias = Range | Landmark | Interval | Everything


@dataclass(frozen=True, slots=True)
class StreamWindow:
    """A window over a stream; ``W1 OF W2`` has the bodies (W1, W2)."""

    name: str
    stream: str
    bodies: tuple[WindowBody, ...]

    @property
    def stepping(self) -> Range | None:
        """The body that closes at steps, if there is one."""
        return next((body for body in self.bodies if isinstance(body, Range) and body.step is not None), None)


class Trigger(Enum):
    """When a query is evaluated (semantics 3.4)."""

    CONTENT_CHANGE = "CONTENT CHANGE"
    WINDOW_CLOSE = "WINDOW CLOSE"
    EVERY = "EVERY"


@dataclass(frozen=True, slots=True)
class ReportPolicy:
    """REPORT: a trigger, the period and start of EVERY in microseconds, and whether empty contents are left out."""

    trigger: Trigger
    every: int | None = None
    start: int | None = None
    non_empty: bool = False


class Emission(Enum):
    """Which solutions of an evaluation are reported: all, those that appeared, those that vanished (semantics 3.5)."""

    RSTREAM = "RSTREAM"
    ISTREAM = "ISTREAM"
    DSTREAM = "DSTREAM"


@dataclass(frozen=True, slots=True)
class WindowQuery:
    """A continuous query. ``pattern`` is all of it: groups, aggregates, projection, DISTINCT, ORDER BY, LIMIT.

    ``default_windows`` and ``default_graphs`` make up the default graph; ``named_graphs`` are what ``GRAPH ?g`` ranges over,
    None for all registered ones. ``consumption`` is that of each MATCH in the pattern.
    ``key`` is the variable by which it may be spread over workers, if there is one.
    """

    form: Form
    pattern: Pattern
    streams: tuple[Stream, ...]
    windows: tuple[StreamWindow, ...]
    default_windows: tuple[str, ...]
    default_graphs: tuple[str, ...]
    named_graphs: tuple[str, ...] | None
    report: ReportPolicy
    emission: Emission
    consumption: Consumption = Consumption.NONE
    key: str | None = None
