"""The SEQ clause: from its syntax to steps, with the rules on marks, bounds and gaps of single steps.

What depends on where a step stands among the others is checked in `spaseq.languages.spaseq.places`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count

from spaseq.algebra.events import (
    NO_GAP,
    Absent,
    Body,
    Both,
    Contiguity,
    Either,
    Element,
    Gap,
    Gpm,
    Maybe,
    Once,
    Permute,
    Quantifier,
    Repeat,
    Sequence,
    Step,
    choice_count,
)
from spaseq.errors import Span
from spaseq.languages.report import Report
from spaseq.languages.spaseq import tree
from spaseq.languages.spaseq.errors import (
    BadBounds,
    BadGap,
    LongestGroup,
    LongestSkipsAny,
    MisplacedNegation,
    MisplacedQuantifier,
    MixedPermute,
    NegatedGroup,
    NestedSequence,
    NoPositiveStep,
    NumberOutOfRange,
    PermuteItem,
    PermuteSize,
    RepeatedRepetition,
    TooManyChoices,
)
from spaseq.settings import settings
from spaseq.temporal.durations import MAX_DURATION, microseconds

MAX_ITERATIONS = 1_000_000
"""The largest bound of a quantifier; above it a user most likely means ``{m,}``."""
MAX_ITEMS = 8
"""The most items of a PERMUTE: its automaton has a state for every set of them."""

GpmOf = Callable[[tree.Name], Gpm]


def names(step: tree.Step | tree.SequenceExpression) -> tuple[tree.Name, ...]:
    """The GPM names of a step, left to right."""
    match step:
        case tree.Name():
            return (step,)
        case tree.Conjunction(parts) | tree.Disjunction(parts) | tree.SequenceExpression(parts):
            return tuple(name for part in parts for name in names(part))
        case tree.Quantified(body) | tree.Gapped(body):
            return names(body)
        case tree.StepGroup(sequence) | tree.Permute(sequence):
            return names(sequence)


def lower_sequence(written: tree.SequenceExpression, gpm: GpmOf, report: Report) -> Sequence:
    """The steps of SEQ; ``gpm`` gives the lowered pattern of a name."""
    return _Steps(gpm, report).sequence(written)


class _Steps:
    """Lowers steps, numbering them in the order of the text."""

    def __init__(self, gpm: GpmOf, report: Report) -> None:
        self._gpm = gpm
        self._report = report
        self._numbers: Iterator[int] = count()

    def sequence(self, written: tree.SequenceExpression) -> Sequence:
        operators = (None, *(Contiguity(operator) for operator in written.operators))
        steps = tuple(map(self._step, written.steps, operators))
        if not any(step.positive for step in steps):
            self._report.error(NoPositiveStep(span=written.span))
        return Sequence(steps)

    def _step(self, written: tree.Step, operator: Contiguity | None) -> Step:
        number, span, gap = next(self._numbers), written.span, NO_GAP
        if isinstance(written, tree.Gapped):
            gap, written = self._gap(written.gap), written.body
        body, quantifier = self._quantified(written)
        self._check_choices(body, span)
        if isinstance(quantifier, Absent):
            if gap.after:
                self._report.error(BadGap(span=span, reason="AFTER has no meaning for a negated step"))
            quantifier, gap = Absent(gap.within), NO_GAP
        return Step(body, quantifier, operator, gap, number, span=span)

    def _check_choices(self, body: Body, span: Span) -> None:
        if isinstance(body, (Sequence, Permute)):
            return
        count, limit = choice_count(body), settings().max_choices
        if count > limit:
            self._report.error(TooManyChoices(span=span, count=count, limit=limit))

    def _quantified(self, written: tree.Step) -> tuple[Body, Quantifier]:
        if not isinstance(written, tree.Quantified):
            return self._body(written), Once()
        self._check_mark(written)
        body = self._body(written.body)
        match written.mark:
            case "!":
                return body, Absent()
            case "?":
                return body, Maybe()
            case _:
                self._check_bounds(written)
                between = Contiguity(written.between) if written.between else None
                gap = NO_GAP if written.gap is None else self._gap(written.gap)
                minimum = min(written.minimum, MAX_ITERATIONS)
                return body, Repeat(minimum, written.maximum, between, gap, written.longest)

    def _check_mark(self, step: tree.Quantified) -> None:
        """What a mark may stand on."""
        body, report = step.body, self._report
        group = isinstance(body, (tree.StepGroup, tree.Permute))
        if group and step.mark == "!":
            report.error(NegatedGroup(span=step.span))
        if group and step.longest:
            report.error(LongestGroup(span=step.span))
        if step.longest and step.between == ":":
            report.error(LongestSkipsAny(span=step.span))
        if isinstance(body, tree.StepGroup) and _only_repeats(body.sequence, step.mark != "?"):
            report.error(RepeatedRepetition(span=step.span))

    def _check_bounds(self, step: tree.Quantified) -> None:
        low, high = step.minimum, step.maximum
        bounds = f"{low}" if high == low else f"{low}," if high is None else f"{low},{high}"
        most = max(low, high or 0)
        if most > MAX_ITERATIONS:
            what = "a number of iterations"
            self._report.error(NumberOutOfRange(span=step.span, number=most, what=what, limit=MAX_ITERATIONS))
        elif high == 0:
            self._report.error(BadBounds(span=step.span, bounds=bounds, reason="nothing would be left"))
        elif high is not None and high < low:
            self._report.error(BadBounds(span=step.span, bounds=bounds, reason=f"{high} is less than {low}"))

    # --- bodies -----------------------------------------------------------------------------------

    def _body(self, written: tree.Step) -> Body:
        match written:
            case tree.StepGroup(sequence):
                return self.sequence(sequence)
            case tree.Permute(sequence):
                return self._permute(sequence)
            case _:
                return self._element(written)

    def _permute(self, written: tree.SequenceExpression) -> Permute:
        if not 2 <= len(written.steps) <= MAX_ITEMS:
            self._report.error(PermuteSize(span=written.span, number=len(written.steps), limit=MAX_ITEMS))
        if len(set(written.operators)) > 1:
            self._report.error(MixedPermute(span=written.span, first=written.operators[0]))
        operator = Contiguity(written.operators[0]) if written.operators else Contiguity.NEXT
        items = tuple(
            Step(self._item(item), operator=operator, number=next(self._numbers), span=item.span)
            for item in written.steps
        )
        return Permute(items, operator)

    def _item(self, written: tree.Step) -> Element:
        if isinstance(written, (tree.Name, tree.Conjunction, tree.Disjunction)):
            element = self._element(written)
            self._check_choices(element, written.span)
            return element
        self._report.error(PermuteItem(span=written.span))
        return Either(tuple(map(self._gpm, names(written))))

    def _element(self, step: tree.Step) -> Element:
        match step:
            case tree.Name():
                return self._gpm(step)
            case tree.Conjunction(parts):
                return Both(tuple(map(self._part, parts)))
            case tree.Disjunction(parts):
                return Either(tuple(map(self._part, parts)))
            case _:
                return self._part(step)

    def _part(self, step: tree.Step) -> Element:
        """A part of a conjunction or disjunction: what only a whole step can have is an error here."""
        match step:
            case tree.Quantified(body, mark):
                if mark == "!":
                    self._report.error(MisplacedNegation(span=step.span))
                else:
                    shown = "{m,n}" if mark == "{" else mark
                    example = f"(A|B){shown}"
                    self._report.error(MisplacedQuantifier(span=step.span, mark=shown, example=example))
                return self._part(body)
            case tree.StepGroup(sequence) | tree.Permute(sequence):
                self._report.error(NestedSequence(span=step.span))
                return Either(tuple(map(self._part, sequence.steps)))
            case tree.Gapped(body):
                return self._part(body)
            case _:
                return self._element(step)

    # --- gaps -------------------------------------------------------------------------------------

    def _gap(self, written: tree.Gap) -> Gap:
        after = 0 if written.after is None else self._duration(written.after)
        within = None if written.within is None else self._duration(written.within)
        if within is not None and after > within:
            self._report.error(BadGap(span=written.span, reason="AFTER is longer than WITHIN"))
        return Gap(after, within)

    def _duration(self, written: tree.Duration) -> int:
        if written.unit == "EVENT":
            self._report.error(BadGap(span=written.span, reason="a gap is a time, not a number of events"))
            return 1
        if written.size < 1:
            self._report.error(BadGap(span=written.span, reason="a gap is at least 1 unit long"))
            return 1
        length = microseconds(written.size, written.unit)
        if length > MAX_DURATION:
            most = f"{MAX_DURATION // (length // written.size):,} {written.unit}S"
            self._report.error(
                NumberOutOfRange(span=written.span, number=written.size, what="a gap", limit=most)
            )
        return min(length, MAX_DURATION)


def _only_repeats(sequence: tree.SequenceExpression, repeated: bool) -> bool:
    """True if iterations of this group could not be told apart, because one of its own repetitions is all it must have.

    Under ``?`` only a single quantified step is refused.
    """
    if len(sequence.steps) == 1 and isinstance(_bare(sequence.steps[0]), tree.Quantified):
        return True
    if not repeated:
        return False
    needed = [step for step in _flattened(sequence) if not _skippable(step)]
    return len(needed) == 1 and isinstance(needed[0], tree.Quantified)


def _bare(step: tree.Step) -> tree.Step:
    return step.body if isinstance(step, tree.Gapped) else step


def _flattened(sequence: tree.SequenceExpression) -> Iterator[tree.Step]:
    """The steps of a group; parentheses without quantifier do not hide theirs."""
    for written in sequence.steps:
        step = _bare(written)
        if isinstance(step, tree.StepGroup):
            yield from _flattened(step.sequence)
        else:
            yield step


def _skippable(step: tree.Step) -> bool:
    return isinstance(step, tree.Quantified) and (step.mark in "?!" or step.minimum == 0)
