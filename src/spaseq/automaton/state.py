"""The state of a sequence program: partial matches and runs as columns that grow and shrink in bulk.

Arrays are allocated in bulk and reused (the paper's memory management, section 7.2.3). Nothing is freed
run by run: when as much is dead as alive, one sweep keeps what lives and packs it together.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import ModuleType
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from spaseq.automaton import kernels
from spaseq.automaton.conditions import MAX_DEPTH
from spaseq.automaton.sequence_program import NEXT, STRICT, WAIT
from spaseq.automaton.tables import (
    ALIVE,
    BEFORE,
    BLOCKED,
    CHOICE_ASSIGNS,
    CHOICE_BEGINS,
    CHOICE_RECALLS,
    COUNT,
    DEAD,
    DEADLINE,
    ENTRY,
    IN,
    KEY,
    LOW,
    MATCHES,
    MOST,
    NEVER,
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
    RunStore,
    Tables,
)
from spaseq.model.budget import Budget
from spaseq.model.ordered import each_once
from spaseq.model.packing import Damaged, Field
from spaseq.settings import settings
from spaseq.temporal.instants import BEFORE_ALL

STACK = MAX_DEPTH + 8
_GROWTHS: Final = (2.0, 1.5, 1.25, 1.125)
"""By how much arrays grow: as much as the budget allows."""


def wrapping() -> np.errstate:
    """Around calls of kernels: the hash of the interpreted tier wraps around on purpose."""
    return np.errstate(over="ignore")


def new_store(tables: Tables, partials: int | None = None, runs: int | None = None) -> RunStore:
    """An empty store with capacity for this many partials and runs."""
    partials = settings().initial_runs if partials is None else partials
    runs = settings().initial_runs if runs is None else runs
    slots, tracks, counters, loops, width, shift = (int(size) for size in tables.sizes[: SHIFT + 1])
    subs = 1 << shift
    return RunStore(
        counts=np.zeros(5, np.int64),
        partials=np.zeros((partials, DEADLINE + 1), np.int64),
        slots=np.zeros((partials, max(slots + tracks + counters + loops, 1)), np.int32),
        events=np.full((partials, width), -1, np.int64),
        runs=np.zeros((runs, UNTIL + 1), np.int64),
        entries=np.full(runs * subs, -1, np.int32),
        buckets=np.full(_power_of_two(runs * subs), -1, np.int32),
        matches=np.zeros((matches_for(tables, runs), 2), np.int64),
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
    """How many there were when some were last removed."""

    @property
    def nbytes(self) -> int:
        """About how much all of it takes: arrays, and per key a tuple of numbers in a dict."""
        longs = (self.time, self.ordinal, self.floor, self.position, self.skipped)
        per_key = 180 + 40 * int(self.values.shape[1])
        return sum(array.nbytes for array in longs) + self.values.nbytes + len(self.numbers) * per_key

    def number(self, key: tuple[int, ...]) -> int:
        """The number of a key, new if it is."""
        known = self.numbers.get(key)
        if known is not None:
            return known
        known = self.numbers[key] = len(self.numbers)
        if known >= len(self.time):
            room = max(settings().initial_runs, 2 * len(self.time))
            self.time = _longer(self.time, room, BEFORE_ALL)
            self.ordinal = _longer(self.ordinal, room, 0)
            self.floor = _longer(self.floor, room, 0)
            self.position = _longer(self.position, room, 0)
            self.skipped = _longer(self.skipped, room, BEFORE_ALL)
            self.values = np.resize(self.values, (room, len(key)))
        self.values[known] = key
        return known

    @property
    def rows(self) -> Longs:
        """How far time has come in every partition: a row of `KEY_FIELDS`."""
        count = len(self.numbers)
        columns = [self.time, self.ordinal, self.floor, self.position, self.skipped]
        return np.stack(columns, axis=1)[:count]

    def fill(self, keys: Ints, rows: Longs) -> None:
        """Let these be all partitions, in this order."""
        for key in keys.tolist():
            self.number(tuple(key))
        if len(self.numbers) != len(keys):
            raise Damaged("a partition is there twice")
        self.time[: len(keys)], self.ordinal[: len(keys)] = rows[:, 0], rows[:, 1]
        self.floor[: len(keys)], self.position[: len(keys)] = rows[:, 2], rows[:, 3]
        self.skipped[: len(keys)] = rows[:, 4]

    def keep(self, used: npt.NDArray[np.integer]) -> None:
        """Remove all partitions but these (ascending numbers), which get the numbers 0, 1, …"""
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


KEY_WIDTH: Final = 5
KEY_FIELDS: Final[dict[str, Field]] = {
    "keys": Field(np.int32, ("keys", "partition"), (0, "ids")),
    "key_rows": Field(np.int64, ("keys", KEY_WIDTH), columns={1: COUNT, 2: COUNT, 3: COUNT}),
}
"""What saved partitions must be like: the ids of their keys; time, ordinal, floor, position and the instant skipped to."""


def _longer(array: Longs, size: int, fill: int) -> Longs:
    grown = np.full(size, fill, np.int64)
    grown[: len(array)] = array
    return grown


@dataclass(slots=True)
class Memory:
    """A store with its scratch space, and the rules for growing and sweeping it."""

    tables: Tables
    store: RunStore
    found: Candidates
    keys: Keys
    live: int = 0
    """Runs that the last sweep kept."""
    kept: int = 0
    """Partials that there were after all were last renumbered."""
    peak: int = 0
    """The most runs that ever waited at one time, expired ones between two sweeps included."""
    replaced: int = 0
    """How often all partials and runs were renumbered; in between they are only added to."""
    recycle: bool = True
    """Whether arrays are used again after a sweep."""
    module: ModuleType = kernels
    """The tier of kernels in use."""
    deadlines: tuple[int, int] = (0, NEVER)
    """How many waiting runs were looked at, and the first of their deadlines."""
    mark: tuple[int, int, int] = (0, 0, 0)
    """Partials, runs and renumberings at the last `release`."""
    budget: Budget = field(default_factory=Budget)

    @staticmethod
    def of(tables: Tables, budget: Budget | None = None) -> Memory:
        store = new_store(tables)
        found = new_candidates(tables, len(store.runs))
        return Memory(tables, store, found, Keys(), budget=budget or Budget())

    @property
    def runs(self) -> int:
        """Runs that wait, some of them perhaps expired."""
        return int(self.store.counts[RUNS] - self.store.counts[DEAD])

    @property
    def matches(self) -> int:
        """Matches that were found and not taken."""
        return int(self.store.counts[MATCHES])

    @property
    def nbytes(self) -> int:
        """The size of the arrays that grow."""
        return sum(array.nbytes for array in self.store) - self.store.matches.nbytes

    def needs_sweep(self) -> bool:
        """True when at least as many runs, or partials, came since the last sweep as it kept."""
        counts, least, cells = self.store.counts, settings().swept_runs, len(self.found.cells)
        runs = int(counts[RUNS]) + cells * int(self.tables.sizes[MOST])
        return bool(runs > 2 * self.live + least or counts[PARTIALS] + cells > 2 * (self.kept + least))

    def release(self) -> None:
        """Drop the partials since the last call if no run came with them: only matches, now taken, rested on them."""
        counts = self.store.counts
        partials, runs, replaced = self.mark
        if replaced == self.replaced and runs == counts[RUNS]:
            counts[PARTIALS] = partials
        self.mark = int(counts[PARTIALS]), int(counts[RUNS]), self.replaced

    def first_deadline(self) -> int:
        """A time at or before the first deadline of the runs that wait for the end of their window."""
        store = self.store
        known, first = self.deadlines
        count = int(store.counts[WAITING])
        if known < count:
            fresh = store.waiting[known:count]
            first = min(first, int(store.runs[fresh, UNTIL].min()))
            self.deadlines = count, first
        return first

    def make_room(self, *, spare: bool = False) -> bool:
        """Grow what is too small for one more portion of candidates; False if the budget does not allow it.

        ``spare`` asks for an eighth of free space: with less, sweeps would follow each other.
        """
        store, cells = self.store, len(self.found.cells)
        most = cells * int(self.tables.sizes[MOST])
        now = len(store.partials), len(store.runs), len(store.waiting)
        used = (int(store.counts[column]) for column in (PARTIALS, RUNS, WAITING))
        needed = [
            count + max(more, size // 8 if spare else 0)
            for count, more, size in zip(used, (cells, most, most), now, strict=True)
        ]
        if all(need <= size for need, size in zip(needed, now, strict=True)):
            return True
        for growth in _GROWTHS:
            sizes = [
                size if need <= size else max(need, _larger(size, growth))
                for need, size in zip(needed, now, strict=True)
            ]
            # While they are small all grow together: the others would follow soon, each with a copy of everything.
            least = min(max(sizes), settings().swept_runs) if growth == _GROWTHS[0] else 0
            sizes = [max(size, least) for size in sizes]
            if self.budget.fits(self._cost(*sizes)):
                self._resize(*sizes)
                return True
        return False

    def _cost(self, partials: int, runs: int, waiting: int) -> int:
        """The bytes that larger arrays take, with the copy of the largest one while it grows."""
        store, subs = self.store, 1 << int(self.tables.sizes[SHIFT])
        new = partials * sum(array[:1].nbytes for array in (store.partials, store.slots, store.events))
        new += runs * (store.runs[:1].nbytes + 4 * subs) + 4 * _power_of_two(runs * subs) + 4 * waiting
        return new - self.nbytes + max(array.nbytes for array in store)

    def _resize(self, partials: int, runs: int, waiting: int) -> None:
        """Longer arrays, one by one, so that no more than one is there twice."""
        subs = 1 << int(self.tables.sizes[SHIFT])
        rehash = runs != len(self.store.runs)
        lengths = {
            "partials": partials,
            "slots": partials,
            "events": partials,
            "runs": runs,
            "entries": runs * subs,
            "matches": matches_for(self.tables, runs),
            "waiting": waiting,
        }
        for name, length in lengths.items():
            longer: Any = _resized(getattr(self.store, name), length)
            self.store = self.store._replace(**{name: longer})
        if rehash:
            self.store = self.store._replace(buckets=np.empty(_power_of_two(runs * subs), np.int32))
            self._fit_candidates(runs)
            self.rebuild()

    # --- removal -------------------------------------------------------------------------------

    def alive(self, time: int, *, counted: bool) -> npt.NDArray[np.bool_]:
        """Which runs an event at this time or later may still concern.

        ``counted`` says that the counts of instants and positions stand at this time; in the middle of a
        batch they stand at its end already, and say nothing.
        """
        store, tables = self.store, self.tables
        runs = store.runs[: int(store.counts[RUNS])]
        operator = tables.transitions[runs[:, IN], TRANSITION_OPERATOR]
        waits, until = operator == WAIT, runs[:, UNTIL]
        alive = (runs[:, ALIVE] == 1) & (waits | (until >= time))
        alive &= np.where(waits, runs[:, BLOCKED] > until, runs[:, BLOCKED] >= time)
        alive &= (operator != NEXT) | (runs[:, USED] >= time)
        if not counted:
            return np.asarray(alive, np.bool_)
        owner = runs[:, OF]
        key = store.partials[owner, KEY]
        alive &= (operator != STRICT) | (self.keys.ordinal[key] <= store.partials[owner, ORDINAL] + 1)
        kind, size = int(tables.window[0]), int(tables.window[1])
        if kind == SLIDING_EVENTS:
            alive &= self.keys.floor[key] - store.partials[owner, LOW] < size
        elif kind == TUMBLING_EVENTS:
            alive &= self.keys.floor[key] // size == store.partials[owner, LOW] // size
        return np.asarray(alive, np.bool_)

    def sweep(self, time: int, *, counted: bool = True) -> None:
        """Keep the runs that live, and the partials that they and the matches not yet taken rest on."""
        store = self.store
        runs = np.flatnonzero(self.alive(time, counted=counted))
        matches = store.matches[: int(store.counts[MATCHES]), 0]
        keep = np.zeros(int(store.counts[PARTIALS]), np.bool_)
        keep[store.runs[runs, OF]] = True
        keep[matches] = True
        self.module.mark(store, keep)
        partials = np.flatnonzero(keep)
        number = np.cumsum(keep) - 1
        for array in (store.partials, store.slots, store.events):
            _pack(array, partials)
        _pack(store.runs, runs)
        parents, owners = store.partials[: len(partials), PARENT], store.runs[: len(runs), OF]
        parents[:] = np.where(parents < 0, -1, number[parents])
        owners[:] = number[owners]
        matches[:] = number[matches]
        self._follow(runs)
        self._settle(len(partials), len(runs))
        self.live = len(runs)

    def _follow(self, kept: npt.NDArray[np.intp]) -> None:
        """Let a cursor in the middle of a row point to the same run, or to the next one that was kept."""
        cursor, shift = self.found.cursor, int(self.tables.sizes[SHIFT])
        run = int(cursor[ENTRY]) >> shift
        number = int(np.searchsorted(kept, run))
        if number < len(kept) and kept[number] == run:
            cursor[ENTRY] += (number - run) << shift
        else:
            cursor[ENTRY] = (number << shift) - 1

    def has_idle_keys(self) -> bool:
        """True when so many partitions came that a sweep pays, which looks at all runs and all partitions."""
        keys = self.keys
        fresh = len(keys.numbers) - keys.kept
        return self.forgets_keys and fresh > max(settings().forgotten_keys, keys.kept, self.runs // 2)

    @property
    def forgets_keys(self) -> bool:
        """True if a partition in which nothing waits is as good as new.

        Strict contiguity and sliding windows compare instants and positions with those of a run. Tumbling windows of
        EVENTS alone never end: they count from the first event.
        """
        return int(self.tables.window[0]) != TUMBLING_EVENTS

    def forget_keys(self, others: Ints) -> Ints | None:
        """Drop the partitions in which nothing waits, except others that are named; old numbers to new ones.

        What waits is what the last sweep kept.
        """
        keys, store = self.keys, self.store
        owner = store.partials[: int(store.counts[PARTIALS]), KEY]
        used = (
            each_once(np.concatenate([owner, others])) if self.forgets_keys else np.arange(len(keys.numbers))
        )
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
        """Enter all runs again, after their ids have changed."""
        self.found.cursor[BEFORE] = -1
        with wrapping():
            self.module.reenter(self.tables, self.store)

    def replace(self, partials: Longs, slots: Ints, events: Longs, runs: Longs) -> None:
        """Replace all partials and runs by these, packed, and enter the runs again."""
        if len(self.store.partials) < len(partials) or len(self.store.runs) < len(runs):
            self.store = self._new_store(len(partials), len(runs))
        self._fill(partials, slots, events, runs)
        self._settle(len(partials), len(runs))

    def _settle(self, partials: int, runs: int) -> None:
        """Let the first partials and runs be all there is; arrays that are far too large are given back."""
        self.replaced += 1
        self.kept = partials
        old = self.store
        spare = max(len(old.partials), len(old.runs)) > 16 * max(partials, runs, settings().spare_runs)
        if spare or not self.recycle:
            self.store = self._new_store(partials, runs)
            self._fill(old.partials[:partials], old.slots[:partials], old.events[:partials], old.runs[:runs])
            self.store = self.store._replace(matches=old.matches)
        store = self.store
        store.counts[:] = partials, runs, old.counts[MATCHES], 0, 0
        kept = store.runs[:runs]
        operator = self.tables.transitions[kept[:, IN], TRANSITION_OPERATOR]
        waiting = np.flatnonzero((operator == WAIT) & (kept[:, ALIVE] == 1))
        store.waiting[: len(waiting)] = waiting
        store.counts[WAITING] = len(waiting)
        self.deadlines = 0, NEVER
        self.rebuild()

    def _new_store(self, partials: int, runs: int) -> RunStore:
        """A store of twice the capacity."""
        least = settings().initial_runs
        store = new_store(self.tables, _room(least, 2 * partials), _room(least, 2 * runs))
        self._fit_candidates(len(store.runs))
        return store

    def _fill(self, partials: Longs, slots: Ints, events: Longs, runs: Longs) -> None:
        store = self.store
        store.partials[: len(partials)] = partials
        store.slots[: len(partials)] = slots
        store.events[: len(partials)] = events
        store.runs[: len(runs)] = runs

    def _fit_candidates(self, runs: int) -> None:
        """As many cells as suit this many runs; the cursor stays."""
        if len(self.found.cells) != cells_for(self.tables, runs):
            self.found = new_candidates(self.tables, runs)._replace(cursor=self.found.cursor)


def cells_for(tables: Tables, runs: int) -> int:
    """The size of a portion of candidates: enough for those that have no run yet, and for one that has."""
    choices = tables.choices
    begins = choices[:, CHOICE_BEGINS + 1] - choices[:, CHOICE_BEGINS]
    recalls = choices[:, CHOICE_RECALLS + 1] - choices[:, CHOICE_RECALLS]
    least = int((begins + recalls).max()) + 1
    return max(least, min(settings().collected_runs, runs // (4 * int(tables.sizes[MOST]))))


def matches_for(tables: Tables, runs: int) -> int:
    """A buffer for the matches of a slice, and of the portion that completes it."""
    return settings().slice_matches + int(tables.sizes[MOST]) * cells_for(tables, runs)


def new_candidates(tables: Tables, runs: int) -> Candidates:
    """Scratch space for a portion of candidates, for a store of this many runs."""
    assigned = tables.choices[:, CHOICE_ASSIGNS + 1] - tables.choices[:, CHOICE_ASSIGNS]
    return Candidates(
        cells=np.zeros((cells_for(tables, runs), 3 + int(assigned.max(initial=0))), np.int32),
        cursor=np.array([-1, 0, -1, 0], np.int64),
        stack=np.zeros((STACK, 4), np.float64),
    )


def _pack(array: npt.NDArray[Any], kept: npt.NDArray[np.intp]) -> None:
    """Move these rows, in ascending order, to the front; some at a time, so that no copy is large."""
    size = settings().packed_rows
    for at in range(0, len(kept), size):
        rows = kept[at : at + size]
        array[at : at + len(rows)] = array[rows]


def _room(now: int, needed: int) -> int:
    return now if needed <= now else _power_of_two(needed)


def _larger(size: int, growth: float) -> int:
    """A larger capacity; up to where sweeps begin it grows eightfold, since all runs are entered again each time."""
    fast = growth == _GROWTHS[0] and 8 * size <= settings().swept_runs
    return 8 * size if fast else int(size * growth)


def _resized(array: npt.NDArray[np.generic], size: int) -> npt.NDArray[np.generic]:
    if len(array) >= size:
        return array
    grown = np.zeros((size, *array.shape[1:]), array.dtype)
    grown[: len(array)] = array
    return grown
