"""A compiled query as a piece of HTML for notebooks: what it looks for, the drawn automaton, warnings."""

from __future__ import annotations

from html import escape

from spaseq.planner.explain.facts import Explanation
from spaseq.planner.explain.layout import layout
from spaseq.planner.explain.svg import draw


def to_fragment(facts: Explanation) -> str:
    """The fragment; `explain("html")` is the whole page."""
    answers = f"{facts.form} {' '.join(f'?{name}' for name in facts.results)}".strip()
    head = f"<b>{escape(facts.name)}</b>: {escape(answers)}, window: {escape(facts.window or 'everything')}"
    warnings = "".join(f"<pre>{escape(warning.rendered)}</pre>" for warning in facts.warnings)
    # The picture follows the system's light or dark theme, the notebook may not: so it brings its own background.
    picture = draw(facts, layout(facts.automaton)).replace(
        "<svg ", '<svg style="background:var(--paper)" ', 1
    )
    return f"<div><p>{head}</p><p><code>SEQ ({escape(facts.sequence)})</code></p>{picture}{warnings}</div>"
