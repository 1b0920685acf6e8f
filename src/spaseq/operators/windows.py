"""Continuous queries over windows as an operator: solutions of triple patterns in, reported solutions out (SPECTRA)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from spaseq.algebra.windows import WindowQuery
from spaseq.model.mappings import MappingTable
from spaseq.model.packing import Damaged, reading
from spaseq.operators.answers import Answers
from spaseq.operators.protocol import Report, Surroundings
from spaseq.operators.state import State
from spaseq.planner.program import Program
from spaseq.windowed.continuous import ContinuousQuery, Outcome
from spaseq.windowed.inputs import window_inputs

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]


class WindowOperator:
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
        )
        self._inputs = dict(zip(program.names, window_inputs(query), strict=True))
        surroundings.budget.count("windows", lambda: self._running.nbytes)
        self._peak = 0

    @property
    def runs(self) -> int:
        """How many solutions are followed."""
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
        """The answers of the evaluations that became certain."""
        del serials, partition, report
        inputs = {source: tables[name] for name, source in self._inputs.items()}
        self._surroundings.check_budget(len(times) + sum(map(len, inputs.values())))
        for outcome in self._running.step(inputs, times, now):
            self._peak = max(self._peak, self.runs)
            self._surroundings.check_budget(len(outcome.reported))
            yield self._answers(outcome), int(outcome.period.instants[-1]) + 1

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
            [],
            self._surroundings.dictionary.generation,
            sign=sign,
            evaluation=period.numbers[reported.at],
        )

    def due(self, now: int) -> int | None:
        """When a window closes without a further event."""
        del now
        return self._running.due()

    def idle(self, now: int) -> bool:
        """True before the first event."""
        del now
        return not self._running.begun

    def number_keys(self, keys: Ints) -> Ints:
        """Its rows have no partitions."""
        return np.zeros(len(keys), np.int32)

    def end_instant(self) -> None:
        """Evaluations wait for whole instants anyway."""

    def event_serials(self) -> Longs:
        """Answers are made of windows, not of single events."""
        return np.zeros(0, np.int64)

    def live_ids(self) -> Longs:
        """Every term id in its windows and views."""
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


OPERATOR = WindowOperator
