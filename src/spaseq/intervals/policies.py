"""Queries under a policy: sequences choose their partners, and answers consume what they are made of (semantics 2.9).

The solutions of many instants are found together, as if nothing were consumed. Answers hold up to the first instant at which something
was chosen that an earlier answer consumes, or could be chosen that is there only because of that; what was found for later instants is
dropped and they are looked at again. What an answer consumes is dropped from the views, and a row that a later sequence may rest on
chooses its partners again. Where more depends on what is there (OPTIONAL, MINUS, EXISTS, sequences deep on the left side of others), all views are
made anew of what is left, after every instant with answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from spaseq.algebra.intervals import Policy
from spaseq.algebra.patterns import Pattern, TriplePattern
from spaseq.columnar.keeping import Keeper
from spaseq.columnar.knowledge import Knowledge
from spaseq.intervals.build import IntervalBuilder
from spaseq.intervals.choices import choosing_joins, revisable
from spaseq.intervals.closure import Given, Inputs
from spaseq.intervals.conjunction import PairJoin, first_consumed
from spaseq.intervals.history import History
from spaseq.intervals.interval_rows import LAST, NEVER_ENDED, IntervalRows, distinct_rows, no_rows, stacked
from spaseq.intervals.solution_views import Gone, SolutionView, TimeStep, is_trace
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
        self._came = 0
        """How many occurrences have come since the views were made."""
        self._left = 0
        """How many there were then."""
        self._ahead = 1
        """How many instants are looked at together: more, the longer no answer changes what comes after it."""
        self._forgets = not knowledge.rdfs

    waits = True

    def _build(self) -> None:
        self._tracer = Tracer(self._evaluator, self._consumed.occurrences)
        builder = IntervalBuilder(
            self._dictionary, self._knowledge, self._evaluator, tracer=self._tracer, policy=self._policy
        )
        self.view: SolutionView = builder.build(self._pattern)
        self.inputs = Inputs(builder.occurrences, self._evaluator)
        self._revisable = revisable(self.view)
        self._choosing: list[PairJoin] = choosing_joins(self.view)

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
        if not self._made or self._came > self._left + settings().forgotten_rows:
            self._remake()
        waiting = dict(new)
        instants = each_once(
            np.concatenate([rows.end for rows in waiting.values()] or [np.zeros(0, np.int64)])
        )
        instants = instants[instants != NEVER_ENDED]
        found, first = [], 0
        while first < len(instants):
            last = int(instants[min(first + self._ahead, len(instants)) - 1])
            part = _between(waiting, int(instants[first]), last)
            rows = self._feed(part, last + 1)
            rows = rows.take(rows.timed)
            until = self._holds_until(rows, last)
            answers = rows.take(rows.end <= until)
            self._remember(part if until == last else _between(part, -LAST, until))
            if len(answers):
                found.append(self._distinct(answers))
                self._consume(answers, until)
            next_one = int(np.searchsorted(instants, until, side="right"))
            self._ahead = min(2 * (next_one - first), settings().policy_instants)
            first = next_one
        return stacked(found, self.names)

    def _holds_until(self, rows: IntervalRows, last: int) -> int:
        """Up to which instant the solutions that were found are answers, whatever those before them consume."""
        if not len(rows):
            return last
        if not self._revisable:
            return int(rows.end.min())
        consumed = np.full(self._tracer.count + 1, LAST, np.int64)  # when an answer consumes each occurrence
        for column in _traces(rows):
            np.minimum.at(consumed, column, rows.end)
        consumed[0] = LAST  # no occurrence
        until = last
        for each in (rows, *(join.chosen for join in self._choosing)):
            late = first_consumed(consumed, each) < each.end
            until = min(until, int(each.end[late].min(initial=LAST)) - 1)
        kept = (join.choices for join in self._choosing if join.choices is not None)
        return min(until, *(choices.hold_until(consumed) for choices in kept), LAST)

    def _consume(self, answers: IntervalRows, until: int) -> None:
        """Let go of what some answers are made of, and of what was found beyond an instant."""
        self._consumed.occurrences |= self._tracer.occurrences(answers)
        if not self._revisable:
            self._remake()
            return
        numbers = np.zeros(self._tracer.count + 1, np.bool_)
        for column in _traces(answers):
            numbers[column] = True
        numbers[0] = False
        self.view.revised(Gone(numbers, until))

    def _distinct(self, rows: IntervalRows) -> IntervalRows:
        """Solutions without what they are made of."""
        rows = rows.named(self.names)
        return rows.take(distinct_rows(rows.matrix(self.names), rows.start, rows.end))

    def _feed(self, new: Given, horizon: int) -> IntervalRows:
        self.inputs.feed(self.inputs.of(new, no_rows(("s", "p", "o"))))
        return self.view.step(TimeStep(horizon))

    def _remember(self, new: Mapping[TriplePattern, IntervalRows]) -> None:
        for triple, each in self._histories.items():
            each.add(new[triple])
            self._came += len(new[triple])

    def _remake(self) -> None:
        """All views anew, of what is not consumed."""
        self._build()
        if self._forgets:  # with RDFS, one occurrence may say several things, of which one is consumed
            for triple, each in self._histories.items():
                left = self._tracer.trace(triple, "").traced(each.rows)
                each.keep(left.named(self.inputs.names(triple)))
            self._consumed.occurrences.clear()  # what ended does not come again
        self._made = True
        rows = {triple: each.rows for triple, each in self._histories.items()}
        last = max((int(each.end.max()) for each in rows.values() if len(each)), default=NEVER_ENDED)
        self._feed(_between(rows, NEVER_ENDED, NEVER_ENDED), NEVER_ENDED)
        self._feed(_between(rows, NEVER_ENDED + 1, last), last + 1)
        self._came, self._left = 0, sum(map(len, rows.values()))


def _traces(rows: IntervalRows) -> list[npt.NDArray[np.int32]]:
    return [column for name, column in rows.columns.items() if is_trace(name)]


def _between(
    rows: Mapping[TriplePattern, IntervalRows], first: int, last: int
) -> dict[TriplePattern, IntervalRows]:
    """What ends in a stretch of time."""
    return {triple: each.take((each.end >= first) & (each.end <= last)) for triple, each in rows.items()}
