"""Solutions with an interval, and what they are found in (semantics 2.2 and 2.3).

Each solution carries the occurrences that take part in some derivation of it: a policy consumes those (semantics 2.9).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import inf
from typing import NamedTuple, TypeAlias

from pyoxigraph import Triple

from spaseq.algebra.expressions import Term
from spaseq.algebra.intervals import Policy

Interval: TypeAlias = tuple[int, int] | None
"""The first and the last instant; None without time."""


class Occurrence(NamedTuple):
    """A triple that holds from ``start`` to ``end``."""

    triple: Triple
    start: int
    end: int


class Timed(NamedTuple):
    """A solution ``(μ, I)``."""

    mapping: frozenset[tuple[str, Term]]
    interval: Interval

    @property
    def end(self) -> float:
        """The last instant; a solution without time ends before all instants."""
        return -inf if self.interval is None else self.interval[1]


Found: TypeAlias = dict[Timed, frozenset[Occurrence]]
"""Solutions, each with the occurrences of all its derivations."""


@dataclass(frozen=True)
class TimedData:
    """What patterns are evaluated over; ``seed`` is the solution that an EXISTS is tested for.

    ``terms`` are those of the registered graphs, which a path without edges may relate to themselves; what rules add to the
    background is not among them, since no rule would then be sure to read it.
    """

    occurrences: frozenset[Occurrence] = frozenset()
    background: frozenset[Triple] = frozenset()
    terms: frozenset[Term] = frozenset()
    graphs: Mapping[str, frozenset[Triple]] = field(default_factory=dict)
    policy: Policy = Policy.UNRESTRICTED
    seed: Mapping[str, Term] = field(default_factory=dict)

    def facts(self) -> Iterator[tuple[tuple[Term, Term, Term], Interval, frozenset[Occurrence]]]:
        """Triples with and without time; one that is both is there twice."""
        for occurrence in self.occurrences:
            when = (occurrence.start, occurrence.end)
            yield terms(occurrence.triple), when, frozenset((occurrence,))
        yield from ((terms(triple), None, frozenset()) for triple in self.background)


def terms(triple: Triple) -> tuple[Term, Term, Term]:
    """Subject, predicate and object."""
    assert not isinstance(triple.subject, Triple)
    assert not isinstance(triple.object, Triple)
    return triple.subject, triple.predicate, triple.object


def ends_of(triples: Iterable[Triple]) -> frozenset[Term]:
    """All subjects and objects."""
    return frozenset(term for triple in triples for term in terms(triple)[::2])


def hull(first: Interval, second: Interval) -> Interval:
    """``I₁ ⊔ I₂``: from the earlier start to the later end of those that exist."""
    if first is None or second is None:
        return first or second
    return min(first[0], second[0]), max(first[1], second[1])


def combined(left: Timed, right: Timed) -> Timed | None:
    """``(μ₁ ∪ μ₂, I₁ ⊔ I₂)``, or None if they are not compatible."""
    own = dict(left.mapping)
    if any(own.get(name, term) != term for name, term in right.mapping):
        return None
    return Timed(left.mapping | right.mapping, hull(left.interval, right.interval))


def merged(items: Iterable[tuple[Timed, frozenset[Occurrence]]]) -> Found:
    """A set: equal solutions are one, with the occurrences of both."""
    found: Found = {}
    for solution, used in items:
        found[solution] = found.get(solution, frozenset()) | used
    return found


def joined(left: Found, right: Found) -> Found:
    """The combinations of all compatible pairs."""
    return merged(
        (both, used | more)
        for first, used in left.items()
        for second, more in right.items()
        if (both := combined(first, second)) is not None
    )
