"""A GPM, a conjunction or a disjunction: the forward edges of one step (figures 4, 8, 9, 13 and 14).

A GPM gives one edge. A disjunction gives one edge per side, a conjunction one per GPM, all to the same
state; edges of one conjunction share a choice and must all match at one instant.
"""

from __future__ import annotations

from spaseq.algebra.events import Contiguity, Step, choices
from spaseq.automaton.fragments.place import Place
from spaseq.automaton.nfa import Edge, Predicate


def forward_edges(step: Step, place: Place, mark: str = "") -> list[Edge]:
    """The edges that take the step's events; ``mark`` is the quantifier's symbol, if any."""
    alternatives = choices(step.element)
    edges = []
    for number, choice in enumerate(alternatives):
        joined = "&" if len(choice) > 1 else "|" if len(alternatives) > 1 else ""
        op = mark + joined or selection(step)
        for gpm in choice:
            predicate = Predicate(place.streams(gpm), op, gpm.name)
            edges.append(Edge(place.source, place.target, predicate, number))
    return edges


def selection(step: Step) -> str:
    """The event selection operator on a plain edge: ∅ for strict contiguity and in first place."""
    return step.operator.value if step.operator in (Contiguity.NEXT, Contiguity.ANY) else ""
