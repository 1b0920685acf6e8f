"""Expand optional steps: decide what skipping each of them means.

Law (SEMANTICS 1.6): ``σ • A? ∘ Ψ`` is ``(σ • A ∘ Ψ) ∪ (σ • A! ∘ Ψ)``, so a skipped step that
something follows must be absent; ``σ • A?`` in last place is ``(σ • A) ∪ σ``, so there it may just be
missing. Writing out the union would double the sequence for every ``?``; noting the meaning on the
step keeps it linear, and the automaton gets one ε-edge.
"""

from __future__ import annotations

from dataclasses import replace

from spaseq.algebra.events import EventQuery, Maybe, Sequence, Step


def expand_optional(query: EventQuery) -> EventQuery:
    """The query with the meaning of skipping noted on every optional step."""
    steps: list[Step] = []
    followed = False
    for step in reversed(query.sequence.steps):
        if isinstance(step.quantifier, Maybe):
            steps.append(replace(step, quantifier=Maybe(guarded=followed)))
        else:
            steps.append(step)
            followed = True
    return replace(query, sequence=Sequence(tuple(reversed(steps))))
