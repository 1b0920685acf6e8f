"""EP-SPARQL queries as an operator: solutions of triple patterns in, answers with their intervals out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from spaseq.algebra.intervals import IntervalQuery
from spaseq.intervals.evaluation import IntervalEvaluation
from spaseq.intervals.interval_rows import IntervalRows
from spaseq.model.mappings import MappingTable
from spaseq.operators.answers import Answers
from spaseq.operators.kept import KeptOperator
from spaseq.operators.protocol import Report, Surroundings
from spaseq.planner.over_intervals import KEY, common_key, inputs_read
from spaseq.planner.program import Program

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]


class IntervalOperator(KeptOperator):
    """Runs a query over intervals."""

    def __init__(self, program: Program, surroundings: Surroundings) -> None:
        query = program.details
        assert isinstance(query, IntervalQuery)
        self._program, self._surroundings = program, surroundings
        self._running = IntervalEvaluation(
            query, surroundings.dictionary, surroundings.knowledge, surroundings.evaluator
        )
        keyed = common_key(query) if program.query.distribution.variables else None
        key = None if isinstance(keyed, str) else keyed
        self._inputs = dict(zip(program.names, inputs_read(self._running.inputs, key), strict=True))
        super().__init__(self._running)
        surroundings.budget.count("solutions", lambda: self._running.nbytes)
        surroundings.budget.advise("bound how long solutions last (`FILTER(getDURATION() < …)`)")

    @property
    def counted(self) -> tuple[Longs, Longs]:
        """What rules produced at the instants that the last step has ended."""
        return self._running.produced

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
        self._count()
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


OPERATOR = IntervalOperator
