"""Graph patterns as SPARQL 1.1 algebra (section 18.2 of the recommendation), plus property paths.

A pattern evaluates to solution mappings over one graph. How events follow each other is another
matter: `spaseq.algebra.events`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias, assert_never

from spaseq.algebra.event_patterns import EventPattern
from spaseq.algebra.expressions import Constant, Expression, PatternNode, Term, Var
from spaseq.errors import NOWHERE, Span

Node: TypeAlias = Var | Constant
"""A subject or object of a triple pattern."""


# --- property paths -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Link:
    """One predicate, as a path."""

    iri: Constant


@dataclass(frozen=True, slots=True)
class Inverse:
    path: Path


@dataclass(frozen=True, slots=True)
class PathSequence:
    parts: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class PathAlternative:
    parts: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class PathRepeat:
    """``path*`` (0, unbounded), ``path+`` (1, unbounded) or ``path?`` (0, at most one)."""

    path: Path
    op: str


@dataclass(frozen=True, slots=True)
class NegatedSet:
    """``!(a | ^b)``: any predicate but these, forward and backward."""

    forward: tuple[Constant, ...]
    backward: tuple[Constant, ...]


Path: TypeAlias = Link | Inverse | PathSequence | PathAlternative | PathRepeat | NegatedSet


def may_be_empty(path: Path) -> bool:
    """True if the path has a match without any edge, which relates a term to itself."""
    match path:
        case PathRepeat(inner, op):
            return op != "+" or may_be_empty(inner)
        case PathSequence(parts):
            return all(map(may_be_empty, parts))
        case PathAlternative(parts):
            return any(map(may_be_empty, parts))
        case Inverse(inner):
            return may_be_empty(inner)
        case Link() | NegatedSet():
            return False
        case _:
            assert_never(path)


@dataclass(frozen=True, slots=True)
class TriplePattern:
    """A triple pattern; the predicate may be a property path."""

    subject: Node
    predicate: Var | Constant | Path
    object: Node
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def is_path(self) -> bool:
        return not isinstance(self.predicate, (Var, Constant))


# --- patterns -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bgp(PatternNode):
    """A basic graph pattern; with no triples, the pattern with one empty solution."""

    triples: tuple[TriplePattern, ...]


@dataclass(frozen=True, slots=True)
class Join(PatternNode):
    left: Pattern
    right: Pattern


@dataclass(frozen=True, slots=True)
class LeftJoin(PatternNode):
    """OPTIONAL; ``condition`` is the conjunction of the optional group's own filters, or None."""

    left: Pattern
    right: Pattern
    condition: Expression | None = None


@dataclass(frozen=True, slots=True)
class Union(PatternNode):
    left: Pattern
    right: Pattern


@dataclass(frozen=True, slots=True)
class Minus(PatternNode):
    left: Pattern
    right: Pattern


@dataclass(frozen=True, slots=True)
class Filter(PatternNode):
    pattern: Pattern
    condition: Expression


@dataclass(frozen=True, slots=True)
class Extend(PatternNode):
    """BIND, and the expressions of a SELECT clause."""

    pattern: Pattern
    variable: Var
    expression: Expression


@dataclass(frozen=True, slots=True)
class Values(PatternNode):
    """Inline data; None in a row is UNDEF."""

    variables: tuple[Var, ...]
    rows: tuple[tuple[Term | None, ...], ...]


@dataclass(frozen=True, slots=True)
class Graph(PatternNode):
    """``GRAPH name { … }``: in SPAseq, over the background knowledge registered under that name."""

    name: Node
    pattern: Pattern


@dataclass(frozen=True, slots=True)
class Group(PatternNode):
    """GROUP BY and aggregation: one solution per group, aggregates bound to variables.

    ``keys`` are (variable, expression); ``aggregates`` are (variable, `Aggregate`).
    """

    pattern: Pattern
    keys: tuple[tuple[Var, Expression], ...]
    aggregates: tuple[tuple[Var, Expression], ...]


@dataclass(frozen=True, slots=True)
class OrderKey:
    expression: Expression
    descending: bool = False
    exact: bool = False
    """Whether terms of equal value, such as `1` and `01`, come in the order of their N-Triples texts; no query writes that."""


@dataclass(frozen=True, slots=True)
class OrderBy(PatternNode):
    pattern: Pattern
    keys: tuple[OrderKey, ...]


@dataclass(frozen=True, slots=True)
class Project(PatternNode):
    pattern: Pattern
    variables: tuple[Var, ...]


@dataclass(frozen=True, slots=True)
class Distinct(PatternNode):
    """DISTINCT, or REDUCED (which may keep duplicates, and here does not)."""

    pattern: Pattern
    reduced: bool = False


@dataclass(frozen=True, slots=True)
class Slice(PatternNode):
    pattern: Pattern
    offset: int = 0
    limit: int | None = None


class Relation(Enum):
    """How the intervals of two solutions must lie for `IntervalJoin`, and which side may be missing (semantics 2.3)."""

    SEQ = "SEQ"
    EQUALS = "EQUALS"
    OPTIONALSEQ = "OPTIONALSEQ"
    """The left side is optional."""
    EQUALSOPTIONAL = "EQUALSOPTIONAL"
    """The right side is optional."""


@dataclass(frozen=True, slots=True)
class IntervalJoin(PatternNode):
    """A join over time, which only EP-SPARQL has; ``condition`` are the own filters of an optional side, or None."""

    left: Pattern
    right: Pattern
    relation: Relation
    condition: Expression | None = None


@dataclass(frozen=True, slots=True)
class EventMatch(PatternNode):
    """``MATCH { … }``: the solutions of an event pattern over windows, which only RSEP-QL has; it reads no active graph."""

    events: EventPattern


Pattern: TypeAlias = (
    Bgp
    | Join
    | LeftJoin
    | Union
    | Minus
    | Filter
    | Extend
    | Values
    | Graph
    | Group
    | OrderBy
    | Project
    | Distinct
    | Slice
    | IntervalJoin
    | EventMatch
)
