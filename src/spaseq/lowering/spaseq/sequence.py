"""The SEQ clause: from its syntax to steps, with the rules on marks, bounds and operators."""

from __future__ import annotations

from collections.abc import Callable

from spaseq.algebra.events import (
    Absent,
    Both,
    Contiguity,
    Either,
    Element,
    EventWindow,
    Gpm,
    Maybe,
    Once,
    Quantifier,
    Repeat,
    Sequence,
    Step,
    TimeWindow,
    Window,
)
from spaseq.lowering.errors import (
    BadBounds,
    LeadingNegationInEventWindow,
    MisplacedNegation,
    MisplacedQuantifier,
    NoPositiveStep,
    NumberOutOfRange,
    OperatorsDisagree,
    TrailingNegationNeedsWindow,
)
from spaseq.lowering.spaseq.report import Report
from spaseq.syntax import ast
from spaseq.syntax.printer import format_step

MAX_ITERATIONS = 1_000_000
"""The largest bound of a quantifier; above it a user most likely means ``{m,}``."""


def names(step: ast.Step) -> tuple[ast.Name, ...]:
    """The GPM names of a step, left to right."""
    match step:
        case ast.Name():
            return (step,)
        case ast.Conjunction(parts) | ast.Disjunction(parts):
            return tuple(name for part in parts for name in names(part))
        case ast.Quantified(body):
            return names(body)


def lower_sequence(
    written: ast.SequenceExpression, gpm: Callable[[ast.Name], Gpm], report: Report
) -> Sequence:
    """The steps of SEQ; ``gpm`` gives the lowered pattern of a name."""
    steps: list[Step] = []
    for index, part in enumerate(written.steps):
        operator = Contiguity(written.operators[index - 1]) if index else None
        body, quantifier = _quantifier(part, report)
        steps.append(Step(_element(body, gpm, report), quantifier, operator, span=part.span))
    if not any(step.positive for step in steps):
        report.error(NoPositiveStep(span=written.span))
    _check_operators(written, steps, report)
    return Sequence(tuple(steps))


def _quantifier(step: ast.Step, report: Report) -> tuple[ast.Step, Quantifier]:
    if not isinstance(step, ast.Quantified):
        return step, Once()
    match step.mark:
        case "!":
            return step.body, Absent()
        case "?":
            return step.body, Maybe()
        case _:
            _check_bounds(step, report)
            between = Contiguity(step.between) if step.between else None
            return step.body, Repeat(max(step.minimum, 1), step.maximum, between)


def _check_bounds(step: ast.Quantified, report: Report) -> None:
    low, high = step.minimum, step.maximum
    bounds = f"{low}" if high == low else f"{low}," if high is None else f"{low},{high}"
    if max(low, high or 0) > MAX_ITERATIONS:
        report.error(
            NumberOutOfRange(
                span=step.span,
                number=max(low, high or 0),
                what="a number of iterations",
                limit=MAX_ITERATIONS,
            )
        )
    elif low < 1:
        report.error(BadBounds(span=step.span, bounds=bounds, reason="a repetition occurs at least once"))
    elif high is not None and high < low:
        report.error(BadBounds(span=step.span, bounds=bounds, reason=f"{high} is less than {low}"))


def _element(step: ast.Step, gpm: Callable[[ast.Name], Gpm], report: Report) -> Element:
    match step:
        case ast.Name():
            return gpm(step)
        case ast.Conjunction(parts):
            return Both(tuple(_element(part, gpm, report) for part in parts))
        case ast.Disjunction(parts):
            return Either(tuple(_element(part, gpm, report) for part in parts))
        case ast.Quantified(body, mark):
            if mark == "!":
                report.error(MisplacedNegation(span=step.span))
            else:
                shown = "{m,n}" if mark == "{" else mark
                report.error(MisplacedQuantifier(span=step.span, mark=shown, example=f"(A|B){shown}"))
            return _element(body, gpm, report)


def _check_operators(written: ast.SequenceExpression, steps: list[Step], report: Report) -> None:
    """``σ • A! ∘ Ψ``: • must equal ∘, or be ``;`` or ``:`` (SEMANTICS 1.6)."""
    for index, step in enumerate(steps[:-1]):
        after = steps[index + 1].operator
        if step.positive or step.operator is not Contiguity.STRICT or after is step.operator or after is None:
            continue
        report.error(
            OperatorsDisagree(
                span=step.span,
                before=step.operator.value,
                after=after.value,
                step=format_step(written.steps[index]),
            )
        )


def check_edges(
    written: ast.SequenceExpression, sequence: Sequence, window: Window | None, report: Report
) -> None:
    """Negation at the ends of SEQ needs a window that says since when and until when."""
    steps = sequence.steps
    if isinstance(window, EventWindow) and window.sliding:
        for index, step in enumerate(steps):
            if step.positive:
                break
            report.error(LeadingNegationInEventWindow(span=step.span, step=format_step(written.steps[index])))
    if isinstance(window, TimeWindow):
        return
    for index in trailing_guards(sequence):
        report.error(
            TrailingNegationNeedsWindow(span=steps[index].span, step=format_step(written.steps[index]))
        )


def trailing_guards(sequence: Sequence) -> tuple[int, ...]:
    """The steps that may have to be absent after the last event of a match.

    Behind the last positive step these are the negations and the optional steps that something still
    follows; optional steps in last place may just be missing (SEMANTICS 1.6).
    """
    steps = sequence.steps
    last = max((index for index, step in enumerate(steps) if step.positive), default=-1)
    end = len(steps)
    while end > last + 1 and isinstance(steps[end - 1].quantifier, Maybe):
        end -= 1
    return tuple(range(last + 1, end))
