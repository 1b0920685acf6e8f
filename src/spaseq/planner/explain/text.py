"""The plan as plain text: what `spaseq explain` prints and golden tests pin."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from spaseq.errors import listed
from spaseq.planner.explain.facts import (
    AutomatonFacts,
    DistributionFacts,
    EdgeFacts,
    Explanation,
    GpmFacts,
    StateFacts,
    StatefulFacts,
    StepFacts,
    VariableFacts,
)
from spaseq.settings import settings

LABEL = 15
"""The width of the column of labels."""


def to_text(facts: Explanation) -> str:
    """Sections with a heading each, values aligned."""
    sections = [
        ("Query", _overview(facts)),
        ("Rewritten", facts.rewritten.splitlines()),
        ("Automaton", _automaton(facts.automaton)),
        ("Steps", _steps(facts.steps)),
        ("Variables", _variables(facts)),
        ("Distribution", _distribution(facts.distribution)),
        ("Warnings", _warnings(facts)),
    ]
    blocks = [
        "\n".join([title, *(f"  {line}".rstrip() for line in lines)]) for title, lines in sections if lines
    ]
    return "\n\n".join(blocks) + "\n"


def row(label: str, value: str, indent: int = 0) -> str:
    """A label and its value, aligned."""
    return f"{' ' * indent}{label:<{LABEL}}{value}".rstrip()


def rows(label: str, values: Iterable[str], indent: int = 0) -> list[str]:
    """A label and its values, one a line; nothing if there are none."""
    return [row(label if number == 0 else "", value, indent) for number, value in enumerate(values)]


def questioned(names: Iterable[str]) -> str:
    """Variable names as they are written."""
    return listed(f"?{name}" for name in names)


# --- sections -----------------------------------------------------------------------------------


def _overview(facts: Explanation) -> list[str]:
    lines = [
        row("name", facts.name),
        row("answers", _answers(facts)),
        row("sequence", f"SEQ ({facts.sequence})"),
        *rows("window", window_lines(facts)),
    ]
    if facts.skips:
        lines.append(row("skips", "a match starts behind the last event of every match kept before it"))
    if facts.partition:
        lines.append(row("partition", f"a query of its own for every {questioned(facts.partition)}"))
    width = max(len(stream.alias) for stream in facts.streams)
    lines += rows("streams", (f"{s.alias:<{width}}  <{s.iri}>" for s in facts.streams))
    graphs = [f"<{iri}>" for iri in facts.graphs]
    graphs += ["every registered graph (GRAPH with a variable)"] if facts.any_graph else []
    return [*lines, *rows("background", graphs), *rows("switched off", facts.switched_off)]


def window_lines(facts: Explanation) -> list[str]:
    """The window as it is written, and what it means."""
    if facts.window is None or facts.window_meaning is None:
        return ["none: one window, everything"]
    return [facts.window, facts.window_meaning]


def _answers(facts: Explanation) -> str:
    match facts.form:
        case "ASK":
            return "ASK: true at the first match"
        case "CONSTRUCT":
            return "CONSTRUCT: one RDF graph for every match"
        case _:
            return f"{facts.form} {' '.join(f'?{name}' for name in facts.results) or 'nothing'}"


def _automaton(facts: AutomatonFacts) -> list[str]:
    arrows = [f"{edge.source} -{edge.label}-> {edge.target}" for edge in facts.edges]
    width = max(len(arrow) for arrow in arrows)
    return [f"{arrow:<{width}}   {meaning(edge)}" for arrow, edge in zip(arrows, facts.edges, strict=True)]


def meaning(edge: EdgeFacts) -> str:
    """What an edge does to a run, in words."""
    match edge.kind:
        case "epsilon":
            return "begins the next iteration" if edge.again else "goes on without an event"
        case "skip":
            return "lets any event pass"
        case "guard":
            return f"{_GUARDS[edge.reason or 'negated']}: {edge.gpm} must not occur"
    what = "events of one instant" if "&" in (edge.gpm or "") else "an event"
    again = ", for one more iteration" if edge.again else ""
    return f"takes {what} of {listed(edge.streams)} that match{'es' if what == 'an event' else ''} {edge.gpm}{again}"


_GUARDS = {
    "negated": "ends the run on the way without an event",
    "skipped": "ends the run that leaves this step out",
    "longest": "ends the run that stops repeating too early",
}


def waiting(state: StateFacts) -> str:
    """What a run in a state waits for, in words."""
    if state.final:
        return "a match"
    return f"waits for {' or '.join(state.waits)}" if state.waits else "passes on"


def _steps(steps: tuple[StepFacts, ...]) -> list[str]:
    width = max(len(step.text) for step in steps)
    lines: list[str] = []
    for step in steps:
        lines += [""] if lines else []
        lines.append(f"{step.number}. {step.text:<{width}}  {occurrence(step)}")
        for gpm in step.gpms:
            lines += _gpm(gpm, 3)
        if step.window is not None:
            lines.append(row("window", f"{step.window}; a run still waiting here when it ends is dropped", 3))
    return lines


def occurrence(step: StepFacts) -> str:
    """Where a step stands and how often it occurs, in words."""
    place = "first" if step.operator is None else f"after `{step.operator}` ({step.operator_name})"
    if step.inside:
        place += f" in {step.inside[-1]}"
    if step.gap is not None:
        place += f", {step.gap} of the event before"
    match step.quantifier:
        case "optional":
            return f"{place}, optional"
        case "negated":
            return f"{place}, must not occur"
        case "repeated":
            between = " or ".join(f"`{operator}`" for operator in step.between)
            depends = ", as optional steps before it are skipped or taken" if len(step.between) > 1 else ""
            return f"{place}, {times(step.minimum, step.maximum)}, {between} between iterations{depends}"
        case _:
            return place


def times(minimum: int, maximum: int | None) -> str:
    """Bounds in words."""
    if maximum is None:
        return f"{minimum} or more times"
    return f"{minimum} times" if minimum == maximum else f"{minimum} to {maximum} times"


def _gpm(gpm: GpmFacts, indent: int) -> list[str]:
    lines = [row("pattern", f"{gpm.name} on stream {gpm.stream}", indent)]
    lines.append(row("binds", questioned(gpm.binds), indent))
    lines += rows("joins on", (joined(gpm, join) for join in gpm.joins), indent)
    lines += rows("local", (f"FILTER({text})" for text in gpm.filters), indent)
    lines += rows("stateful", (f"{part.text}  reads {reads(part)}" for part in gpm.stateful), indent)
    if gpm.per_iteration:
        lines.append(row("per iteration", questioned(gpm.per_iteration), indent))
    lines += rows(
        "background", (name if name.startswith("?") else f"<{name}>" for name in gpm.graphs), indent
    )
    return lines


def joined(gpm: GpmFacts, join: VariableFacts) -> str:
    """A join variable and whose values it meets; a repeated GPM also meets itself."""
    others = [name for name in join.gpms if name != gpm.name]
    own = ["its earlier iterations"] if gpm.name in join.gpms else []
    return f"?{join.name} with {listed([*([cut(others)] if others else []), *own])}"


def cut(names: Sequence[str], longest: int = 8) -> str:
    """Names as a list; of very many the first ones and the last."""
    if len(names) <= longest:
        return listed(names)
    return f"{listed(names[: longest - 2])}, … {names[-1]} ({len(names)} patterns)"


def reads(part: StatefulFacts) -> str:
    """What a stateful part reads beyond its event, in words."""
    found = [f"?{read.name} of {listed(read.gpms)}" for read in part.reads]
    found += [f"the iterations of {name}" for name in part.iterations]
    note = "; the first iteration skips it" if part.skipped_first else ""
    return f"{listed(found, 'its own event')}{note}"


def _variables(facts: Explanation) -> list[str]:
    lines = rows("shared", (f"?{v.name} joins {cut(v.gpms)}" for v in facts.shared))
    lines += rows(
        "per iteration", (f"{questioned(names)} of {listed(of)}" for of, names in iterated_by(facts))
    )
    return lines or [row("shared", "none: the steps are independent of each other")]


def iterated_by(facts: Explanation) -> list[tuple[tuple[str, ...], list[str]]]:
    """The iteration variables, together by the GPMs that bind them."""
    binders = dict.fromkeys(variable.gpms for variable in facts.iterated)
    return [(of, [variable.name for variable in facts.iterated if variable.gpms == of]) for of in binders]


def _distribution(facts: DistributionFacts) -> list[str]:
    lines = [row("by", distributed_by(facts)), row("why", facts.reason)]
    lines.append(row("windows", windows_apart(facts)))
    return lines + ([row("cure", facts.cure)] if facts.cure else [])


def windows_apart(facts: DistributionFacts) -> str:
    """Whether stretches of time may go to different workers, and what it costs."""
    if facts.by_window:
        return "tumbling windows run apart, with no row twice"
    if not facts.by_slice:
        return "windows cannot run apart"
    count = settings().slice_windows
    return f"of a finite input on Spark, slices of {count} windows run apart, at about {200 // count} % more rows"


def distributed_by(facts: DistributionFacts) -> str:
    """The unit of distribution, in words."""
    names = questioned(facts.variables)
    match facts.unit:
        case "partition":
            return f"partition: {names}, as the query says"
        case "key":
            return f"key: {names}"
        case "key and ticks":
            return f"key and ticks: {names}, and the instants of all events"
        case _ if facts.by_window:
            return "windows: all rows of a window go to one worker"
        case _ if facts.by_slice:
            return (
                "slices of time: of a finite input on Spark each goes to one worker, of a stream all rows do"
            )
        case _:
            return "whole: all rows go to one worker"


def _warnings(facts: Explanation) -> list[str]:
    lines: list[str] = []
    for warning in facts.warnings:
        lines += [""] if lines else []
        lines += warning.rendered.splitlines()
    return lines or ["none"]
