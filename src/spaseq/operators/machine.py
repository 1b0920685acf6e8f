"""One query at work on one dictionary: GPM stage, sequence stage and results, batch by batch.

Hosts differ in how events reach a machine and where its answers go; what happens in between is this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt
from pyoxigraph import Literal

from spaseq.automaton.occurrences import Assembler
from spaseq.automaton.program import WAIT
from spaseq.automaton.stage import SequenceStage
from spaseq.automaton.tables import IN, RUNS, TRANSITION_OPERATOR, UNTIL, ValueArrays, constants
from spaseq.columnar.kernels.cache import cache_of
from spaseq.columnar.knowledge import Knowledge
from spaseq.columnar.rows import RowEvaluator
from spaseq.errors import InvalidArgument, described
from spaseq.model.batch import EventBatch
from spaseq.model.budget import Budget
from spaseq.model.dictionary import TermDictionary
from spaseq.model.mappings import MappingTable
from spaseq.model.matches import Match, Numbering, match_identity
from spaseq.operators.answers import (
    Answers,
    answer_columns,
    answer_keys,
    distinct,
    first_only,
    matches,
    skipping,
    stacked,
)
from spaseq.operators.event_log import EventLog
from spaseq.operators.protocol import Report
from spaseq.planner.program import Observed, Program, keys_of_rows, match_gpms, match_keys
from spaseq.settings import settings

Longs = npt.NDArray[np.int64]
FOREVER = int(np.iinfo(np.int64).max)
"""The time at which a finite input has ended."""


@dataclass(frozen=True, slots=True)
class MachineOptions:
    """How a machine works, not what it answers."""

    max_runs: int | None = 10_000_000
    compile_kernels: bool | None = None
    """Compiled kernels from the first row, never, or (None) when the input is worth it."""
    with_events: bool = True
    """Keep the events of every match."""
    with_identity: bool = True
    """Compute the deterministic identity of every match, which needs a digest of every event."""
    budget: Budget | None = None
    """The memory that this machine and others may hold together; None for a default of its own."""
    shown: Callable[[str], str] = str
    """The text of a term as it leaves for the user, where hosts mark the labels of blank nodes."""


def check_limits(max_runs: object, max_memory: object) -> None:
    """Refuse limits that nothing could keep."""
    for name, value in (("max_runs", max_runs), ("max_memory", max_memory)):
        if value is not None and (not isinstance(value, int) or value < 1):
            raise InvalidArgument(f"`{name}=` is a number of at least 1, or None, not {described(value)}")


DEFAULT_OPTIONS = MachineOptions()
NONE: Final = np.zeros(0, np.int64)


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
        self.evaluator = RowEvaluator(dictionary, now=now)
        self.events = EventLog(
            dictionary, events=options.with_events, digests=options.with_identity and options.with_events
        )
        self.stage = SequenceStage(
            program.sequence,
            self.evaluator,
            self.events,
            max_runs=options.max_runs,
            budget=self.budget,
            compile_kernels=options.compile_kernels,
            with_events=options.with_events or program.query.rewritten.skip_past,
            bag_slots=program.bag_slots,
            recycle=program.query.optimisations.recycle_memory,
        )
        self.assembler = Assembler(program.sequence, self.stage.memory.keys)
        self._constants = self._encoded_constants()
        self._observed = Observed() if program.query.optimisations.lazy_conjunction else None
        self._open: list[Answers] = []
        self._chosen = 0
        """How many of the open answers were left when it was last chosen among them."""
        self.mapped: dict[str, int] = {}
        """How many mappings each GPM has had."""
        self.answered = False
        self._made = 0
        self.numbering = Numbering() if self.events.with_digests else None
        """Numbers equal matches, which is part of their identity; None if identities are not asked for."""
        self._shown = options.shown
        self._normal_text = program.query.normal_text if self.events.with_digests else ""
        self._unchecked = 0
        self.budget.count("events", lambda: self.events.nbytes)
        self.budget.count("matches", lambda: sum(part.nbytes for part in self._open) + self._numbers_bytes)

    @property
    def _numbers_bytes(self) -> int:
        """About what the counts of equal matches take."""
        return 0 if self.numbering is None else 200 * len(self.numbering.counts)

    @property
    def open_answers(self) -> Answers | None:
        """Answers of an instant that is not over, where DISTINCT, ASK or skipping must still choose."""
        if len(self._open) > 1:
            self._open = [stacked(self._open)]
        return self._open[0] if self._open else None

    @open_answers.setter
    def open_answers(self, answers: Answers | None) -> None:
        self._open = [] if answers is None else [answers]
        self._chosen = 0 if answers is None else len(answers)

    @property
    def skipped(self) -> frozenset[str]:
        """The GPMs that were not looked for at some events, since they could not matter there."""
        return frozenset() if self._observed is None else frozenset(self._observed.skipped)

    @property
    def needs_whole_instants(self) -> bool:
        """True if positions among simultaneous events matter, so that no instant may come in pieces."""
        return self.program.needs_positions

    @property
    def _holds_answers(self) -> bool:
        """True if an answer is certain only when its instant is over: DISTINCT, ASK and skipping choose among several."""
        query = self.program.query
        return query.form.compares or query.rewritten.skip_past

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
        )
        for name, table in tables.items():
            self.mapped[name] = self.mapped.get(name, 0) + len(table)
        taken = NONE
        if self.events.with_digests:
            taken = np.unique(np.concatenate([NONE, *(table.events for table in tables.values())]))
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
        """The sequence stage alone, for hosts whose GPM stage runs elsewhere; arguments as for `Assembler.rows`.

        ``report`` tells which matches are this machine's to report, where others see the same rows.
        """
        rows = self.assembler.rows(tables, times, serials, partition)
        self.check_budget(len(times) + len(rows))
        for found, until in self.stage.step(rows, now, self._values):
            if report is not None and len(found):
                found = found.take(np.flatnonzero(report(found)))
            answers = answer_columns(
                self.program, found, self.evaluator, self.events, self.dictionary.generation
            )
            yield self._certain(answers, until)
            if self.answered:
                return
        if self.stage.memory.has_idle_keys():
            self.stage.memory.sweep(now)
            self.forget_keys()
        self._forget_events()

    def check_budget(self, more: int) -> None:
        """Look at the memory budget after so many events, rows or answers more."""
        self._unchecked += more
        if self._unchecked >= settings().checked_rows:
            self._unchecked = 0
            self.budget.check()

    def _partition(
        self, batch: EventBatch, tables: Mapping[str, MappingTable]
    ) -> tuple[Longs, npt.NDArray[np.int32]] | None:
        if not self.program.query.rewritten.partition:
            return None
        if self.program.keyed_rows:
            event, keys = keys_of_rows(self.program, tables)
        else:
            found = match_keys(self.program, batch, self.dictionary)
            assert found is not None
            event, keys = found
        return event, self.number_keys(keys)

    def number_keys(self, keys: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
        """The numbers of partitions, given their keys as rows of ids."""
        number = self.stage.memory.keys.number
        if len(keys) < settings().looped_rows:
            return np.array([number(tuple(key)) for key in keys.tolist()], np.int32)
        if keys.shape[1] == 1 and (end := int(keys.max()) + 1) <= settings().ids_per_key * len(keys):
            numbers = np.zeros(end, np.int32)  # a table by id: sorting costs ten times as much
            numbers[keys[:, 0]] = 1
            known = np.flatnonzero(numbers)
            numbers[known] = [number((key,)) for key in known.tolist()]
            return numbers[keys[:, 0]]
        distinct, place = np.unique(keys, axis=0, return_inverse=True)
        numbers = np.array([number(tuple(key)) for key in distinct.tolist()], np.int32)
        return numbers[place.reshape(-1)]

    def _encoded_constants(self) -> npt.NDArray[np.int32]:
        terms = constants(self.program.sequence)
        return np.array([self.dictionary.encode(term) for term in terms] or [0], np.int32)

    def _values(self) -> ValueArrays:
        """The values of all terms there are; no array is longer, so a check of bounds finds a foreign id."""
        values = cache_of(self.dictionary).values.extend()
        end = len(values) + 1
        return ValueArrays(values.kind[:end], values.number[:end], values.exact[:end], self._constants)

    def _certain(self, answers: Answers, now: int) -> Answers:
        """The answers that no later event can change."""
        if not self._holds_answers:
            return answers
        query = self.program.query.rewritten
        if len(answers):
            self._open.append(answers)
            if not query.skip_past:
                self._choose()
            self.check_budget(len(answers))
        # Answers come in order of time, so the first one is over before all others.
        if not self._open or self._open[0].time[0] >= now:
            return answers.take(np.zeros(len(answers), np.bool_))
        answers = stacked(self._open)
        over = answers.time < now
        left = answers.take(~over)
        self.open_answers = left if len(left) else None
        ready = answers.take(over)
        if query.skip_past:
            ready = skipping(ready, self.stage.memory.keys.skipped)
        if self.program.query.form.kind == "ask":
            ready = (
                first_only(self._distinct(ready))
                if not self.answered
                else ready.take(np.zeros(len(ready), np.bool_))
            )
            self.answered = self.answered or len(ready) > 0
            return ready
        return self._distinct(ready) if self._is_distinct else ready

    def _choose(self) -> None:
        """Keep only the open answers that may be reported, when they have doubled."""
        if sum(map(len, self._open)) > 2 * self._chosen + settings().slice_matches:
            chosen = self._distinct(stacked(self._open))
            self.open_answers = first_only(chosen) if self.program.query.form.kind == "ask" else chosen

    @property
    def _is_distinct(self) -> bool:
        return self.program.query.form.distinct

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

    @property
    def id_slots(self) -> int:
        """How many of a partial's slots hold ids; counters come behind them."""
        return len(self.program.sequence.variables) + len(self.program.sequence.tracks)

    @property
    def runs(self) -> int:
        """How many runs the automaton holds."""
        return self.stage.memory.runs

    @property
    def peak_runs(self) -> int:
        """The most it ever held."""
        return self.stage.memory.peak

    def due(self, now: int) -> int | None:
        """The time after which there is something to do without a further event: a window ends, runs expire."""
        memory, tables = self.stage.memory, self.stage.tables
        runs = memory.store.runs[: int(memory.store.counts[RUNS])]
        runs = runs[memory.alive(now, counted=True)] if len(runs) else runs
        if not len(runs):
            return None
        until = runs[:, UNTIL]
        waits = tables.transitions[runs[:, IN], TRANSITION_OPERATOR] == WAIT
        return int(until[waits].min()) if waits.any() else int(until.max())

    def end_instant(self) -> None:
        """The last instant was handled whole: nothing more can be joined at it."""
        self.assembler.open.clear()

    def forget_keys(self) -> None:
        """Drop the partitions in which, after a sweep, nothing waits, nor a conjunction of the open instant."""
        held = self.open_answers.ranks if self.open_answers is not None else None
        used = self.assembler.open_keys if held is None else np.union1d(self.assembler.open_keys, held.keys)
        numbers = self.stage.memory.forget_keys(used)
        if numbers is None:
            return
        self.assembler.renumber(numbers)
        if self.open_answers is not None and held is not None:
            self.open_answers = replace(self.open_answers, ranks=replace(held, keys=numbers[held.keys]))

    def _forget_events(self) -> None:
        """Drop the events that no partial match rests on any more, nor a conjunction of the open instant."""
        store = self.stage.memory.store
        if len(self.events) > 2 * self.events.kept + settings().forgotten_events:
            parts = [
                store.events[: int(store.counts[0])],
                *(part.events for part in self.assembler.open.values()),
            ]
            used = np.concatenate([part.ravel() for part in parts])
            self.events.keep(np.unique(used[used >= 0]))

    def live_ids(self) -> npt.NDArray[np.int64]:
        """Every term id that the state still mentions."""
        store = self.stage.memory.store
        count = int(store.counts[0])
        parts = [store.slots[:count, : self.id_slots], self._constants, self.events.names]
        parts += [part.slots for part in self.assembler.open.values()]
        keys = self.stage.memory.keys
        parts.append(keys.values[: len(keys.numbers)])
        if self.open_answers is not None:
            parts += list(self.open_answers.columns.values())
            names = [event[3] for events in self.open_answers.events for event in events]
            parts.append(np.array(names, np.int32))
        return np.unique(np.concatenate([part.ravel() for part in parts])).astype(np.int64)

    def remap(self, mapping: npt.NDArray[np.int32]) -> None:
        """Follow a compaction of the dictionary (old id to new id)."""
        store = self.stage.memory.store
        store.slots[:, : self.id_slots] = mapping[store.slots[:, : self.id_slots]]
        self._constants = mapping[self._constants]
        self.events.remap(mapping)
        self.stage.memory.keys.remap(mapping)
        self.assembler.remap(mapping)
        if self.open_answers is not None:
            self.open_answers = self.open_answers.remapped(mapping, self.dictionary.generation)
        # The hash of a run is that of its ids.
        self.stage.memory.rebuild()
