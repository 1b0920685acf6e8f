"""What hosts know of a stateful operator, whatever its language: how it takes a step, waits, and keeps its ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from spaseq.model.mappings import MappingTable
from spaseq.operators.answers import Answers

Longs: TypeAlias = npt.NDArray[np.int64]
Ints: TypeAlias = npt.NDArray[np.int32]


class Situated(Protocol):
    """Matches before they are answers: when each began, and the ids of its variables."""

    @property
    def start(self) -> Longs:
        """The instant of the first event of every match."""

    @property
    def slots(self) -> Ints:
        """The ids of every match, a column per variable of the program."""

    def __len__(self) -> int: ...


Report: TypeAlias = Callable[[Situated], npt.NDArray[np.bool_]]
"""Which matches are reported here, and not in another bucket."""


class StatefulOperator(Protocol):
    """An operator behind the route: it takes tables of mappings in order of time and gives answers.

    Its state as named arrays is the business of `spaseq.operators.snapshot` (all of it) and
    `spaseq.operators.segments` (what has changed).
    """

    def step_tables(
        self,
        tables: Mapping[str, MappingTable],
        times: Longs,
        serials: Longs,
        partition: tuple[Longs, Ints] | None,
        now: int,
        report: Report | None = None,
    ) -> Iterator[Answers]:
        """The answers that are certain after these mappings; events at ``now`` may still come, earlier ones may not."""

    def due(self, now: int) -> int | None:
        """The time after which there is something to do without a further event; None if there is nothing."""

    def number_keys(self, keys: Ints) -> Ints:
        """The numbers of partitions, given their keys as rows of ids."""

    def end_instant(self) -> None:
        """The last instant was handled whole: nothing more can be joined at it."""

    def live_ids(self) -> Longs:
        """Every term id that the state mentions."""

    def remap(self, mapping: Ints) -> None:
        """Follow a compaction of the dictionary."""
