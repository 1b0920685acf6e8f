"""When a query over windows is evaluated, and over which contents (semantics 3.4)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import assert_never

from spaseq.algebra.windows import ReportPolicy, StreamWindow, Trigger, Unit, WindowQuery
from spaseq.model.events import GraphEvent
from spaseq.reference.contents import Held, contents, existing, of_stream, positions


@dataclass(frozen=True)
class Evaluation:
    """An instant, and what every window of the query then holds; ``number`` counts the evaluations at that instant."""

    instant: int
    held: tuple[Held, ...]
    number: int = 0

    @property
    def start(self) -> int:
        """The earliest timestamp in the windows; the instant itself if they are empty."""
        return min((event.time for held in self.held for event in held), default=self.instant)


def evaluations(query: WindowQuery, events: Iterable[GraphEvent]) -> list[Evaluation]:
    """All evaluations over a finite input, in order."""
    ordered = sorted(events, key=lambda event: event.time)
    known = [event for event in ordered if any(of_stream(window, [event]) for window in query.windows)]
    if not known:
        return []
    match query.report.trigger:
        case Trigger.CONTENT_CHANGE:
            times = sorted({event.time for event in known})
            found = [each for t in times if _changed(each := _open(query, known, t))]
        case Trigger.EVERY:
            found = [_open(query, known, t) for t in _every(query.report, known)]
        case Trigger.WINDOW_CLOSE:
            found = _closings(query, known)
        case _:
            assert_never(query.report.trigger)
    return [each for each in found if any(each.held) or not query.report.non_empty]


def _open(query: WindowQuery, known: Held, t: int) -> Evaluation:
    """The windows as far as they have come."""
    return Evaluation(t, tuple(contents(window, known, t, closed=False) for window in query.windows))


def _changed(evaluation: Evaluation) -> bool:
    """Some window holds an event of this instant."""
    return any(event.time == evaluation.instant for held in evaluation.held for event in held)


def _every(report: ReportPolicy, known: Held) -> list[int]:
    """From the first event on to the first instant that is not before the last event."""
    assert report.every is not None
    first, last = known[0].time, known[-1].time
    found = [_next(first, report.every, report.start)]
    while found[-1] < last:
        found.append(found[-1] + report.every)
    return found


def _next(t: int, step: int, start: int | None) -> int:
    """The first instant from ``t`` on that is a number of steps from the epoch, or from the start and not before it."""
    origin = start or 0
    steps = -((origin - t) // step)
    return origin + (steps if start is None else max(steps, 0)) * step


# --- WINDOW CLOSE -------------------------------------------------------------------------------


def _closings(query: WindowQuery, known: Held) -> list[Evaluation]:
    """All closing instants together; as many evaluations at one as some counted window closes there."""
    counted = [_counted_closings(window, known) for window in query.windows]
    timed = {t for window in query.windows for t in _time_closings(window, known)}
    found = []
    for t in sorted(timed | {at for closings in counted for at, _ in closings}):
        most = max(sum(at == t for at, _ in closings) for closings in counted)
        found += [
            Evaluation(
                t,
                tuple(
                    contents(window, known, t, closed=True, closing=_position(closings, t, number))
                    for window, closings in zip(query.windows, counted, strict=True)
                ),
                number,
            )
            for number in range(max(most, 1))
        ]
    return found


def _time_closings(window: StreamWindow, known: Held) -> list[int]:
    """From the first event on; after the last one only those whose content is not empty."""
    body = window.stepping
    if body is None or body.step is None or body.unit is not Unit.TIME:
        return []
    last = known[-1].time
    found = []
    t = _next(known[0].time, body.step, body.start)
    while t <= last or t < last + body.size:
        if t <= last or contents(window, known, t, closed=True):
            found.append(t)
        t += body.step
    return found


def _counted_closings(window: StreamWindow, known: Held) -> list[tuple[int, int]]:
    """When a window of counted steps closes, and at which position: with the first event that reaches it."""
    body = window.stepping
    if body is None or body.step is None or body.unit is Unit.TIME:
        return []
    own = existing(body, of_stream(window, known))
    at = positions(own, body.unit)
    ends = range(body.step, (at[-1] if at else 0) + 1, body.step)
    return [(next(e.time for e, p in zip(own, at, strict=True) if p >= end), end) for end in ends]


def _position(closings: list[tuple[int, int]], t: int, number: int) -> int | None:
    """The ``number``-th closing at an instant, or the last one up to it; None for windows that do not count."""
    here = [position for at, position in closings if at == t]
    before = [position for at, position in closings if at < t]
    if here:
        return here[min(number, len(here) - 1)]
    return before[-1] if before else None
