"""NFAscep (Definition 17): the automaton that is drawn, and the one that runs.

States lie before and behind the events that a run takes. A *take* edge takes an event; an *ε* edge passes without one; a
*guard* edge stands beside an ε edge and names what must not occur where a run passes there (negation, a step that is left
out, a further iteration of LONGEST); a *skip* edge lets any event pass. Edges say what passing them does: which
repetitions begin, which one goes round once more, how many iterations that needs, which operator and which gap the
next event has. Nothing else knows how steps are connected.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from spaseq.algebra.events import NO_GAP, Contiguity, Gap, Step, gpms

EMPTY = "∅"


class EdgeKind(Enum):
    """What an edge is for."""

    TAKE = "take"
    GUARD = "guard"
    SKIP = "skip"
    EPSILON = "ε"


class Reason(Enum):
    """Why something must be absent."""

    NEGATED = "!"
    SKIPPED = "?"
    LONGEST = "LONGEST"


@dataclass(frozen=True, slots=True)
class Entry:
    """What the next event is joined with: the operator before it and its gap; ``operator`` None at the start."""

    operator: Contiguity | None = None
    gap: Gap = NO_GAP


@dataclass(frozen=True, slots=True)
class Bound:
    """A run passes only with this many iterations of a repetition: at least ``low`` and less than ``high``."""

    repetition: int
    low: int = 0
    high: int | None = None


@dataclass(frozen=True, slots=True)
class Edge:
    """From a state to a state.

    ``step`` is what a take edge takes, or what a guard edge forbids. ``entry`` is None where the operator was decided on the
    way. ``begins`` are repetitions whose first iteration starts here, ``again`` the one whose next iteration does. A guard
    stands beside the ε edge ``beside``; ``within`` is how long a negation lasts, ``strict`` that only the very next instant
    counts.
    """

    kind: EdgeKind
    source: int
    target: int
    step: Step | None = None
    entry: Entry | None = None
    begins: tuple[int, ...] = ()
    again: int | None = None
    bounds: tuple[Bound, ...] = ()
    reason: Reason | None = None
    beside: int = -1
    within: int | None = None
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Automaton:
    """States are numbered from 0, the initial one; the last one is final."""

    size: int
    edges: tuple[Edge, ...]
    streams: tuple[tuple[str, str], ...]
    """The streams of the query: IRI and alias."""

    @property
    def final(self) -> int:
        return self.size - 1

    def name(self, state: int) -> str:
        """``x0``, ``x1`` … and ``xf``."""
        return "xf" if state == self.final else f"x{state}"

    def label(self, edge: Edge) -> str:
        """What stands on an edge: ``(S1 ; A)``, ``ε``, and what passing it does."""
        text = "ε" if edge.kind is EdgeKind.EPSILON else self._predicate(edge)
        return " ".join((text, *_notes(edge)))

    def _predicate(self, edge: Edge) -> str:
        """``(U, op, P)``: streams, operator, pattern."""
        if edge.step is None:
            operator = edge.entry.operator if edge.entry is not None else None
            return f"({','.join(alias for _, alias in self.streams)} {_symbol(operator)} {EMPTY})"
        aliases = dict(self.streams)
        used = dict.fromkeys(aliases[gpm.stream] for gpm in gpms(edge.step.body))
        if edge.kind is EdgeKind.GUARD:
            symbol = "!"
        else:
            symbol = _symbol(edge.entry.operator if edge.entry is not None else None)
        return f"({','.join(used)} {symbol} {element_text(edge.step)})"

    def __str__(self) -> str:
        """One edge a line, as ``x0 -(S1 ∅ A)-> x1``; the form that golden tests and explain use."""
        return "\n".join(
            f"{self.name(edge.source)} -{self.label(edge)}-> {self.name(edge.target)}" for edge in self.edges
        )


def _symbol(operator: Contiguity | None) -> str:
    return EMPTY if operator is None else operator.value


def _notes(edge: Edge) -> list[str]:
    """The conditions and effects of an edge in words."""
    notes = []
    entry = edge.entry
    if edge.kind is EdgeKind.EPSILON and entry is not None and entry.operator is not None:
        notes.append(entry.operator.value)
    if entry is not None:
        notes += gap_words(entry.gap)
    if edge.within is not None:
        notes.append(f"within {duration_text(edge.within)}")
    notes += [f"[{text}]" for text in map(bound_text, edge.bounds) if text]
    if edge.again is not None:
        notes.append("↺")
    return notes


def gap_words(gap: Gap) -> list[str]:
    """A gap as a query writes it, in small letters."""
    words = [f"after {duration_text(gap.after)}"] if gap.after else []
    return words + ([f"within {duration_text(gap.within)}"] if gap.within is not None else [])


def bound_text(bound: Bound) -> str:
    """A condition on the number of iterations."""
    parts = [f"n ≥ {bound.low}"] if bound.low > 1 else []
    return ", ".join(parts + ([f"n < {bound.high}"] if bound.high is not None else []))


def duration_text(length: int) -> str:
    """A duration in its largest whole unit.

    >>> duration_text(300_000_000), duration_text(1_500_000)
    ('5 min', '1500 ms')
    """
    units = (
        (86_400_000_000, "d"),
        (3_600_000_000, "h"),
        (60_000_000, "min"),
        (1_000_000, "s"),
        (1_000, "ms"),
    )
    for size, unit in units:
        if length % size == 0:
            return f"{length // size} {unit}"
    return f"{length} µs"


def element_text(step: Step) -> str:
    """The GPMs of a step of one instant, as SEQ writes them."""
    return _element(step.element)


def _element(element: object) -> str:
    from spaseq.algebra.events import Both, Either, Gpm

    match element:
        case Gpm(name):
            return name
        case Both(parts):
            return "&".join(f"({_element(p)})" if isinstance(p, Either) else _element(p) for p in parts)
        case Either(parts):
            return "|".join(_element(part) for part in parts)
        case _:
            raise AssertionError(element)
