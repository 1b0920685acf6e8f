"""The abstract syntax of SPARQL 1.1 queries and of SPAseq on top of it.

Nodes are frozen records that keep what the author wrote: groups stay groups, spans say where. Only
shorthand disappears: predicate-object lists, collections and ``[ … ]`` become triples, and relative or
prefixed names become IRIs (a `Constant` remembers its spelling). Expressions and property paths are
those of `spaseq.algebra`, shared rather than copied.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from spaseq.algebra.expressions import Constant, Expression, PatternNode, Term, Var
from spaseq.algebra.patterns import TriplePattern
from spaseq.errors import NOWHERE, Span

# --- SPARQL: prologue and groups ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PrefixDeclaration:
    """``PREFIX name: <iri>``; ``name`` is without the colon, ``iri`` is resolved against the base."""

    name: str
    iri: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class BaseDeclaration:
    iri: str
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Prologue:
    declarations: tuple[BaseDeclaration | PrefixDeclaration, ...] = ()
    used_prefixes: frozenset[str] = field(default=frozenset(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Triples:
    """Adjacent triple patterns; one part of a basic graph pattern."""

    triples: tuple[TriplePattern, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class FilterClause:
    condition: Expression
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class BindClause:
    expression: Expression
    variable: Var
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class OptionalClause:
    group: GroupPattern
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class MinusClause:
    group: GroupPattern
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class UnionClause:
    """``{ … } UNION { … } …``; a nested group alone is a union of one."""

    groups: tuple[GroupPattern, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class GraphClause:
    name: Var | Constant
    group: GroupPattern
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ServiceClause:
    """``SERVICE``: part of the grammar; no engine here contacts other machines, so lowering refuses it."""

    name: Var | Constant
    group: GroupPattern
    silent: bool = False
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ValuesClause:
    """Inline data; None in a row is UNDEF."""

    variables: tuple[Var, ...]
    rows: tuple[tuple[Term | None, ...], ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


GroupElement: TypeAlias = (
    Triples
    | FilterClause
    | BindClause
    | OptionalClause
    | MinusClause
    | UnionClause
    | GraphClause
    | ServiceClause
    | ValuesClause
)


@dataclass(frozen=True, slots=True)
class Group(PatternNode):
    """``{ … }`` with its elements in order; adjacent triples are one `Triples` element."""

    elements: tuple[GroupElement, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class SubSelect(PatternNode):
    """``{ SELECT … }`` as a group."""

    query: SelectQuery
    span: Span = field(default=NOWHERE, compare=False, repr=False)


GroupPattern: TypeAlias = Group | SubSelect

# --- SPARQL: queries ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SelectItem:
    """``?v`` (expression None) or ``(expression AS ?v)``."""

    variable: Var
    expression: Expression | None = None
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class SelectClause:
    """``items`` is None for ``*``; ``modifier`` is "", "DISTINCT" or "REDUCED"."""

    items: tuple[SelectItem, ...] | None
    modifier: str = ""
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class GroupKey:
    """One GROUP BY condition; ``variable`` is the name after AS, if any."""

    expression: Expression
    variable: Var | None = None


@dataclass(frozen=True, slots=True)
class OrderCondition:
    expression: Expression
    descending: bool = False


@dataclass(frozen=True, slots=True)
class Modifiers:
    """Solution modifiers, and the trailing VALUES of a query."""

    group_by: tuple[GroupKey, ...] = ()
    having: tuple[Expression, ...] = ()
    order_by: tuple[OrderCondition, ...] = ()
    limit: int | None = None
    offset: int | None = None
    values: ValuesClause | None = None


@dataclass(frozen=True, slots=True)
class DatasetClause:
    iri: Constant
    named: bool = False


@dataclass(frozen=True, slots=True)
class SelectQuery:
    select: SelectClause
    where: GroupPattern
    modifiers: Modifiers = Modifiers()
    datasets: tuple[DatasetClause, ...] = ()
    prologue: Prologue = Prologue()
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class AskQuery:
    where: GroupPattern
    modifiers: Modifiers = Modifiers()
    datasets: tuple[DatasetClause, ...] = ()
    prologue: Prologue = Prologue()
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ConstructQuery:
    """``template`` is None for the short form ``CONSTRUCT WHERE { … }``."""

    template: tuple[TriplePattern, ...] | None
    where: GroupPattern
    modifiers: Modifiers = Modifiers()
    datasets: tuple[DatasetClause, ...] = ()
    prologue: Prologue = Prologue()
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class DescribeQuery:
    """``resources`` is None for ``*``."""

    resources: tuple[Var | Constant, ...] | None
    where: GroupPattern | None
    modifiers: Modifiers = Modifiers()
    datasets: tuple[DatasetClause, ...] = ()
    prologue: Prologue = Prologue()
    span: Span = field(default=NOWHERE, compare=False, repr=False)


SparqlQuery: TypeAlias = SelectQuery | AskQuery | ConstructQuery | DescribeQuery

# --- SPAseq -------------------------------------------------------------------------------------


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
    prologue: Prologue = Prologue()
    span: Span = field(default=NOWHERE, compare=False, repr=False)
