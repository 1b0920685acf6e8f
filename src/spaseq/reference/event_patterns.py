"""Event patterns over the contents of windows, clause by clause (semantics 4.2 to 4.5 and 4.8)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf
from typing import NamedTuple, TypeAlias, assert_never

from pyoxigraph import Triple

from spaseq.algebra.event_patterns import (
    DeclaredEvent,
    EventDuring,
    EventPattern,
    EventSeq,
    FirstOf,
    LastOf,
    Selected,
    declared_events,
)
from spaseq.algebra.expressions import Constant, Term, Var
from spaseq.algebra.patterns import Bgp, Filter, Pattern, Project, TriplePattern
from spaseq.algebra.scope import in_scope, lowered, triple_variables
from spaseq.algebra.visibility import event_triples
from spaseq.model.events import GraphEvent
from spaseq.reference.contents import Held
from spaseq.reference.sparql import Knowledge, Solution, solutions

Mapped: TypeAlias = frozenset[tuple[str, Term]]
NOTHING: Mapped = frozenset()


class Timed(NamedTuple):
    """``(μ, t₁, t₂)``."""

    mapping: Mapped
    start: int
    end: int

    def precedes(self, other: Timed) -> bool:
        """``(t₁,t₂) ≺ (t₃,t₄)`` iff ``t₂ < t₃``."""
        return self.end < other.start


class Part(NamedTuple):
    """An event that a solution is made of: the name it was taken for, its window, its number in the input."""

    time: int
    number: int
    name: str
    window: str


class Used(NamedTuple):
    """A triple occurrence in a window: one event's own triple."""

    window: str
    number: int
    triple: Triple


class Made(NamedTuple):
    """What a solution is made of: the events of the first way to make it, the triples of all ways."""

    parts: tuple[Part, ...] = ()
    used: frozenset[Used] = frozenset()

    def with_(self, other: Made) -> Made:
        """Of a solution that is made of two, in the order written."""
        return Made(self.parts + other.parts, self.used | other.used)

    def or_(self, other: Made) -> Made:
        """Of a solution that can be made in two ways."""
        return Made(min(self.parts, other.parts), self.used | other.used)


Found: TypeAlias = dict[Timed, Made]
"""A set of timed mappings, each with what it is made of."""


@dataclass(frozen=True)
class WindowContents:
    """What an event pattern is evaluated over at an evaluation.

    ``held`` are the events of each window; ``numbers`` are those of all events by identity; ``gone`` are the occurrences that earlier
    evaluations used. ``grounded`` makes a pattern one of plain SPARQL.
    """

    held: Mapping[str, Held]
    knowledge: Knowledge
    numbers: Mapping[int, int]
    gone: frozenset[Used]
    grounded: Callable[[Pattern], Pattern]

    def graph(self, window: str, event: GraphEvent) -> frozenset[Triple]:
        """The triples of an event that nothing has consumed."""
        number = self.numbers[id(event)]
        return frozenset(triple for triple in event.triples if Used(window, number, triple) not in self.gone)


def matched(pattern: EventPattern, contents: WindowContents) -> Found:
    """``⟪E⟫`` at the top: no bound, no substitution."""
    events = tuple(declared_events(pattern))
    return evaluate(pattern, contents, events, inf, NOTHING)


def evaluate(
    pattern: EventPattern, contents: WindowContents, events: tuple[DeclaredEvent, ...], b: float, nu: Mapped
) -> Found:
    """``⟪E⟫`` with only events before ``b``, compatible with ``ν``; ``events`` are all those of the MATCH."""

    def within(part: EventPattern, b: float = b, nu: Mapped = nu) -> Found:
        return evaluate(part, contents, events, b, nu)

    match pattern:
        case DeclaredEvent():
            return _merged(_single(pattern, contents, b, nu))
        case FirstOf(operand):
            return first_of(within(operand))
        case LastOf(operand):
            return last_of(within(operand))
        case EventDuring(left, right):
            return _merged(
                (Timed(one.mapping | two.mapping, two.start, two.end), made.with_(more))
                for one, made in within(left).items()
                for two, more in within(right).items()
                if compatible(one.mapping, two.mapping) and two.start < one.start and one.end < two.end
            )
        case EventSeq():
            return _sequence(pattern, contents, events, b, nu)
        case _:
            assert_never(pattern)


def _single(
    event: DeclaredEvent, contents: WindowContents, b: float, nu: Mapped
) -> Iterator[tuple[Timed, Made]]:
    """``EVENT w P``: every solution of ``P`` over each event's graph alone."""
    pattern = lowered(event.pattern)
    for held in contents.held[event.window]:
        if held.time < b:
            triples = contents.graph(event.window, held)
            number = contents.numbers[id(held)]
            made = (Part(held.time, number, event.name, event.window),)
            found = solutions(contents.grounded(pattern), triples, contents.knowledge)
            for mapping in (frozenset(solution.items()) for solution in found):
                if compatible(mapping, nu):
                    own = frozenset(
                        Used(event.window, number, triple) for triple in used(pattern, mapping, triples)
                    )
                    start = held.time if held.start is None else held.start
                    yield Timed(mapping, start, held.time), Made(made, own)


def _sequence(
    seq: EventSeq, contents: WindowContents, events: tuple[DeclaredEvent, ...], b: float, nu: Mapped
) -> Found:
    """``E1 SEQ E2`` and ``E1 SEQ NOT E3 SEQ E2`` under every policy."""
    right = evaluate(seq.right, contents, events, b, nu)
    if seq.selected is Selected.NAIVE:
        lasts = last_of(evaluate(seq.left, contents, events, b, nu))
        partners = {
            two: {
                one: made
                for one, made in lasts.items()
                if compatible(one.mapping, two.mapping) and one.precedes(two)
            }
            for two in last_of(right)
        }
    else:
        partners = {
            two: evaluate(seq.left, contents, events, min(b, two.start), joined(nu, two.mapping))
            for two in right
        }
    if seq.absent is not None:
        absent = evaluate(seq.absent, contents, events, b, nu)
        partners = {
            two: {one: made for one, made in own.items() if not interrupted(one, two, absent)}
            for two, own in partners.items()
        }
    return _merged(
        (Timed(joined(one.mapping, two.mapping), one.start, two.end), made.with_(right[two]))
        for two, own in partners.items()
        for one, made in own.items()
        if _selected(seq, one, two, partners, contents, events)
    )


def _selected(
    seq: EventSeq,
    one: Timed,
    two: Timed,
    partners: Mapping[Timed, Found],
    contents: WindowContents,
    events: tuple[DeclaredEvent, ...],
) -> bool:
    """Whether a policy takes a pair; ``partners`` are all solutions of E2, each with its own (4.3)."""
    match seq.selected:
        case Selected.ANY | Selected.NAIVE:
            return True
        case Selected.CHRONOLOGICAL:
            earlier = (
                t for t, own in partners.items() if own and t.mapping == two.mapping and t.precedes(two)
            )
            return not any(True for _ in earlier) and one in first_of(partners[two])
        case Selected.RECENT:
            later = (t for t, own in partners.items() if own and t.mapping == two.mapping and two.precedes(t))
            return not any(True for _ in later) and one in last_of(partners[two])
        case Selected.NEXT:
            return not any(
                one.end < t.start < two.start and compatible(one.mapping, t.mapping) for t in partners
            )
        case Selected.STRICT:
            return not any(one.end < t < two.start for t in _times(contents, events))
        case Selected.PARTITION:
            assert seq.key is not None
            key = dict(joined(one.mapping, two.mapping)).get(seq.key.name)
            return not any(one.end < t < two.start for t in _times(contents, events, (seq.key.name, key)))
        case _:
            assert_never(seq.selected)


def interrupted(one: Timed, two: Timed, absent: Iterable[Timed]) -> bool:
    """Whether a solution of E3, compatible with both, lies strictly between them."""
    both = joined(one.mapping, two.mapping)
    return any(
        compatible(three.mapping, both) and one.end < three.start and three.end < two.start
        for three in absent
    )


def first_of(found: Found) -> Found:
    """Those that no other precedes."""
    return {one: made for one, made in found.items() if not any(other.precedes(one) for other in found)}


def last_of(found: Found) -> Found:
    """Those that precede no other."""
    return {one: made for one, made in found.items() if not any(one.precedes(other) for other in found)}


# --- events between two others (4.3) ------------------------------------------------------------


def _times(
    contents: WindowContents, events: tuple[DeclaredEvent, ...], key: tuple[str, Term | None] | None = None
) -> Iterator[int]:
    """The timestamps of the events, consumed or not, in the windows of a MATCH; with a ``key`` of those that have it."""
    for window in {event.window for event in events}:
        own = [event for event in events if event.window == window]
        for held in contents.held[window]:
            if key is None or key[1] in keys_of(own, held, key[0]):
                yield held.time


def keys_of(events: Iterable[DeclaredEvent], held: GraphEvent, name: str) -> set[Term]:
    """The values of a variable in the triple patterns on a window that match a triple of the event (1.9)."""
    patterns = [lowered(event.pattern) for event in events]
    triples = (
        triple
        for pattern in patterns
        if name in in_scope(pattern)
        for triple in event_triples(pattern)
        if name in triple_variables(triple)
    )
    mappings = (fitted(triple, own, {}) for triple in triples for own in held.triples)
    return {mapping[name] for mapping in mappings if mapping is not None}


# --- consumption (4.5) --------------------------------------------------------------------------


def used(pattern: Pattern, mapping: Mapped, triples: Iterable[Triple]) -> set[Triple]:
    """``μ(p)`` for the triple patterns ``p`` of an EVENT; a blank node in them stands for all that it can be."""
    match pattern:
        case Filter(inner, _) | Project(inner, _):
            return used(inner, mapping, triples)
        case Bgp(patterns):
            ways = _ways([each for each in patterns if not each.is_path], dict(mapping), frozenset(triples))
            return {triple for way in ways for triple in way}
        case _:
            return set()


def _ways(
    patterns: list[TriplePattern], mapping: Solution, triples: frozenset[Triple]
) -> Iterator[tuple[Triple, ...]]:
    if not patterns:
        yield ()
        return
    for triple in triples:
        more = fitted(patterns[0], triple, mapping)
        if more is not None:
            yield from ((triple, *rest) for rest in _ways(patterns[1:], more, triples))


def fitted(pattern: TriplePattern, triple: Triple, mapping: Solution) -> Solution | None:
    """The mapping extended so that it makes the triple of the pattern; None if it cannot."""
    found = dict(mapping)
    for node, term in zip((pattern.subject, pattern.predicate, pattern.object), triple, strict=True):
        match node:
            case Constant(constant) if constant != term:
                return None
            case Var(name) if found.setdefault(name, term) != term:
                return None
    return found


# --- mappings -----------------------------------------------------------------------------------


def compatible(one: Mapped, two: Mapped) -> bool:
    """Whether two mappings agree, as RDF terms, on the variables that both bind."""
    known = dict(one)
    return all(known.get(name, term) == term for name, term in two)


def joined(one: Mapped, two: Mapped) -> Mapped:
    """``μ₁ ∪ μ₂``."""
    return one | two


def _merged(items: Iterable[tuple[Timed, Made]]) -> Found:
    """A set: equal ones are one, made of what both are made of."""
    found: Found = {}
    for timed, made in items:
        found[timed] = found[timed].or_(made) if timed in found else made
    return found
