"""The automaton as a picture: a self-contained SVG that follows the reader's light or dark theme."""

from __future__ import annotations

from html import escape
from pathlib import Path

from spaseq.planner.explain.facts import EdgeFacts, Explanation
from spaseq.planner.explain.layout import ENTRY, RADIUS, Drawing, DrawnEdge, DrawnState, layout
from spaseq.planner.explain.text import meaning

_CSS = Path(__file__).with_name("automaton.css")


def to_svg(facts: Explanation) -> str:
    """The drawing of the automaton as an SVG file."""
    return draw(facts, layout(facts.automaton)) + "\n"


def draw(facts: Explanation, drawing: Drawing) -> str:
    """The SVG element of a placed automaton."""
    title = f"The automaton of SEQ ({facts.sequence})"
    size = f'width="{drawing.width:.0f}" height="{drawing.height:.0f}"'
    view = f'viewBox="0 0 {drawing.width:.0f} {drawing.height:.0f}"'
    parts = [
        f'<svg class="automaton" xmlns="http://www.w3.org/2000/svg" {size} {view} role="img">',
        f"<title>{escape(title)}</title>",
        f"<style>{_CSS.read_text(encoding='utf-8')}</style>",
        f"<defs>{''.join(_arrowhead(kind) for kind in ('take', 'skip', 'guard', 'epsilon'))}</defs>",
        *(_edge(drawn) for drawn in drawing.edges),
        _entry(drawing.states[0]),
        *(_state(state) for state in drawing.states),
        "</svg>",
    ]
    return "\n".join(parts)


def _arrowhead(kind: str) -> str:
    return (
        f'<marker id="arrow-{kind}" class="{kind}" viewBox="0 0 10 10" refX="9" refY="5" '
        'markerWidth="7" markerHeight="7" orient="auto-start-reverse"><path d="M 0 1 L 10 5 L 0 9 z"/></marker>'
    )


def _edge(drawn: DrawnEdge) -> str:
    edge = drawn.edge
    x, y = drawn.box.x + drawn.box.width / 2, drawn.box.y + drawn.box.height - 3
    return (
        f'<g class="edge {edge.kind}"><title>{escape(_tooltip(edge))}</title>'
        f'<path d="{drawn.path}" marker-end="url(#arrow-{edge.kind})"/>'
        f'<text x="{x:.1f}" y="{y:.1f}">{escape(drawn.label)}</text></g>'
    )


def _tooltip(edge: EdgeFacts) -> str:
    return f"{edge.source} to {edge.target}, {edge.label}: {meaning(edge)}"


def _entry(state: DrawnState) -> str:
    start, end = state.x - RADIUS - ENTRY + 6, state.x - RADIUS
    path = f"M {start:.1f} {state.y:.1f} L {end:.1f} {state.y:.1f}"
    return f'<g class="edge take"><path d="{path}" marker-end="url(#arrow-take)"/></g>'


def _state(state: DrawnState) -> str:
    inner = f'<circle cx="{state.x:.1f}" cy="{state.y:.1f}" r="{RADIUS - 4}"/>' if state.final else ""
    return (
        f'<g class="state"><title>{escape(f"{state.name}: {state.waits}")}</title>'
        f'<circle cx="{state.x:.1f}" cy="{state.y:.1f}" r="{RADIUS}"/>{inner}'
        f'<text x="{state.x:.1f}" y="{state.y + 4:.1f}">{escape(state.name)}</text></g>'
    )
