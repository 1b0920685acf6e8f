"""What a window holds at an instant (semantics 3.2)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate
from typing import assert_never

from spaseq.algebra.windows import (
    Everything,
    Interval,
    Landmark,
    Range,
    StreamWindow,
    Unit,
    WindowBody,
)
from spaseq.model.events import GraphEvent
from spaseq.model.forms import EVERY_STREAM

Held = list[GraphEvent]


def contents(
    window: StreamWindow, events: Iterable[GraphEvent], t: int, *, closed: bool, closing: int | None = None
) -> Held:
    """The events that a window holds at ``t``, of events in order of time, then arrival.

    ``closed`` is true under WINDOW CLOSE; ``closing`` is then the position at which a window of counted steps last closed.
    """
    held = [event for event in of_stream(window, events) if event.time <= t]
    for body in reversed(window.bodies):
        held = _over(body, held, t, closed, closing)
    return held


def of_stream(window: StreamWindow, events: Iterable[GraphEvent]) -> Held:
    """The events of a window's stream."""
    return [event for event in events if window.stream in (EVERY_STREAM, event.stream)]


def _over(body: WindowBody, held: Held, t: int, closed: bool, closing: int | None) -> Held:
    match body:
        case Everything():
            return held
        case Landmark(start):
            return [event for event in held if start <= event.time]
        case Interval(first, last):
            return [event for event in held if first <= event.time <= last]
        case Range(unit=Unit.TIME):
            start, end = interval(body, t, closed=closed)
            return [e for e in existing(body, held) if start < e.time <= min(end, t)]
        case Range(size, step, unit, _):
            own = existing(body, held)
            at = positions(own, unit)
            now = at[-1] if at else 0
            end = now if step is None else _rounded(now, step, closed) if closing is None else closing
            return [e for e, p in zip(own, at, strict=True) if end - size < p <= min(end, now)]
        case _:
            assert_never(body)


def interval(body: Range, t: int, *, closed: bool) -> tuple[int, int]:
    """The start, which is outside, and the end of a window of time: the last closed instance, or the one still open."""
    origin = body.start or 0
    end = t if body.step is None else origin + _rounded(t - origin, body.step, closed)
    return end - body.size, end


def existing(body: Range, held: Held) -> Held:
    """The events that exist for a window: none before STARTING AT."""
    return [event for event in held if body.start is None or event.time >= body.start]


def positions(held: Held, unit: Unit) -> list[int]:
    """The position of each event: the events, or the triples, up to and including it."""
    return list(accumulate(1 if unit is Unit.EVENTS else len(event.triples) for event in held))


def _rounded(distance: int, step: int, down: bool) -> int:
    """The last multiple of a step up to a distance, or the first one that is not less."""
    return distance // step * step if down else -(-distance // step) * step
