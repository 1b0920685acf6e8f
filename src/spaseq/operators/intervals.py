"""EP-SPARQL queries as an operator: solutions of triple patterns in, answers with their intervals out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from spaseq.algebra.expressions import Var
from spaseq.algebra.intervals import IntervalQuery
from spaseq.intervals.evaluation import IntervalEvaluation
from spaseq.intervals.rows import IntervalRows
from spaseq.model.mappings import MappingTable
from spaseq.model.packing import Damaged, reading
from spaseq.operators.answers import Answers
from spaseq.operators.protocol import Report, Surroundings
from spaseq.operators.state import State
from spaseq.planner.over_intervals import KEY, common_key, inputs_read
from spaseq.planner.program import Program

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]


class IntervalOperator:
    """Runs a query over intervals."""

    def __init__(self, program: Program, surroundings: Surroundings) -> None:
        query = program.details
        assert isinstance(query, IntervalQuery)
        self._program, self._surroundings = program, surroundings
        self._running = IntervalEvaluation(
            query, surroundings.dictionary, surroundings.knowledge, surroundings.evaluator
        )
        keyed = common_key(query) if program.query.distribution.variables else None
        key = keyed if isinstance(keyed, Var) else None
        self._inputs = dict(zip(program.names, inputs_read(query, self._running.inputs, key), strict=True))
        surroundings.budget.count("solutions", lambda: self._running.nbytes)
        self._peak = 0

    @property
    def runs(self) -> int:
        """How many solutions are kept for later joins."""
        return self._running.solutions

    @property
    def peak_runs(self) -> int:
        """The most that ever were."""
        return self._peak

    def step(
        self,
        tables: Mapping[str, MappingTable],
        times: Longs,
        serials: Longs,
        partition: tuple[Longs, Ints] | None,
        now: int,
        report: Report | None = None,
    ) -> Iterator[tuple[Answers, int]]:
        """The answers that became certain."""
        del serials, partition, report
        given = {}
        for name, read in self._inputs.items():
            table = tables[name]
            time = times[table.events]
            columns = {
                read.place or each if each == KEY else each: ids for each, ids in table.columns.items()
            }
            given[read.triple] = IntervalRows(columns, time if table.starts is None else table.starts, time)
        self._surroundings.check_budget(len(times) + sum(map(len, given.values())))
        found = self._running.step(given, now)
        self._peak = max(self._peak, self.runs)
        self._surroundings.check_budget(len(found))
        yield self._answers(found), now

    def _answers(self, rows: IntervalRows) -> Answers:
        generation = self._surroundings.dictionary.generation
        names = self._program.answer_variables
        columns = rows.named(names).columns
        if not self._program.template:
            return Answers(rows.end, rows.start, columns, [], generation)
        order = np.lexsort((rows.start, rows.end))  # the triples of one interval are one graph
        ordered = rows.take(order)
        return Answers(ordered.end, ordered.start, ordered.named(names).columns, [], generation)

    def due(self, now: int) -> int | None:
        """When an instant is over whose answers wait for that."""
        del now
        return self._running.due()

    def idle(self, now: int) -> bool:
        """True before the first occurrence."""
        del now
        return not self._running.begun

    def number_keys(self, keys: Ints) -> Ints:
        """Its rows have no partitions."""
        return np.zeros(len(keys), np.int32)

    def end_instant(self) -> None:
        """What waits for the end of an instant hears of it by the time."""

    def event_serials(self) -> Longs:
        """Answers are made of occurrences, not of single events."""
        return np.zeros(0, np.int64)

    def live_ids(self) -> Longs:
        """Every term id that it keeps."""
        return self._running.live_ids()

    def remap(self, mapping: Ints) -> None:
        """Follow a compaction of the dictionary."""
        self._running.remap(mapping)

    def mark(self) -> object | None:
        """Every dump is whole."""
        return None

    def dump(self, since: object | None = None, now: int | None = None) -> State | None:
        """All of the state."""
        del since, now
        numbers, arrays, ids = self._running.dump()
        facts: dict[str, Any] = {"numbers": numbers, "peak": self._peak}
        return State(facts, arrays, ids)

    def load(self, parts: list[State]) -> object | None:
        """Take up the last of some whole states."""
        if parts:
            last = parts[-1]
            with reading():
                numbers = last.facts["numbers"]
                if not isinstance(numbers, dict):
                    raise Damaged(f"`numbers` is {numbers!r}")
                self._running.load(numbers, last.arrays, last.ids)
                self._peak = int(last.facts["peak"])
        return None


OPERATOR = IntervalOperator
