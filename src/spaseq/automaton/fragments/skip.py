"""Skip-till-next and skip-till-any: a loop that any event of any stream takes (figure 7).

Both look the same; they differ when the automaton runs. Strict contiguity has no loop (figure 6).
"""

from __future__ import annotations

from spaseq.algebra.events import Contiguity, Step
from spaseq.automaton.fragments.place import Place
from spaseq.automaton.nfa import Edge, Predicate


def skip_loop(step: Step, place: Place) -> list[Edge]:
    """The loop at the state that waits for the step, if its operator lets events pass."""
    if step.operator in (Contiguity.NEXT, Contiguity.ANY):
        predicate = Predicate(tuple(place.aliases.values()), step.operator.value, None)
        return [Edge(place.source, place.source, predicate)]
    return []
