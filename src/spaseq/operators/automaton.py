"""The automaton as an operator: mappings become rows in order of time, rows move runs, runs become answers (SPAseq)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from spaseq.algebra.events import SelectForm
from spaseq.algebra.expressions import Iterated, walk
from spaseq.automaton.occurrences import Assembler
from spaseq.automaton.sequence_program import WAIT
from spaseq.automaton.stage import Found, SequenceStage
from spaseq.automaton.stage import too_many_runs as too_many_runs
from spaseq.automaton.tables import (
    ALIVE,
    IN,
    KEY,
    OF,
    RUNS,
    TRANSITION_OPERATOR,
    UNTIL,
    ValueArrays,
    constants,
)
from spaseq.columnar.kernels.cache import cache_of
from spaseq.model.mappings import MappingTable
from spaseq.model.ordered import each_once
from spaseq.operators import automaton_state
from spaseq.operators.answers import Answers, skipping
from spaseq.operators.automaton_answers import answer_columns
from spaseq.operators.held_answers import HeldAnswers
from spaseq.operators.protocol import MakeOperator, Report, Surroundings
from spaseq.operators.state import State
from spaseq.planner.program import Program
from spaseq.settings import settings

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class _Situated:
    """Matches, for hosts that ask where they belong."""

    found: Found
    variables: tuple[str, ...]

    @property
    def start(self) -> Longs:
        return self.found.start

    def column(self, variable: str) -> Ints:
        return self.found.slots[:, self.variables.index(variable)]

    def __len__(self) -> int:
        return len(self.found)


def _bag_slots(program: Program) -> tuple[int, ...]:
    """The slots whose iterations SELECT sums up."""
    form = program.query.rewritten.form
    names = {
        node.variable.name
        for item in (form.items if isinstance(form, SelectForm) else ())
        if item.expression is not None
        for node in walk(item.expression)
        if isinstance(node, Iterated) and node.name not in ("FIRST", "LAST", "PREV")
    }
    return tuple(sorted(program.sequence.slot(name) for name in names))


class AutomatonOperator:
    """Runs the sequence of a program."""

    def __init__(self, program: Program, surroundings: Surroundings) -> None:
        self.program = program
        self.surroundings = surroundings
        self.dictionary = surroundings.dictionary
        query = program.query
        self.skips = query.rewritten.skip_past
        self.stage = SequenceStage(
            program.sequence,
            surroundings.evaluator,
            surroundings.events,
            max_runs=surroundings.max_runs,
            budget=surroundings.budget,
            tiers=surroundings.tiers,
            with_events=surroundings.events.with_events or self.skips,
            bag_slots=_bag_slots(program),
            recycle=query.optimisations.recycle_memory,
        )
        self.assembler = Assembler(program.sequence, self.stage.memory.keys)
        self.held = HeldAnswers()
        """Answers of an instant that is not over, among which AFTER MATCH SKIP must still choose."""
        terms = constants(program.sequence)
        self._constants = np.array([self.dictionary.encode(term) for term in terms] or [0], np.int32)
        surroundings.budget.count("matches", lambda: self.held.nbytes)
        surroundings.budget.advise(
            "make the window smaller (WITHIN), use `;` instead of `:`, divide the stream (PARTITION BY)"
        )

    @property
    def runs(self) -> int:
        """How many runs the automaton holds."""
        return self.stage.memory.runs

    @property
    def peak_runs(self) -> int:
        """The most it ever held."""
        return self.stage.memory.peak

    def step(
        self,
        tables: Mapping[str, MappingTable],
        times: Longs,
        serials: Longs,
        partition: tuple[Longs, Ints] | None,
        now: int,
        report: Report | None = None,
    ) -> Iterator[tuple[Answers, int]]:
        """Arguments as for `Assembler.rows`; yields after every slice of work."""
        around, memory = self.surroundings, self.stage.memory
        rows = self.assembler.rows(tables, times, serials, partition)
        around.check_budget(len(times) + len(rows))
        for found, until in self.stage.step(rows, now, self.values):
            if report is not None and len(found):
                own = report(_Situated(found, self.program.sequence.variables))
                found = found.take(np.flatnonzero(own))
            answers = answer_columns(
                self.program, found, around.evaluator, around.events, self.dictionary.generation
            )
            yield (self._chosen(answers, until) if self.skips else answers), until
        if memory.has_idle_keys():
            memory.sweep(now)
            self.forget_keys()

    def _chosen(self, answers: Answers, until: int) -> Answers:
        """What AFTER MATCH SKIP leaves of the answers whose instant is over."""
        self.held.add(answers)
        self.surroundings.check_budget(len(answers))
        ready = self.held.before(until)
        return (
            answers.take(np.zeros(len(answers), np.bool_))
            if ready is None
            else skipping(ready, self.stage.memory.keys.skipped)
        )

    def number_keys(self, keys: Ints) -> Ints:
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

    def values(self) -> ValueArrays:
        """The values of all terms there are; no array is longer, so a check of bounds finds a foreign id."""
        values = cache_of(self.dictionary).values.extend()
        end = len(values) + 1
        return ValueArrays(values.kind[:end], values.number[:end], values.exact[:end], self._constants)

    # --- time -----------------------------------------------------------------------------------

    def due(self, now: int) -> int | None:
        """A window ends, or runs expire."""
        memory, tables = self.stage.memory, self.stage.tables
        runs = memory.store.runs[: int(memory.store.counts[RUNS])]
        runs = runs[memory.alive(now, counted=True)] if len(runs) else runs
        if not len(runs):
            return None
        until = runs[:, UNTIL]
        waits = tables.transitions[runs[:, IN], TRANSITION_OPERATOR] == WAIT
        return int(until[waits].min()) if waits.any() else int(until.max())

    def idle(self, now: int) -> bool:
        """True if no run lives and partitions need not be remembered."""
        memory = self.stage.memory
        if not memory.forgets_keys or self.held or self.assembler.open:
            return False
        return not int(memory.store.counts[RUNS]) or not bool(memory.alive(now, counted=True).any())

    def end_instant(self) -> None:
        """Nothing more can be joined at the last instant."""
        self.assembler.open.clear()

    # --- memory ---------------------------------------------------------------------------------

    @property
    def id_slots(self) -> int:
        """How many of a partial's slots hold ids; counters come behind them."""
        return len(self.program.sequence.variables) + len(self.program.sequence.tracks)

    def forget_keys(self) -> None:
        """Drop the partitions in which, after a sweep, nothing waits, nor a conjunction of the open instant."""
        answers = self.held.answers
        ranks = None if answers is None else answers.ranks
        used = self.assembler.open_keys
        if ranks is not None:
            used = each_once(np.concatenate([used, ranks.keys]))
        numbers = self.stage.memory.forget_keys(used)
        if numbers is None:
            return
        self.assembler.renumber(numbers)
        if answers is not None and ranks is not None:
            self.held.answers = replace(answers, ranks=replace(ranks, keys=numbers[ranks.keys]))

    def live_keys(self, variables: Sequence[str], now: int) -> Ints | None:
        """For every run that lives the ids of its partition, or else of some variables that all runs have bound.

        None if runs cannot be kept apart now.
        """
        memory, store = self.stage.memory, self.stage.memory.store
        if self.held or self.assembler.open or not memory.forgets_keys:
            return None
        live = memory.alive(now, counted=True)
        owner = store.runs[: len(live), OF][live]
        if self.program.partition:
            own: Ints = memory.keys.values[store.partials[owner, KEY]]
            return own
        found: Ints = store.slots[owner][:, [self.program.sequence.slot(name) for name in variables]]
        return found

    def keep_runs(self, kept: npt.NDArray[np.bool_], now: int) -> None:
        """Drop all other runs, and the partitions that are left without any."""
        store = self.stage.memory.store
        store.runs[: int(store.counts[RUNS]), ALIVE][~kept] = 0
        self.stage.memory.sweep(now)
        self.forget_keys()

    def event_serials(self) -> Longs:
        """The events that partial matches rest on, and conjunctions of the open instant."""
        store = self.stage.memory.store
        parts = [
            store.events[: int(store.counts[0])],
            *(part.events for part in self.assembler.open.values()),
        ]
        used = np.concatenate([part.ravel() for part in parts])
        return each_once(used[used >= 0])

    def live_ids(self) -> Longs:
        """Every term id that runs, partitions, the open instant and held answers mention."""
        store, keys = self.stage.memory.store, self.stage.memory.keys
        parts = [store.slots[: int(store.counts[0]), : self.id_slots], self._constants]
        parts += [part.slots for part in self.assembler.open.values()]
        parts += [keys.values[: len(keys.numbers)], *self.held.ids()]
        return each_once(np.concatenate([part.ravel() for part in parts])).astype(np.int64)

    def remap(self, mapping: Ints) -> None:
        """Follow a compaction of the dictionary (old id to new id)."""
        store = self.stage.memory.store
        store.slots[:, : self.id_slots] = mapping[store.slots[:, : self.id_slots]]
        self._constants = mapping[self._constants]
        self.stage.memory.keys.remap(mapping)
        self.assembler.remap(mapping)
        self.held.remap(mapping, self.dictionary.generation)
        # The hash of a run is that of its ids.
        self.stage.memory.rebuild()

    def mark(self) -> automaton_state.Mark:
        """How far the state is saved."""
        return automaton_state.mark(self.stage.memory)

    def dump(self, since: object | None = None, now: int | None = None) -> State | None:
        """Runs and partial matches, or those that came since a mark."""
        assert since is None or isinstance(since, automaton_state.Mark)
        return automaton_state.dump(self, since, now)

    def load(self, parts: list[State]) -> automaton_state.Mark:
        """Take up saved runs and partial matches; kernels check no index, so everything is checked before."""
        return automaton_state.load(self, parts)


OPERATOR: MakeOperator = AutomatonOperator
