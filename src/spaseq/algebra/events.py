"""Event patterns: how graph events follow each other. The one algebra of timed mappings.

Every node evaluates to timed mappings ``(μ, t₁, t₂)`` (semantics 0). The nodes are language
neutral: SPAseq's ``; , :`` and EP-SPARQL's and RSEP-QL's ``SEQ`` are one `Sequence` with different
`Contiguity`; conjunction is their equal-time join; selection policies would be further contiguities.

A tree here is a value. Lowering builds it, rewrite rules replace it, the automaton and the reference
read it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from math import prod
from typing import TypeAlias

from spaseq.algebra.expressions import Expression, Var
from spaseq.algebra.patterns import Pattern, TriplePattern
from spaseq.errors import NOWHERE, Span
from spaseq.model.forms import Stream


class Contiguity(Enum):
    """The event selection strategies (semantics 1.3, Defs 10 to 12), by their symbols."""

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

    ``after_first`` marks a conjunct that mentions PREV: the first iteration skips it (semantics 1.5).
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
class Gap:
    """How long after the last positive event before it a step may come, in microseconds (semantics 1.11)."""

    after: int = 0
    within: int | None = None


NO_GAP = Gap()


@dataclass(frozen=True, slots=True)
class Once:
    """A plain step."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """Kleene plus (Defs 13 and 14) with bounds; ``between`` None follows semantics 1.5.

    ``gap`` is the time from the end of one iteration to the start of the next. ``longest`` asks that no further
    iteration comes before the next positive event.
    """

    minimum: int = 1
    maximum: int | None = None
    between: Contiguity | None = None
    gap: Gap = NO_GAP
    longest: bool = False

    def operator(self, *, first_step: bool) -> Contiguity:
        """The operator between iterations; ``first_step`` when no positive step comes before."""
        if self.between is not None:
            return self.between
        return Contiguity.NEXT if first_step else Contiguity.STRICT


@dataclass(frozen=True, slots=True)
class Maybe:
    """Optional: a choice that is left out must be absent before the next positive event, a group need not be."""


@dataclass(frozen=True, slots=True)
class Absent:
    """Negation: no match of the element in the gap between the positive neighbours, or in the time ``within`` of it."""

    within: int | None = None


Quantifier: TypeAlias = Once | Repeat | Maybe | Absent


@dataclass(frozen=True, slots=True)
class Permute:
    """Its items in any order, with one operator throughout."""

    items: tuple[Step, ...]
    operator: Contiguity


Body: TypeAlias = "Element | Sequence | Permute"
"""What a step is made of: an element (one instant), a group, or a permutation."""


@dataclass(frozen=True, slots=True)
class Step:
    """A body, how often it occurs, the operator before it (None in first place) and the gap before its first event.

    ``number`` counts all steps, groups included, in the order of the text. ``window`` is what a run waiting here must
    still fit in; the rule `push_window` fills it.
    """

    body: Body
    quantifier: Quantifier = Once()
    operator: Contiguity | None = None
    gap: Gap = NO_GAP
    number: int = 0
    window: Window | None = None
    span: Span = field(default=NOWHERE, compare=False, repr=False)

    @property
    def is_group(self) -> bool:
        """True if it has more than one instant."""
        return isinstance(self.body, (Sequence, Permute))

    @property
    def negated(self) -> bool:
        return isinstance(self.quantifier, Absent)

    @property
    def skippable(self) -> bool:
        """True if a match may leave it out: ``?``, ``*`` and ``{0,n}``."""
        return isinstance(self.quantifier, Maybe) or (
            isinstance(self.quantifier, Repeat) and self.quantifier.minimum == 0
        )

    @property
    def positive(self) -> bool:
        """True if every match has an event for this step."""
        return not self.negated and not self.skippable

    @property
    def element(self) -> Element:
        """The body of a step that has one instant."""
        assert not isinstance(self.body, (Sequence, Permute))
        return self.body


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

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the selected variables, each once: ``SELECT ?x ?x`` selects one."""
        return tuple(dict.fromkeys(item.variable.name for item in self.items))


@dataclass(frozen=True, slots=True)
class ConstructForm:
    template: tuple[TriplePattern, ...]


@dataclass(frozen=True, slots=True)
class AskForm:
    pass


Form: TypeAlias = SelectForm | ConstructForm | AskForm


@dataclass(frozen=True, slots=True)
class EventQuery:
    """A whole query over a streamset.

    ``names`` are the GPMs in the order SEQ writes them; rules may reorder the tree, never this.
    ``shared`` and ``homes`` are filled by the rule `classify_variables`: which variables join across GPMs and
    iterations, and which belong to a repetition (given by the number of its step) whose iterations bind them
    afresh (semantics 1.5, 1.11). ``skip_past`` is AFTER MATCH SKIP PAST LAST EVENT.
    """

    form: Form
    sequence: Sequence
    streams: tuple[Stream, ...]
    names: tuple[str, ...]
    window: Window | None = None
    partition: tuple[str, ...] = ()
    shared: frozenset[str] = frozenset()
    homes: tuple[tuple[str, int], ...] = ()
    skip_past: bool = False

    @property
    def iterated(self) -> frozenset[str]:
        """The variables that the iterations of a repetition bind afresh."""
        return frozenset(name for name, _ in self.homes)

    @property
    def gpms(self) -> tuple[Gpm, ...]:
        """All GPMs in the order SEQ names them."""
        found = {gpm.name: gpm for gpm in gpms(self.sequence)}
        return tuple(found[name] for name in self.names)


def gpms(body: Body) -> Iterator[Gpm]:
    """The GPMs of an element, a group or a permutation, left to right."""
    match body:
        case Gpm():
            yield body
        case Both(parts) | Either(parts):
            for part in parts:
                yield from gpms(part)
        case Sequence(steps) | Permute(steps):
            for step in steps:
                yield from gpms(step.body)


def inner_steps(body: Body) -> tuple[Step, ...]:
    """The steps directly below a group or a permutation; none below an element."""
    match body:
        case Sequence(steps) | Permute(steps):
            return steps
        case _:
            return ()


def all_steps(body: Body) -> Iterator[Step]:
    """Every step below, groups before what they hold, in the order of the text."""
    for step in inner_steps(body):
        yield step
        yield from all_steps(step.body)


def leaves(body: Body) -> Iterator[Step]:
    """The steps of one instant each, in the order of the text."""
    return (step for step in all_steps(body) if not step.is_group)


def choice_count(element: Element) -> int:
    """How many `choices` an element has."""
    match element:
        case Gpm():
            return 1
        case Either(parts):
            return sum(map(choice_count, parts))
        case Both(parts):
            return prod(map(choice_count, parts))


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
