"""What the events of a window match of an EVENT pattern, by key and in order, for MATCH to choose from (semantics 4.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from spaseq.columnar.growing import GrowingTable
from spaseq.columnar.row_numbers import KeyIndex, among, keys_of, rows_of
from spaseq.model.ordered import numbers_from
from spaseq.settings import settings
from spaseq.temporal.instants import BEFORE_ALL
from spaseq.windowed.evaluations import Period
from spaseq.windowed.timed import Ids, Longs, Mask, Rows


class EventContents(GrowingTable):
    """The solutions of single events, in order of position; those of an event that may be visible, or may become so.

    ``names`` are the variables of a solution. ``triples`` are the triples that each solution is made of, as rows of ids, if what
    a MATCH uses is consumed.
    """

    IDS = ("ids", "triples")
    ARRAYS = ("position", "event", "start", "end", "key", "gone", "unfit")
    NUMBERS = ("seen", "left")
    INDEXES = ("_index",)

    def __init__(self, window: int, names: Sequence[str], certain: frozenset[str], triples: int = 0) -> None:
        self.window, self.names, self.certain = window, tuple(names), certain
        self.ids = np.zeros((0, len(self.names)), np.int32)
        self.triples = np.zeros((0, 3 * triples), np.int32)
        self.position = np.zeros(0, np.int64)
        self.event = np.zeros(0, np.int64)
        """The number of each event: hosts may give simultaneous ones the same position."""
        self.start = np.zeros(0, np.int64)
        self.end = np.zeros(0, np.int64)
        self.key = np.zeros(0, np.int64)
        """The number of the key that each solution has."""
        self.gone = np.zeros(0, np.bool_)
        """Which solutions have been consumed."""
        self.unfit = np.zeros(0, np.bool_)
        """Which solutions do not satisfy EXISTS over what is left of their event; that may change."""
        self.seen = 0
        """Evaluations have seen the events before this position."""
        self.left = 0
        """The events before this position have left."""
        self._index = KeyIndex()
        self._kept = 0

    def add(
        self, ids: Ids, triples: Ids, position: Longs, event: Longs, start: Longs, end: Longs, key: Longs
    ) -> None:
        """The solutions of further events."""
        first, none = len(self), np.zeros(len(key), np.bool_)
        self._append(ids, triples, position, event, start, end, key, none, none)
        self._index.add(key, first)

    def rebuild(self) -> None:
        """Index the rows anew."""
        super().rebuild()
        self._index = KeyIndex()
        self._index.add(self.key, 0)

    def between(self, first: int, last: int) -> slice:
        """The rows of the events from one position on and before another."""
        low, high = np.searchsorted(self.position[: len(self)], [first, last])
        return slice(int(low), int(high))

    def of_keys(self, keys: Longs) -> Rows:
        """The rows with some different keys that are there, in order."""
        _, rows = self._index.find(keys)
        return np.sort(rows[~(self.gone[rows] | self.unfit[rows])])

    def consume(self, events: Longs, event: Longs, triples: Ids) -> None:
        """Take away the solutions that are made of some triples, each of its event; ``events`` are these events in order."""
        rows = rows_of(self.event[: len(self)], events)
        given = np.column_stack([np.searchsorted(events, event).astype(np.int32), triples])
        place = np.searchsorted(events, self.event[rows]).astype(np.int32)
        for at in range(0, self.triples.shape[1], 3):
            mine = np.column_stack([place, self.triples[rows, at : at + 3]])
            self.gone[rows[among(mine, given)]] = True

    def judge(self, events: Longs, place: Ids, triples: Ids) -> None:
        """Of some events, given in order, only those solutions satisfy EXISTS that are made of some triples.

        ``place`` says to which of the events the triples of each row belong.
        """
        rows = rows_of(self.event[: len(self)], events)
        own = np.searchsorted(events, self.event[rows]).astype(np.int32)
        mine = np.column_stack([own, self.triples[rows]])
        self.unfit[rows] = ~among(mine, np.column_stack([place, triples]))

    def renumber(self, moved: Rows) -> None:
        """Follow a new numbering of the keys."""
        self.trim()
        self.key = moved[self.key].astype(np.int64)
        self.rebuild()

    def keep_last(self, high: int) -> None:
        """Of the events before a position keep only those that precede no other of them."""
        seen = self.between(0, high).stop
        if seen:
            latest = self.start[:seen].max()
            self._keep((np.arange(len(self)) >= seen) | (self.end[: len(self)] >= latest))

    def forget(self, low: int) -> None:
        """Drop the rows that were consumed and those of the events before a position, when they may be half of all."""
        if len(self) > 2 * self._kept + settings().forgotten_rows:
            count = len(self)
            self._keep((self.position[:count] >= low) & ~self.gone[:count])
            self._kept = len(self)


@dataclass(frozen=True, slots=True)
class Contexts:
    """What solutions are looked for: at which evaluation, of which key, between which instants, compatible with what.

    An event counts if its timestamp is after ``after`` and before ``before``, the bound that SEQ passes down. ``ids`` are the
    values of ``names``; every context binds those that are ``certain``.
    """

    at: Longs
    key: Longs
    before: Longs
    names: tuple[str, ...]
    ids: Ids
    certain: frozenset[str]
    after: Longs | None = None

    def __len__(self) -> int:
        return len(self.at)


class Edge(Enum):
    """The first or the last ones."""

    FIRST = "FIRST"
    LAST = "LAST"


class Candidates:
    """The rows of some keys, as they are looked up again and again for one set of contexts."""

    def __init__(self, contents: EventContents, rows: Rows, period: Period) -> None:
        self.contents, self.rows, self._period = contents, rows, period
        self.ids, self.start, self.end = contents.ids[rows], contents.start[rows], contents.end[rows]
        self._key, self._position = contents.key[rows], contents.position[rows]
        self.instants = bool((self.start == self.end).all())
        """Whether no event lasts."""

    def pairs(self, contexts: Contexts, edge: Edge | None = None) -> tuple[Rows, Rows]:
        """The pairs of (context, candidate), in order of context, then position.

        With an ``edge`` only the first or last ones of every context, if no event lasts and the context binds nothing.
        """
        if not len(self.rows) or not len(contexts):
            nothing = np.zeros(0, np.intp)
            return nothing, nothing
        shared, sure = self._shared(contexts)
        mine, asked = self._hashed(contexts, sure)
        order, first, last = self._ranges(keys_of(mine), keys_of(asked), contexts, None if shared else edge)
        many = np.maximum(last - first, 0)
        found = np.repeat(np.arange(len(asked)), many)
        rows = order[numbers_from(first, many)]
        fits = np.ones(len(found), np.bool_)
        if len(sure) > 1:  # the keys are hashes
            fits &= (mine[rows] == asked[found]).all(axis=1)
        for name in shared:
            if name not in sure:
                known, wanted = self._column(name)[rows], _of(contexts, name)[found]
                fits &= (known == 0) | (wanted == 0) | (known == wanted)
        return found[fits], rows[fits]

    def latest(self, contexts: Contexts) -> Longs:
        """The instant of the last candidate of every context, as far as that is found without looking at others; else before all."""
        shared, sure = self._shared(contexts)
        if not len(self.rows) or not len(contexts) or len(sure) < len(shared):
            return np.full(len(contexts), BEFORE_ALL, np.int64)
        mine, asked = self._hashed(contexts, sure)
        order, first, last = self._ranges(keys_of(mine), keys_of(asked), contexts, None)
        rows = order[np.maximum(last - 1, 0)]
        there = (last > first) & (mine[rows] == asked).all(axis=1)
        return np.where(there, self.end[rows], BEFORE_ALL)

    def _shared(self, contexts: Contexts) -> tuple[list[str], list[str]]:
        """The variables that both have, and those of them that both certainly bind."""
        shared = [name for name in self.contents.names if name in contexts.names]
        return shared, [name for name in shared if name in self.contents.certain and name in contexts.certain]

    def _hashed(self, contexts: Contexts, sure: Sequence[str]) -> tuple[Ids, Ids]:
        """The key and some values of every candidate, and of every context."""
        mine = np.column_stack([self._key.astype(np.int32), *(self._column(name) for name in sure)])
        return mine, np.column_stack([contexts.key.astype(np.int32), *(_of(contexts, name) for name in sure)])

    def _ranges(
        self, mine: Longs, asked: Longs, contexts: Contexts, edge: Edge | None
    ) -> tuple[Rows, Rows, Rows]:
        """An order of the candidates, and which range of it has the hash of each context, is in the window and between the instants."""
        distinct, numbers = np.unique(mine, return_inverse=True)
        base = int(self._position[0])
        span = int(self._position[-1]) - base + 2
        order = np.argsort(numbers, kind="stable")  # the rows are in order of position
        places = (numbers * span + (self._position - base))[order]
        group = np.minimum(np.searchsorted(distinct, asked), len(distinct) - 1)
        low = self._period.low[self.contents.window][contexts.at]
        high = np.minimum(
            self._period.high[self.contents.window][contexts.at], self._place(contexts.before, "left")
        )
        if contexts.after is not None:
            low = np.maximum(low, self._place(contexts.after, "right"))
        first = np.searchsorted(places, group * span + np.clip(low - base, 0, span - 1))
        last = np.searchsorted(places, group * span + np.clip(high - base, 0, span - 1))
        if edge is not None and self.instants:
            some = last > first
            end = self.end[order[np.where(some, last - 1 if edge is Edge.LAST else first, 0)]]
            if edge is Edge.LAST:
                low = np.maximum(low, self._place(end, "left"))
                first = np.searchsorted(places, group * span + np.clip(low - base, 0, span - 1))
            else:
                high = np.minimum(high, self._place(end, "right"))
                last = np.searchsorted(places, group * span + np.clip(high - base, 0, span - 1))
            last = np.where(some, last, first)
        return order, first, np.where(distinct[group] == asked, last, first)

    def _place(self, instants: Longs, side: str) -> Longs:
        """The position of the first candidate that is not before, or is after, each instant."""
        at = np.searchsorted(self.end, instants, side=side)  # type: ignore[call-overload]
        after = int(self._position[-1]) + 1
        found: Longs = np.append(self._position, after)[at]
        return found

    def _column(self, name: str) -> Ids:
        column: Ids = self.ids[:, self.contents.names.index(name)]
        return column


def _of(contexts: Contexts, name: str) -> Ids:
    column: Ids = contexts.ids[:, contexts.names.index(name)]
    return column


def any_of(found: Rows, count: int) -> Mask:
    """Which of some contexts have a pair."""
    marks = np.zeros(count, np.bool_)
    marks[found] = True
    return marks
