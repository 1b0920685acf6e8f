"""Running aggregates: a row for every group and every instant at which one of its solutions ends (semantics 2.5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from spaseq.algebra.expressions import Aggregate, Expression, Var
from spaseq.columnar.keeping import Keeper
from spaseq.columnar.row_numbers import RowNumbers, by_name, id_matrix
from spaseq.columnar.rows import RowEvaluator
from spaseq.columnar.totals import RunningTotals
from spaseq.intervals.interval_rows import (
    LAST,
    NEVER_ENDED,
    NEVER_STARTED,
    EndIndex,
    Ids,
    IntervalRows,
    Longs,
    Mask,
    Rows,
    no_rows,
)
from spaseq.intervals.running_extremes import RunningExtremes
from spaseq.intervals.solution_views import SolutionView, TimeStep
from spaseq.model.ordered import each_once
from spaseq.model.packing import Damaged
from spaseq.settings import settings

Wanted = list[tuple[int, str, int | None]]
"""Aggregates that are followed: their column, their name and the number of an operand, none for the rows themselves."""


@dataclass(slots=True)
class _Followed:
    """How aggregates are followed as rows come: counts, sums and averages by totals, extremes by themselves."""

    totals: RunningTotals
    totalled: Wanted
    extremes: RunningExtremes
    extreme: list[int]
    """The columns of extremes."""


def _followed(
    names: Sequence[str], aggregates: tuple[tuple[Var, Expression], ...], evaluator: RowEvaluator, first: int
) -> _Followed | None:
    """None if an aggregate must look at all members again: SAMPLE, GROUP_CONCAT, and totals of what is DISTINCT."""
    places: dict[int, int] = {}
    totalled: Wanted = []
    extremes: list[tuple[str, int]] = []
    columns: list[int] = []
    for column, (_, item) in enumerate(aggregates, first):
        assert isinstance(item, Aggregate)
        if item.operand is None and item.name == "COUNT" and not item.distinct:
            totalled.append((column, item.name, None))
            continue
        if not isinstance(item.operand, Var) or item.operand.name not in names:
            return None
        place = tuple(names).index(item.operand.name)
        if item.name in ("MIN", "MAX"):
            extremes.append((item.name, place))
            columns.append(column)
        elif item.name in ("COUNT", "SUM", "AVG") and not item.distinct:
            totalled.append((column, item.name, places.setdefault(place, len(places))))
        else:
            return None
    asked = [(name, operand) for _, name, operand in totalled]
    totals = RunningTotals(list(places), asked, evaluator)
    return _Followed(totals, totalled, RunningExtremes(extremes, evaluator), columns)


class Members(Keeper):
    """The solutions of all groups, for aggregates that must look at them again."""

    IDS = ("ids",)
    ARRAYS = ("end", "group")

    def __init__(self, width: int) -> None:
        self.ids = np.zeros((0, width), np.int32)
        self.end = np.zeros(0, np.int64)
        self.group = np.zeros(0, np.int64)
        self._index = EndIndex()
        self._count = 0
        self._indexed = 0
        """How many the index has: totals need none."""

    def add(self, ids: Ids, end: Longs, group: Longs) -> None:
        """Further solutions."""
        first, count = self._count, self._count + len(end)
        if count > len(self.end):
            room = max(2 * len(self.end), count) - first
            self.trim()
            self.ids = np.pad(self.ids, ((0, room), (0, 0)))
            self.end, self.group = np.pad(self.end, (0, room)), np.pad(self.group, (0, room))
        self.ids[first:count], self.end[first:count], self.group[first:count] = ids, end, group
        self._count = count

    def keep(self, moved: Rows) -> None:
        """Only those of groups that are kept, by their old numbers the new ones, or -1."""
        self.trim()
        group = moved[self.group]
        kept = group >= 0
        self.ids, self.end, self.group = self.ids[kept], self.end[kept], group[kept].astype(np.int64)
        self.rebuild()

    def trim(self) -> None:
        """Give up spare room."""
        self.ids, self.end = self.ids[: self._count], self.end[: self._count]
        self.group = self.group[: self._count]

    def of(self, groups: Longs, until: Longs) -> tuple[Rows, Rows]:
        """The pairs of (place among the groups asked for, solution that ends until then)."""
        new = slice(self._indexed, self._count)
        self._index.add(self.group[new], self.end[new], self._indexed)
        self._indexed = self._count
        found = list(self._index.find(groups, np.full(len(groups), -LAST), until + 1))
        asked = np.concatenate([np.zeros(0, np.intp), *(pair[0] for pair in found)])
        rows = np.concatenate([np.zeros(0, np.intp), *(pair[1] for pair in found)])
        order = np.lexsort((rows, asked))
        return asked[order], rows[order]

    def rebuild(self) -> None:
        """Index the solutions anew."""
        self._count = len(self.end)
        self._index, self._indexed = EndIndex(), 0


class GroupedSolutions(SolutionView):
    """Groups by the values of some columns; the operands of aggregates are columns, too.

    A group by the start or the end of its solutions is dropped when no more of them can come.
    """

    ARRAYS = ("_start", "_last")
    waits = True

    def __init__(
        self,
        inner: SolutionView,
        keys: Sequence[str],
        aggregates: tuple[tuple[Var, Expression], ...],
        evaluator: RowEvaluator,
    ) -> None:
        self._inner, self._keys, self._aggregates = inner, tuple(keys), aggregates
        self._evaluator = evaluator
        self.names = (*keys, *(variable.name for variable, _ in aggregates))
        self.certain = inner.certain & frozenset(keys)
        self._groups = RowNumbers(len(keys))
        self._members = Members(len(inner.names))
        self._start = np.zeros(0, np.int64)
        self._last = np.zeros(0, np.int64)
        """When the last solution of each group can end."""
        self._instants = {name: most for name, most in inner.instants.items() if name in keys}
        self.endless = all(most is None for most in self._instants.values())
        """Whether groups stay for ever."""
        self._kept = 0
        self._followed = _followed(inner.names, aggregates, evaluator, len(keys))
        self._added_up = True

    @property
    def key(self) -> tuple[str, ...]:
        """The variables it groups by."""
        return self._keys

    def parts(self) -> tuple[SolutionView, ...]:
        return (self._inner,)

    def keepers(self) -> Iterator[tuple[str, Keeper]]:
        yield from (("groups", self._groups), ("members", self._members))

    def rebuild(self) -> None:
        """What was added up follows from the members, when they are all there."""
        self._added_up = False

    def _add_up(self) -> None:
        members = self._members
        members.trim()
        if len(self._start) != len(self._groups) or (
            len(members.group) and not 0 <= members.group.min() <= members.group.max() < len(self._start)
        ):
            raise Damaged("a solution belongs to a group that is not there")
        if self._followed is None:
            return
        groups, count = members.group.astype(np.intp), len(self._start)
        self._followed.totals.add_up(groups, np.ones(len(groups), np.int64), members.ids, count)
        self._followed.extremes.forget()
        order = np.lexsort((members.end, groups))
        self._followed.extremes.step(groups[order], members.ids[order], np.zeros(len(order), np.bool_), count)

    def _step(self, current: TimeStep) -> IntervalRows:
        if not self._added_up:
            self._add_up()
            self._added_up = True
        rows = self._inner.step(current)
        if not len(rows):
            return no_rows(self.names)
        ids = rows.matrix(self._inner.names)
        places = [self._inner.names.index(name) for name in self._keys]
        groups = self._groups.number(ids[:, places])
        order = np.lexsort((rows.end, groups))
        groups, ids, start, end = groups[order], ids[order], rows.start[order], rows.end[order]
        last = np.ones(len(order), np.bool_)
        last[:-1] = (groups[1:] != groups[:-1]) | (end[1:] != end[:-1])
        self._members.add(ids, end, groups.astype(np.int64))
        first = self._first_instants(groups, start)[last]
        self._last = np.concatenate([self._last, np.full(len(self._start) - len(self._last), LAST)])
        self._last[groups] = self._last_instants(rows.take(order))
        touched, at = groups[last], end[last]
        results = self._results(groups, ids, last, touched, at)
        first[at == NEVER_ENDED] = NEVER_STARTED
        self._forget(current.horizon)
        return IntervalRows(by_name(results, self.names), first, at)

    def _last_instants(self, rows: IntervalRows) -> Longs:
        """When the last solution can end that is in the group of a row."""
        found = np.full(len(rows), LAST)
        for name, most in self._instants.items():
            if most is not None:
                known = rows.end if most == 0 else rows.start + most
                found = np.minimum(found, np.where(rows.timed & (rows.columns[name] != 0), known, LAST))
        return found

    def _forget(self, horizon: int) -> None:
        """Drop groups that are over, when they may be half of all."""
        if self.endless or len(self._groups) <= 2 * self._kept + settings().forgotten_rows:
            return
        kept = self._last >= horizon
        if not kept.all():
            moved = self._groups.keep(kept)
            self._members.keep(moved)
            self._start, self._last = self._start[kept], self._last[kept]
            self._added_up = False
        self._kept = len(self._groups)

    def _first_instants(self, groups: Rows, start: Longs) -> Longs:
        """For every row, in order of group and end, the earliest start of its group so far."""
        grown = len(self._groups) - len(self._start)
        self._start = np.concatenate([self._start, np.full(grown, NEVER_STARTED)])
        begins = np.ones(len(groups), np.bool_)
        begins[1:] = groups[1:] != groups[:-1]
        number = np.cumsum(begins) - 1
        # Running minima of all groups at once: a later group's numbers are all less than an earlier one's.
        ranked = each_once(np.concatenate([start, self._start[groups]]))
        rank = np.minimum(np.searchsorted(ranked, start), np.searchsorted(ranked, self._start[groups]))
        least = np.minimum.accumulate(rank - number * len(ranked)) + number * len(ranked)
        found: Longs = ranked[least]
        ends = np.append(begins[1:], True)
        self._start[groups[ends]] = found[ends]
        return found

    def _results(self, groups: Rows, ids: Ids, last: Mask, touched: Rows, at: Longs) -> Ids:
        results = np.zeros((len(touched), len(self.names)), np.int32)
        known = np.zeros(len(touched), np.bool_)
        if self._followed is not None:
            weight = np.ones(len(groups), np.int64)
            fits = self._followed.totals.step(groups, weight, ids, last, len(self._start))
            if fits is None:  # a number with more decimal places than any before
                self._add_up()
            else:
                known, totals = fits
                results[known, : len(self._keys)] = self._groups.ids[touched[known]]
                extremes = self._followed.extremes.step(groups, ids, last, len(self._start))
                results[:, self._followed.extreme] = extremes
                for column, name, operand in self._followed.totalled:
                    results[known, column] = self._followed.totals.result(totals.take(known), name, operand)
        anew = np.flatnonzero(~known)
        if len(anew):
            asked, members = self._members.of(touched[anew].astype(np.int64), at[anew])
            columns = by_name(self._members.ids[members], self._inner.names)
            events, found = self._evaluator.groups(
                columns, asked.astype(np.int32), len(anew), self._keys, self._aggregates
            )
            results[anew[events]] = id_matrix(found, self.names, len(events))
        return results
