"""An EP-SPARQL query at work: new occurrences go in, the solutions that became certain come out (semantics 2.6)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from spaseq.algebra.events import SelectForm
from spaseq.algebra.intervals import Asked, IntervalQuery, Policy
from spaseq.algebra.patterns import OrderKey, Pattern, TriplePattern
from spaseq.algebra.strata import strata
from spaseq.columnar.keeping import Keeper
from spaseq.columnar.knowledge import Knowledge
from spaseq.columnar.row_numbers import by_name
from spaseq.columnar.rows import RowEvaluator
from spaseq.intervals.build import IntervalBuilder, ordered_by
from spaseq.intervals.closure import PLACES, Given, Inputs, StratumClosure, by_instant
from spaseq.intervals.interval_rows import (
    LAST,
    NEVER_ENDED,
    IntervalRows,
    Longs,
    distinct_rows,
    no_rows,
    stacked,
)
from spaseq.intervals.limits import in_order
from spaseq.intervals.policies import ChosenSolutions
from spaseq.intervals.rule_limits import ProducedCounts
from spaseq.intervals.schema import Schema
from spaseq.intervals.solution_views import SolutionView, TimeStep
from spaseq.intervals.timed_expressions import TimedEvaluator
from spaseq.model.dictionary import TermDictionary


class Waiting(Keeper):
    """NewOccurrences of an instant that is not over."""

    IDS = ("_ids",)
    ARRAYS = ("_start", "end")

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._hold(no_rows(names))

    def _hold(self, rows: IntervalRows) -> None:
        self._ids, self._start, self.end = rows.matrix(self._names), rows.start, rows.end

    def step(self, new: IntervalRows, now: int) -> IntervalRows:
        """Those that ended before ``now``."""
        if len(self.end):
            held = IntervalRows(by_name(self._ids, self._names), self._start, self.end)
            new = stacked([held, new], self._names)
        over = new.end < now
        if over.all():
            self._hold(no_rows(self._names))
            return new
        self._hold(new.take(~over))
        return new.take(over)


class Solutions(Keeper):
    """The solutions of a pattern, found as what they are made of comes."""

    def __init__(self, pattern: Pattern, builder: IntervalBuilder, evaluator: TimedEvaluator) -> None:
        self.view = builder.build(pattern)
        self.inputs = Inputs(builder.occurrences, evaluator)
        self.names = self.view.names
        self.waits = any(view.waits for view in self.view.all_views())

    def keepers(self) -> Iterator[tuple[str, Keeper]]:
        """The views."""
        yield from ((f"{number}", each) for number, each in enumerate(self.view.all_views()))

    def step(self, new: Given, horizon: int) -> IntervalRows:
        """The new ones; what ends before the horizon will not come any more."""
        self.inputs.feed(new)
        return self.view.step(TimeStep(horizon))


class IntervalEvaluation(Keeper):
    """Evaluates a query over occurrences in order of their ends, completed by its rules."""

    NUMBERS = ("begun", "_passed")

    def __init__(
        self, query: IntervalQuery, dictionary: TermDictionary, knowledge: Knowledge, evaluator: RowEvaluator
    ) -> None:
        timed = TimedEvaluator(evaluator)
        schema = Schema.of(knowledge)
        found = strata(query.rules, schema.entailed_templates) if schema else strata(query.rules)
        self._query, self._evaluator = query, timed
        self._counts = ProducedCounts(query.rule_limit, len(found), query.rule_names)
        self.produced: tuple[Longs, Longs] = self._counts.over(NEVER_ENDED)
        """The instants that the last step has ended, and how many occurrences rules produced at each."""
        self._strata = [
            StratumClosure(
                each, query.rules,
                IntervalBuilder(dictionary, knowledge, timed, lagging=by_instant(each, query.rules)),
                dictionary, timed, self._counts,
            )
            for each in found
        ]  # fmt: skip
        self._solutions: Solutions | ChosenSolutions | None = None
        self._order: tuple[OrderKey, ...] = ()
        asked = [each.inputs for each in self._strata]
        if query.asked is not None:
            pattern, self._order = ordered_by(query.asked.pattern, query.asked.order)
            if query.policy is Policy.UNRESTRICTED:
                self._solutions = Solutions(pattern, IntervalBuilder(dictionary, knowledge, timed), timed)
            else:
                self._solutions = ChosenSolutions(pattern, query.policy, dictionary, knowledge, timed)
            asked.append(self._solutions.inputs)
        self.inputs: tuple[TriplePattern, ...] = tuple(
            dict.fromkeys(t for each in asked for t in each.triples)
        )
        """The triple patterns, by place, that occurrences are matched with."""
        self._waiting = {triple: Waiting(each.names(triple)) for each in asked for triple in each.triples}
        self.waits = (
            any(each.waits for each in self._strata)
            or query.asked is None
            or self._solutions is None
            or self._solutions.waits
            or bool(query.asked.order)
            or (query.asked.distinct and self._limited)
        )
        """Whether an instant must be over before there are answers of it."""
        self.begun = 0
        self._passed = 0
        """How many answers LIMIT and OFFSET have counted."""

    def keepers(self) -> Iterator[tuple[str, Keeper]]:
        """All that it keeps rows in."""
        yield from ((f"waiting{number}", each) for number, each in enumerate(self._waiting.values()))
        yield from ((f"stratum{number}", each) for number, each in enumerate(self._strata))
        yield "counts", self._counts
        if self._solutions is not None:
            yield "solutions", self._solutions

    def views(self) -> Iterator[tuple[str, SolutionView]]:
        """What finds solutions: of which rule, or of the query."""
        yield from (each for stratum in self._strata for each in stratum.views())
        if self._solutions is not None:
            yield "query", self._solutions.view

    @property
    def solutions(self) -> int:
        """How many rows are kept."""
        kept = (each for _, each in self.everything() if each.ARRAYS and each.TOGETHER)
        return sum(len(getattr(each, each.ARRAYS[0])) for each in kept)

    def due(self) -> int | None:
        """The instant whose end will make answers certain, if there is one."""
        ends = [int(each.end.min()) for each in self._waiting.values() if len(each.end)]
        return min(ends, default=None)

    def step(self, given: Given, now: int) -> IntervalRows:
        """The new answers, in order of time; occurrences that end at ``now`` may still come, earlier ones may not.

        Without a query to answer, what the rules produce, as triples by place.
        """
        self.produced = self._counts.over(NEVER_ENDED)
        if not self.begun:
            self.begun = 1
            self._complete({}, NEVER_ENDED)
        if self.waits:
            given = {triple: each.step(given[triple], now) for triple, each in self._waiting.items()}
        if not any(map(len, given.values())):
            return no_rows(PLACES if self._solutions is None else self._solutions.names)
        found = self._complete(given, now)
        found = found.take(found.timed)
        asked = self._query.asked
        found = in_order(found, self._order, self._evaluator)
        return self._sliced(found, asked) if asked is not None and self._limited else found

    @property
    def _limited(self) -> bool:
        asked = self._query.asked
        return asked is not None and (asked.limit is not None or asked.offset > 0)

    def _sliced(self, rows: IntervalRows, asked: Asked) -> IntervalRows:
        """DISTINCT, then OFFSET and LIMIT."""
        if asked.distinct:
            assert isinstance(asked.form, SelectForm)
            shown = rows.matrix([item.variable.name for item in asked.form.items])
            earliest = np.lexsort((rows.start, rows.end))
            first = distinct_rows(shown[earliest], rows.end[earliest], rows.end[earliest])
            rows = rows.take(np.sort(earliest[first]))
        place = self._passed + np.arange(len(rows))
        self._passed += len(rows)
        last = LAST if asked.limit is None else asked.offset + asked.limit
        return rows.take((place >= asked.offset) & (place < last))

    def _complete(self, given: Given, horizon: int) -> IntervalRows:
        """The solutions of new occurrences and of what the rules make of them."""
        produced = no_rows(PLACES)
        for stratum in self._strata:
            found = stratum.step(given, produced, horizon)
            produced = stacked([produced, found], PLACES)
        self.produced = self._counts.over(horizon)
        if self._solutions is None:
            return produced
        return self._solutions.step(self._solutions.inputs.of(given, produced), horizon)
