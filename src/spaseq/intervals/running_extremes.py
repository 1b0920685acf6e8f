"""The least or greatest term of every group, followed as rows come."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spaseq.columnar.growing import with_room
from spaseq.columnar.rows import RowEvaluator
from spaseq.intervals.interval_rows import Ids, Mask, Rows


class RunningExtremes:
    """MIN, MAX and SAMPLE of columns: of each group the first of the terms that are least or greatest so far.

    A row whose operand is an error spoils MIN and MAX of its group from there on.
    """

    def __init__(self, wanted: Sequence[tuple[str, int]], evaluator: RowEvaluator) -> None:
        self._wanted, self._evaluator = tuple(wanted), evaluator
        self._best = np.zeros((0, len(wanted)), np.int32)
        self._failed = np.zeros((0, len(wanted)), np.bool_)

    def forget(self) -> None:
        """Begin anew, without any row."""
        self._best, self._failed = self._best[:0], self._failed[:0]

    def step(self, groups: Rows, ids: Ids, last: Mask, count: int) -> Ids:
        """The results of the ``last`` rows; rows are in order of group, then of time, and there are ``count`` groups."""
        self._best, self._failed = with_room(self._best, count), with_room(self._failed, count)
        if not len(groups) or not self._wanted:
            return np.zeros((int(last.sum()), len(self._wanted)), np.int32)
        begins = np.ones(len(groups), np.bool_)
        begins[1:] = groups[1:] != groups[:-1]
        number = np.cumsum(begins) - 1
        ends = np.append(begins[1:], True)
        results = np.zeros((int(last.sum()), len(self._wanted)), np.int32)
        for column, (name, place) in enumerate(self._wanted):
            terms = ids[:, place]
            best = self._chosen(
                terms, self._best[groups[begins], column], number, begins, least=name != "MAX"
            )
            errors = np.cumsum(terms == 0)
            before = (errors - (terms == 0))[begins][number]
            failed = (errors > before) | self._failed[groups, column] if name != "SAMPLE" else errors < 0
            results[:, column] = np.where(failed, 0, best)[last]
            self._best[groups[ends], column], self._failed[groups[ends], column] = best[ends], failed[ends]
        return results

    def _chosen(self, terms: Ids, best: Ids, number: Rows, begins: Mask, *, least: bool) -> Ids:
        """For every row the best term of its group so far; what was best before counts as the first row of a group."""
        first = np.flatnonzero(begins)
        every = np.insert(terms, first, best)
        group = np.insert(number, first, number[first])
        rank = self._evaluator.ranks(every)
        # An unbound term is the worst; of equal ones the first is taken.
        worse = np.where(every == 0, rank.max(initial=0) + 1, rank if least else -rank)
        order = np.argsort(worse, kind="stable")
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        # Running minima of all groups at once: a later group's numbers are all less than an earlier one's.
        running = np.minimum.accumulate(place - group * len(order)) + group * len(order)
        found: Ids = every[order[running]]
        return np.delete(found, first + np.arange(len(first)))
