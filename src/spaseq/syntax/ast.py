"""The abstract syntax of SPARQL 1.1 queries and of SPAseq on top of it.

Nodes are frozen records that keep what the author wrote: groups stay groups, spans say where. Only
shorthand disappears: predicate-object lists, collections and ``[ … ]`` become triples, and relative or
prefixed names become IRIs (a `Constant` remembers its spelling). Expressions and property paths are
those of `spaseq.algebra`, shared rather than copied.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from spaseq.algebra.event_patterns import EventPattern
from spaseq.algebra.expressions import Constant, Expression, PatternNode, Term, Var
from spaseq.algebra.patterns import Relation, TriplePattern
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
    """``{ … } UNION { … } …``; a nested group alone is a union of one.

    In EP-SPARQL a chain may also join over time: then ``relations`` has an entry for every group but the first, None for UNION.
    """

    groups: tuple[GroupPattern, ...]
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    relations: tuple[Relation | None, ...] = ()


@dataclass(frozen=True, slots=True)
class GraphClause:
    """``GRAPH name { … }``; in languages with windows also ``WINDOW name { … }``."""

    name: Var | Constant
    group: GroupPattern
    span: Span = field(default=NOWHERE, compare=False, repr=False)
    window: bool = False


@dataclass(frozen=True, slots=True)
class MatchClause:
    """``MATCH { … }`` in languages with event patterns over windows; the patterns of its events are groups as written."""

    events: EventPattern
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
    | MatchClause
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
