"""When a continuous query is evaluated, and what its windows then hold (semantics 3.2 and 3.4).

Whatever its kind, a window holds at every evaluation a contiguous range of its stream's events, in order of time, then
arrival, and neither end of the range ever moves back. So the contents of all windows at many evaluations are two arrays
of positions per window.

Between two events, a year apart perhaps, there may be more evaluations than memory has room for. Then only those are listed at
which contents change; the others repeat the one before them (`Repeats`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from spaseq.algebra.windows import ReportPolicy, StreamWindow, Trigger, Unit
from spaseq.columnar.keeping import Keeper
from spaseq.model.ordered import each_once, numbered_in_row, numbers_from
from spaseq.settings import settings
from spaseq.temporal.instants import FOREVER
from spaseq.windowed.instants import (
    Steps,
    distinct,
    many_true,
    multiple,
    repeats,
    steps,
    turning,
)
from spaseq.windowed.window_ranges import NOTHING, StreamEvents, WindowRanges

Longs = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class Alike(Enum):
    """Where evaluations with the same contents have the same answer."""

    ALWAYS = "always"
    EMPTY = "where all windows are empty"
    NEVER = "never"


@dataclass(frozen=True, slots=True)
class Repeats:
    """Evaluations that are not listed: those after a listed one and before an end have its contents."""

    stepped: tuple[Steps, ...]
    ends: Longs

    def take(self, chosen: Mask | slice) -> Repeats:
        """The same for some of the listed ones."""
        return Repeats(self.stepped, self.ends[chosen])

    def many(self, after: Longs) -> Longs:
        """How many there are after each listed one, or a few more."""
        return sum(
            (each.many_before(self.ends) - each.many_before(after + 1) for each in self.stepped),
            np.zeros(len(after), np.int64),
        ).clip(0)

    def portion(self, start: int, end: int, most: int) -> int:
        """An end, not after the given one, up to which there are at most so many from a start on, or one of each kind."""
        each_most = max(most // len(self.stepped), 1)
        return min(each.portion(start, end, each_most) for each in self.stepped)

    def between(self, rows: Longs, after: Longs, before: Longs) -> tuple[Longs, Longs]:
        """Those after some instants and before others, in order, and whose each is."""
        instants, owners = [], []
        for each in self.stepped:
            low, high = each.many_before(after + 1), each.many_before(before)
            many = np.maximum(high - low, 0)
            instants.append(each.at(numbers_from(low, many)))
            owners.append(np.repeat(rows, many))
        if len(self.stepped) == 1:
            return instants[0], owners[0]
        found, first = np.unique(np.concatenate(instants), return_index=True)
        return found, np.concatenate(owners)[first]


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
    repeats: Repeats | None = None
    """None if all evaluations are listed."""

    def __len__(self) -> int:
        return len(self.instants)

    @property
    def held(self) -> Mask:
        """At which of them some window holds an event."""
        found = np.zeros(len(self), np.bool_)
        for low, high in zip(self.low, self.high, strict=True):
            found |= high > low
        return found

    def part(self, first: int, last: int) -> Period:
        """Some of them in a row."""
        return replace(self.take(slice(first, last)), first=self.first + first)

    def take(self, chosen: Mask | slice) -> Period:
        """Some of them."""
        return Period(
            self.first, self.instants[chosen], self.starts[chosen], self.numbers[chosen],
            tuple(low[chosen] for low in self.low), tuple(high[chosen] for high in self.high),
            repeats=None if self.repeats is None else self.repeats.take(chosen),
        )  # fmt: skip

    def listed(self, repeated: Mask, most: int) -> Iterator[tuple[Period, Longs]]:
        """These evaluations and what repeats some of them, about so many at a time, and which of them each is or repeats."""
        assert self.repeats is not None
        ends = np.where(repeated, self.repeats.ends, self.instants)
        total = np.cumsum(1 + np.where(repeated, self.repeats.many(self.instants), 0))
        first = 0
        while first < len(self):
            before = int(total[first - 1]) if first else 0
            last = max(int(np.searchsorted(total, before + most, side="right")), first + 1)
            rows = np.arange(first, last)
            start, end = self.instants[last - 1] + 1, int(ends[last - 1])
            # Only one that is repeated more often than that is cut.
            cut = end if last > first + 1 else self.repeats.portion(int(start), end, most)
            own = np.append(ends[first : last - 1], cut)
            yield self._repeating(rows, *self.repeats.between(rows, self.instants[rows], own))
            while cut < end:
                after, cut = np.array([cut - 1]), self.repeats.portion(cut, end, most)
                yield self._repeating(rows[:0], *self.repeats.between(rows, after, np.array([cut])))
            first = last

    def _repeating(self, own: Longs, instants: Longs, owners: Longs) -> tuple[Period, Longs]:
        """Some of these evaluations together with others that repeat one of them."""
        every, which = np.concatenate([self.instants[own], instants]), np.concatenate([own, owners])
        numbers = np.concatenate([self.numbers[own], np.zeros(len(instants), np.int64)])
        order = np.argsort(every, kind="stable")
        every, which, numbers = every[order], which[order], numbers[order]
        starts = np.where(self.held[which], self.starts[which], every)
        low, high = tuple(each[which] for each in self.low), tuple(each[which] for each in self.high)
        return Period(self.first, every, starts, numbers, low, high), which

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


Ranges = list[tuple[Longs, Longs]]
"""What every window holds at some instants, as ranges of positions."""


class _Due(NamedTuple):
    """What is due: instants at equal distances and single ones, and up to when all is decided."""

    stepped: tuple[Steps, ...]
    single: Longs
    until: int
    counted: dict[int, tuple[Longs, Longs]] = {}  # noqa: RUF012 - a NamedTuple's default is never changed
    """When a window of counted steps closes, and at which positions."""
    ranges: Ranges | None = None
    """What windows hold at the single instants, if it is known."""


def _some(stepped: list[Steps]) -> tuple[Steps, ...]:
    """Those that are not empty; the first of none may lie where int64 has no numbers."""
    return tuple(each for each in stepped if len(each))


class Evaluations(Keeper):
    """The evaluations of a continuous query, as its events become certain."""

    NUMBERS = ("_made", "_begun", "_done", "_last")

    def __init__(
        self, windows: Sequence[StreamWindow], report: ReportPolicy, alike: Alike = Alike.NEVER
    ) -> None:
        self._report, self._alike = report, alike
        self.streams = tuple(dict.fromkeys(window.stream for window in windows))
        self._events = {stream: StreamEvents() for stream in self.streams}
        closed = report.trigger is Trigger.WINDOW_CLOSE
        self._windows = [WindowRanges(each, self._events[each.stream], closed=closed) for each in windows]
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
        due = self._due(FOREVER)
        return min((*due.single[:1].tolist(), *(each.first for each in due.stepped)), default=None)

    def step(self, arrived: dict[str, tuple[Longs, Longs]], now: int) -> Iterator[Period]:
        """The evaluations that became certain, in order.

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
            return
        due = self._due(now)
        for period in self._periods(due):
            made, self._made = self._made, self._made + len(period)
            yield replace(period, first=made)
        for number, (_, ends) in due.counted.items():
            if len(ends):
                self._windows[number].last_closing = int(ends[-1])
        self._done = max(self._done, due.until)
        self._forget()

    def _due(self, now: int) -> _Due:
        certain = now - 1
        match self._report.trigger:
            case Trigger.CONTENT_CHANGE:
                found = distinct([events.between(self._done, certain) for events in self._events.values()])
                return self._changed(_Due((), found, min(certain, self._last)))
            case Trigger.EVERY:
                period, origin = self._report.every, self._report.start
                assert period is not None
                last = int(multiple(np.array([self._last]), period, origin or 0, closed=False)[0])
                until = min(certain, last if origin is None else max(last, origin))
                return _Due(_some([steps(self._done, until, period, origin)]), NOTHING, until)
            case Trigger.WINDOW_CLOSE:
                return self._closings(certain, ended=now == FOREVER)

    def _changed(self, due: _Due) -> _Due:
        """The instants at which some window holds an event of that very instant."""
        instants = due.single
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
        return due._replace(single=instants, ranges=ranges)

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
            decided = self._decided(window, mine)
            found.append(Steps(mine.first, decided, mine.step))
            following = mine.first + decided * mine.step if decided < len(mine) else FOREVER
            open_since = min(open_since, following, reach + 1 if reach < certain else FOREVER)
        done = certain if ended else min(certain, max(open_since - 1, until))
        counted = {
            number: window.closings(self._done, min(certain, self._last))
            for number, window in enumerate(self._windows)
            if window.counted is not None
        }
        single = each_once(np.concatenate([NOTHING, *(at for at, _ in counted.values())]))
        return _Due(_some([each.cut(done) for each in found]), single, done, counted)

    def _decided(self, window: WindowRanges, instants: Steps) -> int:
        """How many of these instants are certain to be closings: those after the last event while the window holds one."""
        early = len(instants.cut(self._last))

        def holds(number: int) -> bool:
            low, high = window.ranges(instants.at(np.array([early + number])))
            return bool(high[0] > low[0])

        return early + many_true(len(instants) - early, holds)

    def _closings_at(self, due: _Due, instants: Longs) -> tuple[Longs, list[Longs | None]]:
        """The evaluations at some instants, as many at each as some counted window closes there, and the closings they show."""
        many = np.ones(len(instants), np.int64)
        for at, _ in due.counted.values():
            here = np.searchsorted(at, instants, side="right") - np.searchsorted(at, instants)
            many = np.maximum(many, here)
        evaluated, nth = np.repeat(instants, many), numbered_in_row(many)
        closings: list[Longs | None] = [None] * len(self._windows)
        for number, (at, ends) in due.counted.items():
            closings[number] = self._nth_closing(number, at, ends, evaluated, nth)
        return evaluated, closings

    def _nth_closing(self, number: int, at: Longs, ends: Longs, evaluated: Longs, nth: Longs) -> Longs:
        """The closing of a counted window that each evaluation shows: its own there, or the last one, or the last before."""
        first = np.searchsorted(at, evaluated)
        last = np.searchsorted(at, evaluated, side="right")
        shown = np.minimum(first + nth, last - 1)
        window = self._windows[number]
        known = np.concatenate([[window.last_closing], ends])
        found: Longs = known[shown + 1]
        return found

    def _ranges(self, instants: Longs, closings: list[Longs | None]) -> Ranges:
        return [window.ranges(instants, at) for window, at in zip(self._windows, closings, strict=True)]

    def _periods(self, due: _Due) -> Iterator[Period]:
        """All that is due; where that is much, what repeats other evaluations is not listed, unless its answer may be another."""
        if sum(map(len, due.stepped)) <= settings().listed_evaluations:
            instants = due.single
            if due.stepped:
                instants = each_once(np.concatenate([instants, *(each.listed() for each in due.stepped)]))
            yield self._kept(self._period(due, instants))
            return
        period = self._kept(self._turning(due))
        if self._alike is Alike.ALWAYS:
            yield period
            return
        repeated = period.held if self._alike is Alike.EMPTY else np.ones(len(period), np.bool_)
        yield from (each for each, _ in period.listed(repeated, settings().slice_evaluations))

    def _turning(self, due: _Due) -> Period:
        """The evaluations at which contents change; all others repeat the one before."""

        def contents(among: Steps, numbers: Longs) -> Longs:
            instants = among.at(numbers)
            closings: list[Longs | None] = [None] * len(self._windows)
            for number, (at, ends) in due.counted.items():
                closings[number] = self._nth_closing(number, at, ends, instants, np.zeros_like(instants))
            ranges = self._ranges(instants, closings)
            return np.column_stack([end for both in ranges for end in both])

        found = [each.at(turning(len(each), partial(contents, each))) for each in due.stepped]
        period = self._period(due, each_once(np.concatenate([due.single, *found])))
        last = max(each.first + (len(each) - 1) * each.step for each in due.stepped)
        ends = np.append(period.instants[1:], max(last, int(period.instants[-1])) + 1)
        return replace(period, repeats=Repeats(due.stepped, ends))

    def _period(self, due: _Due, instants: Longs) -> Period:
        """What windows hold at some of the instants that are due."""
        ranges = due.ranges
        if ranges is None:
            instants, closings = self._closings_at(due, instants)
            ranges = self._ranges(instants, closings)
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
        lows, highs = tuple(low for low, _ in ranges), tuple(high for _, high in ranges)
        return Period(self._made, instants, starts, repeats(instants), lows, highs)

    def _kept(self, period: Period) -> Period:
        """Those of some evaluations that are made."""
        held = period.held if self._report.non_empty else np.ones(len(period), np.bool_)
        return period if held.all() else period.take(held)

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
