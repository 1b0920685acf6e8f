"""The abstract syntax of continuous SPARQL over windows (semantics 3.1) and of event patterns (4.1), on top of SPARQL's.

The bodies of windows and the policy of a report are those of `spaseq.algebra.windows`, shared rather than copied: lengths
and instants are microseconds, whatever their spelling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, TypeAlias

from pyoxigraph import NamedNode

from spaseq.algebra.event_patterns import Consumption, DeclaredEvent, EventPattern
from spaseq.algebra.expressions import Call, Constant
from spaseq.algebra.windows import Emission, Interval, Landmark, Range, ReportPolicy
from spaseq.errors import NOWHERE, Span
from spaseq.syntax.ast import (
    AskQuery,
    ConstructQuery,
    DatasetClause,
    DescribeQuery,
    GraphClause,
    Group,
    GroupPattern,
    MatchClause,
    Prologue,
    SelectQuery,
    ServiceClause,
    Triples,
)


@dataclass(frozen=True, slots=True)
class Bracket:
    """``[ … ]``: one body of a window, and where it stands."""

    body: Range | Landmark | Interval
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def step(self) -> int | None:
        return self.body.step if isinstance(self.body, Range) else None


@dataclass(frozen=True, slots=True)
class StreamClause(DatasetClause):
    """A clause that declares a window over the stream ``iri``.

    ``FROM NAMED WINDOW name ON iri [ … ]`` has a ``name``; ``FROM NAMED STREAM iri [ … ]`` is named after the stream;
    ``FROM STREAM iri [ … ]`` is not ``named``. Without ``window`` it is everything so far.
    """

    window: tuple[Bracket, ...] = ()
    name: Constant | None = None
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def window_name(self) -> Constant | None:
        """The name that WINDOW and GRAPH know it by."""
        return (self.name or self.iri) if self.named else None


@dataclass(frozen=True, slots=True)
class EventClause(DatasetClause):
    """``EVENT ON iri { pattern } AS name``, after the sources; ``span`` is the place of the name."""

    pattern: GroupPattern = field(default=Group(()))
    name: str = ""
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def event(self) -> DeclaredEvent:
        """What its name stands for in MATCH."""
        assert isinstance(self.iri.term, NamedNode)
        return DeclaredEvent(self.name, self.iri.term.value, self.pattern)


@dataclass(frozen=True, slots=True)
class Registration:
    """``REGISTER [RSTREAM] QUERY name AS``; the name is an IRI or a plain identifier."""

    name: Constant | str
    emission: Emission | None = None
    prologue: Prologue = field(default=Prologue(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ReportClause:
    """``REPORT ON …``."""

    policy: ReportPolicy
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ConsumeClause:
    """``CONSUME …``."""

    policy: Consumption
    span: Span = field(default=NOWHERE, compare=False, repr=False)


Answering: TypeAlias = SelectQuery | ConstructQuery | AskQuery | DescribeQuery


@dataclass(frozen=True, slots=True)
class RsepqlQuery:
    """A whole query. The datasets of ``query`` are its stream clauses, background graphs and events, in the order written."""

    query: Answering
    report: ReportClause | None = None
    registration: Registration | None = None
    consume: ConsumeClause | None = None
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def prologue(self) -> Prologue:
        """The declarations before and after REGISTER."""
        return self.query.prologue

    @property
    def streams(self) -> tuple[StreamClause, ...]:
        """The clauses that declare a window, in the order written."""
        return tuple(clause for clause in self.query.datasets if isinstance(clause, StreamClause))

    @property
    def events(self) -> tuple[EventClause, ...]:
        """The clauses that declare an event, in the order written."""
        return tuple(clause for clause in self.query.datasets if isinstance(clause, EventClause))

    @property
    def matches(self) -> tuple[MatchClause, ...]:
        """Every MATCH, wherever it stands in WHERE."""
        return tuple(clause for clause, _ in clauses(self.query) if isinstance(clause, MatchClause))


Clause: TypeAlias = GraphClause | ServiceClause | MatchClause | Triples


def clauses(tree: object) -> Iterator[tuple[Clause, bool]]:
    """The clauses of all groups, sub-SELECTs and EXISTS; true if they stand inside a GRAPH or WINDOW.

    What stands inside the pattern of an event is none of them, unless ``tree`` is that pattern.
    """
    stack: list[tuple[object, bool]] = [(tree, False)]
    while stack:
        node, inside = stack.pop()
        if isinstance(node, tuple):
            stack.extend((part, inside) for part in node)
        elif is_dataclass(node) and not isinstance(node, (Span, DatasetClause)):
            if isinstance(node, (GraphClause, ServiceClause, MatchClause, Triples)):
                yield node, inside
            if not isinstance(node, MatchClause):
                within = inside or isinstance(node, (GraphClause, ServiceClause))
                stack.extend((getattr(node, item.name), within) for item in fields(node))


def calls(tree: object) -> Iterator[Call]:
    """The calls of built-in functions in all expressions of a pattern."""
    stack = [tree]
    while stack:
        node = stack.pop()
        if isinstance(node, tuple):
            stack.extend(node)
        elif is_dataclass(node) and not isinstance(node, Span):
            if isinstance(node, Call):
                yield node
            stack.extend(getattr(node, item.name) for item in fields(node))


def with_matches(node: Any, change: Callable[[EventPattern], EventPattern]) -> Any:
    """The tree with the event pattern of every MATCH changed."""
    if isinstance(node, tuple):
        return tuple(with_matches(part, change) for part in node)
    if isinstance(node, MatchClause):
        return replace(node, events=change(node.events))
    if not is_dataclass(node) or isinstance(node, (Span, Constant, DatasetClause, Prologue, type)):
        return node
    return replace(
        node, **{item.name: with_matches(getattr(node, item.name), change) for item in fields(node)}
    )
