"""The abstract syntax of SPAseq, over that of SPARQL in `spaseq.syntax.ast`: nodes keep what the author wrote."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from spaseq.algebra.expressions import Constant, Var
from spaseq.algebra.patterns import TriplePattern
from spaseq.errors import NOWHERE, Span
from spaseq.syntax.ast import GroupPattern, Prologue, SelectClause


@dataclass(frozen=True, slots=True)
class Construct:
    """``CONSTRUCT { template }`` of a SPAseq query."""

    template: tuple[TriplePattern, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Ask:
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class WindowClause:
    """``WITHIN size UNIT [TUMBLING|SLIDING] [STARTING AT "…"]``.

    ``unit`` is MILLISECOND, SECOND, MINUTE, HOUR, DAY or EVENT; ``starting_at`` is the literal as
    written, read when the query is checked.
    """

    size: int
    unit: str
    sliding: bool = False
    starting_at: Constant | None = None
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class StreamDeclaration:
    """``FROM STREAM alias <iri>``."""

    alias: str
    iri: Constant
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Name:
    """A GPM's name in SEQ."""

    name: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Conjunction:
    """``A & B & …``: all at one timestamp."""

    parts: tuple[Step, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Disjunction:
    """``A | B | …``: any of them."""

    parts: tuple[Step, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Duration:
    """A number of units as written: ``5 MINUTES``; ``unit`` is in the singular."""

    size: int
    unit: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Gap:
    """``AFTER d`` and ``WITHIN d``: how long after the event before it a step may come."""

    after: Duration | None = None
    within: Duration | None = None
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class StepGroup:
    """``( A ; B )``: a sequence in parentheses that is more than a choice."""

    sequence: SequenceExpression
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Permute:
    """``PERMUTE ( A ; B ; C )``: the items in any order."""

    sequence: SequenceExpression
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Gapped:
    """A step with a gap before it."""

    body: Step
    gap: Gap
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Quantified:
    """A step with ``+``, ``*``, ``{m,n}``, ``?`` or ``!``.

    ``mark`` is that character ("{" for bounds). The parser accepts a mark in places where it has no
    meaning (inside ``&``, ``|`` or another mark) so that the check can say what to write instead.
    ``between`` is the operator in ``+[;]``, or ""; ``gap`` what stands behind it there.
    """

    body: Step
    mark: str
    minimum: int = 1
    maximum: int | None = None
    between: str = ""
    gap: Gap | None = None
    longest: bool = False
    span: Span = field(default=NOWHERE, compare=False, repr=False)


Step: TypeAlias = Name | Conjunction | Disjunction | Quantified | StepGroup | Permute | Gapped


@dataclass(frozen=True, slots=True)
class SequenceExpression:
    """Steps with the operators between them: ``len(operators) == len(steps) - 1``, each of ``, ; :``.

    ``skip_past`` is true behind ``AFTER MATCH SKIP PAST LAST EVENT``, which only SEQ itself can have.
    """

    steps: tuple[Step, ...]
    operators: tuple[str, ...]
    skip_past: bool = False
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class GpmDefinition:
    """``DEFINE GPM name ON stream { … }``."""

    name: str
    stream: str
    pattern: GroupPattern
    name_span: Span = field(default=NOWHERE, compare=False, repr=False)
    stream_span: Span = field(default=NOWHERE, compare=False, repr=False)
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class SpaseqQuery:
    """A whole SPAseq query; ``where`` keeps SEQ and DEFINE clauses in the order written."""

    form: SelectClause | Construct | Ask
    streams: tuple[StreamDeclaration, ...]
    where: tuple[SequenceExpression | GpmDefinition, ...]
    window: WindowClause | None = None
    partition: tuple[Var, ...] = ()
    prologue: Prologue = field(default_factory=Prologue)
    span: Span = field(default=NOWHERE, compare=False, repr=False)
