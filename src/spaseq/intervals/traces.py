"""Which occurrences a solution is made of: what an answer under a policy consumes (semantics 2.9)."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from spaseq.algebra.expressions import Constant, Var
from spaseq.algebra.patterns import TriplePattern
from spaseq.intervals.interval_rows import Ids, IntervalRows
from spaseq.intervals.solution_views import TRACE, SolutionView, TimeStep, is_trace
from spaseq.intervals.timed_expressions import TimedEvaluator
from spaseq.intervals.walks import FROM, TO
from spaseq.model.ordered import each_once

Occurrence = tuple[int, int, int, int, int]
"""The ids of a triple, its start and its end."""


class Tracer:
    """Numbers occurrences, whatever pattern matches them, and knows those that are consumed."""

    def __init__(self, evaluator: TimedEvaluator, consumed: set[Occurrence]) -> None:
        self._evaluator = evaluator
        self.consumed = consumed
        self._numbers: dict[Occurrence, int] = {}
        self._known: list[Occurrence] = []
        self._sets: dict[frozenset[int], int] = {}
        self._listed: list[frozenset[int]] = []

    @property
    def count(self) -> int:
        """How many occurrences have a number, from 1 on."""
        return len(self._known)

    def trace(self, triple: TriplePattern, name: str) -> PatternTrace:
        """For one triple pattern."""
        return PatternTrace(self, triple, TRACE + name, self._evaluator)

    def number(self, occurrence: Occurrence) -> int:
        """A number for an occurrence; 0 if it is consumed."""
        if occurrence in self.consumed:
            return 0
        found = self._numbers.get(occurrence)
        if found is None:
            self._known.append(occurrence)
            found = self._numbers[occurrence] = len(self._known)
        return found

    def together(self, numbers: Iterable[int]) -> int:
        """A number, below 0, for several occurrences."""
        every = frozenset(one for number in numbers for one in self._single(number))
        found = self._sets.get(every)
        if found is None:
            self._listed.append(every)
            found = self._sets[every] = -len(self._listed)
        return found

    def _single(self, number: int) -> Iterable[int]:
        return () if number == 0 else (number,) if number > 0 else self._listed[-number - 1]

    def occurrences(self, rows: IntervalRows) -> set[Occurrence]:
        """All that some rows are made of."""
        columns = [column for name, column in rows.columns.items() if is_trace(name)]
        numbers = {number for column in columns for number in each_once(column).tolist()}
        return {self._known[one - 1] for number in numbers for one in self._single(number)}


class PatternTrace:
    """Follows the occurrences that match a triple pattern."""

    def __init__(self, tracer: Tracer, triple: TriplePattern, column: str, evaluator: TimedEvaluator) -> None:
        self._tracer, self._evaluator, self.column = tracer, evaluator, column
        self._nodes = (triple.subject, triple.predicate, triple.object)

    def traced(self, rows: IntervalRows) -> IntervalRows:
        """Those that are not consumed, each with its number; what has no time is not traced."""
        columns = [self._ids(node, rows).tolist() for node in self._nodes]
        intervals = (rows.start.tolist(), rows.end.tolist(), rows.timed.tolist())
        numbers = np.array(
            [
                self._tracer.number((s, p, o, start, end)) if timed else -1
                for s, p, o, start, end, timed in zip(*columns, *intervals, strict=True)
            ],
            np.int32,
        )
        kept = numbers != 0
        numbers[numbers < 0] = 0
        return rows.with_columns({**rows.columns, self.column: numbers}).take(kept)

    def _ids(self, node: object, rows: IntervalRows) -> Ids:
        match node:
            case Constant(term):
                return np.full(len(rows), self._evaluator.rows.constant(term), np.int32)
            case Var(name):
                return rows.columns[name]
            case _:
                raise AssertionError(node)


Walk = tuple[int, int, int, int, int]
"""From, to, the number of its occurrences together, start and end."""


class TracedWalkView(SolutionView):
    """Walks of one or more edges, each with all occurrences that its edges are made of."""

    kept_for: int | None = None

    def __init__(self, edges: SolutionView, tracer: Tracer, column: str) -> None:
        self._edges, self._tracer = edges, tracer
        self.names = (FROM, TO, column)
        self.certain = frozenset((FROM, TO))
        self._leaving: dict[int, list[Walk]] = {}
        self._arriving: dict[int, list[Walk]] = {}
        self._walks: set[Walk] = set()

    def parts(self) -> tuple[SolutionView, ...]:
        return (self._edges,)

    def _step(self, current: TimeStep) -> IntervalRows:
        rows = self._edges.step(current)
        traces = [column.tolist() for name, column in rows.columns.items() if is_trace(name)]
        together = [self._tracer.together(numbers) for numbers in zip(*traces, strict=True)]
        together = together or [0] * len(rows)  # edges of the background alone
        ends = (rows.columns[FROM].tolist(), rows.columns[TO].tolist())
        edges = list(zip(*ends, together, rows.start.tolist(), rows.end.tolist(), strict=True))
        waiting = [self._joined(walk, edge) for edge in edges for walk in self._arriving.get(edge[0], ())]
        for edge in edges:
            self._leaving.setdefault(edge[0], []).append(edge)
        waiting += edges
        found = []
        while waiting:
            walk = waiting.pop()
            if walk not in self._walks:
                self._walks.add(walk)
                self._arriving.setdefault(walk[1], []).append(walk)
                found.append(walk)
                waiting += [self._joined(walk, edge) for edge in self._leaving.get(walk[1], ())]
        table = np.array(found, np.int64).reshape(-1, 5)
        columns = {name: table[:, at].astype(np.int32) for at, name in enumerate(self.names)}
        return IntervalRows(columns, table[:, 3], table[:, 4])

    def _joined(self, walk: Walk, edge: Walk) -> Walk:
        together = self._tracer.together((walk[2], edge[2]))
        return walk[0], edge[1], together, min(walk[3], edge[3]), max(walk[4], edge[4])
