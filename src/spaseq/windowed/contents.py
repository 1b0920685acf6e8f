"""The triples of a window as they come and go: the set union of its events' graphs (semantics 3.2).

The triples are those of one triple pattern, as its solutions: one per triple. A triple that several events carry is there once,
and until the last of them leaves: it has a row per event, and each row begins when the one before it ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from spaseq.columnar.keeping import Keeper
from spaseq.columnar.row_numbers import RowNumbers
from spaseq.settings import settings
from spaseq.windowed.evaluations import Period
from spaseq.windowed.timed import Ids, Longs, Mask, Rows, order_by


@dataclass(slots=True)
class TimedTriples(Keeper):
    """The solutions of a triple pattern with the positions of their events, and what else is known of each."""

    IDS = ("ids",)
    ARRAYS = ("position", "known")

    ids: Ids
    position: Longs
    known: Longs
    """Since which evaluation it is there, or the position of the earlier event on which it waits."""

    def __len__(self) -> int:
        return len(self.position)

    def take(self, rows: Rows | Mask | slice) -> TimedTriples:
        """Some of the triples."""
        return TimedTriples(self.ids[rows], self.position[rows], self.known[rows])


def no_triples(width: int) -> TimedTriples:
    """None."""
    nothing = np.zeros(0, np.int64)
    return TimedTriples(np.zeros((0, width), np.int32), nothing, nothing)


def stacked(*parts: TimedTriples) -> TimedTriples:
    """All of them."""
    return TimedTriples(
        np.concatenate([part.ids for part in parts]),
        np.concatenate([part.position for part in parts]),
        np.concatenate([part.known for part in parts]),
    )


class WindowContents(Keeper):
    """What one window holds of what a triple pattern matches; ``width`` is the number of its variables."""

    ARRAYS = ("_last",)

    def __init__(self, window: int, width: int) -> None:
        self.window = window
        self._waiting = no_triples(width)
        """Triples of events that no evaluation has seen yet, in order of position."""
        self._repeated = no_triples(width)
        """Triples that are there already because of an earlier event."""
        self._numbers = RowNumbers(width)
        self._last = np.zeros(0, np.int64)
        """The position of the last event that carries each triple."""
        self.new = no_triples(width)
        """Those that appear in the present period."""

    def keepers(self) -> Iterator[tuple[str, Keeper]]:
        """The triples."""
        yield from (("waiting", self._waiting), ("repeated", self._repeated), ("numbers", self._numbers))

    def arrive(self, ids: Ids, position: Longs) -> None:
        """Take the triples of further events."""
        if not len(position):
            return
        found = stacked(self._waiting, TimedTriples(ids, position, np.zeros(len(position), np.int64)))
        if (
            found.position[1:] < found.position[:-1]
        ).any():  # hosts need not tell simultaneous events in order
            found = found.take(np.argsort(found.position, kind="stable"))
        self._waiting = found

    def step(self, period: Period) -> None:
        """Find the triples that appear at some evaluations."""
        low, high = period.low[self.window], period.high[self.window]
        cut = int(np.searchsorted(self._waiting.position, high[-1]))
        arrived, self._waiting = self._waiting.take(slice(cut)), self._waiting.take(slice(cut, None))
        enter = period.entering(self.window, arrived.position)
        seen = period.leaving(self.window, arrived.position) > enter
        if not seen.all():
            arrived, enter = arrived.take(seen), enter[seen]
        ready, before = self._ordered(arrived, enter)
        if before is not None or len(self._repeated):
            ready = self._succeeding(ready, before, period, int(low[-1]))
        self.new = TimedTriples(ready.ids, ready.position, ready.known + period.first)
        self._forget(period)

    def _succeeding(
        self, ready: TimedTriples, before: Longs | None, period: Period, gone: int
    ) -> TimedTriples:
        """The same where triples come again: each begins when the one before it ends; ``gone`` is where the window begins at last."""
        over = self._repeated.known < gone
        succeeding, self._repeated = self._repeated.take(over), self._repeated.take(~over)
        if before is not None:
            since = np.maximum(ready.known, period.leaving(self.window, before))
            later = since >= len(period)
            self._repeated = stacked(
                self._repeated, TimedTriples(ready.ids[later], ready.position[later], before[later])
            )
            ready = TimedTriples(ready.ids[~later], ready.position[~later], since[~later])
        follows = period.leaving(self.window, succeeding.known)
        new = stacked(ready, TimedTriples(succeeding.ids, succeeding.position, follows))
        return new.take(period.leaving(self.window, new.position) > new.known)

    def _ordered(self, arrived: TimedTriples, enter: Longs) -> tuple[TimedTriples, Longs | None]:
        """The triples with the evaluation at which each enters, and the position of the event before it; -1: none. None: all are new."""
        numbers = self._numbers.number(arrived.ids)
        grown = len(self._numbers) - len(self._last)
        self._last = np.concatenate([self._last, np.full(grown, -1, np.int64)])
        if grown == len(arrived):  # no triple comes twice
            self._last[numbers] = arrived.position
            return TimedTriples(arrived.ids, arrived.position, enter), None
        order = order_by(numbers, arrived.position)
        numbers, position = numbers[order], arrived.position[order]
        again = np.zeros(len(order), np.bool_)
        again[1:] = numbers[1:] == numbers[:-1]
        same_event = np.zeros(len(order), np.bool_)
        same_event[1:] = again[1:] & (position[1:] == position[:-1])
        before = np.where(again, np.concatenate([[-1], position[:-1]])[: len(order)], self._last[numbers])
        self._last[numbers] = position
        once = ~same_event
        found = TimedTriples(arrived.ids[order][once], position[once], enter[order][once])
        return found, before[once]

    def _forget(self, period: Period) -> None:
        kept = self._last >= period.low[self.window][-1]
        if len(kept) > 2 * int(kept.sum()) + settings().forgotten_events:
            self._numbers.keep(kept)
            self._last = self._last[kept]
