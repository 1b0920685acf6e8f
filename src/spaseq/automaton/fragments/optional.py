"""Optional: an edge that takes the event and an ε-edge that goes on without it (figure 24)."""

from __future__ import annotations

from spaseq.algebra.events import Step
from spaseq.automaton.fragments.gpm import forward_edges
from spaseq.automaton.fragments.place import Place
from spaseq.automaton.nfa import Edge


def optional_edges(step: Step, place: Place) -> list[Edge]:
    """The edge that takes the event, and the one that passes."""
    return [*forward_edges(step, place, "?"), Edge(place.source, place.target, None)]
