"""Where a step can stand in the flat sequences that a query stands for (semantics 1.11)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from spaseq.algebra.events import (
    Absent,
    Body,
    Gpm,
    Permute,
    Repeat,
    Sequence,
    Step,
    all_steps,
    gpms,
    inner_steps,
)


def possible_first(sequence: Sequence) -> frozenset[int]:
    """The numbers of the steps, groups included, that may have no positive step before them."""
    return frozenset(_reachable(sequence.steps, backwards=False))


def possible_last(sequence: Sequence) -> frozenset[int]:
    """The numbers of the steps, groups included, that may have no positive step behind them."""
    return frozenset(_reachable(sequence.steps, backwards=True))


def _reachable(steps: tuple[Step, ...], *, backwards: bool) -> Iterable[int]:
    for step in reversed(steps) if backwards else steps:
        yield step.number
        if isinstance(step.body, Permute):
            yield from (item.number for item in step.body.items)
        else:
            yield from _reachable(inner_steps(step.body), backwards=backwards)
        if step.positive:
            return


def possible_later(sequence: Sequence) -> frozenset[int]:
    """The numbers of the steps, groups included, that may have a positive step before them, outside of what repeats them."""
    return frozenset(_later(sequence.steps, seen=False))


def _later(steps: tuple[Step, ...], *, seen: bool) -> Iterable[int]:
    for step in steps:
        if seen:
            yield step.number
        yield from _later(inner_steps(step.body), seen=seen)
        seen = seen or not step.negated


def bounded_by_gaps(sequence: Sequence) -> bool:
    """True if gaps alone keep the state from growing.

    Each step but the first has a WITHIN gap, so has each unbounded repetition between its iterations, and no negated or
    skippable step is first.
    """
    first, *others = sequence.steps
    return (
        bool(others)
        and _opens_positive(first)
        and _bounded_inside(first)
        and all(map(_bounded, others))
        and all(map(_repeats_within, all_steps(sequence)))
    )


def _opens_positive(step: Step) -> bool:
    inner = inner_steps(step.body)
    return step.positive and (not inner or _opens_positive(inner[0]))


def _bounded(step: Step) -> bool:
    if isinstance(step.quantifier, Absent):
        return True
    return step.gap.within is not None and _bounded_inside(step)


def _bounded_inside(step: Step) -> bool:
    return not isinstance(step.body, Permute) and all(map(_bounded, inner_steps(step.body)[1:]))


def _repeats_within(step: Step) -> bool:
    repeat = step.quantifier
    unbounded = isinstance(repeat, Repeat) and repeat.maximum is None
    return not unbounded or (isinstance(repeat, Repeat) and repeat.gap.within is not None)


def needed_gpms(body: Body) -> Iterator[Gpm]:
    """The GPMs of steps that no match may leave out."""
    steps = inner_steps(body)
    if not steps:
        yield from gpms(body)
    for step in steps:
        if step.positive:
            yield from needed_gpms(step.body)
