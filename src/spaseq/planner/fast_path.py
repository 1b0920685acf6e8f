"""Which patterns leave the fast path: parts for which the columns have no kernel of their own."""

from __future__ import annotations

from spaseq.algebra.events import EventQuery, Gpm
from spaseq.algebra.expressions import Call, FunctionCall, walk
from spaseq.algebra.patterns import Filter, Group
from spaseq.algebra.scope import pattern_expressions
from spaseq.algebra.visibility import gpm_patterns
from spaseq.errors import QueryWarning, listed


class OutsideFastPath(QueryWarning):
    """A pattern with a part that the columns cannot compute; pyoxigraph does, exactly but slower."""

    code = "SPW103"
    message_template = "pattern `{gpm}` leaves the fast path with {parts}: {reason}"
    label_template = "not computed by columns alone"
    cure_template = "the result is exact; for speed on large streams, compare plain values instead"


def outside_fast_path(query: EventQuery) -> tuple[QueryWarning, ...]:
    """One warning for each pattern that pyoxigraph has to help with."""
    return tuple(warning for gpm in query.gpms for warning in _of(gpm))


def _of(gpm: Gpm) -> tuple[QueryWarning, ...]:
    if not _may_need_help(gpm):
        return ()
    from spaseq.columnar.needs import fallbacks  # loads numpy, which most queries do not need yet

    pattern = gpm.pattern
    for part in gpm.stateful:
        pattern = Filter(pattern, part.expression)
    found = fallbacks(pattern)
    reasons = dict.fromkeys(each.reason for each in found)
    return tuple(
        OutsideFastPath(
            span=gpm.span,
            gpm=gpm.name,
            parts=listed(f"`{each.part}`" for each in found if each.reason == reason),
            reason=reason,
        )
        for reason in reasons
    )


def _may_need_help(gpm: Gpm) -> bool:
    """True if the GPM calls a function or groups; plain patterns and comparisons never need help."""
    patterns = list(gpm_patterns(gpm))
    expressions = [expression for pattern in patterns for expression in pattern_expressions(pattern)]
    expressions += [part.expression for part in gpm.stateful]
    calls = any(isinstance(node, (Call, FunctionCall)) for e in expressions for node in walk(e))
    return calls or any(isinstance(pattern, Group) for pattern in patterns)
