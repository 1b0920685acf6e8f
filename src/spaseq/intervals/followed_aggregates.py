"""Aggregates of growing groups that follow from what came before: nothing is looked at again for them (semantics 2.5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from spaseq.algebra.expressions import Aggregate, Expression, Var
from spaseq.columnar.aggregation import HIDDEN
from spaseq.columnar.row_numbers import RowNumbers, columns_at
from spaseq.columnar.rows import RowEvaluator
from spaseq.columnar.totals import RunningTotals
from spaseq.intervals.interval_rows import Ids, Mask, Rows
from spaseq.intervals.running_extremes import RunningExtremes

Named = tuple[tuple[Var, Expression], ...]
"""Aggregates and the variables of their results."""


class DistinctMembers:
    """Tells members that differ in some columns from those that repeat an earlier member of their group there."""

    def __init__(self, places: Sequence[int]) -> None:
        self._places = tuple(places)
        self._seen = RowNumbers(1 + len(self._places))

    def first(self, groups: Rows, ids: Ids) -> Mask:
        """Which rows are the first of their kind; groups are numbered like ids."""
        owners = groups.astype(np.int32)
        return self._seen.fresh(np.column_stack([owners, columns_at(ids, self._places)]))


class _Totalled:
    """Counts, sums and averages of all members, or of those that differ in some columns."""

    def __init__(self, evaluator: RowEvaluator, distinct: tuple[int, ...] | None) -> None:
        self._evaluator = evaluator
        self._distinct = distinct
        self._places: list[int] = []
        self.wanted: list[tuple[int, str, int | None]] = []
        """The column of an aggregate, its name and the number of its operand, none for the rows themselves."""

    def want(self, column: int, name: str, place: int | None) -> None:
        """Add an aggregate."""
        if place is not None and place not in self._places:
            self._places.append(place)
        self.wanted.append((column, name, None if place is None else self._places.index(place)))

    def begin(self, groups: Rows, ids: Ids, count: int, new: Ids) -> None:
        """Add up all members anew; numbers like ``new`` ones will follow."""
        asked = [(name, operand) for _, name, operand in self.wanted]
        self._totals = RunningTotals(self._places, asked, self._evaluator)
        self._members = None if self._distinct is None else DistinctMembers(self._distinct)
        self._totals.make_room(new)
        self._totals.add_up(groups, self._weight(groups, ids), ids, count)

    def _weight(self, groups: Rows, ids: Ids) -> Rows:
        if self._members is None:
            return np.ones(len(groups), np.int64)
        return self._members.first(groups, ids).astype(np.int64)

    def step(
        self,
        groups: Rows,
        ids: Ids,
        last: Mask,
        count: int,
        before: Callable[[], tuple[Rows, Ids]],
        results: Ids,
    ) -> Mask:
        """Fill in the results that are known and say of which rows."""
        found = self._totals.step(groups, self._weight(groups, ids), ids, last, count)
        if found is None:  # a number that the columns of the totals have no room for
            self.begin(*before(), count, ids)
            found = self._totals.step(groups, self._weight(groups, ids), ids, last, count)
            assert found is not None
        known, totals = found
        for column, name, operand in self.wanted:
            results[known, column] = self._totals.result(totals.take(known), name, operand)
        return known


class FollowedAggregates:
    """Counts, sums and averages, DISTINCT or not, and least and greatest members."""

    def __init__(self, names: Sequence[str], aggregates: Named, evaluator: RowEvaluator, first: int) -> None:
        """The results are columns from ``first`` on."""
        names = tuple(names)
        totalled: dict[tuple[int, ...] | None, _Totalled] = {}
        extremes: list[tuple[str, int]] = []
        self._extreme: list[int] = []
        totals: list[tuple[Var, Expression]] = []
        others: list[tuple[Var, Expression]] = []
        for column, (variable, item) in enumerate(aggregates, first):
            assert isinstance(item, Aggregate)
            place: int | None = None
            if item.operand is not None:
                if not isinstance(item.operand, Var) or item.operand.name not in names:
                    others.append((variable, item))
                    continue
                place = names.index(item.operand.name)
            if place is not None and item.name in ("MIN", "MAX", "SAMPLE"):
                extremes.append((item.name, place))
                self._extreme.append(column)
            elif item.name in ("COUNT", "SUM", "AVG"):
                key = None if not item.distinct else _visible(names) if place is None else (place,)
                totalled.setdefault(key, _Totalled(evaluator, key)).want(column, item.name, place)
                totals.append((variable, item))
            else:
                others.append((variable, item))
        self._totalled = tuple(totalled.values())
        self._extremes = RunningExtremes(extremes, evaluator)
        self.totals, self.others = tuple(totals), tuple(others)
        """Those of totals, and those that are not followed."""

    def begin(self, groups: Rows, ids: Ids, count: int) -> None:
        """Begin anew with all members, in order of group and end."""
        for each in self._totalled:
            each.begin(groups, ids, count, ids[:0])
        self._extremes.forget()
        self._extremes.step(groups, ids, np.zeros(len(groups), np.bool_), count)

    def step(
        self,
        groups: Rows,
        ids: Ids,
        last: Mask,
        count: int,
        before: Callable[[], tuple[Rows, Ids]],
        results: Ids,
    ) -> Mask:
        """Fill in the results of the ``last`` of new members; those of totals are known where the mask says so.

        Members are in order of group and end; ``before`` gives all earlier ones.
        """
        known = np.ones(len(results), np.bool_)
        for each in self._totalled:
            known &= each.step(groups, ids, last, count, before, results)
        results[:, self._extreme] = self._extremes.step(groups, ids, last, count)
        return known


def _visible(names: Sequence[str]) -> tuple[int, ...]:
    """The columns of a solution's variables: not of blank nodes, nor of what is computed for aggregates."""
    return tuple(place for place, name in enumerate(names) if not name.startswith(HIDDEN))
