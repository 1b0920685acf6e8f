"""Timed mappings and what justifies them: the values of the reference implementation."""

from __future__ import annotations

from dataclasses import dataclass

from spaseq.algebra.events import NO_GAP, Gap, Step
from spaseq.model.events import GraphEvent
from spaseq.reference.sparql import Solution

Path = tuple[tuple[int, int], ...]
"""The iterations that a flat step lies in, outermost first: the number of the repetition's step, and which iteration."""


@dataclass(frozen=True)
class Numbered:
    """An event with its position among all events of the streamset (semantics 1.8)."""

    event: GraphEvent
    position: int

    @property
    def time(self) -> int:
        return self.event.time


@dataclass(frozen=True)
class Taken:
    """An event taken for a GPM, with the mapping it gives."""

    gpm: str
    event: Numbered
    mapping: Solution


@dataclass(frozen=True)
class StepOccurrence:
    """A timed mapping of an element at one instant: ``(μ, τ, τ)`` and the events behind it."""

    time: int
    mapping: Solution
    taken: tuple[Taken, ...]


@dataclass(frozen=True)
class Flat:
    """A step of a flat sequence (semantics 1.11): which step, in which iterations, and how long after the last event."""

    step: Step
    path: Path = ()
    gap: Gap = NO_GAP


@dataclass(frozen=True)
class Guard:
    """A flat step that must be absent: ``kind`` is `NEGATED`, `SKIPPED` or `LONGEST`.

    ``contiguous`` is true if only the very next instant counts; ``within`` is how long a negation lasts.
    """

    flat: Flat
    kind: str
    contiguous: bool = False
    within: int | None = None


NEGATED, SKIPPED, LONGEST = "negated", "skipped", "longest"


@dataclass(frozen=True)
class Item:
    """One flat step of a match so far: where it stands, what it took, and the mapping of the match behind it."""

    path: Path
    taken: tuple[Taken, ...]
    own: Solution
    """What this step binds."""
    after: Solution


@dataclass(frozen=True)
class Run:
    """A timed mapping ``(μ, t₁, t₂)`` of a sequence, and the flat steps that it took."""

    mapping: Solution
    start: int
    last: int
    items: tuple[Item, ...] = ()

    @property
    def taken(self) -> tuple[Taken, ...]:
        """The events in the order of the flat sequence."""
        return tuple(taken for item in self.items for taken in item.taken)


def compatible(left: Solution, right: Solution) -> bool:
    """True if two mappings agree, as RDF terms, on the variables both bind."""
    return all(left[name] == right[name] for name in left.keys() & right.keys())
