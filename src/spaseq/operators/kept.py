"""What operators share whose whole state is kept as rows by name: snapshots, compaction, and what they have nothing to say to."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from spaseq.model.packing import Arrays, Damaged, reading
from spaseq.operators.state import State

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]


class Running(Protocol):
    """A query at work that keeps rows."""

    @property
    def solutions(self) -> int:
        """How many it keeps."""

    @property
    def begun(self) -> int:
        """Whether there was an event."""

    def due(self) -> int | None:
        """The first instant that time alone will decide, if there is one."""

    def live_ids(self) -> Longs:
        """Every term id that it keeps."""

    def remap(self, mapping: Ints) -> None:
        """Follow a compaction of the dictionary."""

    def dump(self) -> tuple[dict[str, int], Arrays, Arrays]:
        """Its numbers, its arrays and its arrays of ids, by name."""

    def load(self, numbers: dict[str, object], arrays: Arrays, ids: Arrays) -> None:
        """Take up what `dump` gave."""


class KeptOperator:
    """The part of an operator that does not depend on its language; its rows have no partitions, its answers no single events."""

    def __init__(self, running: Running) -> None:
        self._kept = running
        self._peak = 0

    @property
    def runs(self) -> int:
        """How many solutions are kept."""
        return self._kept.solutions

    @property
    def peak_runs(self) -> int:
        """The most that ever were."""
        return self._peak

    def _count(self) -> None:
        self._peak = max(self._peak, self.runs)

    def due(self, now: int) -> int | None:
        """When something becomes certain without a further event."""
        del now
        return self._kept.due()

    def idle(self, now: int) -> bool:
        """True before the first event."""
        del now
        return not self._kept.begun

    def number_keys(self, keys: Ints) -> Ints:
        """There are no partitions."""
        return np.zeros(len(keys), np.int32)

    def end_instant(self) -> None:
        """What waits for the end of an instant hears of it by the time."""

    def event_serials(self) -> Longs:
        """Answers are not made of single events."""
        return np.zeros(0, np.int64)

    def live_ids(self) -> Longs:
        """Every term id that is kept."""
        return self._kept.live_ids()

    def remap(self, mapping: Ints) -> None:
        """Follow a compaction of the dictionary."""
        self._kept.remap(mapping)

    def mark(self) -> object | None:
        """Every dump is whole."""
        return None

    def dump(self, since: object | None = None, now: int | None = None) -> State | None:
        """All of the state."""
        del since, now
        numbers, arrays, ids = self._kept.dump()
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
                self._kept.load(numbers, last.arrays, last.ids)
                self._peak = int(last.facts["peak"])
        return None
