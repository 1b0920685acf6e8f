"""The sequence stage: rows in time order go in, matches come out. The stateful half of a Program.

A host gives it the occurrences of a batch and says how far time has come. It knows no dictionary, no
clock and no input; what it keeps between two calls is its `Memory`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType

import numpy as np
import numpy.typing as npt

from spaseq.automaton import kernels
from spaseq.automaton.evaluator import Evaluator
from spaseq.automaton.program import SequenceProgram
from spaseq.automaton.state import Memory
from spaseq.automaton.tables import (
    ALIVE,
    BLOCKED,
    CHOICE,
    IN,
    KEY,
    MATCHES,
    MOST,
    OF,
    PARENT,
    ROW_TIME,
    RUNS,
    START,
    TIME,
    UNTIL,
    WAITING,
    Ints,
    Longs,
    Rows,
    ValueArrays,
    tables,
)
from spaseq.automaton.tiers import Tiers
from spaseq.automaton.verdicts import Events, Verdicts, iteration_values, last_event
from spaseq.errors import SpaseqError


class TooManyRuns(SpaseqError):
    """The limit on runs, or on their memory, was reached; nothing was dropped silently."""


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
        max_memory: int | None = None,
        compile_kernels: bool | None = None,
        with_events: bool = True,
        recycle: bool = True,
        bag_slots: tuple[int, ...] = (),
    ) -> None:
        self.program = program
        self.tables = tables(program)
        self.memory = Memory.of(self.tables)
        self.memory.recycle = recycle
        self._verdicts = Verdicts(program, evaluator, events)
        self._tiers = Tiers(compile_kernels=compile_kernels)
        self._max_runs = max_runs
        self._max_memory = max_memory
        self._with_events = with_events
        self._bag_slots = bag_slots
        self._most = int(self.tables.sizes[MOST])
        self._nothing = self._found(np.zeros(0, np.int64), np.zeros(0, np.int64))

    def step(self, rows: Rows, now: int, values: Callable[[], ValueArrays]) -> Found:
        """Handle a batch of rows; events at ``now`` may still come, earlier ones may not.

        ``values`` gives the values of all ids that exist when it is called.
        """
        known = values()  # here, and not in the thread that warms up: asking may decode new terms
        self.memory.module = self._tiers.choose(len(rows), lambda module: self._warm_up(module, known))
        found = list(self._advance(rows, known, values))
        found.append(self._take())
        found.append(self._take_waiting(now))
        if self.memory.needs_sweep() or self._over_limit():
            self.memory.sweep(now)
            self._check_limit()
        return _together(found)

    def _advance(self, rows: Rows, known: ValueArrays, values: Callable[[], ValueArrays]) -> Iterator[Found]:
        first, memory = 0, self.memory
        with np.errstate(over="ignore"):  # the hash of the interpreted tier wraps around on purpose
            while True:
                why, row, count = memory.module.advance(
                    self.tables, memory.store, rows, first, memory.found, known
                )
                memory.peak = max(memory.peak, memory.runs)
                if why == kernels.DONE:
                    return
                if why == kernels.NEEDS_VERDICT:
                    self._verdicts.decide(memory, rows, row, count)
                    memory.module.apply(self.tables, memory.store, rows, row, memory.found, count)
                    known = values()  # a BIND may have made terms that the next rows compare
                    first = row + 1
                    continue
                if memory.needs_sweep():
                    yield self._take()
                    memory.sweep(int(rows.times[row, ROW_TIME]), counted=False)
                    self._check_limit()
                memory.make_room(count, self._most)
                self._check_limit()
                first = row

    def _over_limit(self) -> bool:
        many = self._max_runs is not None and self.memory.runs > self._max_runs
        return many or (self._max_memory is not None and self.memory.bytes > self._max_memory)

    def _check_limit(self) -> None:
        """Raise if more waits than was allowed, with the step that most runs wait for."""
        memory = self.memory
        if self._max_runs is not None and memory.live > self._max_runs:
            reason = f"{memory.live:,} runs wait, more than max_runs={self._max_runs:,}"
        elif self._max_memory is not None and memory.bytes > self._max_memory:
            reason = f"the runs take {memory.bytes:,} bytes, more than max_memory={self._max_memory:,}"
        else:
            return
        running = memory.store.runs[: int(memory.store.counts[RUNS]), IN]
        waiting = Counter(map(self.program.name_of, running.tolist())).most_common(1)
        busiest, many = waiting[0] if waiting else ("nothing", 0)
        raise TooManyRuns(
            f"{reason}; most of them, {many:,}, wait for {busiest}. Make the "
            "window smaller, use `;` instead of `:`, or add a condition to the steps before it"
        )

    # --- matches --------------------------------------------------------------------------------

    def _take(self) -> Found:
        """The matches found since the last time."""
        store = self.memory.store
        count = int(store.counts[MATCHES])
        if count == 0:
            return self._nothing
        partials, time = store.matches[:count, 0].copy(), store.matches[:count, 1].copy()
        store.counts[MATCHES] = 0
        return self._found(partials, time)

    def _take_waiting(self, now: int) -> Found:
        """Runs behind a trailing negation whose window has ended: matches, unless they were guarded."""
        store = self.memory.store
        count = int(store.counts[WAITING])
        if count == 0:
            return self._nothing
        waiting = store.waiting[:count]
        until = store.runs[waiting, UNTIL]
        due = until < now
        if not due.any():
            return self._nothing
        over, kept = waiting[due], waiting[~due]
        clear = over[store.runs[over, BLOCKED] > until[due]]
        partials, ends = store.runs[clear, OF], store.runs[clear, UNTIL]
        store.runs[over, ALIVE] = 0
        store.waiting[: len(kept)] = kept
        store.counts[WAITING] = len(kept)
        return self._found(partials, ends)

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

    def _warm_up(self, module: ModuleType, values: ValueArrays) -> None:
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


def _together(parts: list[Found]) -> Found:
    """All matches in order of their instant, then of their start."""
    parts = [part for part in parts if len(part)] or parts[:1]
    if len(parts) == 1 and len(parts[0]) < 2:
        return parts[0]
    time = np.concatenate([part.time for part in parts])
    start = np.concatenate([part.start for part in parts])
    order = np.lexsort((start, time))
    chains = [chain for part in parts for chain in part.chains]
    bags = {slot: [bag for part in parts for bag in part.bags[slot]] for slot in parts[0].bags}
    told = {gpm: [event for part in parts for event in part.told[gpm]] for gpm in parts[0].told}
    return Found(
        time[order],
        start[order],
        np.concatenate([part.slots for part in parts])[order],
        np.concatenate([part.tracks for part in parts])[order],
        np.concatenate([part.counters for part in parts])[order],
        [chains[index] for index in order] if chains else [],
        {slot: [bag[index] for index in order] for slot, bag in bags.items()},
        {gpm: [events[index] for index in order] for gpm, events in told.items()},
        np.concatenate([part.last for part in parts])[order],
        np.concatenate([part.keys for part in parts])[order],
    )
