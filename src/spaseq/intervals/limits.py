"""LIMIT, OFFSET and ORDER BY: answers are counted in order of time, those of one instant as ORDER BY says (semantics 2.6)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from spaseq.algebra.patterns import Bgp, OrderBy, OrderKey
from spaseq.columnar.table import Table
from spaseq.intervals.interval_rows import IntervalRows, distinct_rows, no_rows
from spaseq.intervals.solution_views import SolutionView, TimeStep
from spaseq.intervals.timed_expressions import TimedEvaluator


def in_order(rows: IntervalRows, keys: Sequence[OrderKey], evaluator: TimedEvaluator) -> IntervalRows:
    """Rows by their end, those of one instant by some keys."""
    if not keys:
        return rows.take(np.argsort(rows.end, kind="stable"))
    columns = dict(rows.columns)
    for key in keys:
        columns |= evaluator.columns(key.expression, rows)
    columns["#row"] = np.arange(1, len(rows) + 1, dtype=np.int32)
    instants, number = np.unique(rows.end, return_inverse=True)
    table = Table(number.reshape(-1).astype(np.int32), columns, len(rows))
    table = evaluator.rows.finished(table, len(instants), (OrderBy(Bgp(()), tuple(keys)),))
    return rows.take(table.columns["#row"].astype(np.intp) - 1)


class SliceView(SolutionView):
    """So many of the projected solutions, after so many others."""

    NUMBERS = ("_passed",)
    waits = True

    def __init__(
        self,
        inner: SolutionView,
        names: Sequence[str],
        keys: Sequence[OrderKey],
        offset: int,
        limit: int | None,
        evaluator: TimedEvaluator,
    ) -> None:
        self._inner, self._keys, self._evaluator = inner, tuple(keys), evaluator
        self.names = tuple(names)
        self.certain = inner.certain & frozenset(names)
        self._offset, self._limit = offset, limit
        self._passed = 0

    def parts(self) -> tuple[SolutionView, ...]:
        return (self._inner,)

    def _step(self, current: TimeStep) -> IntervalRows:
        rows = self._inner.step(current)
        if not len(rows):
            return no_rows(self.names)
        rows = in_order(rows, self._keys, self._evaluator).named(self.names)
        rows = rows.take(distinct_rows(rows.matrix(self.names), rows.start, rows.end))
        place = self._passed + np.arange(len(rows))
        self._passed += len(rows)
        kept = place >= self._offset
        if self._limit is not None:
            kept &= place < self._offset + self._limit
        return rows.take(kept)
