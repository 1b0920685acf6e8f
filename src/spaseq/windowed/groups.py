"""Groups and aggregates that follow what comes and goes (SPARQL 1.1, sections 11 and 18.5.1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from spaseq.algebra.expressions import Aggregate, Expression, Var
from spaseq.columnar.rows import RowEvaluator
from spaseq.model.packing import Damaged
from spaseq.settings import settings
from spaseq.windowed.evaluations import Period
from spaseq.windowed.keeping import Keeper
from spaseq.windowed.timed import (
    Counting,
    Counts,
    Held,
    Ids,
    KeyIndex,
    Longs,
    Mask,
    RowNumbers,
    Rows,
    TimedRows,
    by_name,
    id_matrix,
    lasting,
    order_by,
)
from spaseq.windowed.views import View


@dataclass(frozen=True, slots=True)
class Totals:
    """What the rows of some groups come to: how many there are, and of every operand how many values, errors, decimals and others,
    and the sum of the integers and decimals, without the decimal point.
    """

    table: Longs

    @property
    def many(self) -> Longs:
        return self.table[:, 0]

    def of(self, operand: int) -> tuple[Longs, Longs, Longs, Longs, Longs]:
        """Values, errors, decimals, others, and the sum."""
        first = 1 + 5 * operand
        values, errors, decimals, others, total = self.table[:, first : first + 5].T
        return values, errors, decimals, others, total

    def take(self, rows: Mask) -> Totals:
        """Those of some groups."""
        return Totals(self.table[rows])


class RunningTotals:
    """Adds up what comes and goes in every group."""

    def __init__(
        self, places: Sequence[int], aggregates: Sequence[tuple[str, int | None]], evaluator: RowEvaluator
    ) -> None:
        self._places, self._aggregates, self._evaluator = tuple(places), tuple(aggregates), evaluator
        self._scales = [0] * len(places)
        """How many decimal places the sums have."""
        self._table = np.zeros((0, 1 + 5 * len(places)), np.int64)

    def add_up(self, groups: Rows, counts: Longs, ids: Ids, count: int) -> None:
        """Begin anew with all that is there."""
        for operand, place in enumerate(self._places):
            self._scales[operand] = self._evaluator.decimal_places(ids[:, place])
        self._table = np.zeros((count, self._table.shape[1]), np.int64)
        parts = self._parts(ids) * counts[:, None]
        np.add.at(self._table, groups, parts)

    def step(
        self, groups: Rows, weight: Longs, ids: Ids, last: Mask, count: int
    ) -> tuple[Mask, Totals] | None:
        """The totals after the last change of every group and evaluation, and where results follow from them.

        Changes are in order of group, then evaluation. None if a number has more decimal places than any before.
        """
        for operand, place in enumerate(self._places):
            places = self._evaluator.decimal_places(ids[:, place])
            if places > self._scales[operand]:
                if self._table[:, 0].any():
                    return None
                self._scales[operand] = places
        grown = count - len(self._table)
        if grown:
            self._table = np.concatenate([self._table, np.zeros((grown, self._table.shape[1]), np.int64)])
        running = np.cumsum(self._parts(ids) * weight[:, None], axis=0)
        begins = np.ones(len(groups), np.bool_)
        begins[1:] = groups[1:] != groups[:-1]
        before = np.zeros_like(running)
        before[1:] = running[:-1]
        base = self._table[groups[begins]] - before[begins]
        table = running[last] + base[(np.cumsum(begins) - 1)[last]]
        self._table[groups[last]] = table  # the last evaluation of a group stays
        totals = Totals(table)
        known = totals.many < settings().totalled_rows
        for name, summed in self._aggregates:
            if summed is not None and name != "COUNT":
                values, errors, _, others, _ = totals.of(summed)
                known &= (others == 0) & ((values > 0) | (errors > 0))
        return known, totals

    def _parts(self, ids: Ids) -> Longs:
        """What every row contributes."""
        found = np.ones((len(ids), self._table.shape[1]), np.int64)
        for operand, place in enumerate(self._places):
            found[:, 1 + 5 * operand : 6 + 5 * operand] = self._evaluator.summands(
                ids[:, place], self._scales[operand]
            )
        return found

    def results(self, totals: Totals) -> Ids:
        """The values of the aggregates."""
        columns = []
        for name, operand in self._aggregates:
            if operand is None:
                columns.append(self._evaluator.integers(totals.many))
                continue
            values, errors, decimals, _, total = totals.of(operand)
            if name == "COUNT":
                columns.append(self._evaluator.integers(values))
                continue
            many = np.maximum(values, 1) if name == "AVG" else None
            found = self._evaluator.sums(total, self._scales[operand], decimals > 0, many)
            columns.append(np.where(errors > 0, np.int32(0), found))
        return np.column_stack([np.zeros((len(totals.many), 0), np.int32), *columns]).astype(np.int32)


def _totals_for(
    names: Sequence[str], aggregates: tuple[tuple[Var, Expression], ...], evaluator: RowEvaluator
) -> RunningTotals | None:
    """Running totals if they decide all aggregates: counts, sums and averages of what is not DISTINCT."""
    places: dict[int, int] = {}
    wanted: list[tuple[str, int | None]] = []
    for _, item in aggregates:
        if not isinstance(item, Aggregate) or item.distinct or item.name not in ("COUNT", "SUM", "AVG"):
            return None
        if item.operand is None:
            wanted.append((item.name, None))
            continue
        assert isinstance(item.operand, Var)
        if item.operand.name not in names:
            return None
        place = tuple(names).index(item.operand.name)
        wanted.append((item.name, places.setdefault(place, len(places))))
    return RunningTotals(list(places), wanted, evaluator)


class GroupView(View):
    """One row per group of rows with equal keys (SPARQL 1.1, 18.5.1).

    Counts, sums and averages of integers and decimals follow from running totals; every other row is made anew when its group
    changes. The operands of aggregates are columns.
    """

    IDS = ("_result",)
    ARRAYS = ("_group_of", "_there")
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
        self._held = Held(inner.names, windows)
        self._members = Counting(len(inner.names))
        self._groups = RowNumbers(len(keys))
        self._group_of = np.zeros(0, np.intp)
        self._by_group = KeyIndex()
        self._indexed = 0
        """How many members the index by group has: only what is made anew needs it."""
        self._result = np.zeros((0, len(self.names)), np.int32)
        self._there = np.zeros(0, np.bool_)
        self._totals = _totals_for(inner.names, aggregates, evaluator)
        self._added_up = True

    def parts(self) -> tuple[View, ...]:
        return (self._inner,)

    def keepers(self) -> Iterator[tuple[str, Keeper]]:
        yield from (("held", self._held), ("members", self._members), ("groups", self._groups))

    def rebuild(self) -> None:
        """Begin a new index; members are added up when they are all there."""
        self._by_group, self._indexed = KeyIndex(), 0
        self._added_up = False

    def _add_up(self) -> None:
        if self._totals is not None:
            self._totals.add_up(
                self._group_of, self._members.counts, self._members.numbers.ids, len(self._there)
            )

    def check(self) -> None:
        """Every member has a group."""
        if len(self._there) != len(self._result) or (
            len(self._group_of) and not 0 <= self._group_of.min() <= self._group_of.max() < len(self._there)
        ):
            raise Damaged("a row belongs to a group that is not there")

    def _step(self, period: Period) -> TimedRows:
        if not self._added_up:
            self._add_up()
            self._added_up = True
        counts = self._members.count(self._held.step(self._inner.step(period), period))
        self._assign_groups()
        members, weight, at = counts.rows, counts.after - counts.before, counts.at
        groups = self._group_of[members]
        ids = self._members.numbers.ids[members]
        if not self._keys and period.first == 0:  # one group, even without rows
            groups, at, weight = np.append(groups, 0), np.append(at, 0), np.append(weight, 0)
            ids = np.concatenate([ids, np.zeros((1, ids.shape[1]), np.int32)])
        order = order_by(groups, at)
        last = np.ones(len(order), np.bool_)
        last[:-1] = (np.diff(groups[order]) != 0) | (np.diff(at[order]) != 0)
        touched, when = groups[order][last].astype(np.int64), at[order][last]
        there = np.zeros(len(touched), np.bool_)
        results = np.zeros((len(touched), len(self.names)), np.int32)
        anew = np.arange(len(touched))
        if self._totals is not None:
            fits = self._totals.step(groups[order], weight[order], ids[order], last, len(self._there))
            if fits is None:  # a number with more decimal places than any before
                self._add_up()
                known, rows = np.zeros(len(touched), np.bool_), None
            else:
                known, rows = fits
            if rows is not None:
                there[known] = rows.many[known] > 0 if self._keys else True
                results[known] = self._from_totals(touched[known], rows.take(known))
                results[~there] = 0
            anew = np.flatnonzero(~known)
        if len(anew):
            there[anew], results[anew] = self._evaluated(touched[anew], when[anew], counts)
        changes = self._changes(touched, when, there, results)
        self._forget()
        return changes

    def _from_totals(self, groups: Longs, totals: Totals) -> Ids:
        """The rows of some groups."""
        assert self._totals is not None
        found = np.zeros((len(groups), len(self.names)), np.int32)
        if self._keys:
            found[:, : len(self._keys)] = self._groups.ids[groups]
        found[:, len(self._keys) :] = self._totals.results(totals)
        return found

    def _assign_groups(self) -> None:
        known, ids = len(self._group_of), self._members.numbers.ids
        places = [self._inner.names.index(name) for name in self._keys]
        new = self._groups.number(ids[known:][:, places])
        self._group_of = np.concatenate([self._group_of, new])
        count = max(len(self._groups), 0 if self._keys else 1)
        grown = count - len(self._there)
        self._there = np.concatenate([self._there, np.zeros(grown, np.bool_)])
        self._result = np.concatenate([self._result, np.zeros((grown, len(self.names)), np.int32)])

    def _evaluated(self, groups: Longs, at: Longs, counts: Counts) -> tuple[Mask, Ids]:
        """Whether each group is there at an evaluation, and its row."""
        self._by_group.add(self._group_of[self._indexed :].astype(np.int64), self._indexed)
        self._indexed = len(self._group_of)
        asked, rows = self._by_group.find(groups)
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
        moved = self._members.forget()
        if moved is None:
            return
        self._group_of = self._group_of[moved >= 0]
        if self._keys:
            kept = self._there.copy()
            kept[self._group_of] = True
            self._group_of = self._groups.keep(kept)[self._group_of]
            self._there, self._result = self._there[kept], self._result[kept]
        self.rebuild()
