"""The automaton as a Mermaid state diagram, for Markdown pages that draw such blocks."""

from __future__ import annotations

import re

from spaseq.planner.explain.facts import AutomatonFacts, Explanation
from spaseq.planner.explain.text import waiting


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
