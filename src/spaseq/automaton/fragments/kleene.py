"""Kleene plus and bounded repetition: a loop beside the forward edge (figures 3, 5 and 10)."""

from __future__ import annotations

from dataclasses import replace

from spaseq.algebra.events import Repeat, Step
from spaseq.automaton.fragments.gpm import forward_edges
from spaseq.automaton.fragments.place import Place
from spaseq.automaton.nfa import Edge


def kleene_edges(step: Step, quantifier: Repeat, place: Place) -> list[Edge]:
    """One more iteration stays in the state, the last one leaves it."""
    mark = mark_of(quantifier)
    loop = forward_edges(step, replace(place, target=place.source), mark)
    return loop + forward_edges(step, place, mark)


def mark_of(quantifier: Repeat) -> str:
    """The repetition as it is written: ``+``, ``{2}``, ``{2,3}`` or ``{2,}``."""
    low, high = quantifier.minimum, quantifier.maximum
    if (low, high) == (1, None):
        return "+"
    return f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}"
