"""Flat sequences (semantics 1.11): a query stands for all of them, and its answer is the union of theirs.

They are walked depth first, so that a beginning which nothing matches is not walked on. A repetition without upper bound
ends by itself: every iteration takes a later event.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import permutations

from spaseq.algebra.events import (
    Absent,
    Contiguity,
    Gap,
    Maybe,
    Once,
    Permute,
    Repeat,
    Sequence,
    Step,
)
from spaseq.reference.runs import LONGEST, NEGATED, SKIPPED, Flat, Guard, Path, Run
from spaseq.reference.sequence import Scene, begin, end, follow


@dataclass(frozen=True)
class Beginning:
    """The beginning of a flat sequence: its runs (None before the first positive step), and what guards the gap now."""

    runs: tuple[Run, ...] | None = None
    guards: tuple[Guard, ...] = ()

    def guarded(self, guard: Guard) -> Beginning:
        return replace(self, guards=(*self.guards, guard))


Then = Callable[[Beginning], None]


def runs(scene: Scene) -> list[Run]:
    """All timed mappings of the query's sequence in a scene, with the events behind them."""
    found: list[Run] = []

    def finish(beginning: Beginning) -> None:
        assert beginning.runs is not None, "a sequence has a positive step"
        # A step left out with no positive step behind it is not missed.
        guards = [guard for guard in beginning.guards if guard.kind != SKIPPED]
        found.extend(end(scene, beginning.runs, guards) if guards else beginning.runs)

    _Walk(scene).sequence(scene.query.sequence.steps, None, Gap(), (), Beginning(), finish)
    return found


@dataclass(frozen=True)
class _Walk:
    scene: Scene

    def sequence(
        self,
        steps: tuple[Step, ...],
        operator: Contiguity | None,
        gap: Gap,
        path: Path,
        so_far: Beginning,
        then: Then,
    ) -> None:
        """Steps one after the other; ``operator`` and ``gap`` stand before the first of them."""
        if not steps:
            then(so_far)
            return
        first, *others = steps
        rest = tuple(others)

        def go_on(beginning: Beginning) -> None:
            following = rest[0] if rest else first
            self.sequence(rest, following.operator, following.gap, path, beginning, then)

        self.step(first, operator, gap, path, so_far, go_on)

    def step(
        self,
        step: Step,
        operator: Contiguity | None,
        gap: Gap,
        path: Path,
        so_far: Beginning,
        then: Then,
    ) -> None:
        match step.quantifier:
            case Once():
                self.once(step, operator, gap, path, so_far, then)
            case Absent(within):
                then(so_far.guarded(Guard(Flat(step, path), NEGATED, within=within)))
            case Maybe():
                self.once(step, operator, gap, path, so_far, then)
                self.skipped(step, gap, path, so_far, then)
            case Repeat(minimum):
                self.repeated(step, 1, so_far.runs is None, operator, gap, path, so_far, then)
                if minimum == 0:
                    self.skipped(step, gap, (*path, (step.number, 1)), so_far, then)

    def once(
        self,
        step: Step,
        operator: Contiguity | None,
        gap: Gap,
        path: Path,
        so_far: Beginning,
        then: Then,
    ) -> None:
        match step.body:
            case Sequence(steps):
                self.sequence(steps, operator, gap, path, so_far, then)
            case Permute(items, between):
                for first, *others in permutations(items):
                    order = (first, *(replace(item, operator=between) for item in others))
                    self.sequence(order, operator, gap, path, so_far, then)
            case _:
                flat = Flat(step, path, gap)
                if so_far.runs is None:
                    found = begin(self.scene, flat, so_far.guards)
                else:
                    found = follow(self.scene, so_far.runs, flat, operator, so_far.guards)
                if found:
                    then(Beginning(tuple(found)))

    def repeated(
        self,
        step: Step,
        iteration: int,
        at_start: bool,
        operator: Contiguity | None,
        gap: Gap,
        path: Path,
        so_far: Beginning,
        then: Then,
    ) -> None:
        """The iteration with this number, and all that may follow it (1.5)."""
        repeat = step.quantifier
        assert isinstance(repeat, Repeat)
        between = repeat.operator(first_step=at_start)

        def go_on(beginning: Beginning) -> None:
            more = repeat.maximum is None or iteration < repeat.maximum
            if iteration >= repeat.minimum:
                ended = beginning
                if repeat.longest and more:
                    flat = Flat(step, (*path, (step.number, iteration + 1)), repeat.gap)
                    strict = between is Contiguity.STRICT
                    ended = beginning.guarded(Guard(flat, LONGEST, contiguous=strict))
                then(ended)
            if more:
                self.repeated(step, iteration + 1, at_start, between, repeat.gap, path, beginning, then)

        self.once(step, operator, gap, (*path, (step.number, iteration)), so_far, go_on)

    def skipped(self, step: Step, gap: Gap, path: Path, so_far: Beginning, then: Then) -> None:
        """A choice that is left out must be absent in its gap; a group that is left out leaves nothing behind."""
        then(so_far if step.is_group else so_far.guarded(Guard(Flat(step, path, gap), SKIPPED)))
