"""The order in which the stateful parts of one choice are evaluated."""

from __future__ import annotations

from spaseq.algebra.events import Assignment, Gpm, StatefulPart
from spaseq.algebra.scope import expression_variables


def stateful_parts(choice: tuple[Gpm, ...]) -> tuple[StatefulPart, ...]:
    """All stateful parts of the GPMs that match together: assignments first, each after those it reads.

    A condition may read what an assignment of its own conjunction computes, so conditions come last.
    """
    waiting = [part for gpm in choice for part in gpm.stateful if isinstance(part, Assignment)]
    ordered: list[StatefulPart] = []
    while waiting:
        pending = {part.variable.name for part in waiting}
        ready = [p for p in waiting if not expression_variables(p.expression) & pending] or waiting[:1]
        ordered += ready
        waiting = [part for part in waiting if part not in ready]
    conditions = [part for gpm in choice for part in gpm.stateful if not isinstance(part, Assignment)]
    return (*ordered, *conditions)
