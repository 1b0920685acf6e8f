"""The automaton for programs that draw: in the DOT language of Graphviz, and as a Mermaid state diagram."""

from __future__ import annotations

import re

from spaseq.planner.explain.facts import AutomatonFacts, EdgeFacts, Explanation
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


def to_mermaid(facts: Explanation) -> str:
    """A ``stateDiagram-v2``: one arrow per edge, but one for all loops of a state."""
    states = facts.automaton.states
    lines = ["stateDiagram-v2", "  direction LR"]
    lines += [f"  {state.name} : {escaped('match' if state.final else waiting(state))}" for state in states]
    lines += [f"  [*] --> {state.name}" for state in states if state.initial]
    lines += [line for state in states for line in _leaving(facts.automaton, state.name)]
    lines += [f"  {state.name} --> [*]" for state in states if state.final]
    return "\n".join(lines) + "\n"


def _leaving(automaton: AutomatonFacts, name: str) -> list[str]:
    """The arrows out of a state. Mermaid draws only one loop at a state, so its labels stand together."""
    edges = [edge for edge in automaton.edges if edge.source == name]
    loops = "<br/>".join(escaped(edge.label) for edge in edges if edge.target == name)
    lines = [f"  {name} --> {name} : {loops}"] if loops else []
    return lines + [f"  {name} --> {e.target} : {escaped(e.label)}" for e in edges if e.target != name]


def escaped(text: str) -> str:
    """The text with signs that Mermaid would read as its own written as character codes."""
    return re.sub(r"[^\w ()∅ε,.-]", lambda found: f"#{ord(found[0])};", text)
