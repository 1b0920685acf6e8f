"""Push the window to every step (the paper's section 7.2.1).

Law: a match lies in one window, so a run that waits at a step when its window has ended can never become
a match. With the window at the step, a run is dropped where it waits, before any pattern is evaluated.
"""

from __future__ import annotations

from dataclasses import replace

from spaseq.algebra.events import EventQuery
from spaseq.algebra.rules.over_gpms import map_steps


def push_window(query: EventQuery) -> EventQuery:
    """The query with its window at every step."""
    return map_steps(query, lambda step: replace(step, window=query.window))
