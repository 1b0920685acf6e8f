"""The memory of a sequence program: partial matches and runs as columns that grow and shrink in bulk.

Arrays are allocated in bulk and reused (the paper's memory management, section 7.2.3). Nothing is freed
run by run: when as much is dead as alive, one sweep keeps what lives and packs it together.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from spaseq.automaton import kernels
from spaseq.automaton.conditions import MAX_DEPTH
from spaseq.automaton.program import NEXT, STRICT, WAIT
from spaseq.automaton.tables import (
    DEAD,
    MATCHES,
    PARTIALS,
    RUNS,
    SLIDING_EVENTS,
    TUMBLING_EVENTS,
    WAITING,
    Candidates,
    Ints,
    Longs,
    Store,
    Tables,
)

STACK = MAX_DEPTH + 8

PARTIAL_COLUMNS = (
    "parent", "choice", "key", "rooted", "iteration", "time", "start", "ordinal", "low", "high", "deadline",
    "slots", "tracks", "counters", "events",
)  # fmt: skip
RUN_COLUMNS = ("run_partial", "run_transition", "run_used", "run_blocked", "run_alive")


def new_store(tables: Tables, partials: int = 64, runs: int = 64) -> Store:
    """An empty store with room for this many partials and runs."""
    slots, tracks, counters, width, subs, _ = (int(size) for size in tables.sizes)

    def ints(size: int) -> Ints:
        return np.zeros(size, np.int32)

    def longs(size: int) -> Longs:
        return np.zeros(size, np.int64)

    return Store(
        counts=longs(5),
        parent=ints(partials),
        choice=ints(partials),
        key=ints(partials),
        rooted=ints(partials),
        iteration=ints(partials),
        time=longs(partials),
        start=longs(partials),
        ordinal=longs(partials),
        low=longs(partials),
        high=longs(partials),
        deadline=longs(partials),
        slots=np.zeros((partials, max(slots, 1)), np.int32),
        tracks=np.zeros((partials, max(tracks, 1)), np.int32),
        counters=np.zeros((partials, max(counters, 1)), np.int32),
        events=np.full((partials, width), -1, np.int64),
        run_partial=ints(runs),
        run_transition=ints(runs),
        run_used=longs(runs),
        run_blocked=longs(runs),
        run_alive=ints(runs),
        entry_next=np.full(runs * subs, -1, np.int32),
        buckets=np.full(_power_of_two(runs * subs), -1, np.int32),
        match_partial=ints(runs),
        match_time=longs(runs),
        waiting=ints(runs),
    )


def _power_of_two(least: int) -> int:
    return 1 << max(4, (least - 1).bit_length())


@dataclass(slots=True)
class Keys:
    """The partitions seen so far: their keys, and how far time has come in each.

    Without PARTITION BY there is one, with the empty key.
    """

    numbers: dict[tuple[int, ...], int] = field(default_factory=dict)
    time: Longs = field(default_factory=lambda: np.zeros(0, np.int64))
    ordinal: Longs = field(default_factory=lambda: np.zeros(0, np.int64))
    floor: Longs = field(default_factory=lambda: np.zeros(0, np.int64))
    position: Longs = field(default_factory=lambda: np.zeros(0, np.int64))

    def number(self, key: tuple[int, ...]) -> int:
        """The number of a key, new if it is."""
        known = self.numbers.setdefault(key, len(self.numbers))
        if known >= len(self.time):
            room = max(16, 2 * len(self.time))
            least = np.iinfo(np.int64).min
            self.time = _longer(self.time, room, least)
            self.ordinal = _longer(self.ordinal, room, 0)
            self.floor = _longer(self.floor, room, 0)
            self.position = _longer(self.position, room, 0)
        return known


def _longer(array: Longs, size: int, fill: int) -> Longs:
    grown = np.full(size, fill, np.int64)
    grown[: len(array)] = array
    return grown


@dataclass(slots=True)
class Memory:
    """A store with its scratch space, and the rules for growing and sweeping it."""

    tables: Tables
    store: Store
    found: Candidates
    keys: Keys
    live: int = 0
    """Runs that the last sweep kept."""
    peak: int = 0
    """The most runs that ever waited at one time, the dead between two sweeps included."""
    module: ModuleType = kernels
    """The tier of kernels in use."""

    @staticmethod
    def of(tables: Tables) -> Memory:
        return Memory(tables, new_store(tables), new_candidates(tables, 64), Keys())

    @property
    def runs(self) -> int:
        """Runs that wait, some of them perhaps dead."""
        return int(self.store.counts[RUNS] - self.store.counts[DEAD])

    def needs_sweep(self) -> bool:
        """True when at least as many runs came since the last sweep as it kept."""
        return int(self.store.counts[RUNS]) > 2 * self.live + 4096

    def make_room(self, candidates: int, most: int) -> None:
        """Grow what is too small for this many candidates, each with this many runs."""
        if candidates < 0:
            self.found = new_candidates(self.tables, 2 * len(self.found.run))
            candidates = len(self.found.run)
        counts = self.store.counts
        partials = _room(len(self.store.parent), int(counts[PARTIALS]) + candidates)
        runs = _room(len(self.store.run_partial), int(counts[RUNS]) + candidates * most)
        matches = _room(len(self.store.match_partial), int(counts[MATCHES]) + candidates * most)
        waiting = _room(len(self.store.waiting), int(counts[WAITING]) + candidates * most)
        self._resize(partials, runs, matches, waiting)

    def _resize(self, partials: int, runs: int, matches: int, waiting: int) -> None:
        old = self.store
        subs = int(self.tables.sizes[4])
        fields: dict[str, Any] = {name: _resized(getattr(old, name), partials) for name in PARTIAL_COLUMNS}
        fields |= {name: _resized(getattr(old, name), runs) for name in RUN_COLUMNS}
        rehash = runs != len(old.run_partial)
        fields["entry_next"] = _resized(old.entry_next, runs * subs)
        fields["match_partial"] = _resized(old.match_partial, matches)
        fields["match_time"] = _resized(old.match_time, matches)
        fields["waiting"] = _resized(old.waiting, waiting)
        if rehash:
            fields["buckets"] = np.full(_power_of_two(runs * subs), -1, np.int32)
        self.store = old._replace(**fields)
        if rehash:
            self.rebuild()

    # --- forgetting -----------------------------------------------------------------------------

    def alive(self, time: int) -> npt.NDArray[np.bool_]:
        """Which runs an event at this time or later may still concern."""
        store, tables = self.store, self.tables
        n = int(store.counts[RUNS])
        partial, transition = store.run_partial[:n], store.run_transition[:n]
        operator = tables.transition_operator[transition]
        waits = operator == WAIT
        alive = (store.run_alive[:n] == 1) & (waits | (store.deadline[partial] >= time))
        alive &= np.where(
            waits, store.run_blocked[:n] > store.deadline[partial], store.run_blocked[:n] >= time
        )
        alive &= (operator != NEXT) | (store.run_used[:n] >= time)
        key = store.key[partial]
        alive &= (operator != STRICT) | (self.keys.ordinal[key] <= store.ordinal[partial] + 1)
        kind, size = int(tables.window[0]), int(tables.window[1])
        if kind == SLIDING_EVENTS:
            alive &= self.keys.floor[key] - store.low[partial] < size
        elif kind == TUMBLING_EVENTS:
            alive &= self.keys.floor[key] // size == store.low[partial] // size
        kept: npt.NDArray[np.bool_] = alive
        return kept

    def sweep(self, time: int) -> None:
        """Keep the runs that live and the partials they rest on; matches must have been taken before."""
        store = self.store
        assert store.counts[MATCHES] == 0, "matches are taken before a sweep"
        runs = np.flatnonzero(self.alive(time))
        keep = np.zeros(int(store.counts[PARTIALS]), np.bool_)
        keep[store.run_partial[runs]] = True
        self.module.mark(store, keep)
        partials = np.flatnonzero(keep)
        number = np.full(len(keep) + 1, -1, np.int32)  # the last one answers for parent -1
        number[partials] = np.arange(len(partials), dtype=np.int32)
        columns = {name: getattr(store, name)[partials] for name in PARTIAL_COLUMNS}
        columns["parent"] = number[columns["parent"]]
        columns |= {name: getattr(store, name)[runs] for name in RUN_COLUMNS}
        columns["run_partial"] = number[columns["run_partial"]]
        self.replace(columns, len(partials), len(runs))
        self.live = len(runs)

    def rebuild(self) -> None:
        """Enter all runs anew, after their ids have changed."""
        with np.errstate(over="ignore"):
            self.module.reenter(self.tables, self.store)

    def replace(self, columns: dict[str, npt.NDArray[np.generic]], partials: int, runs: int) -> None:
        """Let these columns be all there is, packed, and enter the runs anew."""
        fresh = new_store(self.tables, _room(64, 2 * partials), _room(64, 2 * runs))
        for name, values in columns.items():
            getattr(fresh, name)[: len(values)] = values
        fresh.counts[PARTIALS], fresh.counts[RUNS] = partials, runs
        operator = self.tables.transition_operator[fresh.run_transition[:runs]]
        waiting = np.flatnonzero((operator == WAIT) & (fresh.run_alive[:runs] == 1)).astype(np.int32)
        fresh.waiting[: len(waiting)] = waiting
        fresh.counts[WAITING] = len(waiting)
        self.store = fresh
        self.rebuild()


def new_candidates(tables: Tables, size: int) -> Candidates:
    """Scratch space for this many candidates."""
    assigned = int(np.diff(tables.choice_assigns_at).max(initial=0))
    return Candidates(
        run=np.zeros(size, np.int32),
        target=np.zeros(size, np.int32),
        verdict=np.zeros(size, np.int32),
        assigned=np.zeros((size, max(assigned, 1)), np.int32),
        kinds=np.zeros(STACK, np.int64),
        numbers=np.zeros(STACK, np.float64),
        errors=np.zeros(STACK, np.float64),
        ids=np.zeros(STACK, np.int64),
    )


def _room(now: int, needed: int) -> int:
    return now if needed <= now else _power_of_two(needed)


def _resized(array: npt.NDArray[np.generic], size: int) -> npt.NDArray[np.generic]:
    if len(array) >= size:
        return array
    grown = np.zeros((size, *array.shape[1:]), array.dtype)
    grown[: len(array)] = array
    return grown
