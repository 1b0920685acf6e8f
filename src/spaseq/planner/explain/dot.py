"""The automaton in the DOT language of Graphviz."""

from __future__ import annotations

from spaseq.planner.explain.facts import EdgeFacts, Explanation
from spaseq.planner.explain.text import waiting

_STYLE = {
    "take": "",
    "skip": ', color="gray55", fontcolor="gray45"',
    "guard": ', color="firebrick", fontcolor="firebrick", arrowhead="tee"',
    "epsilon": ', style="dashed"',
}


def to_dot(facts: Explanation) -> str:
    """A left-to-right digraph; states say what they wait for, the final one has a double circle."""
    lines = [
        "digraph automaton {",
        "  rankdir=LR;",
        f"  label={quoted('SEQ (' + facts.sequence + ')')};",
        '  labelloc="t";',
        '  fontname="Helvetica";',
        '  node [shape=circle, fontname="Helvetica"];',
        '  edge [fontname="Courier", fontsize=10];',
        '  start [shape=point, width=0.1, label=""];',
    ]
    for state in facts.automaton.states:
        shape = "doublecircle" if state.final else "circle"
        lines.append(f"  {state.name} [shape={shape}, tooltip={quoted(waiting(state))}];")
    lines += [f"  start -> {state.name};" for state in facts.automaton.states if state.initial]
    lines += [_edge(edge) for edge in facts.automaton.edges]
    return "\n".join([*lines, "}"]) + "\n"


def _edge(edge: EdgeFacts) -> str:
    return f"  {edge.source} -> {edge.target} [label={quoted(edge.label)}{_STYLE[edge.kind]}];"


def quoted(text: str) -> str:
    """A DOT string."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
