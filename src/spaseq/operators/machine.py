"""One query at work on one dictionary: GPM stage, stateful operator and results, batch by batch.

Hosts differ in how events reach a machine and where its answers go; what happens in between is this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt
from pyoxigraph import Literal

from spaseq.automaton.tiers import Tiers as Tiers
from spaseq.columnar.knowledge import Knowledge
from spaseq.columnar.rows import RowEvaluator
from spaseq.columnar.table import AtHome
from spaseq.errors import InvalidArgument, described
from spaseq.model.batch import EventBatch
from spaseq.model.budget import Budget
from spaseq.model.dictionary import TermDictionary
from spaseq.model.mappings import MappingTable
from spaseq.model.matches import Match, Numbering, match_identity
from spaseq.model.ordered import each_once
from spaseq.model.packing import LARGEST, LONG, Field, check_arrays, whole_number
from spaseq.operators.answers import Answers, answer_keys, distinct, first_only, matches
from spaseq.operators.event_log import EventLog
from spaseq.operators.held_answers import HeldAnswers
from spaseq.operators.protocol import Report, Surroundings, make_operator
from spaseq.operators.state import State
from spaseq.planner.program import Observed, Program, keys_of_rows, match_gpms, match_keys
from spaseq.settings import settings

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class MachineOptions:
    """How a machine works, not what it answers."""

    max_runs: int | None = 10_000_000
    tiers: Tiers | None = None
    """Chooses between interpreted and compiled kernels, for several machines together; None: for this one alone."""
    with_events: bool = True
    """Keep the events of every match."""
    with_identity: bool = True
    """Compute the deterministic identity of every match, which needs a digest of every event."""
    budget: Budget | None = None
    """The memory that this machine and others may hold together; None for a default of its own."""
    shown: Callable[[str], str] = str
    """The text of a term as it leaves for the user, where hosts mark the labels of blank nodes."""
    at_home: AtHome | None = None
    """Which values of the key are this worker's, where rows go apart by a key; None: all are."""


def check_limits(max_runs: object, max_memory: object) -> None:
    """Refuse limits that nothing could keep."""
    for name, value in (("max_runs", max_runs), ("max_memory", max_memory)):
        if value is not None and (not isinstance(value, int) or value < 1):
            raise InvalidArgument(f"`{name}=` is a number of at least 1, or None, not {described(value)}")


DEFAULT_OPTIONS = MachineOptions()
NONE: Final = np.zeros(0, np.int64)
_NUMBERING_FIELDS: Final[dict[str, Field]] = {
    "numbering.keys": Field(np.uint8, ("numbered", 32)),
    "numbering.counts": Field(np.int64, ("numbered",), (1, LARGEST)),
}


@dataclass(frozen=True, slots=True)
class MachineMark:
    """How far a machine's state is saved."""

    operator: object
    serial: int


class Machine:
    """Runs a Program over batches of events in time order."""

    def __init__(
        self,
        program: Program,
        dictionary: TermDictionary,
        knowledge: Knowledge,
        *,
        now: Literal | None = None,
        options: MachineOptions = DEFAULT_OPTIONS,
    ) -> None:
        self.program = program
        self.dictionary = dictionary
        self.knowledge = knowledge
        self.options = options
        self.budget = options.budget or Budget()
        self._now = now
        self.events = EventLog(
            dictionary, events=options.with_events, digests=options.with_identity and options.with_events
        )
        self.operator = make_operator(
            program,
            Surroundings(
                dictionary,
                knowledge,
                RowEvaluator(dictionary, now=now),
                self.events,
                self.budget,
                self.check_budget,
                options.max_runs,
                options.tiers,
                options.at_home,
            ),
        )
        self._observed = Observed() if program.query.optimisations.lazy_conjunction else None
        self.held = HeldAnswers()
        """Answers of an instant that is not over, where DISTINCT or ASK must still choose."""
        self.mapped: dict[str, int] = {}
        """How many mappings each GPM has had."""
        self.answered = program.query.form.complete(0)
        """Whether nothing more can come."""
        self._counted = 0
        """How many answers became certain, if a query ends after some number of them."""
        self._made = 0
        self.numbering = Numbering() if self.events.with_digests else None
        """Numbers equal matches, which is part of their identity; None if identities are not asked for."""
        self._shown = options.shown
        self._normal_text = program.query.normal_text if self.events.with_digests else ""
        self._unchecked = 0
        self.budget.count("events", lambda: self.events.nbytes)
        self.budget.count("matches", lambda: self.held.nbytes + self._numbers_bytes)

    @property
    def _numbers_bytes(self) -> int:
        """About what the counts of equal matches take."""
        return 0 if self.numbering is None else 200 * len(self.numbering.counts)

    @property
    def skipped(self) -> frozenset[str]:
        """The GPMs that were not looked for at some events, since they could not matter there."""
        return frozenset() if self._observed is None else frozenset(self._observed.skipped)

    @property
    def runs(self) -> int:
        """How many partial results wait."""
        return self.operator.runs

    @property
    def peak_runs(self) -> int:
        """The most that ever waited."""
        return self.operator.peak_runs

    def step(
        self, batch: EventBatch, now: int, found: dict[tuple[int, int], MappingTable] | None = None
    ) -> Iterator[Answers]:
        """Handle events in time order; events at ``now`` may still come, earlier ones may not.

        ``found`` keeps what equal patterns of other queries have found in the batch.

        Yields after every slice of work the answers that became certain, in order of time. The ids of answers are
        good until the next step.
        """
        if self.answered:
            return
        tables = match_gpms(
            self.program,
            batch,
            self.dictionary,
            self.knowledge,
            self._now,
            observed=self._observed,
            found=found,
            bare_counts=True,
        )
        if batch.starts is not None:
            tables = {
                name: replace(table, starts=batch.starts[table.events]) for name, table in tables.items()
            }
        for name, table in tables.items():
            self.mapped[name] = self.mapped.get(name, 0) + len(table)
        taken = NONE
        if self.events.with_digests:
            taken = each_once(np.concatenate([NONE, *(table.events for table in tables.values())]))
        serials = self.events.append(batch, taken, self.dictionary, self.program.streams)
        yield from self.step_tables(tables, batch.times, serials, self._partition(batch, tables), now)

    def step_tables(
        self,
        tables: Mapping[str, MappingTable],
        times: Longs,
        serials: Longs,
        partition: tuple[Longs, npt.NDArray[np.int32]] | None,
        now: int,
        report: Report | None = None,
    ) -> Iterator[Answers]:
        """The stateful operator alone, for hosts whose GPM stage runs elsewhere; arguments as for `StatefulOperator.step`."""
        for answers, until in self.operator.step(tables, times, serials, partition, now, report):
            yield self._certain(answers, until)
            if self.answered:
                return
        if len(self.events) > 2 * self.events.kept + settings().forgotten_events:
            self.events.keep(self.operator.event_serials())

    def check_budget(self, more: int) -> None:
        """Look at the memory budget after so many events, rows or answers more."""
        self._unchecked += more
        if self._unchecked >= settings().checked_rows:
            self._unchecked = 0
            self.budget.check()

    def _partition(
        self, batch: EventBatch, tables: Mapping[str, MappingTable]
    ) -> tuple[Longs, npt.NDArray[np.int32]] | None:
        if not self.program.partition:
            return None
        if self.program.keyed_rows:
            event, keys = keys_of_rows(self.program, tables)
        else:
            found = match_keys(self.program, batch, self.dictionary)
            assert found is not None
            event, keys = found
        return event, self.operator.number_keys(keys)

    # --- answers --------------------------------------------------------------------------------

    def _certain(self, answers: Answers, now: int) -> Answers:
        """The answers that no later event can change; DISTINCT and ASK choose when an instant is over."""
        form = self.program.query.form
        if not form.compares:
            self._counted += 0 if form.most is None else len(answers)
            self.answered = form.complete(self._counted)
            return answers
        if len(answers):
            self.held.add(answers)
            if len(self.held) > 2 * self.held.chosen + settings().slice_matches:
                self.held.answers = self._chosen(self.held.answers)
            self.check_budget(len(answers))
        ready = self.held.before(now)
        if ready is None:
            return answers.take(np.zeros(len(answers), np.bool_))
        if form.once and self.answered:
            return ready.take(np.zeros(len(ready), np.bool_))
        chosen = self._chosen(ready)
        self.answered = self.answered or form.complete(len(chosen))
        return chosen

    def _chosen(self, answers: Answers | None) -> Answers:
        """Those of some answers that may be reported."""
        assert answers is not None
        chosen = self._distinct(answers)
        return first_only(chosen) if self.program.query.form.once else chosen

    def _distinct(self, answers: Answers) -> Answers:
        if self.numbering is None:
            return distinct(answers)
        # Of equal answers the one of the least identity counts, and identities are those that users see.
        keys = answer_keys(
            self.program, answers, self._normal_text, lambda term: self._shown(self.dictionary.ntriples(term))
        )
        return distinct(answers, [match_identity(key, 0) for key in keys])

    def matches(self, answers: Answers) -> Iterator[Match]:
        """Answers, in the order in which they became certain, as the objects users see."""
        first, self._made = self._made, self._made + len(answers)
        return matches(self.program, answers, self.dictionary, self._normal_text, self.numbering, first)

    # --- memory ---------------------------------------------------------------------------------

    def idle(self, now: int) -> bool:
        """True if nothing that is kept matters at ``now`` or later."""
        return not self.held and self.operator.idle(now)

    def live_ids(self) -> Longs:
        """Every term id that the state still mentions, some of them several times."""
        parts: list[npt.NDArray[np.integer]] = [self.operator.live_ids(), self.events.names, *self.held.ids()]
        return np.concatenate(parts).astype(np.int64)

    def remap(self, mapping: npt.NDArray[np.int32]) -> None:
        """Follow a compaction of the dictionary (old id to new id)."""
        self.operator.remap(mapping)
        self.events.remap(mapping)
        self.held.remap(mapping, self.dictionary.generation)

    def mark(self) -> MachineMark:
        """The present state, for a later `dump` of what came since."""
        return MachineMark(self.operator.mark(), self.events.next)

    def dump(self, since: MachineMark | None = None, now: int | None = None) -> State | None:
        """The state between two steps, or what came since a mark; None if nothing did.

        If ``now`` is known, what has expired may be left out and forgotten.
        """
        own = self.operator.dump(None if since is None else since.operator, now)
        whole = since is None or (own is not None and own.whole)
        if whole and now is not None:
            self.events.keep(self.operator.event_serials() if len(self.events) else NONE)
        log = self.events.dump(0 if since is None or whole else since.serial)
        if own is None and not len(log.arrays["serials"]) and not self.held:
            return None
        numbering = self.numbering or Numbering()
        state = State(
            {
                "answered": self.answered,
                "counted": self._counted,
                "instant": numbering.instant,
                "any": own is not None,
            },
            {
                "numbering.keys": np.frombuffer(b"".join(numbering.counts), np.uint8).reshape(-1, 32),
                "numbering.counts": np.array(list(numbering.counts.values()), np.int64),
            },
            whole=whole,
        )
        if own is not None:
            state.add("operator", own)
        state.add("log", log)
        state.add("held", self.held.dump(self.program.names))
        return state

    def load(self, parts: list[State]) -> MachineMark:
        """Take up a whole state and what came after it; `Damaged` if it cannot be one. The machine is new.

        The result marks the first part.
        """
        last = parts[-1]
        self.events.load([part.part("log") for part in parts], len(self.program.streams))
        first = self.operator.load([part.part("operator") for part in parts if part.facts.get("any")])
        self.events.require(self.operator.event_serials())
        sizes = {"ids": len(self.dictionary) + 1, "keys": 0, "serials": 0}
        generation = self.dictionary.generation
        self.held.load(last.part("held"), self.program, sizes, generation, ranked=False)
        self.answered = bool(last.facts["answered"])
        if "counted" in last.facts:  # earlier releases did not count
            self._counted = whole_number(last.facts, "counted", 0, LARGEST)
        check_arrays(last.arrays, _NUMBERING_FIELDS, {})
        if self.numbering is not None:
            self.numbering.instant = whole_number(last.facts, "instant", LONG.min, LONG.max + 1)
            keys = [row.tobytes() for row in last.arrays["numbering.keys"]]
            counts = last.arrays["numbering.counts"].tolist()
            self.numbering.counts = dict(zip(keys, counts, strict=True))
        return MachineMark(first, whole_number(parts[0].part("log").facts, "next", 0, LARGEST))
