"""When a continuous query is evaluated, and what its windows then hold (semantics 3.2 and 3.4).

Whatever its kind, a window holds at every evaluation a contiguous range of its stream's events, in order of time, then
arrival, and neither end of the range ever moves back. So the contents of all windows at many evaluations are two arrays
of positions per window.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from spaseq.algebra.windows import (
    Everything,
    Interval,
    Landmark,
    Range,
    ReportPolicy,
    StreamWindow,
    Trigger,
    Unit,
    WindowBody,
)
from spaseq.columnar.keeping import Keeper
from spaseq.temporal.instants import FOREVER
from spaseq.windowed.instants import distinct, multiple, repeats, steps

Longs = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_NOTHING: Final = np.zeros(0, np.int64)


@dataclass(slots=True)
class Pairs:
    """How many pairs of rows joins have looked at in vain: they were never there together."""

    vain: int = 0
    kept: int = 0


@dataclass(frozen=True, slots=True)
class Period:
    """Some evaluations in a row: their instants, and the contents of every window as a range of positions."""

    first: int
    """The number of the first of them, counted from 0 over the whole run."""
    instants: Longs
    starts: Longs
    """The earliest timestamp in any window at each of them; the instant itself if all are empty."""
    numbers: Longs
    """How many evaluations at the same instant came before each: counted windows may close several times at one."""
    low: tuple[Longs, ...]
    high: tuple[Longs, ...]
    pairs: Pairs = field(default_factory=Pairs)

    def __len__(self) -> int:
        return len(self.instants)

    def part(self, first: int, last: int) -> Period:
        """Some of them in a row."""
        cut = slice(first, last)
        return Period(
            self.first + first, self.instants[cut], self.starts[cut], self.numbers[cut],
            tuple(low[cut] for low in self.low), tuple(high[cut] for high in self.high),
        )  # fmt: skip

    def turned_over(self, first: int, times: int) -> int:
        """The evaluation at which some window has changed all of its contents so often since another one; or their number."""
        found = len(self)
        for low, high in zip(self.low, self.high, strict=True):
            at = first
            for _ in range(times):
                gone = np.searchsorted(low, high[at])
                at = int(max(gone, np.searchsorted(high, high[at], side="right")))
                if at >= found:
                    break
            found = min(found, max(at, first + 1))
        return found

    def entering(self, window: int, positions: Longs) -> Longs:
        """The first of these evaluations, counted from 0, at which the range of a window reaches each position."""
        return np.searchsorted(self.high[window], positions, side="right").astype(np.int64)

    def leaving(self, window: int, positions: Longs) -> Longs:
        """The first of these evaluations, counted from 0, at which each position has left a window."""
        return np.searchsorted(self.low[window], positions, side="right").astype(np.int64)


class Arrived(NamedTuple):
    """Further events in order of time: their numbers and times, the position of each in a stream, and which are of it."""

    numbers: Longs
    times: Longs
    position: Longs
    own: Longs


class _Events(Keeper):
    """The events of one stream that a window may still hold: when they came, and how many triples each has."""

    ARRAYS = ("times", "counts")
    NUMBERS = ("first", "triples_before")

    def __init__(self) -> None:
        self.first = 0
        """The position of the first one that is kept."""
        self.triples_before = 0
        self.times = _NOTHING
        self.counts = _NOTHING
        """The triples of the stream up to and including each event."""

    def append(self, times: Longs, triples: Longs) -> None:
        before = int(self.counts[-1]) if len(self.counts) else self.triples_before
        self.times = np.concatenate([self.times, times])
        self.counts = np.concatenate([self.counts, before + np.cumsum(triples)])

    def between(self, after: int, until: int) -> Longs:
        """The times after one instant and up to another."""
        first, last = np.searchsorted(self.times, [after, until], side="right")
        return self.times[first:last]

    def forget(self, position: int) -> None:
        """Drop the events before a position."""
        dropped = position - self.first
        if dropped > 0:
            self.triples_before = int(self.counts[dropped - 1])
            self.times, self.counts = self.times[dropped:], self.counts[dropped:]
            self.first = position


class _Window(Keeper):
    """One window over the events of its stream."""

    NUMBERS = ("unseen_events", "unseen_triples", "last_closing", "begin", "begin_time")

    def __init__(self, window: StreamWindow, events: _Events, *, closed: bool) -> None:
        self.bodies = window.bodies
        self.stepping = window.stepping
        self.events = events
        self._closed = closed
        """Whether it shows its last closed content, or the one that is still open."""
        self.last_closing = 0
        """The position at which a counted window closed last."""
        self.unseen_events = 0
        self.unseen_triples = 0
        self.begin = -1
        """The position of the first event of a window that only grows, once there is one, and its time."""
        self.begin_time = 0

    @property
    def grows(self) -> bool:
        """True if no event ever leaves it: then the events that evaluations have seen need not be kept."""
        return all(isinstance(body, (Everything, Landmark)) for body in self.bodies)

    @property
    def counted(self) -> Range | None:
        """The body whose closings are counted, if there is one."""
        return self.stepping if self.stepping is not None and self.stepping.unit is not Unit.TIME else None

    def ranges(self, instants: Longs, closings: Longs | None = None) -> tuple[Longs, Longs]:
        """What the window holds at some instants; ``closings`` are the positions at which a counted one closes there."""
        low = np.full(len(instants), self.events.first, np.int64)
        high = self.events.first + np.searchsorted(self.events.times, instants, side="right").astype(np.int64)
        if self.grows:
            low = low + len(self.events.times) if self.begin < 0 else np.full(len(instants), self.begin)
            return low, np.maximum(low, high)
        for body in reversed(self.bodies):
            at = closings if body is self.counted else None
            low, high = self._narrowed(body, instants, low, high, at)
        return low, np.maximum(low, high)

    def _narrowed(
        self, body: WindowBody, instants: Longs, low: Longs, high: Longs, closings: Longs | None
    ) -> tuple[Longs, Longs]:
        match body:
            case Everything():
                return low, high
            case Landmark(start):
                return np.maximum(low, self.after(start - 1)), high
            case Interval(first, last):
                return np.maximum(low, self.after(first - 1)), np.minimum(high, self.after(last))
            case Range(size, step, Unit.TIME, start):
                ends = instants
                if step is not None:
                    ends = multiple(instants, step, start or 0, closed=self._closed)
                low, high = np.maximum(low, self.after(ends - size)), np.minimum(high, self.after(ends))
                return (low if start is None else np.maximum(low, self.after(start - 1))), high
            case Range(start=start):
                if start is not None:
                    low = np.maximum(low, self.after(start - 1))
                return self._counted_range(body, low, np.maximum(low, high), closings)

    def _counted_range(
        self, body: Range, low: Longs, high: Longs, closings: Longs | None
    ) -> tuple[Longs, Longs]:
        """A range on positions, counted from the first event that the body sees."""
        outermost = body is self.bodies[-1]
        before = np.int64(self._unseen(body.unit)) if outermost else self._count(low, body.unit)
        ends = self._count(high, body.unit) - before
        if closings is not None:
            ends = closings
        elif body.step is not None:
            ends = multiple(ends, body.step, 0, closed=self._closed)
        # An event belongs to an interval by its position, which counts itself.
        # An instance may begin with events that are still to come.
        begin = np.minimum(self._position(before + ends - body.size, body.unit), high)
        low = np.maximum(low, begin)
        if closings is None and body.step is None:  # it ends with what has come
            return low, high
        return low, np.minimum(high, self._position(before + ends, body.unit))

    def closings(self, since: int, until: int) -> tuple[Longs, Longs]:
        """The instants after ``since`` and up to ``until`` at which a counted window closes, and at which positions."""
        body, events = self.counted, self.events
        assert body is not None
        assert body.step is not None
        first, last = (int(at) for at in np.searchsorted(events.times, [since, until], side="right"))
        if body.start is not None:
            first = max(first, int(np.searchsorted(events.times, body.start)))
        if first >= last:
            return _NOTHING, _NOTHING
        unseen = self._unseen(body.unit)
        ends = self._count(np.arange(first, last + 1) + events.first, body.unit) - unseen
        done = ends // body.step
        many = np.diff(done)
        event = np.repeat(np.arange(first, last), many)
        nth = np.arange(len(event)) - np.repeat(np.cumsum(many) - many, many)
        return events.times[event], (done[:-1][event - first] + 1 + nth) * body.step

    def note(self, times: Longs, triples: Longs) -> None:
        """Count the events, now appended, that come before a window starts to count; find the first one of a window that grows."""
        if self.grows and self.begin < 0:
            start = max((body.start for body in self.bodies if isinstance(body, Landmark)), default=None)
            early = 0 if start is None else int(np.searchsorted(times, start))
            if early < len(times):
                self.begin = self.events.first + len(self.events.times) - len(times) + early
                self.begin_time = int(times[early])
        body = self.bodies[-1]
        if isinstance(body, Range) and body.start is not None:
            early = int(np.searchsorted(times, body.start))
            self.unseen_events += early
            self.unseen_triples += int(triples[:early].sum())

    def _unseen(self, unit: Unit) -> int:
        return self.unseen_events if unit is Unit.EVENTS else self.unseen_triples

    def _count(self, positions: Longs, unit: Unit) -> Longs:
        """How many events, or triples, come before each position."""
        if unit is Unit.EVENTS:
            return positions
        counts = np.concatenate([[self.events.triples_before], self.events.counts])
        found: Longs = counts[positions - self.events.first]
        return found

    def _position(self, counts: Longs, unit: Unit) -> Longs:
        """The first position whose event has a count greater than each of these."""
        if unit is Unit.EVENTS:
            return counts
        return self.events.first + np.searchsorted(self.events.counts, counts, side="right").astype(np.int64)

    def after(self, instants: Longs | int) -> Longs:
        """The first position whose event comes after each instant."""
        return self.events.first + np.searchsorted(self.events.times, instants, side="right").astype(np.int64)


Ranges = list[tuple[Longs, Longs]]
"""What every window holds at some instants, as ranges of positions."""


class _Due(NamedTuple):
    """Instants that are due, the closings of counted windows at them, up to when all is decided, and what windows hold there if it is known."""

    instants: Longs
    closings: list[Longs | None]
    until: int
    ranges: Ranges | None = None


class Evaluations(Keeper):
    """The evaluations of a continuous query, as its events become certain."""

    NUMBERS = ("_made", "_begun", "_done", "_last")

    def __init__(self, windows: Sequence[StreamWindow], report: ReportPolicy) -> None:
        self._report = report
        self.streams = tuple(dict.fromkeys(window.stream for window in windows))
        self._events = {stream: _Events() for stream in self.streams}
        closed = report.trigger is Trigger.WINDOW_CLOSE
        self._windows = [_Window(each, self._events[each.stream], closed=closed) for each in windows]
        self._made = 0
        self._begun = False
        self._done = 0
        """Every instant up to this one has been decided, once there was an event."""
        self._last = 0
        """The timestamp of the last event."""

    def keepers(self) -> Iterator[tuple[str, Keeper]]:
        """The events of every stream, and what every window has counted."""
        yield from ((f"stream{number}", events) for number, events in enumerate(self._events.values()))
        yield from ((f"window{number}", window) for number, window in enumerate(self._windows))

    @property
    def begun(self) -> bool:
        """True once there was an event."""
        return bool(self._begun)

    def arrived(self, stream: str) -> int:
        """How many events of a stream there were."""
        events = self._events[stream]
        return events.first + len(events.times)

    def due(self) -> int | None:
        """The first instant that is decided once no event up to it can come, if time alone brings one."""
        if not self._begun:
            return None
        instants = self._due(FOREVER).instants
        return int(instants[0]) if len(instants) else None

    def step(self, arrived: dict[str, tuple[Longs, Longs]], now: int) -> Period:
        """The evaluations that became certain.

        ``arrived`` are the times and numbers of triples of new events by stream, in order; events at ``now`` may still come,
        earlier ones may not. ``now`` is `FOREVER` when the input has ended.
        """
        given = [times for times, _ in arrived.values() if len(times)]
        if given:
            last = max(int(times[-1]) for times in given)
            if not self._begun:
                self._begun = True
                self._done, self._last = min(int(times[0]) for times in given) - 1, last
            self._last = max(self._last, last)
        for stream, (times, triples) in arrived.items():
            self._events[stream].append(times, triples)
            for window in self._windows:
                if window.events is self._events[stream]:
                    window.note(times, triples)
        if not self._begun:
            return self._period(_Due(_NOTHING, [None] * len(self._windows), 0))
        due = self._due(now)
        period = self._period(due)
        for window, at in zip(self._windows, due.closings, strict=True):
            if at is not None and len(at):
                window.last_closing = int(at[-1])
        self._done = max(self._done, due.until)
        self._forget()
        return period

    def _due(self, now: int) -> _Due:
        certain = now - 1
        nothing: list[Longs | None] = [None] * len(self._windows)
        match self._report.trigger:
            case Trigger.CONTENT_CHANGE:
                found = distinct([events.between(self._done, certain) for events in self._events.values()])
                return self._changed(_Due(found, nothing, min(certain, self._last)))
            case Trigger.EVERY:
                period, origin = self._report.every, self._report.start
                assert period is not None
                last = int(multiple(np.array([self._last]), period, origin or 0, closed=False)[0])
                until = min(certain, last if origin is None else max(last, origin))
                return _Due(steps(self._done, until, period, origin), nothing, until)
            case Trigger.WINDOW_CLOSE:
                return self._closings(certain, ended=now == FOREVER)

    def _changed(self, due: _Due) -> _Due:
        """The instants at which some window holds an event of that very instant."""
        instants = due.instants
        changed = np.zeros(len(instants), np.bool_)
        ranges = [window.ranges(instants) for window in self._windows]
        for window, (low, high) in zip(self._windows, ranges, strict=True):
            times = window.events.times
            held = high > np.maximum(low, window.events.first)  # those before it are of earlier instants
            last = times[np.where(held, high - 1 - window.events.first, 0)] if len(times) else instants
            changed |= held & (last == instants)
        if not changed.all():
            ranges = [(low[changed], high[changed]) for low, high in ranges]
            instants = instants[changed]
        return due._replace(instants=instants, ranges=ranges)

    def _closings(self, certain: int, *, ended: bool) -> _Due:
        """The instants at which windows close, those of counted windows as often as they close there.

        After the last event so far a window of time closes while it holds an event. Whether a later, empty instance closes
        depends on whether another event comes: up to the first such instant all is decided.
        """
        until = min(certain, self._last)
        found, open_since = [], FOREVER
        for window in self._windows:
            body = window.stepping
            if body is None or body.unit is not Unit.TIME:
                continue
            assert body.step is not None
            # Two instances later than one that could hold the last event there is certainly an empty one.
            reach = min(certain, self._last + body.size + 2 * body.step)
            mine = steps(self._done, reach, body.step, body.start)
            low, high = window.ranges(mine)
            decided = (mine <= self._last) | (high > low)
            found.append(mine[decided])
            open_since = min(open_since, *mine[~decided].tolist(), reach + 1 if reach < certain else FOREVER)
        done = certain if ended else min(certain, max(open_since - 1, until))
        counted = {
            number: window.closings(self._done, min(certain, self._last))
            for number, window in enumerate(self._windows)
            if window.counted is not None
        }
        times = [each[each <= done] for each in found] + [at for at, _ in counted.values()]
        instants = np.unique(np.concatenate([_NOTHING, *times]))
        many = np.ones(len(instants), np.int64)
        for at, _ in counted.values():
            here = np.searchsorted(at, instants, side="right") - np.searchsorted(at, instants)
            many = np.maximum(many, here)
        evaluated = np.repeat(instants, many)
        nth = np.arange(len(evaluated)) - np.repeat(np.cumsum(many) - many, many)
        closings: list[Longs | None] = [None] * len(self._windows)
        for number, (at, ends) in counted.items():
            closings[number] = self._nth_closing(number, at, ends, evaluated, nth)
        return _Due(evaluated, closings, done)

    def _nth_closing(self, number: int, at: Longs, ends: Longs, evaluated: Longs, nth: Longs) -> Longs:
        """The closing of a counted window that each evaluation shows: its own there, or the last one, or the last before."""
        first = np.searchsorted(at, evaluated)
        last = np.searchsorted(at, evaluated, side="right")
        shown = np.minimum(first + nth, last - 1)
        window = self._windows[number]
        known = np.concatenate([[window.last_closing], ends])
        found: Longs = known[shown + 1]
        return found

    def _period(self, due: _Due) -> Period:
        instants, ranges = due.instants, due.ranges
        if ranges is None:
            pairs = zip(self._windows, due.closings, strict=True)
            ranges = [window.ranges(instants, at) for window, at in pairs]
        held = np.zeros(len(instants), np.bool_)
        starts = np.full(len(instants), FOREVER, np.int64)
        for window, (low, high) in zip(self._windows, ranges, strict=True):
            here = high > low
            held |= here
            times = window.events.times
            if window.grows:
                starts = np.where(here, np.minimum(starts, window.begin_time), starts)
            elif len(times):
                first = times[np.where(here, low - window.events.first, 0)]
                starts = np.where(here, np.minimum(starts, first), starts)
        starts = np.where(held, starts, instants)
        kept: Mask | slice = slice(None)
        if self._report.non_empty and not held.all():
            kept = held
        made, own = self._made, instants[kept]
        self._made += len(own)
        return Period(
            made,
            own,
            starts[kept],
            repeats(instants)[kept],
            tuple(low[kept] for low, _ in ranges),
            tuple(high[kept] for _, high in ranges),
        )

    def _forget(self) -> None:
        """Drop the events that no later evaluation can show."""
        after = np.array([self._done + 1])
        needed: dict[int, int] = {}
        for window in self._windows:
            at = np.array([window.last_closing]) if window.counted is not None else None
            low, _ = window.ranges(after, at if self._report.trigger is Trigger.WINDOW_CLOSE else None)
            if window.grows:
                low = window.after(np.array([self._done]))
            key = id(window.events)
            needed[key] = min(needed.get(key, FOREVER), int(low[0]))
        for events in self._events.values():
            events.forget(needed[id(events)])
