"""Expressions over solutions with intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

import numpy as np
from pyoxigraph import Literal

from spaseq.algebra.expressions import Expression, Var
from spaseq.algebra.scope import expression_variables
from spaseq.columnar.keeping import Keeper
from spaseq.columnar.rows import RowEvaluator
from spaseq.intervals.interval_rows import Ids, IntervalRows, Mask

if TYPE_CHECKING:
    from spaseq.intervals.interval_joins import Partners
    from spaseq.intervals.solution_views import SolutionView, TimeStep
    from spaseq.intervals.substituted import SubstitutedPartners

DURATION: Final = "#duration"
START: Final = "#start"
END: Final = "#end"
TIMES: Final = (DURATION, START, END)
"""The names under which expressions read the interval of a solution; no variable is called so."""


class TimedEvaluator:
    """Evaluates expressions over solutions with intervals."""

    def __init__(self, evaluator: RowEvaluator) -> None:
        self.rows = evaluator

    def holds(self, condition: Expression, rows: IntervalRows) -> Mask:
        """Where a condition is true; an error is false."""
        return self.rows.holds(condition, self.columns(condition, rows), len(rows))

    def values(self, expression: Expression, rows: IntervalRows) -> Ids:
        """The ids of an expression's values; an error is 0."""
        return self.rows.values(expression, self.columns(expression, rows), len(rows))

    def columns(self, expression: Expression, rows: IntervalRows) -> dict[str, Ids]:
        """The columns of some rows, with the times that an expression reads."""
        needed = expression_variables(expression)
        return {**rows.columns, **{name: self._times(name, rows) for name in TIMES if name in needed}}

    def _times(self, name: str, rows: IntervalRows) -> Ids:
        """The ids of times; of a timeless solution there is none."""
        timed = rows.timed
        numbers = {DURATION: rows.end - rows.start, START: rows.start, END: rows.end}[name]
        values, places = np.unique(numbers[timed], return_inverse=True)
        encode = self.rows.encode_duration if name == DURATION else self.rows.encode_instant
        found = np.zeros(len(rows), np.int32)
        found[timed] = np.array([encode(int(value)) for value in values], np.int32)[places]
        return found


class Test(Keeper):
    """An expression over solutions, with what its EXISTS look for: each is a column that says whether there is a partner."""

    NUMBERS = ("_asked", "_held")

    def __init__(
        self,
        expression: Expression,
        evaluator: TimedEvaluator,
        exists: Mapping[str, Partners | SubstitutedPartners] | None = None,
    ) -> None:
        self._expression, self._evaluator = expression, evaluator
        self._exists = dict(exists or {})
        self.needed = expression_variables(expression).union(
            *(partners.shared for partners in self._exists.values())
        )
        """The variables that it reads."""
        self._asked = 0
        self._held = 0

    def keepers(self) -> Iterator[tuple[str, Keeper]]:
        yield from ((name, partners) for name, partners in self._exists.items())

    @property
    def views(self) -> tuple[SolutionView, ...]:
        """What its EXISTS read."""
        return tuple(view for partners in self._exists.values() for view in partners.views)

    @property
    def waits(self) -> bool:
        """Whether it needs to know everything that ends with a solution."""
        return bool(self._exists)

    @property
    def variable(self) -> str | None:
        """The variable that it is, if it is one."""
        return self._expression.name if isinstance(self._expression, Var) else None

    @property
    def share(self) -> float:
        """On which share of the rows it was true; a third while there are none."""
        return (self._held + 1) / (self._asked + 3)

    def step(self, current: TimeStep) -> None:
        """Let the partners come."""
        for partners in self._exists.values():
            partners.step(current)

    def holds(self, rows: IntervalRows) -> Mask:
        """Where it is true; an error is false."""
        found = self._evaluator.holds(self._expression, self._with_truths(rows))
        self._asked += len(rows)
        self._held += int(np.count_nonzero(found))
        return found

    def values(self, rows: IntervalRows) -> Ids:
        """The ids of its values; an error is 0."""
        return self._evaluator.values(self._expression, self._with_truths(rows))

    def _with_truths(self, rows: IntervalRows) -> IntervalRows:
        if not self._exists:
            return rows
        yes, no = (self._evaluator.rows.constant(Literal(truth)) for truth in (True, False))
        truths = {
            name: np.where(partners.found(rows), np.int32(yes), np.int32(no))
            for name, partners in self._exists.items()
        }
        return rows.with_columns({**rows.columns, **truths})
