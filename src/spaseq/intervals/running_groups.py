"""Running aggregates: a row for every group and every instant at which one of its solutions ends (semantics 2.5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from spaseq.algebra.expressions import Aggregate, Expression, Var
from spaseq.columnar.growing import with_room
from spaseq.columnar.keeping import Keeper
from spaseq.columnar.row_numbers import RowNumbers, by_name, id_matrix
from spaseq.columnar.rows import RowEvaluator
from spaseq.intervals.followed_aggregates import DistinctMembers, FollowedAggregates, Named
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
    portions,
)
from spaseq.intervals.solution_views import SolutionView, TimeStep
from spaseq.model.ordered import each_once
from spaseq.model.packing import Damaged
from spaseq.settings import settings


class Members(Keeper):
    """The solutions of all groups, for aggregates that must look at them again."""

    IDS = ("ids",)
    ARRAYS = ("end", "group")

    def __init__(self, width: int) -> None:
        self.ids = np.zeros((0, width), np.int32)
        self.end = np.zeros(0, np.int64)
        self.group = np.zeros(0, np.int64)
        self._count = 0

    def __len__(self) -> int:
        return self._count

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

    def earlier(self, many: int) -> tuple[Rows, Ids]:
        """The groups and ids of all but the last ones, in order of group and end."""
        count = self._count - many
        order = np.lexsort((self.end[:count], self.group[:count]))
        return self.group[:count][order].astype(np.intp), self.ids[:count][order]

    def rebuild(self) -> None:
        """The arrays hold what they hold."""
        self._count = len(self.end)


class MemberIndex:
    """Finds the members of groups: all, or the first of those that agree in some columns."""

    def __init__(self, members: Members, distinct: Sequence[int] | None = None) -> None:
        self._members, self._distinct = members, distinct
        self.begin()

    def begin(self) -> None:
        """Index all members anew."""
        self._index, self._indexed = EndIndex(), 0
        self._different = None if self._distinct is None else DistinctMembers(self._distinct)

    def take(self) -> Mask:
        """Index the members that came since the last time, and say which of them it finds."""
        first, past = self._indexed, len(self._members)
        groups, end = self._members.group[first:past], self._members.end[first:past]
        found = np.ones(past - first, np.bool_)
        if self._different is not None:
            found = self._different.first(groups.astype(np.intp), self._members.ids[first:past])
        self._index.add(groups[found], end[found], first + np.flatnonzero(found))
        self._indexed = past
        return found

    def find(self, groups: Longs, until: Longs) -> Iterator[tuple[slice, Rows, Rows]]:
        """The pairs of (place among the groups asked for, member that ends until then), some groups at a time."""
        for low, high in portions(self._index.count(groups, until + 1)):
            asked, before = groups[low:high], until[low:high] + 1
            found = list(self._index.find(asked, np.full(high - low, -LAST), before))
            places = np.concatenate([np.zeros(0, np.intp), *(pair[0] for pair in found)])
            rows = np.concatenate([np.zeros(0, np.intp), *(pair[1] for pair in found)])
            order = np.lexsort((rows, places))
            yield slice(low, high), places[order], rows[order]


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
        self._followed = FollowedAggregates(inner.names, aggregates, evaluator, len(keys))
        self._every = MemberIndex(self._members)
        self._different = MemberIndex(self._members, self._differing())
        self._begun = False

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
        self._begun = False

    def _differing(self) -> list[int] | None:
        """The columns in which a member must differ from all before to change what is not followed; None if any member may."""
        places = []
        for _, item in self._followed.others:
            assert isinstance(item, Aggregate)
            if (
                not item.distinct
                or not isinstance(item.operand, Var)
                or item.operand.name not in self._inner.names
            ):
                return None
            places.append(self._inner.names.index(item.operand.name))
        return places

    def trim(self) -> None:
        """Give up spare room."""
        count = len(self._groups)
        self._start, self._last = self._start[:count], self._last[:count]

    def _begin(self) -> None:
        """Follow the members that are there."""
        members = self._members
        members.trim()
        if len(self._start) != len(self._groups) or (
            len(members.group) and not 0 <= members.group.min() <= members.group.max() < len(self._start)
        ):
            raise Damaged("a solution belongs to a group that is not there")
        self._followed.begin(*members.earlier(0), len(self._start))
        for index in (self._every, self._different):
            index.begin()
        self._different.take()

    def _step(self, current: TimeStep) -> IntervalRows:
        if not self._begun:
            self._begin()
            self._begun = True
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
        self._last = with_room(self._last, len(self._groups), LAST)
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
        self.trim()
        kept = self._last >= horizon
        if not kept.all():
            moved = self._groups.keep(kept)
            self._members.keep(moved)
            self._start, self._last = self._start[kept], self._last[kept]
            self._begun = False
        self._kept = len(self._groups)

    def _first_instants(self, groups: Rows, start: Longs) -> Longs:
        """For every row, in order of group and end, the earliest start of its group so far."""
        self._start = with_room(self._start, len(self._groups), NEVER_STARTED)
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
        results[:, : len(self._keys)] = self._groups.ids[touched]
        count = len(self._groups)
        known = self._followed.step(
            groups, ids, last, count, lambda: self._members.earlier(len(ids)), results
        )
        if not known.all():
            self._every.take()
            anew = np.flatnonzero(~known)
            self._look_up(self._every, self._followed.totals, touched[anew], at[anew], results, anew)
        if self._followed.others:
            # A group without a member that differs from all before keeps its results.
            changed = np.logical_or.reduceat(
                self._different.take(), np.flatnonzero(np.append(True, last[:-1]))
            )
            changed[1:] |= touched[1:] != touched[:-1]
            changed[0] = True
            anew = np.flatnonzero(changed)
            self._look_up(self._different, self._followed.others, touched[anew], at[anew], results, anew)
            columns = self._columns_of(self._followed.others)
            results[:, columns] = results[anew][np.cumsum(changed) - 1][:, columns]
        return results

    def _columns_of(self, aggregates: Named) -> list[int]:
        return [self.names.index(variable.name) for variable, _ in aggregates]

    def _look_up(
        self, members: MemberIndex, aggregates: Named, touched: Rows, at: Longs, results: Ids, places: Rows
    ) -> None:
        """Fill in the results of aggregates at some places from the members of groups at some instants."""
        wanted = np.array(self._columns_of(aggregates))
        for part, asked, rows in members.find(touched.astype(np.int64), at):
            columns = by_name(self._members.ids[rows], self._inner.names)
            events, found = self._evaluator.groups(
                columns, asked.astype(np.int32), part.stop - part.start, self._keys, aggregates
            )
            values = id_matrix(found, [variable.name for variable, _ in aggregates], len(events))
            results[places[part][events][:, None], wanted] = values
