"""The view of a MATCH, of whatever kind its plan asks for."""

from __future__ import annotations

from typing import TypeAlias

from spaseq.algebra.event_patterns import EventPattern
from spaseq.algebra.windows import WindowQuery
from spaseq.columnar.knowledge import Knowledge
from spaseq.columnar.rows import RowEvaluator
from spaseq.model.dictionary import TermDictionary
from spaseq.windowed.event_joins import EventJoins, SingleEventView
from spaseq.windowed.event_match import MatchView
from spaseq.windowed.event_plan import match_plan
from spaseq.windowed.views import View

Told: TypeAlias = MatchView | SingleEventView
"""A view that takes what single events match."""


def match_view(
    events: EventPattern,
    query: WindowQuery,
    dictionary: TermDictionary,
    knowledge: Knowledge,
    evaluator: RowEvaluator,
    *,
    tells_events: bool,
) -> tuple[View, list[Told]]:
    """The view, and all that must hear of events for it; with ``tells_events`` its solutions name their events."""
    windows = {window.name: (number, window.stream) for number, window in enumerate(query.windows)}
    plan = match_plan(events, query)
    if plan.joined and not tells_events:
        joins = EventJoins(windows, dictionary, evaluator)
        joined = joins.view(events)
        return joined, list(joins.singles)
    view = MatchView(
        events, query.consumption, plan, windows, dictionary, knowledge, key=query.key, traced=tells_events
    )
    return view, [view]
