"""EXISTS with a pattern that sees the outer solution otherwise than by a join: evaluated for each different solution."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from spaseq.algebra.by_place import PLACES
from spaseq.algebra.patterns import Pattern, TriplePattern
from spaseq.algebra.scope import mentioned
from spaseq.algebra.substitution import substituted
from spaseq.columnar.keeping import Keeper
from spaseq.intervals.history import History
from spaseq.intervals.interval_rows import LAST, NEVER_ENDED, IntervalRows, Mask, stacked
from spaseq.intervals.schema import by_places
from spaseq.intervals.solution_views import NewOccurrences, SolutionView, TimeStep
from spaseq.intervals.timed_expressions import TimedEvaluator
from spaseq.model.dictionary import TermDictionary

Evaluate = Callable[[IntervalRows, int], IntervalRows]
"""The new solutions of a pattern, given new triples by place and the horizon."""


class SubstitutedPartners(Keeper):
    """Whether the pattern of an EXISTS has a solution, with what a row binds put in place, that ends when the row does or before.

    Its state is what came; the evaluations of single solutions follow from that.
    """

    def __init__(
        self,
        names: Sequence[str],
        pattern: Pattern,
        read: dict[TriplePattern, NewOccurrences],
        made: Callable[[Pattern], Evaluate],
        dictionary: TermDictionary,
        evaluator: TimedEvaluator,
        *,
        late: bool,
    ) -> None:
        self._names = [name for name in names if name in mentioned(pattern)]
        self.shared = frozenset(self._names)
        self._pattern, self._read, self._made, self._late = pattern, read, made, late
        self._dictionary, self._evaluator = dictionary, evaluator
        self._history = History(PLACES)
        self._waiting = History(PLACES)
        self._known: dict[tuple[int, ...], _Known] = {}
        self._horizon = NEVER_ENDED

    @property
    def views(self) -> tuple[SolutionView, ...]:
        """It has none of its own."""
        return ()

    def keepers(self) -> Iterator[tuple[str, Keeper]]:
        yield from (("history", self._history), ("waiting", self._waiting))

    def rebuild(self) -> None:
        """Ids may have changed: evaluations begin anew."""
        self._known = {}

    def step(self, current: TimeStep) -> None:
        """Take the new triples; those of an instant that rules still complete wait until it is over."""
        new = [by_places(source.new, triple, self._evaluator) for triple, source in self._read.items()]
        rows = stacked([self._waiting.rows, *new], PLACES)
        over = rows.end < current.horizon if self._late else np.ones(len(rows), np.bool_)
        self._waiting.keep(rows.take(~over))
        ready = rows.take(over)
        self._horizon = current.horizon
        for known in self._known.values():
            known.step(ready, current.horizon)
        self._history.keep(stacked([self._history.rows, ready], PLACES))

    def found(self, rows: IntervalRows) -> Mask:
        """Which rows have a partner."""
        table, places = np.unique(rows.matrix(self._names), axis=0, return_inverse=True)
        earliest = np.array([self._earliest(tuple(row)) for row in table.tolist()], np.int64)
        found: Mask = earliest[places.reshape(-1)] <= rows.end
        return found

    def _earliest(self, key: tuple[int, ...]) -> int:
        known = self._known.get(key)
        if known is None:
            terms = {
                name: self._dictionary.decode(each)
                for name, each in zip(self._names, key, strict=True)
                if each
            }
            known = self._known[key] = _Known(self._made(substituted(self._pattern, terms)))
            rows = self._history.rows
            known.step(rows.take(~rows.timed), NEVER_ENDED)  # what rules add to the background comes first
            known.step(rows.take(rows.timed), self._horizon)
        return known.earliest


class _Known:
    """The evaluation for one solution, until something is found: later finds end later."""

    def __init__(self, evaluate: Evaluate) -> None:
        self._evaluate: Evaluate | None = evaluate
        self.earliest = LAST

    def step(self, new: IntervalRows, horizon: int) -> None:
        if self._evaluate is not None:
            found = self._evaluate(new, horizon)
            if len(found):
                self.earliest, self._evaluate = int(found.end.min()), None
