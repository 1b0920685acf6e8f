"""Which queries ask what lies between two events, or count events: those that need every instant."""

from __future__ import annotations

from spaseq.algebra.events import Absent, Contiguity, EventQuery, EventWindow, Repeat


def uses_strict_contiguity(query: EventQuery) -> bool:
    """True if ``,`` may apply between two steps that occur, or between iterations."""
    earlier = False
    for step in query.sequence.steps:
        if isinstance(step.quantifier, Absent):
            continue
        if earlier and step.operator is Contiguity.STRICT:
            return True
        # After an optional step it may be the first or not; if it is not, the default is `,`.
        if isinstance(step.quantifier, Repeat) and _repeats_strictly(step.quantifier, first=not earlier):
            return True
        earlier = True
    return False


def _repeats_strictly(repeat: Repeat, *, first: bool) -> bool:
    return repeat.maximum != 1 and repeat.operator(first_step=first) is Contiguity.STRICT


def counts_instants(query: EventQuery) -> bool:
    """True if events that match nothing matter: for ``,`` and for windows counted in EVENTS."""
    return uses_strict_contiguity(query) or isinstance(query.window, EventWindow)
