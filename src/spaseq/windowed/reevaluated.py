"""What is evaluated anew at every evaluation, because no view can follow it: unbounded paths, LIMIT in a sub-SELECT, NOW()."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from pyoxigraph import Literal, NamedNode

from spaseq.algebra.events import SelectForm
from spaseq.algebra.expressions import Term, Var
from spaseq.algebra.patterns import Pattern
from spaseq.algebra.scope import certainly_bound, in_scope
from spaseq.algebra.windows import Emission
from spaseq.columnar.frame import Frame
from spaseq.columnar.keeping import Keeper
from spaseq.columnar.kernels.cache import cache_of
from spaseq.columnar.knowledge import Knowledge
from spaseq.columnar.row_numbers import by_name, id_matrix
from spaseq.columnar.rows import RowEvaluator
from spaseq.columnar.solve import solve
from spaseq.columnar.table import AtHome, Table
from spaseq.columnar.views import NEVER, Views
from spaseq.model.batch import EventBatch
from spaseq.model.dictionary import TermDictionary
from spaseq.settings import settings
from spaseq.temporal.instants import XSD, format_instant
from spaseq.windowed.evaluations import Period
from spaseq.windowed.event_traces import TRACE
from spaseq.windowed.inputs import Input
from spaseq.windowed.report import Reported, Reporter
from spaseq.windowed.timed import Ids, Longs, Mask, Rows, TimedRows, lasting_changes, no_rows, stacked
from spaseq.windowed.views import View

_DATE_TIME = NamedNode(XSD + "dateTime")


@dataclass(slots=True)
class Arrivals(Keeper):
    """Triples as events brought them, with the events' positions and times."""

    IDS = ("ids",)
    ARRAYS = ("position", "time")

    ids: Ids
    position: Longs
    time: Longs

    def __len__(self) -> int:
        return len(self.position)


def _no_arrivals() -> Arrivals:
    nothing = np.zeros(0, np.int64)
    return Arrivals(np.zeros((0, 3), np.int32), nothing, nothing)


def _stacked(parts: Sequence[Arrivals]) -> Arrivals:
    return Arrivals(
        np.concatenate([part.ids for part in parts]),
        np.concatenate([part.position for part in parts]),
        np.concatenate([part.time for part in parts]),
    )


def whole_triples(source: Input, columns: Mapping[str, Ids], count: int, dictionary: TermDictionary) -> Ids:
    """The triples that a triple pattern matches, given its solutions."""
    whole = np.empty((count, 3), np.int32)
    for place, node in enumerate(source.nodes):
        if isinstance(node, Var):
            whole[:, place] = columns[node.name]
        else:
            whole[:, place] = cache_of(dictionary).constant(node.term)
    return whole


class LiveTriples(Keeper):
    """All triples that a window may hold, for what is evaluated anew."""

    def __init__(self, window: int, dictionary: TermDictionary) -> None:
        self._window, self._dictionary = window, dictionary
        self._held = _no_arrivals()
        self._range = (0, 0)
        """Which positions the window had at the last evaluation; the next one may look again if that was before a restart."""

    def keepers(self) -> Iterator[tuple[str, Keeper]]:
        """The triples."""
        yield "held", self._held

    def arrive(self, source: Input, ids: Ids, position: Longs, time: Longs) -> None:
        """Take what a triple pattern matches in further events."""
        whole = whole_triples(source, by_name(ids, source.names), len(ids), self._dictionary)
        self._held = _stacked([self._held, Arrivals(whole, position, time)])

    def graphs(self, period: Period, first: int, last: int) -> tuple[Arrivals, Longs]:
        """What is there at some of the evaluations, and at which, counted from ``first``."""
        low, high = period.low[self._window], period.high[self._window]
        position = self._held.position
        rows = [np.flatnonzero((position >= low[at]) & (position < high[at])) for at in range(first, last)]
        every = np.concatenate([np.zeros(0, np.intp), *rows])
        found = Arrivals(self._held.ids[every], position[every], self._held.time[every])
        return found, np.repeat(np.arange(last - first), [len(each) for each in rows])

    def changed(self, period: Period) -> Mask:
        """The evaluations at which triples come or go."""
        low, high = self._range
        position = self._held.position[self._held.position >= low]
        entering = period.entering(self._window, position[position >= high])
        turning = np.concatenate([entering, period.leaving(self._window, position)])
        found = np.zeros(len(period), np.bool_)
        found[turning[turning < len(period)]] = True
        return found

    def forget(self, period: Period) -> None:
        """Drop what no later evaluation sees."""
        self._range = int(period.low[self._window][-1]), int(period.high[self._window][-1])
        kept = self._held.position >= period.low[self._window][-1]
        if int(kept.sum()) * 2 < len(kept):
            self._held = Arrivals(self._held.ids[kept], self._held.position[kept], self._held.time[kept])

    def __len__(self) -> int:
        return len(self._held)


def _views(arrivals: Arrivals, owners: Longs, count: int) -> Views:
    """One graph per evaluation; a triple that came several times is there once, with its latest time."""
    order = np.lexsort((arrivals.time, *arrivals.ids.T, owners))
    ids, owners = arrivals.ids[order], owners[order]
    last = np.ones(len(ids), np.bool_)
    last[:-1] = (owners[1:] != owners[:-1]) | (ids[1:] != ids[:-1]).any(axis=1)
    return graphs_of(ids[last], owners[last], count, arrivals.time[order][last])


def graphs_of(ids: Ids, owners: Rows, count: int, latest: Longs | None = None) -> Views:
    """One graph per owner, whose triples stand together; ``latest`` are the times that `timestamp` tells."""
    offsets = np.searchsorted(owners, np.arange(count + 1)).astype(np.int64)
    subjects, predicates, objects = (np.ascontiguousarray(ids[:, place]) for place in range(3))
    nothing = np.zeros(count, np.int64)
    batch = EventBatch(
        subjects, predicates, objects, offsets, nothing, nothing.astype(np.int16), nothing.astype(np.int32)
    )
    return Views(batch, latest=latest)


def graph_triples(knowledge: Knowledge, name: NamedNode, dictionary: TermDictionary) -> Ids:
    """The triples of a background graph."""
    batch = knowledge.views(dictionary).batch
    graph = knowledge.names.index(name.value)
    first, last = batch.offsets[graph], batch.offsets[graph + 1]
    return np.column_stack(
        [batch.subjects[first:last], batch.predicates[first:last], batch.objects[first:last]]
    )


@dataclass(frozen=True, slots=True)
class EvaluationScope:
    """What a pattern is evaluated in: the windows by name, and what the default graph is made of."""

    dictionary: TermDictionary
    knowledge: Knowledge
    windows: Mapping[Term, LiveTriples]
    default_windows: tuple[LiveTriples, ...]
    default_graphs: tuple[NamedNode, ...]
    base: str | None = None
    key: str | None = None
    at_home: AtHome | None = None
    """The variable by which rows are distributed, and which of its values belong to this worker. A triple that was sent here for its subject
    also matches a pattern that has the variable as object; that solution belongs to the worker of the object."""

    def changed(self, period: Period) -> Mask:
        """The evaluations at which some window differs from the evaluation before."""
        live = {id(each): each for each in (*self.windows.values(), *self.default_windows)}
        found = np.zeros(len(period), np.bool_)
        for each in live.values():
            found |= each.changed(period)
        return found

    def solutions(
        self,
        pattern: Pattern,
        period: Period,
        first: int,
        last: int,
        now: Literal | None,
        matches: Mapping[Pattern, Table],
    ) -> Table:
        """The solutions at some of the evaluations, in order; ``matches`` are those of every MATCH there."""
        count = last - first
        windows = {
            name: _views(*live.graphs(period, first, last), count) for name, live in self.windows.items()
        }
        parts = [(_no_arrivals(), np.zeros(0, np.int64))]
        parts += [live.graphs(period, first, last) for live in self.default_windows]
        for name in self.default_graphs:
            ids = graph_triples(self.knowledge, name, self.dictionary)
            never = np.full(len(ids) * count, NEVER, np.int64)
            parts.append(
                (Arrivals(np.tile(ids, (count, 1)), never, never), np.repeat(np.arange(count), len(ids)))
            )
        owners = np.concatenate([own for _, own in parts])
        default = _views(_stacked([found for found, _ in parts]), owners, count)
        cache = cache_of(self.dictionary)
        frame = Frame(
            default,
            self.dictionary,
            cache,
            self.knowledge,
            solve,
            now,
            self.base,
            windows=windows,
            matches=matches,
        )
        found = frame.spread(solve(pattern, frame)).in_event_order()
        if self.at_home is None or self.key not in found.columns:
            return found
        keys = found.columns[self.key]
        return found.where((keys == 0) | self.at_home(keys))


def _part(found: Reported, first: int, last: int) -> Table:
    """The solutions at some of the evaluations, counted from the first."""
    low, high = np.searchsorted(found.at, [first, last])
    at = (found.at[low:high] - first).astype(np.int32)
    return Table(at, by_name(found.ids[low:high], found.names), len(at))


class ReevaluatedView(View):
    """A pattern that is evaluated anew where what it reads has changed; what differs from the evaluation before is what changes."""

    IDS = ("_last",)

    def __init__(
        self,
        pattern: Pattern,
        around: EvaluationScope,
        windows: int,
        matches: Mapping[Pattern, View],
        *,
        reads_clock: bool = False,
        always: bool = False,
    ) -> None:
        """``matches`` follow every MATCH of the pattern; ``always``: also where nothing that it reads has changed."""
        self._pattern, self._around, self._windows = pattern, around, windows
        evaluator = RowEvaluator(around.dictionary)
        self._matches = {
            match: (
                view,
                Reporter(view.names, SelectForm(()), Emission.RSTREAM, (), view.names, evaluator, windows),
            )
            for match, view in matches.items()
        }
        self._reads_clock, self._always = reads_clock, always
        told = (TRACE,) if any(TRACE in view.names for view in matches.values()) else ()
        self.names = (*in_scope(pattern), *told)
        self.certain = certainly_bound(pattern)
        self._last = np.zeros((0, len(self.names)), np.int32)
        self._many = 1
        """How many evaluations are made at a time; few at first, since it is not known how many solutions they have."""
        self._version = -1
        """That of the background graphs at the last evaluation; another one at first, and after a restart."""

    def parts(self) -> tuple[View, ...]:
        return tuple(view for view, _ in self._matches.values())

    def keepers(self) -> Iterator[tuple[str, Keeper]]:
        yield from ((f"match{number}", each) for number, (_, each) in enumerate(self._matches.values()))

    def _step(self, period: Period) -> TimedRows:
        matches = {
            match: found.step(view.step(period), period) for match, (view, found) in self._matches.items()
        }
        differs = self._differs(period)
        period, numbers = period.take(differs), period.first + np.flatnonzero(differs)
        changes = [no_rows(self.names, self._windows)]
        first = 0
        while first < len(period):
            last = min(first + self._many, len(period))
            changes.append(self._changes(period, numbers, first, last, matches))
            self._many = min(2 * self._many, self._most())
            first = last
        return stacked(changes)

    def _differs(self, period: Period) -> Mask:
        """The evaluations that may differ from the one before them."""
        if self._reads_clock or self._matches or self._always:
            return np.ones(len(period), np.bool_)
        found = self._around.changed(period)
        if self._version != self._around.knowledge.version:
            self._version = self._around.knowledge.version
            found[:1] = True
        return found

    def _most(self) -> int:
        """How many evaluations are made at a time: as many as their triples and solutions leave room for."""
        windows = (*self._around.windows.values(), *self._around.default_windows)
        size = 1 + sum(map(len, windows)) + len(self._last)
        return 1 if self._reads_clock else max(settings().reevaluated_triples // size, 1)

    def _changes(
        self, period: Period, numbers: Rows, first: int, last: int, matches: Mapping[Pattern, Reported]
    ) -> TimedRows:
        """What differs at some of the evaluations, with these numbers, from the one before each."""
        now = None
        if self._reads_clock:
            now = Literal(format_instant(int(period.instants[first])), datatype=_DATE_TIME)
        here = {match: _part(found, first, last) for match, found in matches.items()}
        table = self._around.solutions(self._pattern, period, first, last, now, here)
        assert table.events is not None
        at, ids = table.events + first, id_matrix(table.columns, self.names, table.size)
        gone = at + 1 < last
        every = np.concatenate([ids, ids[gone], self._last])
        since = np.concatenate([numbers[at], numbers[at[gone] + 1], np.full(len(self._last), numbers[first])])
        weight = np.repeat(np.array([1, -1]), [len(ids), int(gone.sum()) + len(self._last)])
        self._last = ids[~gone]
        return lasting_changes(by_name(every, self.names), weight, since, self._windows)
