"""What a window holds of its stream at any instant, as a range of positions (semantics 3.2)."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from spaseq.algebra.windows import Everything, Interval, Landmark, Range, StreamWindow, Unit, WindowBody
from spaseq.columnar.keeping import Keeper
from spaseq.model.ordered import numbered_in_row
from spaseq.windowed.instants import multiple

Longs = npt.NDArray[np.int64]

NOTHING: Final = np.zeros(0, np.int64)


class StreamEvents(Keeper):
    """The events of one stream that a window may still hold: when they came, and how many triples each has."""

    ARRAYS = ("times", "counts")
    NUMBERS = ("first", "triples_before")

    def __init__(self) -> None:
        self.first = 0
        """The position of the first one that is kept."""
        self.triples_before = 0
        self.times = NOTHING
        self.counts = NOTHING
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


class WindowRanges(Keeper):
    """One window over the events of its stream."""

    NUMBERS = ("unseen_events", "unseen_triples", "last_closing", "begin", "begin_time")

    def __init__(self, window: StreamWindow, events: StreamEvents, *, closed: bool) -> None:
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
            return NOTHING, NOTHING
        unseen = self._unseen(body.unit)
        ends = self._count(np.arange(first, last + 1) + events.first, body.unit) - unseen
        done = ends // body.step
        many = np.diff(done)
        event = np.repeat(np.arange(first, last), many)
        nth = numbered_in_row(many)
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
