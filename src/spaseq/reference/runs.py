"""Timed mappings and what justifies them: the nouns of the judge."""

from __future__ import annotations

from dataclasses import dataclass

from spaseq.model.events import GraphEvent
from spaseq.reference.sparql import Solution


@dataclass(frozen=True)
class Numbered:
    """An event with its position among all events of the streamset (SEMANTICS 1.8)."""

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
class Occurrence:
    """A timed mapping of an element at one instant: ``(μ, τ, τ)`` and the events behind it."""

    time: int
    mapping: Solution
    taken: tuple[Taken, ...]


@dataclass(frozen=True)
class Iteration:
    """One iteration of a repeated step: which GPMs took part and what it binds."""

    step: int
    gpms: tuple[str, ...]
    mapping: Solution


@dataclass(frozen=True)
class Run:
    """A timed mapping ``(μ, t₁, t₂)`` of a sequence, its events, and its iterations so far."""

    mapping: Solution
    start: int
    last: int
    taken: tuple[Taken, ...] = ()
    iterations: tuple[Iteration, ...] = ()


def compatible(left: Solution, right: Solution) -> bool:
    """True if two mappings agree, as RDF terms, on the variables both bind."""
    return all(left[name] == right[name] for name in left.keys() & right.keys())
