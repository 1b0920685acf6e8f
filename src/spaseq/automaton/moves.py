"""The automaton without its ε edges: what a run that has just taken an event may do next.

A run goes on from the state behind its last event through ε edges to a take edge, or to the final state. On the way it
collects what must be absent, which repetitions begin or go round, and how many iterations that needs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from spaseq.algebra.events import Contiguity, Step
from spaseq.automaton.graph import Automaton, Bound, Edge, EdgeKind, Entry, Reason
from spaseq.settings import settings

START = 0
"""The initial state: nothing was taken yet."""


@dataclass(frozen=True, slots=True)
class Context:
    """The iterations in which something is matched: repetitions that began on the way, and the one that goes round."""

    begins: tuple[int, ...] = ()
    again: int | None = None

    def passed(self, edge: Edge) -> Context:
        """The context behind an edge."""
        again = edge.again if edge.again is not None else self.again
        return Context((*self.begins, *edge.begins), again)


@dataclass(frozen=True, slots=True)
class Absence:
    """A step that must be absent between the last event and the next one, or until the end."""

    step: Step
    reason: Reason
    context: Context
    entry: Entry
    within: int | None
    strict: bool


@dataclass(frozen=True, slots=True)
class Move:
    """From the state behind an event to the next event, or (``step`` None) to the end of the sequence."""

    source: int
    target: int
    step: Step | None
    entry: Entry
    context: Context
    bounds: tuple[Bound, ...] = ()
    absences: tuple[Absence, ...] = ()

    @property
    def operator(self) -> Contiguity | None:
        """None for the first event and for the end."""
        return None if self.source == START or self.step is None else self.entry.operator


class TooManyWays(Exception):
    """An automaton has more moves, with what must be absent on them, than `max_moves` allows."""


def moves(automaton: Automaton) -> tuple[Move, ...]:
    """All moves, by source."""
    paths = _Paths(automaton)
    behind = {edge.target for edge in automaton.edges if edge.kind is EdgeKind.TAKE}
    found: list[Move] = []
    room = settings().max_moves + len(automaton.edges)
    for state in sorted({START, *behind}):
        for move in paths.follow(Move(state, state, None, Entry(), Context())):
            found.append(move)
            room -= 1 + len(move.absences)
            if room < 0:
                raise TooManyWays
    return tuple(found)


class _Paths:
    """The ways through ε edges."""

    def __init__(self, automaton: Automaton) -> None:
        self._automaton = automaton
        self._leaving: dict[int, list[int]] = {}
        self._guards: dict[int, list[Edge]] = {}
        for number, edge in enumerate(automaton.edges):
            self._leaving.setdefault(edge.source, []).append(number)
            if edge.kind is EdgeKind.GUARD:
                self._guards.setdefault(edge.beside, []).append(edge)

    def follow(self, first: Move) -> Iterator[Move]:
        """All moves that begin like this one, depth first; a sequence may be longer than Python's stack."""
        if first.target == self._automaton.final:
            yield _ended(first)
        waiting = [(first, iter(self._leaving.get(first.target, ())))]
        while waiting:
            so_far, numbers = waiting[-1]
            number = next(numbers, None)
            if number is None:
                waiting.pop()
                continue
            edge = self._automaton.edges[number]
            if edge.kind is EdgeKind.TAKE:
                yield replace(_passed(so_far, edge), step=edge.step)
            elif edge.kind is EdgeKind.EPSILON:
                passed = _passed(so_far, edge)
                found = tuple(_absence(guard, so_far.context) for guard in self._guards.get(number, ()))
                passed = replace(passed, absences=(*passed.absences, *found))
                if passed.target == self._automaton.final:
                    yield _ended(passed)
                waiting.append((passed, iter(self._leaving.get(passed.target, ()))))


def _ended(move: Move) -> Move:
    """A move to the end: a step left out with no positive step behind it is not missed."""
    return replace(move, absences=tuple(a for a in move.absences if a.reason is not Reason.SKIPPED))


def _passed(so_far: Move, edge: Edge) -> Move:
    return replace(
        so_far,
        target=edge.target,
        entry=so_far.entry if edge.entry is None else edge.entry,
        context=so_far.context.passed(edge),
        bounds=(*so_far.bounds, *edge.bounds),
    )


def _absence(guard: Edge, context: Context) -> Absence:
    assert guard.step is not None
    assert guard.reason is not None
    assert guard.entry is not None
    return Absence(guard.step, guard.reason, context.passed(guard), guard.entry, guard.within, guard.strict)


def is_strict(automaton: Automaton) -> bool:
    """True if ``,`` applies somewhere: events that match nothing then matter."""
    found = moves(automaton)
    return any(move.operator is Contiguity.STRICT for move in found) or any(
        absence.strict for move in found for absence in move.absences
    )
