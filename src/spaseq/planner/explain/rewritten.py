"""A rewritten query, printed as SPAseq again: what the engines evaluate, in the author's language."""

from __future__ import annotations

from typing import assert_never

from spaseq.algebra.events import (
    Absent,
    AskForm,
    Assignment,
    Both,
    ConstructForm,
    Either,
    Element,
    EventQuery,
    EventWindow,
    Form,
    Gap,
    Gpm,
    Maybe,
    Once,
    Permute,
    Quantifier,
    Repeat,
    SelectForm,
    Sequence,
    StatefulPart,
    Step,
    TimeWindow,
    Window,
    gpms,
)
from spaseq.planner.explain.sparql_text import Spelling
from spaseq.temporal.instants import format_instant

UNITS = (
    ("DAY", 86_400_000_000),
    ("HOUR", 3_600_000_000),
    ("MINUTE", 60_000_000),
    ("SECOND", 1_000_000),
    ("MILLISECOND", 1_000),
)


def rewritten_text(query: EventQuery, spelling: Spelling) -> str:
    """The query after all rules; compiling this text gives the same automaton."""
    aliases = {stream.iri: stream.alias for stream in query.streams}
    lines = [f"PREFIX {name}: <{iri}>" for iri, name in sorted(spelling.prefixes, key=lambda row: row[1])]
    lines += form_lines(query.form, spelling)
    if query.window is not None:
        lines.append(window_text(query.window))
    lines += [f"FROM STREAM {stream.alias} <{stream.iri}>" for stream in query.streams]
    if query.partition:
        lines.append("PARTITION BY " + " ".join(f"?{name}" for name in query.partition))
    skips = " AFTER MATCH SKIP PAST LAST EVENT" if query.skip_past else ""
    lines += ["WHERE {", f"  SEQ ({sequence_text(query)}){skips}"]
    for gpm in gpms(query.sequence):
        lines += _definition(gpm, aliases[gpm.stream], spelling)
    return "\n".join([*lines, "}"])


def form_lines(form: Form, spelling: Spelling) -> list[str]:
    """SELECT, CONSTRUCT or ASK."""
    match form:
        case SelectForm(items, distinct):
            columns = [
                f"?{item.variable.name}"
                if item.expression is None
                else f"({spelling.expression(item.expression)} AS ?{item.variable.name})"
                for item in items
            ]
            return [f"SELECT {'DISTINCT ' if distinct else ''}{' '.join(columns) or '*'}"]
        case ConstructForm(template):
            return ["CONSTRUCT {", *(f"  {spelling.triple(triple)}" for triple in template), "}"]
        case AskForm():
            return ["ASK"]
        case _:
            assert_never(form)


def _definition(gpm: Gpm, alias: str, spelling: Spelling) -> list[str]:
    body = [*spelling.pattern(gpm.pattern), *(stateful_text(part, spelling) for part in gpm.stateful)]
    head = f"  DEFINE GPM {gpm.name} ON {alias} {{"
    if len(body) <= 1:
        return [f"{head} {' '.join(body)} }}".replace("{  }", "{ }")]
    return [head, *(f"    {line}" for line in body), "  }"]


def stateful_text(part: StatefulPart, spelling: Spelling) -> str:
    """A stateful part as it is written in a GPM."""
    if isinstance(part, Assignment):
        return f"BIND({spelling.expression(part.expression)} AS ?{part.variable.name})"
    return f"FILTER({spelling.expression(part.expression)})"


# --- sequences ----------------------------------------------------------------------------------


def sequence_text(query: EventQuery) -> str:
    """The inside of SEQ.

    A space on both sides keeps ``:`` and names apart for the eye.
    """
    return _steps_text(query.sequence.steps)


def _steps_text(steps: tuple[Step, ...]) -> str:
    first, *others = steps
    parts = [step_text(first)]
    for step in others:
        assert step.operator is not None
        parts += [step.operator.value, step_text(step)]
    return " ".join(parts)


def step_text(step: Step) -> str:
    """One step with its quantifier and gap: ``A``, ``B+``, ``(A & B)?``, ``(A ; B)+[; WITHIN 5 MINUTES]``."""
    return " ".join((_body_text(step) + _mark(step.quantifier), *gap_text(step.gap)))


def _body_text(step: Step) -> str:
    match step.body:
        case Gpm(name=name):
            return name
        case Sequence(steps):
            return f"({_steps_text(steps)})"
        case Permute(items):
            return f"PERMUTE({_steps_text(items)})"
        case element:
            return f"({element_text(element)})"


def _mark(quantifier: Quantifier) -> str:
    match quantifier:
        case Once():
            return ""
        case Maybe():
            return "?"
        case Absent(within):
            return "!" if within is None else f"! WITHIN {duration_text(within)}"
        case Repeat(minimum, maximum, between, gap, longest):
            inner = "" if between is None else f"[{' '.join((between.value, *gap_text(gap)))}]"
            return _bounds_text(minimum, maximum) + inner + (" LONGEST" if longest else "")
        case _:
            assert_never(quantifier)


def _bounds_text(low: int, high: int | None) -> str:
    """The repetition as it is written: ``+``, ``*``, ``{2}``, ``{2,3}`` or ``{2,}``."""
    if high is None and low < 2:
        return "+" if low else "*"
    return f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}"


def gap_text(gap: Gap) -> list[str]:
    """A gap as it is written."""
    words = [f"AFTER {duration_text(gap.after)}"] if gap.after else []
    return words + ([f"WITHIN {duration_text(gap.within)}"] if gap.within is not None else [])


def element_text(element: Element) -> str:
    """A GPM, conjunction or disjunction; nested ones have parentheses, so that precedence does not matter."""
    match element:
        case Gpm(name=name):
            return name
        case Both(parts):
            return " & ".join(_operand(part) for part in parts)
        case Either(parts):
            return " | ".join(_operand(part) for part in parts)
        case _:
            assert_never(element)


def _operand(element: Element) -> str:
    text = element_text(element)
    return text if isinstance(element, Gpm) else f"({text})"


# --- windows ------------------------------------------------------------------------------------


def window_text(window: Window) -> str:
    """``WITHIN 30 MINUTES TUMBLING``: the largest unit that gives a whole number, the kind always named."""
    kind = "SLIDING" if window.sliding else "TUMBLING"
    match window:
        case TimeWindow(size, _, start):
            begin = "" if start is None else f' STARTING AT "{format_instant(start)}"^^{_DATE_TIME}'
            return f"WITHIN {duration_text(size)} {kind}{begin}"
        case EventWindow(size):
            return f"WITHIN {_counted(size, 'EVENT')} {kind}"
        case _:
            assert_never(window)


def window_meaning(window: Window) -> str:
    """What a window asks of a match, in words."""
    match window:
        case TimeWindow(size, sliding=True):
            return f"a match lasts at most {duration_text(size)}"
        case TimeWindow(size, _, start):
            length = duration_text(size)
            return (
                f"windows of {length} follow each other from {format_instant(start or 0)}; "
                f"a match lies in one of them (SLIDING: in any {length})"
            )
        case EventWindow(size, sliding=True):
            return f"a match lies within {_counted(size, 'EVENT')} that follow each other"
        case EventWindow(size):
            length = _counted(size, "EVENT")
            return f"every {length} are a window; a match lies in one of them (SLIDING: in any {length})"
        case _:
            assert_never(window)


_DATE_TIME = "<http://www.w3.org/2001/XMLSchema#dateTime>"


def duration_text(microseconds: int) -> str:
    """A duration in the language's words."""
    unit, scale = next((u, s) for u, s in UNITS if microseconds % s == 0)
    return _counted(microseconds // scale, unit)


def _counted(number: int, unit: str) -> str:
    return f"{number} {unit}{'' if number == 1 else 'S'}"
