"""The abstract syntax of continuous SPARQL over windows (semantics 3.1), on top of SPARQL's.

The bodies of windows and the policy of a report are those of `spaseq.algebra.windows`, shared rather than copied: lengths
and instants are microseconds, whatever their spelling.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, TypeAlias

from spaseq.algebra.expressions import Constant
from spaseq.algebra.windows import Emission, Interval, Landmark, Range, ReportPolicy
from spaseq.errors import NOWHERE, Span
from spaseq.syntax.ast import AskQuery, ConstructQuery, DatasetClause, DescribeQuery, Prologue, SelectQuery

RELATIVE: Final = "urn:spaseq:name:"
"""The namespace of names that are written as a relative IRI in a query without BASE: ``<w1>``."""


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


Answering: TypeAlias = SelectQuery | ConstructQuery | AskQuery | DescribeQuery


@dataclass(frozen=True, slots=True)
class RsepqlQuery:
    """A whole query. The datasets of ``query`` are its stream clauses and background graphs, in the order written."""

    query: Answering
    report: ReportClause | None = None
    registration: Registration | None = None
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def prologue(self) -> Prologue:
        """The declarations before and after REGISTER."""
        return self.query.prologue

    @property
    def streams(self) -> tuple[StreamClause, ...]:
        """The clauses that declare a window, in the order written."""
        return tuple(clause for clause in self.query.datasets if isinstance(clause, StreamClause))
