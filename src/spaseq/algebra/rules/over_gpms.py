"""What the rules share: replacing every GPM, or every step, of a query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from spaseq.algebra.events import Both, Either, Element, EventQuery, Gpm, Permute, Sequence, Step


def map_gpms(query: EventQuery, change: Callable[[Gpm], Gpm]) -> EventQuery:
    """The query with every GPM replaced."""
    return map_steps(
        query, lambda step: step if step.is_group else replace(step, body=map_element(step.element, change))
    )


def map_element(element: Element, change: Callable[[Gpm], Gpm]) -> Element:
    """The element with every GPM replaced."""
    match element:
        case Gpm():
            return change(element)
        case Both(parts):
            return Both(tuple(map_element(part, change) for part in parts))
        case Either(parts):
            return Either(tuple(map_element(part, change) for part in parts))


def map_steps(query: EventQuery, change: Callable[[Step], Step]) -> EventQuery:
    """The query with every step replaced, groups after what they hold."""

    def changed(step: Step) -> Step:
        match step.body:
            case Sequence(steps):
                return change(replace(step, body=Sequence(tuple(map(changed, steps)))))
            case Permute(items, operator):
                return change(replace(step, body=Permute(tuple(map(changed, items)), operator)))
            case _:
                return change(step)

    return replace(query, sequence=Sequence(tuple(map(changed, query.sequence.steps))))
