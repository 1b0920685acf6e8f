"""The automaton as a Mermaid state diagram, for Markdown pages that draw such blocks."""

from __future__ import annotations

import re

from spaseq.planner.explain.facts import EdgeFacts, Explanation


def to_mermaid(facts: Explanation) -> str:
    """A ``stateDiagram-v2``: one line per edge."""
    lines = ["stateDiagram-v2", "  direction LR"]
    lines += [f"  {state.name} : {_title(facts, state.step)}" for state in facts.automaton.states]
    lines += [f"  [*] --> {state.name}" for state in facts.automaton.states if state.initial]
    lines += [f"  {edge.source} --> {edge.target} : {_label(edge)}" for edge in facts.automaton.edges]
    lines += [f"  {state.name} --> [*]" for state in facts.automaton.states if state.final]
    return "\n".join(lines) + "\n"


def _title(facts: Explanation, step: int | None) -> str:
    return "match" if step is None else escaped(f"waits for {facts.steps[step - 1].text}")


def _label(edge: EdgeFacts) -> str:
    note = {"skip": " any event passes", "end": " ends the run", "epsilon": " without an event"}
    return escaped(edge.label + note.get(edge.kind, ""))


def escaped(text: str) -> str:
    """The text with signs that Mermaid would read as its own written as character codes."""
    return re.sub(r"[^\w ()∅ε,.-]", lambda found: f"#{ord(found[0])};", text)
