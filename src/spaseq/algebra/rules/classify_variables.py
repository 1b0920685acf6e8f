"""Classify variables as shared or iteration variables (SEMANTICS 1.5).

Law: a variable that more than one GPM binds, or that PARTITION BY names, joins everywhere. A variable
private to a repeated GPM is bound afresh by each iteration; its plain name outside means the last one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from spaseq.algebra.events import EventQuery
from spaseq.algebra.visibility import bindable, repeated_gpms


def classify_variables(query: EventQuery) -> EventQuery:
    """The query with ``shared`` and ``iterated`` filled."""
    uses = Counter(name for gpm in query.gpms for name in bindable(gpm))
    shared = frozenset(name for name, count in uses.items() if count > 1) | frozenset(query.partition)
    iterated = frozenset(name for gpm in repeated_gpms(query.sequence) for name in bindable(gpm))
    return replace(query, shared=shared, iterated=iterated - shared)
