"""Groups and aggregates that follow what comes and goes (SPARQL 1.1, sections 11 and 18.5.1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from spaseq.algebra.expressions import Aggregate, Expression, Var
from spaseq.columnar.keeping import Keeper
from spaseq.columnar.row_numbers import KeyIndex, RowNumbers, by_name, columns_at, id_matrix
from spaseq.columnar.rows import RowEvaluator
from spaseq.columnar.totals import RunningTotals, Totals
from spaseq.model.packing import Damaged
from spaseq.settings import settings
from spaseq.windowed.evaluations import Period
from spaseq.windowed.extremes import Extremes
from spaseq.windowed.timed import (
    Changes,
    Counting,
    Counts,
    Held,
    Ids,
    Longs,
    Mask,
    Rows,
    TimedRows,
    lasting,
    order_by,
)
from spaseq.windowed.views import View


class _Distinct(Keeper):
    """The different values of an operand in every group, and their totals."""

    def __init__(self, places: Sequence[int], names: Sequence[str], evaluator: RowEvaluator) -> None:
        self._places = list(places)
        """The columns of the group's key, then the operand's."""
        self._values = Counting(len(places))
        self.totals = RunningTotals([len(places) - 1], [(name, 0) for name in names], evaluator)

    def keepers(self) -> Iterator[tuple[str, Keeper]]:
        yield "values", self._values

    def add_up(self, groups: RowNumbers, count: int) -> None:
        """Begin anew with all that is there."""
        there = self._values.counts > 0
        ids = self._values.numbers.ids[there]
        self.totals.add_up(groups.number(ids[:, :-1]), np.ones(len(ids), np.int64), ids, count)

    def step(
        self, changes: Changes, groups: RowNumbers, touched: tuple[Longs, Longs], count: int
    ) -> tuple[Mask, Totals] | None:
        """The totals at every touched group and evaluation, as `RunningTotals.step` gives them."""
        own = Changes(columns_at(changes.ids, self._places), changes.weight, changes.at)
        counts = self._values.count(own)
        turned = np.flatnonzero((counts.before > 0) != (counts.after > 0))
        ids = self._values.numbers.ids[counts.rows[turned]]
        sign = np.where(counts.after[turned] > 0, 1, -1)
        every = np.concatenate([groups.number(ids[:, :-1]), touched[0].astype(np.intp)])
        at = np.concatenate([counts.at[turned], touched[1]])
        # A row of no weight for each touched group, so that each has its totals.
        ids = np.concatenate([ids, np.zeros((len(touched[0]), ids.shape[1]), np.int32)])
        weight = np.concatenate([sign, np.zeros(len(touched[0]), np.int64)])
        order = order_by(every, at)
        last = _last(every[order], at[order])
        self._values.forget()
        return self.totals.step(every[order], weight[order], ids[order], last, count)


def _last(groups: Rows, at: Longs) -> Mask:
    """The last change of every group and evaluation, of changes in that order."""
    found = np.ones(len(groups), np.bool_)
    found[:-1] = (np.diff(groups) != 0) | (np.diff(at) != 0)
    return found


class GroupView(View):
    """One row per group of rows with equal keys (SPARQL 1.1, 18.5.1).

    Counts, sums and averages follow from running totals, MIN, MAX and SAMPLE from the best values of each group; GROUP_CONCAT and
    groups with numbers that totals do not hold are made anew when they change. The operands of aggregates are columns.
    Where these decide everything, the rows of a group need not be told apart: those that will leave are held anyway, and members are
    counted only from the first time on that totals do not hold.
    """

    IDS = ("_result",)
    ARRAYS = ("_group_of", "_there")
    INDEXES = ("_by_group",)
    TOGETHER = False

    def __init__(
        self,
        inner: View,
        keys: Sequence[str],
        aggregates: tuple[tuple[Var, Expression], ...],
        evaluator: RowEvaluator,
        windows: int,
    ) -> None:
        self._inner, self._keys, self._aggregates = inner, tuple(keys), aggregates
        self._evaluator, self._windows = evaluator, windows
        self.names = (*keys, *(variable.name for variable, _ in aggregates))
        self.certain = inner.certain & frozenset(keys)
        self._key_places = [inner.names.index(name) for name in keys]
        self._held = Held(inner.names, windows)
        self._members = Counting(len(inner.names))
        self._groups = RowNumbers(len(keys))
        self._group_of = np.zeros(0, np.intp)
        self._by_group = KeyIndex()
        self._indexed = 0
        """How many members the index by group has: only what is made anew needs it."""
        self._result = np.zeros((0, len(self.names)), np.int32)
        self._there = np.zeros(0, np.bool_)
        self._items = [item for _, item in aggregates if isinstance(item, Aggregate)]
        self._followed = all(self._follows(item) for item in self._items)
        plain = [item for item in self._items if item.name in _ADDED and not item.distinct]
        different = [item for item in self._items if item.name in _ADDED and item.distinct]
        self._only_sums = self._followed and inner.passing and not different
        self._places = list(dict.fromkeys(p for p in map(self._place, plain) if p is not None))
        self._totals = RunningTotals(self._places, [self._summed(item) for item in plain], evaluator)
        self._distinct = {
            place: _Distinct([*self._key_places, place], names, evaluator)
            for place, names in self._names_by_place(different).items()
        }
        best = [item for item in self._items if item.name in _EXTREMES]
        self._extremes = {
            place: Extremes([*self._key_places, place], names, evaluator)
            for place, names in self._names_by_place(best).items()
        }
        self._added_up = True

    def _follows(self, item: Aggregate) -> bool:
        """Whether totals, or when values are there, decide an aggregate."""
        if item.operand is None:
            return not item.distinct
        assert isinstance(item.operand, Var)
        return item.operand.name in self._inner.names and item.name in (*_ADDED, *_EXTREMES)

    def _place(self, item: Aggregate) -> int | None:
        """The column of an aggregate's operand."""
        if not isinstance(item.operand, Var) or item.operand.name not in self._inner.names:
            return None
        return self._inner.names.index(item.operand.name)

    def _names_by_place(self, items: Sequence[Aggregate]) -> dict[int, list[str]]:
        """The names of some aggregates by the column of their operand; none if not all aggregates are followed."""
        names: dict[int, list[str]] = {}
        for item in items if self._followed else ():
            place = self._place(item)
            assert place is not None
            names.setdefault(place, []).append(item.name)
        return names

    def _summed(self, item: Aggregate) -> tuple[str, int | None]:
        place = self._place(item)
        return item.name, None if place is None else self._places.index(place)

    def parts(self) -> tuple[View, ...]:
        return (self._inner,)

    def keepers(self) -> Iterator[tuple[str, Keeper]]:
        yield from (("held", self._held), ("members", self._members), ("groups", self._groups))
        yield from ((f"distinct{place}", each) for place, each in self._distinct.items())
        yield from ((f"extremes{place}", each) for place, each in self._extremes.items())

    def rebuild(self) -> None:
        """Begin a new index; members are added up when they are all there."""
        self._by_group, self._indexed = KeyIndex(), 0
        self._added_up = False

    @property
    def _counts_members(self) -> bool:
        return not self._only_sums or len(self._members.numbers) > 0

    def _add_up(self) -> None:
        groups, rows = self._group_of, (self._members.counts, self._members.numbers.ids)
        if not self._counts_members:
            held = self._held.rows()
            groups, rows = (
                self._groups.number(columns_at(held.ids, self._key_places)),
                (held.weight, held.ids),
            )
        self._totals.add_up(groups, *rows, len(self._there))
        for each in self._distinct.values():
            each.add_up(self._groups, len(self._there))
        for best in self._extremes.values():
            best.add_up(self._groups, len(self._there))
        self._added_up = True

    def check(self) -> None:
        """Every member has a group."""
        if len(self._there) != len(self._result) or (
            len(self._group_of) and not 0 <= self._group_of.min() <= self._group_of.max() < len(self._there)
        ):
            raise Damaged("a row belongs to a group that is not there")

    def _step(self, period: Period) -> TimedRows:
        if not self._added_up and self._followed:
            self._add_up()
        changes = self._held.step(self._inner.step(period), period)
        counts, (groups, weight, at, ids) = self._grouped(changes)
        if not self._keys and period.first == 0:  # one group, even without rows
            groups, at, weight = np.append(groups, 0), np.append(at, 0), np.append(weight, 0)
            ids = np.concatenate([ids, np.zeros((1, ids.shape[1]), np.int32)])
        order = order_by(groups, at)
        last = _last(groups[order], at[order])
        touched, when = groups[order][last].astype(np.int64), at[order][last]
        there = np.zeros(len(touched), np.bool_)
        results = np.zeros((len(touched), len(self.names)), np.int32)
        anew = np.arange(len(touched))
        if self._followed:
            best = {
                place: each.step(changes, self._groups, (touched, when), len(self._there))
                for place, each in self._extremes.items()
            }
            sums = self._sums((groups[order], weight[order], ids[order], last), changes, (touched, when))
            if sums is not None:
                known, rows, distinct = sums
                if self._keys:  # a group without rows is not there, whatever they might add up to
                    known = known | (rows.many == 0)
                there[known] = rows.many[known] > 0 if self._keys else True
                results[known] = self._from_totals(touched, rows, distinct, best)[known]
                results[~there] = 0
                anew = np.flatnonzero(~known)
        if len(anew):
            counts = counts or self._count_members(changes)
            there[anew], results[anew] = self._evaluated(touched[anew], when[anew], counts)
        changed = self._changes(touched, when, there, results)
        self._forget()
        return changed

    def _grouped(self, changes: Changes) -> tuple[Counts | None, tuple[Rows, Longs, Longs, Ids]]:
        """How the counts of members change, if they are counted; the group, weight, evaluation and ids of every change."""
        if self._counts_members:
            counts = self._members.count(changes)
            self._assign_groups()
            groups, weight = self._group_of[counts.rows], counts.after - counts.before
            return counts, (groups, weight, counts.at, self._members.numbers.ids[counts.rows])
        groups = self._groups.number(columns_at(changes.ids, self._key_places))
        self._make_room()
        return None, (groups, changes.weight, changes.at, changes.ids)

    def _count_members(self, changes: Changes) -> Counts:
        """Begin to count members: those there were before some changes, then the changes."""
        now = self._held.rows()
        self._members.count(
            Changes(
                np.concatenate([now.ids, changes.ids]),
                np.concatenate([now.weight, -changes.weight]),
                np.zeros(len(now) + len(changes), np.int64),
            )
        )
        counts = self._members.count(changes)
        self._assign_groups()
        return counts

    def _sums(
        self, ordered: tuple[Rows, Longs, Ids, Mask], changes: Changes, touched: tuple[Longs, Longs]
    ) -> tuple[Mask, Totals, dict[int, Totals]] | None:
        """Where totals decide, and the totals at every touched group and evaluation.

        None if a number needs more room than any before: what there is must be added up anew.
        """
        count = len(self._there)
        found = self._totals.step(*ordered, count)
        own = {
            place: each.step(changes, self._groups, touched, count) for place, each in self._distinct.items()
        }
        if found is None or any(each is None for each in own.values()):
            self._add_up()
            return None
        known = found[0]
        for each in own.values():
            assert each is not None
            known = known & each[0]
        return known, found[1], {place: each[1] for place, each in own.items() if each is not None}

    def _from_totals(
        self, groups: Longs, rows: Totals, distinct: dict[int, Totals], best: dict[int, dict[str, Ids]]
    ) -> Ids:
        """The rows of some groups at some evaluations."""
        found = np.zeros((len(groups), len(self.names)), np.int32)
        if self._keys:
            found[:, : len(self._keys)] = self._groups.ids[groups]
        for number, item in enumerate(self._items, len(self._keys)):
            place = self._place(item)
            if item.name in _EXTREMES:
                assert place is not None
                found[:, number] = best[place][item.name]
            elif item.distinct:
                assert place is not None
                found[:, number] = self._distinct[place].totals.result(distinct[place], item.name, 0)
            else:
                found[:, number] = self._totals.result(rows, *self._summed(item))
        return found

    def _members_of(self, groups: Longs) -> tuple[Rows, Rows]:
        """The pairs of (position among the groups, member)."""
        self._by_group.add(self._group_of[self._indexed :].astype(np.int64), self._indexed)
        self._indexed = len(self._group_of)
        return self._by_group.find(groups)

    def _assign_groups(self) -> None:
        known, ids = len(self._group_of), self._members.numbers.ids
        new = self._groups.number(columns_at(ids[known:], self._key_places))
        self._group_of = np.concatenate([self._group_of, new])
        self._make_room()

    def _make_room(self) -> None:
        """Room for the results of all groups."""
        count = max(len(self._groups), 0 if self._keys else 1)
        grown = count - len(self._there)
        self._there = np.concatenate([self._there, np.zeros(grown, np.bool_)])
        self._result = np.concatenate([self._result, np.zeros((grown, len(self.names)), np.int32)])

    def _evaluated(self, groups: Longs, at: Longs, counts: Counts) -> tuple[Mask, Ids]:
        """Whether each group is there at an evaluation, and its row."""
        asked, rows = self._members_of(groups)
        many = counts.at_evaluation(rows, at[asked], self._members.counts)
        order = np.argsort(asked, kind="stable")
        asked, rows, many = asked[order], rows[order], many[order]
        asked, rows = np.repeat(asked, many), np.repeat(rows, many)
        columns = by_name(self._members.numbers.ids[rows], self._inner.names)
        events, found = self._evaluator.groups(
            columns, asked.astype(np.int32), len(groups), self._keys, self._aggregates
        )
        there = np.zeros(len(groups), np.bool_)
        there[events] = True
        results = np.zeros((len(groups), len(self.names)), np.int32)
        results[events] = id_matrix(found, self.names, len(events))
        return there, results

    def _changes(self, groups: Longs, at: Longs, there: Mask, results: Ids) -> TimedRows:
        """The old rows taken back, the new ones added; evaluations of a group are in order."""
        first = np.ones(len(groups), np.bool_)
        first[1:] = groups[1:] != groups[:-1]
        was_there = np.where(first, self._there[groups], np.roll(there, 1))
        was = np.where(first[:, None], self._result[groups], np.roll(results, 1, axis=0))
        self._there[groups] = there
        self._result[groups] = results
        changed = (was_there != there) | (was != results).any(axis=1)
        old, new = np.flatnonzero(changed & was_there), np.flatnonzero(changed & there)
        ids = np.concatenate([was[old], results[new]])
        weight = np.repeat(np.array([-1, 1]), [len(old), len(new)])
        return lasting(by_name(ids, self.names), weight, np.concatenate([at[old], at[new]]), self._windows)

    def _forget(self) -> None:
        if self._counts_members:
            moved = self._members.forget()
            if moved is None:
                return
            self._group_of = self._group_of[moved >= 0]
        elif len(self._there) <= 2 * int(self._there.sum()) + settings().forgotten_rows:
            return
        if self._keys:
            kept = self._there.copy()
            kept[self._group_of] = True
            self._group_of = self._groups.keep(kept)[self._group_of]
            self._there, self._result = self._there[kept], self._result[kept]
        self.rebuild()


_ADDED = ("COUNT", "SUM", "AVG")
"""What running totals decide."""
_EXTREMES = ("MIN", "MAX", "SAMPLE")
"""What the best values decide; SAMPLE takes the first in the order of terms."""
