"""Compilation of a sequence to NFAscep (section 6.2): fragments, one after the other (figure 10)."""

from __future__ import annotations

from typing import assert_never

from spaseq.algebra.events import Absent, EventQuery, Maybe, Once, Repeat, Step
from spaseq.automaton.fragments.gpm import forward_edges
from spaseq.automaton.fragments.kleene import kleene_edges
from spaseq.automaton.fragments.negation import negation_edges
from spaseq.automaton.fragments.optional import optional_edges
from spaseq.automaton.fragments.place import Place
from spaseq.automaton.fragments.skip import skip_loop
from spaseq.automaton.nfa import Edge, Nfa, State


def compile_automaton(query: EventQuery) -> Nfa:
    """The automaton of a query's sequence: one state per step, and the final one."""
    steps = query.sequence.steps
    aliases = {stream.iri: stream.alias for stream in query.streams}
    states = [State(index, step) for index, step in enumerate(steps)]
    edges = [
        edge for index, step in enumerate(steps) for edge in _fragment(step, Place(index, index + 1, aliases))
    ]
    return Nfa((*states, State(len(steps), None, final=True)), tuple(edges))


def _fragment(step: Step, place: Place) -> list[Edge]:
    match step.quantifier:
        case Once():
            taken = forward_edges(step, place)
        case Repeat():
            taken = kleene_edges(step, step.quantifier, place)
        case Maybe():
            taken = optional_edges(step, place)
        case Absent():
            taken = negation_edges(step, place)
        case _:
            assert_never(step.quantifier)
    return skip_loop(step, place) + taken
