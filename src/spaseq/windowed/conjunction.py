"""The join of several views, in an order that follows from what they hold.

Joins are made one after the other, and what each gives is kept, so the order decides how much is kept and looked through. It
begins as written. When enough rows have come it is compared with the order that the views' sizes and numbers of different values
suggest, and where that would keep much less, the joins are made anew from the rows that are there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from spaseq.algebra.expressions import Expression
from spaseq.algebra.scope import expression_variables
from spaseq.columnar.join_order import GAIN, Order, Statistics, best_order, cost, written_order
from spaseq.columnar.keeping import Keeper
from spaseq.columnar.rows import RowEvaluator
from spaseq.model.packing import Damaged
from spaseq.settings import settings
from spaseq.windowed.evaluations import Period
from spaseq.windowed.pair_join import PairJoin
from spaseq.windowed.timed import Longs, TimedRows, stacked
from spaseq.windowed.views import View


class ConjunctionView(View):
    """The join of at least three views; conditions on what all its rows bind are checked as soon as their variables are there."""

    ARRAYS = ("_arranged",)
    NUMBERS = ("_seen", "_looked")

    def __init__(
        self,
        parts: Sequence[View],
        conditions: Sequence[Expression],
        evaluator: RowEvaluator,
        windows: int,
    ) -> None:
        self._parts, self._conditions = tuple(parts), tuple(conditions)
        self._evaluator, self._windows = evaluator, windows
        self.names = tuple(dict.fromkeys(name for part in parts for name in part.names))
        self.certain = frozenset[str]().union(*(part.certain for part in parts))
        self.passing = any(part.passing for part in parts)
        self._seen = 0
        """How many rows have come."""
        self._looked = 0
        """How many had come when the order was last looked at."""
        self._arrange(written_order([part.names for part in parts]))

    def parts(self) -> tuple[View, ...]:
        return self._parts

    def keepers(self) -> Iterator[tuple[str, Keeper]]:
        yield from ((f"join{number}", join) for number, join in enumerate(self._joins))

    def _arrange(self, order: Order) -> None:
        """Make new joins in some order."""
        self.order = order
        self._arranged = np.array(order, np.int64)
        self._joins: list[PairJoin] = []
        self._checked: list[list[Expression]] = []
        """What is checked of the rows of each join."""
        waiting = list(self._conditions)
        side: View | PairJoin = self._parts[order[0]]
        for part in order[1:]:
            side = PairJoin(side, self._parts[part], self._windows)
            ready = [each for each in waiting if expression_variables(each) <= side.certain]
            waiting = [each for each in waiting if each not in ready]
            self._joins.append(side)
            self._checked.append(ready)

    def rebuild(self) -> None:
        """Take up the order of a saved state."""
        if (order := tuple(self._arranged.tolist())) != self.order:
            self._arrange(order)

    def check(self) -> None:
        """An order names every view once."""
        if sorted(self._arranged.tolist()) != list(range(len(self._parts))):
            raise Damaged(f"{self._arranged.tolist()} is not an order of {len(self._parts)} views")

    def _step(self, period: Period) -> TimedRows:
        new = [part.step(period) for part in self._parts]
        self._seen += sum(map(len, new))
        self._look(period, new)
        rows = new[self.order[0]]
        for join, conditions, part in zip(self._joins, self._checked, self.order[1:], strict=True):
            rows = self._holding(join.step(rows, new[part], period), conditions)
        return rows

    def _holding(self, rows: TimedRows, conditions: Sequence[Expression]) -> TimedRows:
        for condition in conditions:
            if len(rows):
                rows = rows.take(self._evaluator.holds(condition, rows.columns, len(rows)))
        return rows

    def _look(self, period: Period, new: Sequence[TimedRows]) -> None:
        """Change the order if there is a much better one for old and new rows; looked for each time these have doubled."""
        if self._seen < max(2 * self._looked, settings().ordered_rows):
            return
        self._looked = self._seen
        low = np.array([each[0] for each in period.low], np.int64)
        held = self._held(low)
        every = [stacked(each) for each in zip(held, new, strict=True)]
        known = [Statistics.of(rows.columns, len(rows)) for rows in every]
        order = best_order(known)
        if cost(order, known) * GAIN < cost(self.order, known):
            self.reorder(order, held, low)

    def _held(self, low: Longs) -> list[TimedRows]:
        """The rows of every view that are there."""
        first, *_ = self._joins
        tables = {self.order[0]: first.tables[0]}
        tables |= {part: join.tables[1] for join, part in zip(self._joins, self.order[1:], strict=True)}
        return [tables[part].rows(low) for part in range(len(self._parts))]

    def reorder(self, order: Order, held: Sequence[TimedRows], low: Longs) -> None:
        """Make the joins anew, in another order, of the rows that are there; what they give is known already."""
        self._arrange(order)
        rows = held[order[0]]
        for join, conditions, part in zip(self._joins, self._checked, order[1:], strict=True):
            rows = self._holding(join.fill(rows, held[part], low), conditions)
