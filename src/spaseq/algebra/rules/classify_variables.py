"""Classify variables: those that join everywhere, and those that belong to a repetition (SEMANTICS 1.5, 1.11).

Law: the home of a variable is the innermost repetition that holds all GPMs with the variable in scope; a repeated choice
is home only to variables of one GPM, and variables of PARTITION BY have none. A new iteration of the home, or of a
repetition around it, unbinds the variable. Variables without a home join everywhere.
"""

from __future__ import annotations

from dataclasses import replace

from spaseq.algebra.events import EventQuery, Repeat, Sequence, around, gpms
from spaseq.algebra.visibility import bindable


def classify_variables(query: EventQuery) -> EventQuery:
    """The query with ``shared`` and ``homes`` filled."""
    found = homes(query.sequence, query.partition)
    shared = {name for name, gpms in _users(query.sequence).items() if len(gpms) > 1} | set(query.partition)
    return replace(query, shared=frozenset(shared - found.keys()), homes=tuple(found.items()))


def homes(sequence: Sequence, partition: tuple[str, ...]) -> dict[str, int]:
    """The variables that have a home, with the number of the repetition."""
    users = _users(sequence).items()
    found = {name: _home(sequence, using) for name, using in users if name not in partition}
    return {name: home for name, home in found.items() if home is not None}


def _users(sequence: Sequence) -> dict[str, list[str]]:
    users: dict[str, list[str]] = {}
    for gpm in gpms(sequence):
        for name in bindable(gpm):
            users.setdefault(name, []).append(gpm.name)
    return users


def _home(sequence: Sequence, using: list[str]) -> int | None:
    """The innermost repetition around all of these GPMs."""
    first, *others = (around(sequence, name) for name in using)
    common = set.intersection(*({step.number for step in steps} for steps in (first, *others)))
    for step in reversed(first):
        if step.number in common and isinstance(step.quantifier, Repeat) and (step.is_group or not others):
            return step.number
    return None
