"""Continuous queries over windows as an operator: solutions of triple patterns in, reported solutions out (SPECTRA)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spaseq.algebra.event_patterns import declared_events
from spaseq.algebra.windows import WindowQuery
from spaseq.model.mappings import MappingTable
from spaseq.operators.answers import Answers, Matched
from spaseq.operators.kept import KeptOperator
from spaseq.operators.protocol import Report, Surroundings
from spaseq.planner.program import Program
from spaseq.windowed.continuous import ContinuousQuery, Outcome
from spaseq.windowed.event_traces import TRACE, trace_events
from spaseq.windowed.inputs import matches, window_inputs
from spaseq.windowed.report import Reported

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class _Evaluated:
    """Answers by the instants of their evaluations, which decide where they are reported."""

    answers: Answers

    @property
    def start(self) -> Longs:
        """The instants."""
        return self.answers.time

    def column(self, variable: str) -> Ints:
        """The ids of a variable."""
        return self.answers.columns[variable]

    def __len__(self) -> int:
        return len(self.answers)


class WindowOperator(KeptOperator):
    """Runs a continuous query."""

    def __init__(self, program: Program, surroundings: Surroundings) -> None:
        query = program.details
        assert isinstance(query, WindowQuery)
        self._program, self._surroundings = program, surroundings
        self._running = ContinuousQuery(
            query,
            surroundings.dictionary,
            surroundings.knowledge,
            incremental=program.query.optimisations.incremental,
            tells_events=surroundings.events.with_events,
            at_home=surroundings.at_home,
        )
        places = matches(query) if self._running.tells_events else ()
        self._events = [each.name for match in places for each in declared_events(match.events)]
        self._inputs = dict(zip(program.names, window_inputs(query), strict=True))
        super().__init__(self._running)
        surroundings.budget.count("windows", lambda: self.nbytes)
        surroundings.budget.advise("make the windows smaller (RANGE)")

    @property
    def nbytes(self) -> int:
        """About how much memory its windows take."""
        return self._running.nbytes

    def step(
        self,
        tables: Mapping[str, MappingTable],
        times: Longs,
        serials: Longs,
        partition: tuple[Longs, Ints] | None,
        now: int,
        report: Report | None = None,
    ) -> Iterator[tuple[Answers, int]]:
        """The answers of the evaluations that became certain."""
        del partition
        inputs = {source: tables[name] for name, source in self._inputs.items()}
        self._surroundings.check_budget(len(times) + sum(map(len, inputs.values())))
        for outcome in self._running.step(inputs, times, now, serials if self._events else None):
            self._count()
            self._surroundings.check_budget(len(outcome.reported))
            answers = self._answers(outcome)
            if report is not None:
                answers = answers.take(report(_Evaluated(answers)))
            yield answers, int(outcome.period.instants[-1]) + 1

    def _answers(self, outcome: Outcome) -> Answers:
        period, reported = outcome.period, outcome.reported
        columns = {name: reported.column(name) for name in self._program.answer_variables}
        sign = None
        if reported.answers is not None:
            sign = np.where(reported.answers > 0, 1, -1).astype(np.int8)
        return Answers(
            period.instants[reported.at],
            period.starts[reported.at],
            columns,
            self._matched_events(reported, columns) if self._events else [],
            self._surroundings.dictionary.generation,
            sign=sign,
            evaluation=period.numbers[reported.at],
        )

    def _matched_events(self, reported: Reported, columns: dict[str, Ints]) -> list[Matched]:
        """The events of every solution; of equal ones in order of their events, so that hosts and restarts number them alike."""
        found = [self._matched(trace) for trace in reported.column(TRACE).tolist()]
        equal: dict[tuple[int, ...], list[int]] = {}
        for row, key in enumerate(
            zip(reported.at.tolist(), *(ids.tolist() for ids in columns.values()), strict=True)
        ):
            equal.setdefault(key, []).append(row)
        for rows in equal.values():
            ordered = sorted((found[row] for row in rows), key=lambda told: [each[2::2] for each in told])
            for row, told in zip(rows, ordered, strict=True):
                found[row] = told
        return found

    def _matched(self, trace: int) -> Matched:
        """The events of a solution; none if it does not tell."""
        if not trace:
            return ()
        told = list(trace_events(self._surroundings.dictionary.ntriples(trace)))
        log = self._surroundings.events
        rows = log.place(np.array([serial for _, serial in told], np.int64)).tolist()
        return tuple(
            (self._events[place], int(log.streams[row]), int(log.times[row]), log.graph(serial), log.digests.get(serial, b""))
            for (place, serial), row in zip(told, rows, strict=True)
        )  # fmt: skip

    def event_serials(self) -> Longs:
        """Those that answers may tell."""
        return self._running.event_serials()


OPERATOR = WindowOperator
