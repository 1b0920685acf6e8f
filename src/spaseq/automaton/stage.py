"""The sequence stage: rows in time order go in, matches come out. The stateful half of a Program.

A host gives it the occurrences of a batch and says how far time has come. It knows no dictionary, no
clock and no input; what it keeps between two calls is its `Memory`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from types import ModuleType

import numpy as np
import numpy.typing as npt

from spaseq.automaton import kernels
from spaseq.automaton.evaluator import Evaluator
from spaseq.automaton.sequence_program import SequenceProgram
from spaseq.automaton.state import Memory, wrapping
from spaseq.automaton.tables import (
    ALIVE,
    AT,
    BLOCKED,
    CHOICE,
    IN,
    KEY,
    MATCHES,
    NEVER,
    OF,
    PARENT,
    ROW_TIME,
    RUNS,
    START,
    TIME,
    UNTIL,
    WAITING,
    WORK,
    Ints,
    Longs,
    Rows,
    ValueArrays,
    tables,
)
from spaseq.automaton.tiers import Tiers
from spaseq.automaton.verdicts import Events, Verdicts, iteration_values, last_event
from spaseq.errors import SpaseqError
from spaseq.model.budget import Budget
from spaseq.settings import settings
from spaseq.temporal.instants import BEFORE_ALL


class TooManyRuns(SpaseqError):
    """The limit on runs was reached; nothing was dropped silently."""


def too_many_runs(live: int, most: int, waiting: str) -> TooManyRuns:
    """The error that says how many runs wait, and for what."""
    return TooManyRuns(
        f"{live:,} runs wait, more than max_runs={most:,}: {waiting}. Make the "
        "window smaller (WITHIN), use `;` instead of `:`, or add a condition to the steps before"
    )


@dataclass(frozen=True, slots=True)
class Found:
    """Matches as columns; ``events`` are serial numbers by match, in step order, with their choices."""

    time: Longs
    start: Longs
    slots: Ints
    tracks: Ints
    counters: Ints
    chains: list[list[tuple[int, tuple[int, ...]]]]
    bags: dict[int, list[list[int]]]
    """For slots that SUM, AVG and the like read: the values of every match's iterations."""
    told: dict[str, list[tuple[int, int] | tuple[()]]]
    """For GPMs that TIME and EVENT of the answer read: the last event of every match, its instant and serial number."""
    last: Longs
    """The instant of the last event of every match."""
    keys: Ints
    """The partition of every match."""

    def __len__(self) -> int:
        return len(self.time)

    def take(self, rows: npt.NDArray[np.integer]) -> Found:
        """The matches at these places."""
        return Found(
            self.time[rows],
            self.start[rows],
            self.slots[rows],
            self.tracks[rows],
            self.counters[rows],
            [self.chains[row] for row in rows] if self.chains else [],
            {slot: [bags[row] for row in rows] for slot, bags in self.bags.items()},
            {gpm: [events[row] for row in rows] for gpm, events in self.told.items()},
            self.last[rows],
            self.keys[rows],
        )


class SequenceStage:
    """Runs one sequence program."""

    def __init__(
        self,
        program: SequenceProgram,
        evaluator: Evaluator,
        events: Events,
        *,
        max_runs: int | None = None,
        budget: Budget | None = None,
        tiers: Tiers | None = None,
        with_events: bool = True,
        recycle: bool = True,
        bag_slots: tuple[int, ...] = (),
    ) -> None:
        self.program = program
        self.tables = tables(program)
        self.memory = Memory.of(self.tables, budget)
        self.memory.recycle = recycle
        self._verdicts = Verdicts(program, evaluator, events)
        self._tiers = Tiers() if tiers is None else tiers
        self._max_runs = max_runs
        self._with_events = with_events
        self._bag_slots = bag_slots
        self._chained = with_events or bool(bag_slots or program.told)
        """Whether a match is more than columns of numbers."""
        self._aside: list[Found] = []
        """Matches that were taken before a sweep, which would have to keep what they rest on."""
        self._spent = 0
        self._nothing = self._found(np.zeros(0, np.int64), np.zeros(0, np.int64))
        self.memory.budget.count("runs", lambda: self.memory.nbytes, self._waiting)
        self.memory.budget.count("partition keys", lambda: self.memory.keys.nbytes)

    def step(self, rows: Rows, now: int, values: Callable[[], ValueArrays]) -> Iterator[tuple[Found, int]]:
        """Handle a batch of rows; events at ``now`` may still come, earlier ones may not.

        Yields after every slice of work the matches it found, in order of time, and the instant before which no
        more will be found. ``values`` gives the values of all ids that exist when it is called.
        """
        memory, first = self.memory, 0
        known = values()  # here, and not in the thread that warms up: asking may decode new terms
        self._tiers.count(len(rows), partial(self._warm_up, known))
        while self._tiers.awaited:
            self._tiers.wait()
            yield self._nothing, BEFORE_ALL
        memory.found.cursor[AT] = -1
        memory.release()
        self._begin_slice()
        while True:
            with wrapping():
                why, row, count = memory.module.advance(
                    self.tables, memory.store, rows, first, memory.found, known
                )
            memory.peak = max(memory.peak, memory.runs)
            if why == kernels.DONE:
                break
            if why == kernels.NEEDS_VERDICT:
                self._decide(rows, row, count)
                known = values()  # a BIND may have made terms that the next rows compare
                first = row + 1 if memory.found.cursor[AT] < 0 else row
                continue
            time, first, sweeps = int(rows.times[row, ROW_TIME]), row, memory.needs_sweep()
            if why == kernels.SLICED or (sweeps and self._many_matches()):
                yield from self._taken(time)
            elif sweeps and not self._chained and memory.matches:
                self._aside.append(self._found(*self._pending(BEFORE_ALL)))
            if why == kernels.SLICED:
                self._tiers.count(self._spent, partial(self._warm_up, known))
                self._begin_slice()
            if sweeps:
                memory.sweep(time, counted=False)
                self._check_limit()
            if not memory.make_room():
                yield from self._taken(time)
                memory.sweep(time, counted=False)
                self._check_limit()
                if not memory.make_room(spare=True):
                    raise memory.budget.exceeded()
        yield from self._taken(now)
        if memory.needs_sweep() or self._over_limit():
            memory.sweep(now)
            self._check_limit()

    def prepare(self, runs: int, values: Callable[[], ValueArrays]) -> None:
        """So many runs will be entered at once: wait for compiled kernels if they are many."""
        self._tiers.count(runs, partial(self._warm_up, values()))
        while self._tiers.awaited:
            self._tiers.wait()
        self.memory.module = self._tiers.module

    def _begin_slice(self) -> None:
        memory = self.memory
        memory.module = self._tiers.module
        interpreted = memory.module is kernels
        self._spent = settings().prepared_rows if interpreted else 0
        memory.found.cursor[WORK] = settings().interpreted_work if interpreted else settings().slice_work

    def _decide(self, rows: Rows, row: int, count: int) -> None:
        """Let the evaluator decide a portion of candidates, and do what it says; a slice has time for some of these."""
        memory = self.memory
        self._verdicts.decide(memory, rows, row, count)
        with wrapping():
            memory.module.apply(self.tables, memory.store, rows, row, memory.found, count)
        whole = settings().interpreted_work if memory.module is kernels else settings().slice_work
        memory.found.cursor[WORK] -= whole * (64 + count) // 16_384

    def _over_limit(self) -> bool:
        return self._max_runs is not None and self.memory.runs > self._max_runs

    def _check_limit(self) -> None:
        """Raise if more runs wait than was allowed, with the steps that they wait for."""
        if self._max_runs is not None and self.memory.live > self._max_runs:
            raise too_many_runs(self.memory.live, self._max_runs, self._waiting())

    def _waiting(self) -> str:
        """How many runs wait for what, most first."""
        store = self.memory.store
        transitions = np.bincount(store.runs[: int(store.counts[RUNS]), IN])
        waiting: Counter[str] = Counter()
        for transition in np.flatnonzero(transitions).tolist():
            waiting[self.program.name_of(transition)] += int(transitions[transition])
        return ", ".join(f"{many:,} wait for {name}" for name, many in waiting.most_common())

    # --- matches --------------------------------------------------------------------------------

    def _many_matches(self) -> bool:
        """True if the matches that were found are worth handing on before a sweep."""
        found = self.memory.matches
        if self._chained:
            return 8 * found > settings().slice_matches
        return found + sum(map(len, self._aside)) >= settings().slice_matches

    def _taken(self, until: int) -> Iterator[tuple[Found, int]]:
        """The matches found since the last time, in order of time; later ones are at ``until`` or after it."""
        partials, time = self._pending(until)
        if self._aside:
            found = together([*self._aside, self._found(partials, time)])
            self._aside.clear()
            yield found, until
        elif not len(time):
            yield self._nothing, until
        else:
            order = np.lexsort((self.memory.store.partials[partials, START], time))
            partials, time = partials[order], time[order]
            for begin, end in pairwise([0, *self._cuts(partials), len(time)]):
                found = self._found(partials[begin:end], time[begin:end])
                yield found, int(time[end]) if end < len(time) else until
        self.memory.release()

    def _pending(self, until: int) -> tuple[Longs, Longs]:
        """Take partials and instants of the matches that were found, with the runs whose window ended before ``until``."""
        store = self.memory.store
        count = int(store.counts[MATCHES])
        store.counts[MATCHES] = 0
        partials, time = store.matches[:count, 0].copy(), store.matches[:count, 1].copy()
        due, ends = self._due(until)
        if len(due):
            partials, time = np.concatenate([partials, due]), np.concatenate([time, ends])
        return partials, time

    def _cuts(self, partials: Longs) -> list[int]:
        """Where to cut matches into pieces that are made and written in a moment."""
        size = settings().slice_matches
        if not self._with_events and not self._bag_slots:
            return list(range(size, len(partials), size))
        store, chain = self.memory.store, partials
        events = np.zeros(len(partials), np.int64)
        while (going := chain >= 0).any():
            events += going
            chain = np.where(going, store.partials[chain, PARENT], -1)
        total = np.cumsum(events)
        cuts: list[int] = []
        begin = 0
        while True:
            limit = settings().slice_events + (int(total[begin - 1]) if begin else 0)
            begin = max(begin + 1, min(begin + size, int(np.searchsorted(total, limit, "right"))))
            if begin >= len(partials):
                return cuts
            cuts.append(begin)

    def _due(self, until: int) -> tuple[Longs, Longs]:
        """Runs behind a trailing negation whose window has ended: matches, unless they were guarded."""
        memory, store = self.memory, self.memory.store
        count = int(store.counts[WAITING])
        if memory.first_deadline() >= until:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        waiting = store.waiting[:count]
        ends = store.runs[waiting, UNTIL]
        due = ends < until
        over, kept = waiting[due], waiting[~due]
        clear = over[store.runs[over, BLOCKED] > ends[due]]
        store.runs[over, ALIVE] = 0
        store.waiting[: len(kept)] = kept
        store.counts[WAITING] = len(kept)
        memory.deadlines = len(kept), int(ends[~due].min(initial=NEVER))
        return store.runs[clear, OF], store.runs[clear, UNTIL]

    def _found(self, partials: Longs, time: Longs) -> Found:
        store, (slots, tracks, counters) = self.memory.store, self.tables.sizes[:3]
        cells = store.slots[partials]
        program = self.program
        return Found(
            time,
            store.partials[partials, START],
            cells[:, :slots],
            cells[:, slots : slots + tracks],
            cells[:, slots + tracks : slots + tracks + counters],
            [self._chain(int(partial)) for partial in partials] if self._with_events else [],
            {
                slot: [iteration_values(program, store, int(p), slot) for p in partials]
                for slot in self._bag_slots
            },
            {gpm: [last_event(program, store, int(p), gpm) for p in partials] for gpm in program.told},
            store.partials[partials, TIME],
            store.partials[partials, KEY].astype(np.int32),
        )

    def _chain(self, partial: int) -> list[tuple[int, tuple[int, ...]]]:
        """The choices and events of a partial, first to last."""
        store = self.memory.store
        chain = []
        while partial >= 0:
            choice = int(store.partials[partial, CHOICE])
            chain.append((choice, tuple(int(e) for e in store.events[partial] if e >= 0)))
            partial = int(store.partials[partial, PARENT])
        return chain[::-1]

    def _warm_up(self, values: ValueArrays, module: ModuleType) -> None:
        """Compile every kernel by running it on one row without candidates."""
        memory = Memory.of(self.tables)
        rows = Rows(
            np.zeros((1, 2), np.int32),
            np.zeros((1, 5), np.int64),
            np.zeros((1, max(len(self.program.variables), 1)), np.int32),
            np.zeros((1, self.program.width), np.int64),
        )
        module.advance(self.tables, memory.store, rows, 1, memory.found, values)
        module.apply(self.tables, memory.store, rows, 0, memory.found, 0)
        module.mark(memory.store, np.zeros(0, np.bool_))
        module.reenter(self.tables, memory.store)


def together(parts: list[Found]) -> Found:
    """Matches of several takings, without events, in order of time and start."""
    time, start = (
        np.concatenate(columns) for columns in zip(*((part.time, part.start) for part in parts), strict=True)
    )
    order = np.lexsort((start, time))
    return Found(
        time[order],
        start[order],
        np.concatenate([part.slots for part in parts])[order],
        np.concatenate([part.tracks for part in parts])[order],
        np.concatenate([part.counters for part in parts])[order],
        [],
        {},
        {},
        np.concatenate([part.last for part in parts])[order],
        np.concatenate([part.keys for part in parts])[order],
    )
