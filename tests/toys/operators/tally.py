"""Counts solutions per key in tumbling windows; what is counted is reported when its window has closed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np
import numpy.typing as npt

from spaseq.model.mappings import MappingTable
from spaseq.model.packing import INSTANT, LARGEST, Field, check_arrays
from spaseq.operators.answers import Answers
from spaseq.operators.protocol import Report, Surroundings
from spaseq.operators.state import State
from spaseq.planner.program import Program

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
FIELDS = {
    "ends": Field(np.int64, ("counts",), INSTANT),
    "keys": Field(np.int32, ("counts",), (1, "ids")),
    "counts": Field(np.int64, ("counts",), (1, LARGEST)),
}


class Tally:
    """By the end of a window and the id of a key, how many solutions there were."""

    def __init__(self, program: Program, surroundings: Surroundings) -> None:
        details = program.details
        assert isinstance(details, tuple)
        self._key, self._size = details
        self._surroundings = surroundings
        self._counts: Counter[tuple[int, int]] = Counter()
        self.peak_runs = 0

    @property
    def runs(self) -> int:
        """How many counts wait for their window to close."""
        return len(self._counts)

    def step(
        self,
        tables: Mapping[str, MappingTable],
        times: Longs,
        serials: Longs,
        partition: tuple[Longs, Ints] | None,
        now: int,
        report: Report | None = None,
    ) -> Iterator[tuple[Answers, int]]:
        """Count, and report the windows that no event can reach any more."""
        table = tables["counted"]
        ends = (times[table.events] // self._size + 1) * self._size
        self._counts.update(zip(ends.tolist(), table.column(self._key).tolist(), strict=True))
        self.peak_runs = max(self.peak_runs, self.runs)
        around = self._surroundings
        around.check_budget(len(table))
        closed = sorted(window for window in self._counts if window[0] <= now)
        numbers = [around.evaluator.encode(self._counts.pop(window)) for window in closed]
        time = np.array([end for end, _ in closed], np.int64)
        columns = {
            self._key: np.array([key for _, key in closed], np.int32),
            "count": np.array(numbers, np.int32),
        }
        yield Answers(time, time - self._size, columns, [], around.dictionary.generation), now

    def due(self, now: int) -> int | None:
        """The end of the first window."""
        return min((end - 1 for end, _ in self._counts), default=None)

    def idle(self, now: int) -> bool:
        """True if nothing is counted."""
        return not self._counts

    def number_keys(self, keys: Ints) -> Ints:
        """There is no PARTITION BY."""
        raise AssertionError("a tally has no partitions")

    def end_instant(self) -> None:
        """Instants may come in pieces."""

    def event_serials(self) -> Longs:
        """No event is remembered."""
        return np.zeros(0, np.int64)

    def live_ids(self) -> Longs:
        """The keys."""
        return np.unique(np.array([key for _, key in self._counts], np.int64))

    def remap(self, mapping: Ints) -> None:
        """Follow a compaction of the dictionary."""
        known = {(end, int(mapping[key])): count for (end, key), count in self._counts.items()}
        self._counts = Counter(known)

    def mark(self) -> None:
        """Every dump is whole."""

    def dump(self, since: object | None = None, now: int | None = None) -> State:
        """All counts."""
        windows = np.array(list(self._counts), np.int64).reshape(-1, 2)
        counts = np.array(list(self._counts.values()), np.int64)
        return State({}, {"ends": windows[:, 0], "counts": counts}, {"keys": windows[:, 1].astype(np.int32)})

    def load(self, parts: list[State]) -> None:
        """Take up all counts."""
        arrays = {**parts[-1].arrays, **parts[-1].ids}
        check_arrays(arrays, FIELDS, {"ids": len(self._surroundings.dictionary) + 1})
        windows = zip(arrays["ends"].tolist(), arrays["keys"].tolist(), strict=True)
        self._counts = Counter(dict(zip(windows, arrays["counts"].tolist(), strict=True)))


OPERATOR = Tally
