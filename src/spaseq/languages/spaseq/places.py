"""Rules of SEQ that depend on where a step stands: negation and gaps at the ends, operators, repetitions at the start."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from spaseq.algebra.events import (
    NO_GAP,
    Absent,
    Contiguity,
    EventWindow,
    Maybe,
    Permute,
    Repeat,
    Sequence,
    Step,
    TimeWindow,
    Window,
    all_steps,
    inner_steps,
)
from spaseq.algebra.structure import possible_first, possible_last, possible_later
from spaseq.languages.report import Report
from spaseq.languages.spaseq.errors import (
    BadGap,
    DefaultOperatorUnclear,
    LeadingNegationInEventWindow,
    OperatorsDisagree,
    TrailingNegationInEventWindow,
    TrailingNegationNeedsWindow,
)


@dataclass(frozen=True, slots=True)
class Places:
    """Checks a sequence; ``shown`` spells a step for messages."""

    sequence: Sequence
    window: Window | None
    shown: dict[int, str]
    report: Report

    @property
    def _first(self) -> frozenset[int]:
        return possible_first(self.sequence)

    @property
    def _later(self) -> frozenset[int]:
        return possible_later(self.sequence)

    def check(self) -> None:
        """All rules of this module."""
        first, last = self._first, possible_last(self.sequence)
        for step in all_steps(self.sequence):
            if step.number in last:
                self._check_last(step)
            if step.number in first:
                self._check_first(step)
        self._check_gaps(self.sequence.steps, first)
        self._check_repeated(self.sequence.steps, first, repeated=False)
        self._operators(self.sequence.steps, None, {})

    # --- ends -------------------------------------------------------------------------------------

    def _check_first(self, step: Step) -> None:
        if isinstance(step.quantifier, Absent) and step.quantifier.within is not None:
            reason = "nothing comes before it to count from"
            self.report.error(BadGap(span=step.span, reason=reason))
        guards = not step.positive and not step.is_group
        if guards and isinstance(self.window, EventWindow) and self.window.sliding:
            self.report.error(LeadingNegationInEventWindow(span=step.span, step=self.shown[step.number]))

    def _check_last(self, step: Step) -> None:
        """A guard in last place waits for something that ends: its own time, or a time window."""
        quantifier = step.quantifier
        longest = isinstance(quantifier, Repeat) and quantifier.longest
        if not longest and not isinstance(quantifier, Absent):
            return
        if isinstance(quantifier, Absent) and quantifier.within is not None:
            if isinstance(self.window, EventWindow):
                self.report.error(TrailingNegationInEventWindow(span=step.span, step=self.shown[step.number]))
        elif not isinstance(self.window, TimeWindow):
            self.report.error(TrailingNegationNeedsWindow(span=step.span, step=self.shown[step.number]))

    # --- gaps -------------------------------------------------------------------------------------

    def _check_gaps(self, steps: Iterable[Step], first: frozenset[int], *, inside: bool = False) -> None:
        for index, step in enumerate(steps):
            if step.gap != NO_GAP and index == 0 and inside:
                reason = "the first step in a parenthesis has its gap behind the parenthesis"
                self.report.error(BadGap(span=step.span, reason=reason))
            elif step.gap != NO_GAP and step.number in first:
                self.report.error(BadGap(span=step.span, reason="no event need come before it"))
            elif _begins_open(step) and (step.gap != NO_GAP or _gap_between(step)):
                reason = "its group begins with a step that may be missing"
                self.report.error(BadGap(span=step.span, reason=reason))
            self._check_gaps(inner_steps(step.body), first, inside=True)

    # --- repetitions ------------------------------------------------------------------------------

    def _check_repeated(self, steps: Iterable[Step], first: frozenset[int], *, repeated: bool) -> None:
        """Inside a repeated group ``+`` at the start would mean ``;`` in one iteration and ``,`` in the next."""
        for step in steps:
            repeats = isinstance(step.quantifier, Repeat)
            if repeated and repeats and step.quantifier.between is None and step.number in first:  # type: ignore[union-attr]
                self.report.error(DefaultOperatorUnclear(span=step.span, step=self.shown[step.number]))
            self._check_repeated(inner_steps(step.body), first, repeated=repeated or repeats)

    # --- operators --------------------------------------------------------------------------------

    def _operators(
        self, steps: tuple[Step, ...], entry: Contiguity | None, pending: dict[int, Step]
    ) -> dict[int, Step]:
        """``σ • A! ∘ Ψ``: • must equal ∘, or be ``;`` or ``:`` (semantics 1.6), in every flat sequence.

        ``pending`` are guards behind ``,`` that may stand right before; the result are those right behind.
        """
        for index, step in enumerate(steps):
            operator = entry if index == 0 else step.operator
            pending = self._after(replace(step, operator=operator), pending)
        return pending

    def _after(self, step: Step, pending: dict[int, Step]) -> dict[int, Step]:
        if not step.is_group:
            self._compare(pending, step.operator)
            guards = not step.positive and step.operator is Contiguity.STRICT
            return {step.number: step} if guards else {}
        if isinstance(step.body, Permute):
            self._compare(pending, step.operator)
            after: dict[int, Step] = {}
        else:
            after = self._operators(inner_steps(step.body), step.operator, pending)
            if isinstance(step.quantifier, Repeat):
                starts = (True,) * (step.number in self._first) + (False,) * (step.number in self._later)
                for at_start in starts:
                    between = step.quantifier.operator(first_step=at_start)
                    after |= self._operators(inner_steps(step.body), between, after)
        # A group that is left out leaves nothing behind.
        return after | pending if isinstance(step.quantifier, Maybe) or step.skippable else after

    def _compare(self, pending: dict[int, Step], after: Contiguity | None) -> None:
        for guard in pending.values():
            if after is not None and after is not Contiguity.STRICT:
                self.report.error(
                    OperatorsDisagree(
                        span=guard.span, before=",", after=after.value, step=self.shown[guard.number]
                    )
                )


def _begins_open(step: Step) -> bool:
    """True for a group that begins with a step that may be missing."""
    if not isinstance(step.body, Sequence):
        return False
    head = step.body.steps[0]
    return not head.positive or _begins_open(head)


def _gap_between(step: Step) -> bool:
    return isinstance(step.quantifier, Repeat) and step.quantifier.gap != NO_GAP
