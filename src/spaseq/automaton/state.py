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
    ALIVE,
    BLOCKED,
    CHOICE_ASSIGNS,
    DEAD,
    DEADLINE,
    IN,
    KEY,
    LOW,
    MATCHES,
    OF,
    ORDINAL,
    PARENT,
    PARTIALS,
    RUNS,
    SHIFT,
    SLIDING_EVENTS,
    TRANSITION_OPERATOR,
    TUMBLING_EVENTS,
    UNTIL,
    USED,
    WAITING,
    Candidates,
    Ints,
    Longs,
    Store,
    Tables,
)
from spaseq.settings import settings

STACK = MAX_DEPTH + 8


def new_store(tables: Tables, partials: int | None = None, runs: int | None = None) -> Store:
    """An empty store with room for this many partials and runs."""
    partials = settings().initial_runs if partials is None else partials
    runs = settings().initial_runs if runs is None else runs
    slots, tracks, counters, loops, width, shift = (int(size) for size in tables.sizes[: SHIFT + 1])
    subs = 1 << shift
    return Store(
        counts=np.zeros(5, np.int64),
        partials=np.zeros((partials, DEADLINE + 1), np.int64),
        slots=np.zeros((partials, max(slots + tracks + counters + loops, 1)), np.int32),
        events=np.full((partials, width), -1, np.int64),
        runs=np.zeros((runs, UNTIL + 1), np.int64),
        entries=np.full(runs * subs, -1, np.int32),
        buckets=np.full(_power_of_two(runs * subs), -1, np.int32),
        matches=np.zeros((runs, 2), np.int64),
        waiting=np.zeros(runs, np.int32),
    )


def _power_of_two(least: int) -> int:
    return 1 << max(0, (least - 1).bit_length())


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
    skipped: Longs = field(default_factory=lambda: np.zeros(0, np.int64))
    """The instant of the last event of all matches that were kept, for AFTER MATCH SKIP."""
    values: Ints = field(default_factory=lambda: np.zeros((0, 0), np.int32))
    """The ids of every key, by its number."""
    kept: int = 0
    """How many there were when some were last forgotten."""

    def number(self, key: tuple[int, ...]) -> int:
        """The number of a key, new if it is."""
        known = self.numbers.get(key)
        if known is not None:
            return known
        known = self.numbers[key] = len(self.numbers)
        if known >= len(self.time):
            room = max(settings().initial_runs, 2 * len(self.time))
            least = np.iinfo(np.int64).min
            self.time = _longer(self.time, room, least)
            self.ordinal = _longer(self.ordinal, room, 0)
            self.floor = _longer(self.floor, room, 0)
            self.position = _longer(self.position, room, 0)
            self.skipped = _longer(self.skipped, room, least)
            self.values = np.resize(self.values, (room, len(key)))
        self.values[known] = key
        return known

    def keep(self, used: npt.NDArray[np.integer]) -> None:
        """Forget all partitions but these (ascending numbers), which get the numbers 0, 1, …"""
        self.time, self.ordinal = self.time[used], self.ordinal[used]
        self.floor, self.position = self.floor[used], self.position[used]
        self.skipped = self.skipped[used]
        self.values = self.values[used]
        self.kept = len(used)
        self.numbers = {tuple(key): number for number, key in enumerate(self.values.tolist())}

    def remap(self, mapping: Ints) -> None:
        """Follow a compaction of the dictionary (old id to new id)."""
        count = len(self.numbers)
        self.values[:count] = mapping[self.values[:count]]
        self.numbers = {tuple(key): number for number, key in enumerate(self.values[:count].tolist())}


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
    replaced: int = 0
    """How often all partials and runs were numbered anew; in between they are only added to."""
    recycle: bool = True
    """Whether arrays are used again after a sweep."""
    module: ModuleType = kernels
    """The tier of kernels in use."""

    @staticmethod
    def of(tables: Tables) -> Memory:
        return Memory(tables, new_store(tables), new_candidates(tables, settings().initial_runs), Keys())

    @property
    def runs(self) -> int:
        """Runs that wait, some of them perhaps dead."""
        return int(self.store.counts[RUNS] - self.store.counts[DEAD])

    @property
    def bytes(self) -> int:
        """The size of all arrays."""
        return sum(array.nbytes for array in self.store)

    def needs_sweep(self) -> bool:
        """True when at least as many runs came since the last sweep as it kept."""
        return int(self.store.counts[RUNS]) > 2 * self.live + settings().swept_runs

    def make_room(self, candidates: int, most: int) -> None:
        """Grow what is too small for this many candidates, each with this many runs."""
        if candidates < 0:
            self.found = new_candidates(self.tables, 2 * len(self.found.cells))
            candidates = len(self.found.cells)
        counts = self.store.counts
        partials = _room(len(self.store.partials), int(counts[PARTIALS]) + candidates)
        runs = _room(len(self.store.runs), int(counts[RUNS]) + candidates * most)
        matches = _room(len(self.store.matches), int(counts[MATCHES]) + candidates * most)
        waiting = _room(len(self.store.waiting), int(counts[WAITING]) + candidates * most)
        self._resize(partials, runs, matches, waiting)

    def _resize(self, partials: int, runs: int, matches: int, waiting: int) -> None:
        old = self.store
        subs = 1 << int(self.tables.sizes[SHIFT])
        rehash = runs != len(old.runs)
        fields: dict[str, Any] = {
            "partials": _resized(old.partials, partials),
            "slots": _resized(old.slots, partials),
            "events": _resized(old.events, partials),
            "runs": _resized(old.runs, runs),
            "entries": _resized(old.entries, runs * subs),
            "matches": _resized(old.matches, matches),
            "waiting": _resized(old.waiting, waiting),
        }
        if rehash:
            fields["buckets"] = np.full(_power_of_two(runs * subs), -1, np.int32)
        self.store = old._replace(**fields)
        if rehash:
            self.rebuild()

    # --- forgetting -----------------------------------------------------------------------------

    def alive(self, time: int, *, counted: bool) -> npt.NDArray[np.bool_]:
        """Which runs an event at this time or later may still concern.

        ``counted`` says that the counts of instants and positions stand at this time; in the middle of a
        batch they stand at its end already, and say nothing.
        """
        store, tables = self.store, self.tables
        runs = store.runs[: int(store.counts[RUNS])]
        partial = store.partials[runs[:, OF]]
        operator = tables.transitions[runs[:, IN], TRANSITION_OPERATOR]
        waits, until = operator == WAIT, runs[:, UNTIL]
        alive = (runs[:, ALIVE] == 1) & (waits | (until >= time))
        alive &= np.where(waits, runs[:, BLOCKED] > until, runs[:, BLOCKED] >= time)
        alive &= (operator != NEXT) | (runs[:, USED] >= time)
        if not counted:
            return np.asarray(alive, np.bool_)
        key = partial[:, KEY]
        alive &= (operator != STRICT) | (self.keys.ordinal[key] <= partial[:, ORDINAL] + 1)
        kind, size = int(tables.window[0]), int(tables.window[1])
        if kind == SLIDING_EVENTS:
            alive &= self.keys.floor[key] - partial[:, LOW] < size
        elif kind == TUMBLING_EVENTS:
            alive &= self.keys.floor[key] // size == partial[:, LOW] // size
        return np.asarray(alive, np.bool_)

    def sweep(self, time: int, *, counted: bool = True) -> None:
        """Keep the runs that live and the partials they rest on; matches must have been taken before."""
        store = self.store
        assert store.counts[MATCHES] == 0, "matches are taken before a sweep"
        runs = np.flatnonzero(self.alive(time, counted=counted))
        keep = np.zeros(int(store.counts[PARTIALS]), np.bool_)
        keep[store.runs[runs, OF]] = True
        self.module.mark(store, keep)
        partials = np.flatnonzero(keep)
        number = np.full(len(keep) + 1, -1, np.int64)  # the last one answers for parent -1
        number[partials] = np.arange(len(partials))
        packed, waiting = store.partials[partials], store.runs[runs]
        packed[:, PARENT] = number[packed[:, PARENT]]
        waiting[:, OF] = number[waiting[:, OF]]
        self.replace(packed, store.slots[partials], store.events[partials], waiting)
        self.live = len(runs)

    def has_idle_keys(self) -> bool:
        """True when so many partitions came that a sweep pays, which looks at all runs and all partitions."""
        keys = self.keys
        fresh = len(keys.numbers) - keys.kept
        return self.forgets_keys and fresh > max(settings().forgotten_keys, keys.kept, self.runs // 2)

    @property
    def forgets_keys(self) -> bool:
        """True if a partition in which nothing waits is as good as new.

        Strict contiguity and sliding windows compare instants and positions with those of a run. Tumbling windows of
        EVENTS alone count on for ever, from the first event.
        """
        return int(self.tables.window[0]) != TUMBLING_EVENTS

    def forget_keys(self, others: Ints) -> Ints | None:
        """Drop the partitions in which nothing waits, except others that are named; old numbers to new ones.

        What waits is what the last sweep kept.
        """
        keys, store = self.keys, self.store
        owner = store.partials[: int(store.counts[PARTIALS]), KEY]
        used = np.union1d(owner, others) if self.forgets_keys else np.arange(len(keys.numbers))
        if len(used) == len(keys.numbers):
            keys.kept = len(used)
            return None
        number = np.zeros(len(keys.numbers), np.int32)
        number[used] = np.arange(len(used))
        keys.keep(used)
        store.partials[: len(owner), KEY] = number[owner]
        self.rebuild()
        return number

    def rebuild(self) -> None:
        """Enter all runs anew, after their ids have changed."""
        with np.errstate(over="ignore"):
            self.module.reenter(self.tables, self.store)

    def _recycled(self, partials: int, runs: int) -> Store:
        """The same arrays for new content, unless they are far too large or too small for it."""
        store = self.store
        spare = max(len(store.partials), len(store.runs)) > 16 * max(partials, runs, settings().spare_runs)
        if not self.recycle or spare or len(store.partials) < partials or len(store.runs) < runs:
            return new_store(
                self.tables,
                _room(settings().initial_runs, 2 * partials),
                _room(settings().initial_runs, 2 * runs),
            )
        store.counts[:] = 0
        return store

    def replace(self, partials: Longs, slots: Ints, events: Longs, runs: Longs) -> None:
        """Let these partials and runs be all there is, packed, and enter the runs anew."""
        self.replaced += 1
        fresh = self._recycled(len(partials), len(runs))
        fresh.partials[: len(partials)] = partials
        fresh.slots[: len(partials)] = slots
        fresh.events[: len(partials)] = events
        fresh.runs[: len(runs)] = runs
        fresh.counts[PARTIALS], fresh.counts[RUNS] = len(partials), len(runs)
        operator = self.tables.transitions[runs[:, IN], TRANSITION_OPERATOR]
        waiting = np.flatnonzero((operator == WAIT) & (runs[:, ALIVE] == 1))
        fresh.waiting[: len(waiting)] = waiting
        fresh.counts[WAITING] = len(waiting)
        self.store = fresh
        self.rebuild()


def new_candidates(tables: Tables, size: int) -> Candidates:
    """Scratch space for this many candidates."""
    assigned = tables.choices[:, CHOICE_ASSIGNS + 1] - tables.choices[:, CHOICE_ASSIGNS]
    return Candidates(
        cells=np.zeros((size, 3 + int(assigned.max(initial=0))), np.int32),
        stack=np.zeros((STACK, 4), np.float64),
    )


def _room(now: int, needed: int) -> int:
    return now if needed <= now else _power_of_two(needed)


def _resized(array: npt.NDArray[np.generic], size: int) -> npt.NDArray[np.generic]:
    if len(array) >= size:
        return array
    grown = np.zeros((size, *array.shape[1:]), array.dtype)
    grown[: len(array)] = array
    return grown
