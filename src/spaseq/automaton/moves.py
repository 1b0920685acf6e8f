"""The automaton without its ε-edges: from which step to which, and what must be absent on the way.

A run that has completed a step moves on to any step that it can reach through ε-edges. Each negated
step and each skipped optional step it passes becomes a guard of the gap (SEMANTICS 1.6): no match of it
may lie between the positive neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass

from spaseq.algebra.events import Absent, Contiguity, Maybe
from spaseq.automaton.nfa import Nfa

START = -1
"""The source of a run's first move: nothing matched yet."""


@dataclass(frozen=True, slots=True)
class Move:
    """From the completed step ``source`` (or START) to step ``target`` (or the final state).

    ``operator`` is that of the target, None at the start and at the end. ``guards`` are the steps that
    must be absent in between: from the window's start for a first move, until its end for a last one.
    """

    source: int
    target: int
    operator: Contiguity | None
    guards: tuple[int, ...]


def moves(nfa: Nfa) -> tuple[Move, ...]:
    """All moves, by source and target."""
    sources = [START, *(s.index for s in nfa.states if s.step is not None and not _absent(nfa, s.index))]
    return tuple(move for source in sources for move in moves_from(nfa, source))


def moves_from(nfa: Nfa, source: int) -> tuple[Move, ...]:
    """The moves of a run that has completed the step ``source``."""
    found: list[Move] = []
    passed: list[int] = []
    for state in nfa.states[source + 1 :]:
        if state.step is None:
            waits = tuple(index for index in passed if _guards_the_end(nfa, index))
            found.append(Move(source, state.index, None, waits))
            break
        if not _absent(nfa, state.index):
            operator = None if source == START else state.step.operator
            found.append(Move(source, state.index, operator, tuple(passed)))
        if not any(edge.is_epsilon for edge in nfa.leaving(state.index)):
            break
        passed.append(state.index)
    return tuple(found)


def _guards_the_end(nfa: Nfa, index: int) -> bool:
    """True unless the step is optional and in last place, where it may just be missing."""
    step = nfa.states[index].step
    return step is not None and step.quantifier != Maybe(guarded=False)


def _absent(nfa: Nfa, state: int) -> bool:
    step = nfa.states[state].step
    return step is not None and isinstance(step.quantifier, Absent)
