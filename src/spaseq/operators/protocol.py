"""What hosts and machines know of a stateful operator, whatever its language, and how one is found and made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, TypeAlias, cast, runtime_checkable

import numpy as np
import numpy.typing as npt

from spaseq.automaton.tiers import Tiers
from spaseq.columnar.knowledge import Knowledge
from spaseq.columnar.rows import RowEvaluator
from spaseq.columnar.table import AtHome
from spaseq.model.budget import Budget
from spaseq.model.dictionary import TermDictionary
from spaseq.model.mappings import MappingTable
from spaseq.operators.answers import Answers
from spaseq.operators.event_log import EventLog
from spaseq.operators.state import State
from spaseq.planner.program import Program

Longs: TypeAlias = npt.NDArray[np.int64]
Ints: TypeAlias = npt.NDArray[np.int32]


class Situated(Protocol):
    """Matches before they are answers: when each began, and the ids of its variables."""

    @property
    def start(self) -> Longs:
        """The first instant of every match."""

    def column(self, variable: str) -> Ints:
        """The ids of a variable by which rows are routed."""

    def __len__(self) -> int: ...


Report: TypeAlias = Callable[[Situated], npt.NDArray[np.bool_]]
"""Which matches are reported here, and not in another bucket."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What an operator finds around it: ids and their terms, events by serial number, limits."""

    dictionary: TermDictionary
    knowledge: Knowledge
    evaluator: RowEvaluator
    events: EventLog
    budget: Budget
    check_budget: Callable[[int], None]
    """Called after so many more rows; raises when the memory budget is spent."""
    max_runs: int | None = None
    """How many partial results may wait."""
    tiers: Tiers | None = None
    """Chooses between interpreted and compiled kernels for several operators together; None: for each alone."""
    at_home: AtHome | None = None
    """Which values of the key are this worker's, where rows go apart by a key; None: all are."""


@runtime_checkable
class CountingOperator(Protocol):
    """An operator that counts something at every instant, for a query that bounds it over all workers."""

    @property
    def counted(self) -> tuple[Longs, Longs]:
        """The instants that the last step has ended, and how many there were at each."""


class StatefulOperator(Protocol):
    """An operator behind the route: it takes tables of mappings in order of time and gives answers."""

    @property
    def runs(self) -> int:
        """How many partial results wait."""

    @property
    def peak_runs(self) -> int:
        """The most that ever waited."""

    def step(
        self,
        tables: Mapping[str, MappingTable],
        times: Longs,
        serials: Longs,
        partition: tuple[Longs, Ints] | None,
        now: int,
        report: Report | None = None,
    ) -> Iterator[tuple[Answers, int]]:
        """Handle mappings; yields answers, and the instant before which there will be no others.

        ``tables`` has the mappings of every pattern of the program, by event; ``times`` and ``serials`` are those of the
        events, in order of time. Events at ``now`` may still come, earlier ones may not. ``partition`` are the pairs of event
        and partition number of a partitioned program. ``report`` tells which matches are reported here.
        """

    def due(self, now: int) -> int | None:
        """The time after which there is something to do without a further event; None if there is nothing."""

    def idle(self, now: int) -> bool:
        """True if nothing of the state matters at ``now`` or later: a new operator would do as well."""

    def number_keys(self, keys: Ints) -> Ints:
        """The numbers of partitions, given their keys as rows of ids."""

    def end_instant(self) -> None:
        """The last instant was handled whole: nothing more can be joined at it."""

    def event_serials(self) -> Longs:
        """The serial numbers of the events that the state mentions."""

    def live_ids(self) -> Longs:
        """Every term id that the state mentions."""

    def remap(self, mapping: Ints) -> None:
        """Follow a compaction of the dictionary (old id to new id)."""

    def mark(self) -> object | None:
        """The present state, for a later `dump` of what came since; None if every dump is whole."""

    def dump(self, since: object | None = None, now: int | None = None) -> State | None:
        """The state, or what came since a mark of this operator; None if nothing did.

        An operator may always give its whole state. If ``now`` is known, what has expired may be left out and forgotten.
        """

    def load(self, parts: list[State]) -> object | None:
        """Take up a whole state and what came after it, in order; `Damaged` if it cannot be one.

        Nothing in it may be believed. The operator is new, and is thrown away if this fails. The result marks the first
        part, as `mark` would have then; None if later dumps need not know it.
        """


MakeOperator: TypeAlias = Callable[[Program, Surroundings], StatefulOperator]


def make_operator(program: Program, surroundings: Surroundings) -> StatefulOperator:
    """The operator that a program names: ``OPERATOR`` of the module `spaseq.operators.<name>` makes it."""
    module = import_module(f"spaseq.operators.{program.operator}")
    return cast(MakeOperator, module.OPERATOR)(program, surroundings)
