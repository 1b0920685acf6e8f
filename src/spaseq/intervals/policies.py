"""Queries under a policy: sequences choose their partners, and answers consume what they are made of (semantics 2.9).

The solutions that end at an instant are found incrementally. What an answer consumes changes what was found before: sequences may
have chosen it, and optional parts may have been there for it. So after an instant with answers all views are made anew of what is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from spaseq.algebra.intervals import Policy
from spaseq.algebra.patterns import Pattern, TriplePattern
from spaseq.columnar.keeping import Keeper
from spaseq.columnar.knowledge import Knowledge
from spaseq.intervals.build import IntervalBuilder
from spaseq.intervals.closure import Given, Inputs
from spaseq.intervals.history import History
from spaseq.intervals.interval_rows import LAST, NEVER_ENDED, IntervalRows, distinct_rows, no_rows, stacked
from spaseq.intervals.solution_views import SolutionView, TimeStep, is_trace
from spaseq.intervals.timed_expressions import TimedEvaluator
from spaseq.intervals.traces import Occurrence, Tracer
from spaseq.model.dictionary import TermDictionary
from spaseq.model.ordered import each_once
from spaseq.settings import settings

_PLACES: Final = 3


class Consumed(Keeper):
    """The occurrences that answers have used up."""

    IDS = ("_ids",)
    ARRAYS = ("_start", "_end")

    def __init__(self) -> None:
        self.occurrences: set[Occurrence] = set()
        self.trim()

    def trim(self) -> None:
        """As arrays."""
        table = np.array(sorted(self.occurrences), np.int64).reshape(-1, 5)
        self._ids = table[:, :_PLACES].astype(np.int32)
        self._start, self._end = table[:, 3], table[:, 4]

    def rebuild(self) -> None:
        """From arrays."""
        columns = (*self._ids.T.tolist(), self._start.tolist(), self._end.tolist())
        self.occurrences = set(zip(*columns, strict=True))


class ChosenSolutions(Keeper):
    """The solutions of a pattern under a policy that end as answers do. Its state is what came and what was consumed; views follow from that."""

    def __init__(
        self,
        pattern: Pattern,
        policy: Policy,
        dictionary: TermDictionary,
        knowledge: Knowledge,
        evaluator: TimedEvaluator,
    ) -> None:
        self._pattern, self._policy = pattern, policy
        self._dictionary, self._knowledge, self._evaluator = dictionary, knowledge, evaluator
        self._consumed = Consumed()
        self._build()
        self._histories = {triple: History(self.inputs.names(triple)) for triple in self.inputs.triples}
        self.names = tuple(name for name in self.view.names if not is_trace(name))
        self._made = False
        self._ahead = 1
        """How many instants are looked at together: more, the longer there is no answer."""

        self._forgets = not knowledge.rdfs

    waits = True

    def _build(self) -> None:
        self._tracer = Tracer(self._evaluator, self._consumed.occurrences)
        builder = IntervalBuilder(
            self._dictionary, self._knowledge, self._evaluator, tracer=self._tracer, policy=self._policy
        )
        self.view: SolutionView = builder.build(self._pattern)
        self.inputs = Inputs(builder.occurrences, self._evaluator)

    def keepers(self) -> Iterator[tuple[str, Keeper]]:
        """What came, and what is consumed."""
        yield from ((f"history{number}", each) for number, each in enumerate(self._histories.values()))
        yield "consumed", self._consumed

    def rebuild(self) -> None:
        """Views are made anew when they are needed."""
        self._made = False

    def step(self, new: Given, horizon: int) -> IntervalRows:
        """The answers of instants that are over."""
        del horizon
        self._remember(
            _between(new, NEVER_ENDED, NEVER_ENDED)
        )  # what rules add to the background comes first
        if not self._made:
            self._remake()
        waiting = dict(new)
        instants = each_once(
            np.concatenate([rows.end for rows in waiting.values()] or [np.zeros(0, np.int64)])
        )
        instants = instants[instants != NEVER_ENDED]
        found, first = [], 0
        while first < len(instants):
            last = min(first + self._ahead, len(instants))
            part = _between(waiting, int(instants[first]), int(instants[last - 1]))
            rows = self._feed(part, int(instants[last - 1]) + 1)
            rows = rows.take(rows.timed)
            if len(rows):
                instant = int(rows.end.min())
                answers = rows.take(rows.end == instant)
                found.append(self._distinct(answers))
                self._consumed.occurrences |= self._tracer.occurrences(answers)
                self._remember(_between(part, -LAST, instant))
                self._remake()
                first, self._ahead = int(np.searchsorted(instants, instant)) + 1, 1
            else:
                self._remember(part)
                first, self._ahead = last, min(2 * self._ahead, settings().policy_instants)
        return stacked(found, self.names)

    def _distinct(self, rows: IntervalRows) -> IntervalRows:
        """Solutions without what they are made of."""
        rows = rows.named(self.names)
        return rows.take(distinct_rows(rows.matrix(self.names), rows.start, rows.end))

    def _feed(self, new: Given, horizon: int) -> IntervalRows:
        self.inputs.feed(self.inputs.of(new, no_rows(("s", "p", "o"))))
        return self.view.step(TimeStep(horizon))

    def _remember(self, new: Mapping[TriplePattern, IntervalRows]) -> None:
        for triple, each in self._histories.items():
            each.keep(stacked([each.rows, new[triple]], self.inputs.names(triple)))

    def _remake(self) -> None:
        """All views anew, of what is not consumed."""
        if self._forgets:  # with RDFS, one occurrence may say several things, of which one is consumed
            for triple, each in self._histories.items():
                left = self._tracer.trace(triple, "").traced(each.rows)
                each.keep(left.named(self.inputs.names(triple)))
            self._consumed.occurrences.clear()  # what ended does not come again
        self._build()
        self._made = True
        self._feed({}, NEVER_ENDED)
        rows = {triple: each.rows for triple, each in self._histories.items()}
        last = max((int(each.end.max()) for each in rows.values() if len(each)), default=NEVER_ENDED)
        self._feed(rows, last + 1)


def _between(
    rows: Mapping[TriplePattern, IntervalRows], first: int, last: int
) -> dict[TriplePattern, IntervalRows]:
    """What ends in a stretch of time."""
    return {triple: each.take((each.end >= first) & (each.end <= last)) for triple, each in rows.items()}
