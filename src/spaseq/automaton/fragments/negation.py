"""Negation: an edge whose match ends the run, and an ε-edge that goes on without one (figure 25)."""

from __future__ import annotations

from spaseq.algebra.events import Step
from spaseq.automaton.fragments.gpm import forward_edges
from spaseq.automaton.fragments.place import Place
from spaseq.automaton.nfa import Edge


def negation_edges(step: Step, place: Place) -> list[Edge]:
    """The edge that must not be taken, and the one that passes."""
    return [*forward_edges(step, place, "!"), Edge(place.source, place.target, None)]
