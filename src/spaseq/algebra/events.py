"""Event patterns: how graph events follow each other. The one algebra of timed mappings.

Every node evaluates to timed mappings ``(μ, t₁, t₂)`` (SEMANTICS part 0). The nodes are language
neutral: SPAseq's ``; , :`` and EP-SPARQL's and RSEP-QL's ``SEQ`` are one `Sequence` with different
`Contiguity`; conjunction is their equal-time join; selection policies would be further contiguities.

A tree here is a value. Lowering builds it, rewrite rules replace it, the automaton and the reference
read it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import TypeAlias

from spaseq.algebra.expressions import Expression, Var
from spaseq.algebra.patterns import Pattern, TriplePattern
from spaseq.errors import NOWHERE, Span


class Contiguity(Enum):
    """The event selection strategies (SEMANTICS 1.3, Defs 10 to 12), by their symbols."""

    STRICT = ","
    NEXT = ";"
    ANY = ":"

    @property
    def word(self) -> str:
        return {",": "strict contiguity", ";": "skip-till-next", ":": "skip-till-any"}[self.value]


# --- what one event must look like --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Condition:
    """A top-level FILTER conjunct that reads earlier steps: evaluated on ``μ₁ ∪ μ₂``.

    ``after_first`` marks a conjunct that mentions PREV: the first iteration skips it (SEMANTICS 1.5).
    """

    expression: Expression
    after_first: bool = False
    span: Span = field(default=NOWHERE, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Assignment:
    """A top-level BIND that reads earlier steps: evaluated on ``μ₁ ∪ μ₂``."""

    variable: Var
    expression: Expression
    span: Span = field(default=NOWHERE, compare=False, repr=False)


StatefulPart: TypeAlias = Condition | Assignment


@dataclass(frozen=True, slots=True)
class Gpm:
    """A graph pattern matching expression (Def 4): a pattern over one event of one stream.

    ``pattern`` is what the event alone decides. ``filters`` are the top-level FILTERs that no rule has
    placed yet; the rule `split_filters` empties it. ``stateful`` parts wait for the earlier steps.
    """

    name: str
    stream: str
    pattern: Pattern
    filters: tuple[Expression, ...] = ()
    stateful: tuple[StatefulPart, ...] = ()
    span: Span = field(default=NOWHERE, compare=False, repr=False)


# --- what happens at one instant ----------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Both:
    """Conjunction (Def 8): compatible mappings of all parts at one timestamp."""

    parts: tuple[Element, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """Disjunction (Def 9): the union of its parts."""

    parts: tuple[Element, ...]


Element: TypeAlias = Gpm | Both | Either
"""A BOp expression (Def 4): a GPM or a conjunction or disjunction of elements; one instant each."""


# --- windows ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """``WITHIN`` in microseconds; ``start`` only for TUMBLING with STARTING AT."""

    size: int
    sliding: bool = False
    start: int | None = None


@dataclass(frozen=True, slots=True)
class EventWindow:
    """``WITHIN n EVENTS``."""

    size: int
    sliding: bool = False


Window: TypeAlias = TimeWindow | EventWindow


# --- what follows what --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Once:
    """A plain step."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """Kleene plus (Defs 13 and 14) with bounds; ``between`` None follows SEMANTICS 1.5."""

    minimum: int = 1
    maximum: int | None = None
    between: Contiguity | None = None

    def operator(self, *, first_step: bool) -> Contiguity:
        """The operator between iterations; ``first_step`` when no positive step comes before."""
        if self.between is not None:
            return self.between
        return Contiguity.NEXT if first_step else Contiguity.STRICT


@dataclass(frozen=True, slots=True)
class Maybe:
    """Optional. ``guarded`` says what skipping it at the end of a match means.

    True: it must be absent until the window ends, because a negation follows. False: it stands in last
    place and may just be missing. The rule `expand_optional` decides; before it ``guarded`` is None.
    Skipped before another event, a step must always be absent.
    """

    guarded: bool | None = None


@dataclass(frozen=True, slots=True)
class Absent:
    """Negation: no match of the element in the gap between the positive neighbours."""


Quantifier: TypeAlias = Once | Repeat | Maybe | Absent


@dataclass(frozen=True, slots=True)
class Step:
    """An element, how often it occurs, and the operator before it (None in first place).

    ``within`` is the window a run waiting here must still fit in; the rule `push_window` fills it.
    """

    element: Element
    quantifier: Quantifier = Once()
    operator: Contiguity | None = None
    within: Window | None = None
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def positive(self) -> bool:
        """True if every match has an event for this step."""
        return isinstance(self.quantifier, (Once, Repeat))


@dataclass(frozen=True, slots=True)
class Sequence:
    steps: tuple[Step, ...]


# --- queries ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ProjectionItem:
    """A selected variable; ``expression`` is None for a plain one."""

    variable: Var
    expression: Expression | None = None


@dataclass(frozen=True, slots=True)
class SelectForm:
    items: tuple[ProjectionItem, ...]
    distinct: bool = False


@dataclass(frozen=True, slots=True)
class ConstructForm:
    template: tuple[TriplePattern, ...]


@dataclass(frozen=True, slots=True)
class AskForm:
    pass


Form: TypeAlias = SelectForm | ConstructForm | AskForm


@dataclass(frozen=True, slots=True)
class Stream:
    alias: str
    iri: str


@dataclass(frozen=True, slots=True)
class EventQuery:
    """A whole query over a streamset.

    ``names`` are the GPMs in the order SEQ writes them; rules may reorder the tree, never this.
    ``shared`` and ``iterated`` are filled by the rule `classify_variables`: which variables join
    across GPMs and iterations, and which belong to one repetition and are bound afresh by each
    iteration (SEMANTICS 1.5).
    """

    form: Form
    sequence: Sequence
    streams: tuple[Stream, ...]
    names: tuple[str, ...]
    window: Window | None = None
    partition: tuple[str, ...] = ()
    shared: frozenset[str] = frozenset()
    iterated: frozenset[str] = frozenset()

    @property
    def gpms(self) -> tuple[Gpm, ...]:
        """All GPMs in the order SEQ names them."""
        found = {gpm.name: gpm for step in self.sequence.steps for gpm in gpms(step.element)}
        return tuple(found[name] for name in self.names)

    def step_of(self, name: str) -> int:
        """The index of the step that a GPM stands in."""
        return next(
            index
            for index, step in enumerate(self.sequence.steps)
            if any(gpm.name == name for gpm in gpms(step.element))
        )


def gpms(element: Element) -> Iterator[Gpm]:
    """The GPMs of an element, left to right."""
    match element:
        case Gpm():
            yield element
        case Both(parts) | Either(parts):
            for part in parts:
                yield from gpms(part)


def choices(element: Element) -> tuple[tuple[Gpm, ...], ...]:
    """The disjunctive normal form: each choice is a set of GPMs that must all match at one instant.

    ``(A | B) & C`` has the choices ``(A, C)`` and ``(B, C)``. A name stands in SEQ once, so different
    choices are different matches and nothing is counted twice.
    """
    match element:
        case Gpm():
            return ((element,),)
        case Either(parts):
            return tuple(choice for part in parts for choice in choices(part))
        case Both(parts):
            result: tuple[tuple[Gpm, ...], ...] = ((),)
            for part in parts:
                result = tuple(left + right for left in result for right in choices(part))
            return result
