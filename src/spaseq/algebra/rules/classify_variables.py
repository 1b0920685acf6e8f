"""Classify variables: those that join everywhere, and those that belong to a repetition (semantics 1.5, 1.11).

Law: the home of a variable is the innermost repetition that holds all GPMs with the variable in scope; a repeated choice
is home only to variables of one GPM, and variables of PARTITION BY have none. A new iteration of the home, or of a
repetition around it, unbinds the variable. Variables without a home join everywhere.
"""

from __future__ import annotations

from dataclasses import replace

from spaseq.algebra.events import EventQuery, Repeat
from spaseq.algebra.visibility import Visibility


def classify_variables(query: EventQuery) -> EventQuery:
    """The query with ``shared`` and ``homes`` filled."""
    visibility = Visibility(query.sequence)
    found = homes(visibility, query.partition)
    shared = {name for name in visibility.variables if len(visibility.binders(name)) > 1} | set(
        query.partition
    )
    return replace(query, shared=frozenset(shared - found.keys()), homes=tuple(found.items()))


def homes(visibility: Visibility, partition: tuple[str, ...]) -> dict[str, int]:
    """The variables that have a home, with the number of the repetition."""
    found = {name: _home(visibility, name) for name in visibility.variables if name not in partition}
    return {name: home for name, home in found.items() if home is not None}


def _home(visibility: Visibility, variable: str) -> int | None:
    """The innermost repetition around all GPMs that may bind a variable."""
    first, *others = (visibility.around(gpm) for gpm in visibility.binders(variable))
    common = set.intersection(*({step.number for step in steps} for steps in (first, *others)))
    for step in reversed(first):
        if step.number in common and isinstance(step.quantifier, Repeat) and (step.is_group or not others):
            return step.number
    return None
