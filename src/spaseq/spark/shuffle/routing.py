"""Which bucket a mapping row goes to: rows that can join must be in one bucket (semantics 1.9).

A bucket is a place of the sequence stage. Keys are hashed into buckets, and so are stretches of time where a query has a
window: each key and each stretch is evaluated as if it were alone. For tumbling windows a stretch is a window; an event on a
boundary belongs to two. For sliding windows, of a finite input, it is a slice of several windows, and one window more on either
side of it, whose rows the neighbours have as well. A match is reported where the stretch of its start is at home
(`Routing.home`), hence once: there are all events that it can depend on.

The evaluations of a continuous query go apart by stretches too, each with the rows that came in it and shortly before; stretches
are then closed at their end, as windows are.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

from spaseq.model.ordered import each_once, numbered_in_row
from spaseq.planner.distribution import RouteUnit
from spaseq.planner.program import Program
from spaseq.settings import settings

Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]

_WORD: Final = 0xFFFF_FFFF


class Ticks(Enum):
    """What the sequence stage must know of events that match nothing."""

    NONE = "none"
    INSTANTS = "instants"
    """Which instants exist: ``,`` asks what lies between."""
    EVENTS = "events"
    """Every event: a window counted in EVENTS numbers them."""


@dataclass(frozen=True, slots=True)
class Targets:
    """Rows and the buckets they go to; a row may stand here twice."""

    row: npt.NDArray[np.intp]
    bucket: Ints


@dataclass(frozen=True, slots=True)
class Routing:
    """The distribution of one query over ``buckets`` buckets."""

    unit: RouteUnit
    variables: tuple[str, ...]
    ticks: Ticks
    buckets: int
    salt: int = 0
    """Different for the queries of one job, so that they do not all begin in one bucket."""
    size: int = 0
    """The length of stretches of time that go apart, 0 if there are none."""
    origin: int = 0
    from_origin: bool = False
    """True if events before the origin do not take part."""
    reach: int = 0
    """How far around its stretch a match may depend on events: the length of a sliding window."""
    groups: int = 0
    """Into how many groups keys go if each must hear of all instants: what is told must not grow with the buckets."""

    @property
    def keyed(self) -> bool:
        """True if rows are distributed by key."""
        return self.unit is not RouteUnit.WHOLE

    @property
    def by_key_alone(self) -> bool:
        """True if the value of one variable says where a row goes, whatever its time."""
        return len(self.variables) == 1 and not self.size and self.unit is not RouteUnit.PARTITION

    @property
    def everywhere(self) -> bool:
        """True if instants matter in all buckets, whatever rows they have."""
        return self.unit in (RouteUnit.KEY_AND_TICKS, RouteUnit.EVALUATION)

    def targets(self, hashes: Words, times: Longs) -> Targets:
        """The buckets of rows with these hashes of their keys; the rows of one instant stay in order."""
        rows, stretches = self._stretches(times)
        bucket = self._bucket(hashes[rows], stretches)
        return self._once(rows, bucket, len(times))

    def tick_targets(self, times: Longs) -> Targets:
        """The buckets that must receive these instants, which are in order."""
        if not self.everywhere:
            return self.targets(no_key(len(times)), times)
        if not self.groups:
            return self._with_ends(times)
        rows, stretches = self._stretches(times)
        known, which = np.unique(stretches, return_inverse=True)
        groups = np.arange(self.groups, dtype=np.uint64)
        buckets = self._bucket(np.tile(groups, len(known)), np.repeat(known, self.groups))
        found = buckets.reshape(-1, self.groups)[which].ravel()
        copies = np.repeat(np.arange(len(rows)), self.groups)
        return self._once(rows[copies], found, len(times))

    def _with_ends(self, times: Longs) -> Targets:
        """Where the rows of these instants go; the first and the last one to every bucket: evaluations begin and end with them."""
        own = self.targets(no_key(len(times)), times)
        ends = each_once(np.array([0, len(times) - 1], np.intp)[: len(times)])
        inner = ~np.isin(own.row, ends)
        rows = np.concatenate([own.row[inner], np.repeat(ends, self.buckets)])
        every = np.tile(np.arange(self.buckets, dtype=np.int32), len(ends))
        order = np.argsort(rows, kind="stable")
        return Targets(rows[order], np.concatenate([own.bucket[inner], every])[order])

    def _stretches(self, times: Longs) -> tuple[npt.NDArray[np.intp], Longs]:
        """Every row with each of the stretches of time that it belongs to."""
        if not self.size:
            return np.arange(len(times)), np.zeros(len(times), np.int64)
        first, last = self._around(times)
        count = last - first + 1
        rows = np.repeat(np.arange(len(times)), count)
        return rows, first[rows] + numbered_in_row(count)

    def _around(self, times: Longs) -> tuple[Longs, Longs]:
        """The first and the last stretch that the rows of each instant belong to; none if the first is later."""
        if self.unit is RouteUnit.EVALUATION:
            return self._stretch(times), self._stretch(times + self.reach)
        since = times - self.origin
        first, last = -((self.reach - since) // self.size) - 1, (since + self.reach) // self.size
        if self.from_origin:
            first = np.where(since < 0, last + 1, np.maximum(first, 0))
        return first, last

    def _once(self, rows: npt.NDArray[np.intp], bucket: Ints, count: int) -> Targets:
        """Rows and buckets without repetition: two stretches may share a bucket."""
        if self.size == 0 or len(rows) == count:
            return Targets(rows, bucket)
        # Rows are in order; only the few that stand here several times are sorted by bucket.
        same = np.zeros(len(rows) + 1, np.bool_)
        same[1:-1] = rows[1:] == rows[:-1]
        several = np.flatnonzero(same[1:] | same[:-1])
        bucket = bucket.copy()
        bucket[several] = bucket[several][np.lexsort((bucket[several], rows[several]))]
        fresh = np.ones(len(rows), np.bool_)
        fresh[1:] = ~same[1:-1] | (bucket[1:] != bucket[:-1])
        return Targets(rows[fresh], bucket[fresh])

    def at_border(self, starts: Longs) -> npt.NDArray[np.bool_]:
        """At which starts a match may be found in several buckets: where the rows of its first event are in several.

        Rows without a key that go everywhere may be in any.
        """
        if not self.size or self.everywhere:
            return np.ones(len(starts), np.bool_)
        first, last = self._around(starts)
        found: npt.NDArray[np.bool_] = first != last
        return found

    def home(self, hashes: Words, starts: Longs) -> Ints:
        """The bucket that reports matches with these keys and starts."""
        stretch = self._stretch(starts) if self.size else np.zeros(len(starts), np.int64)
        return self._bucket(hashes, stretch)

    def _stretch(self, instants: Longs) -> Longs:
        """The stretch of time of every instant."""
        closed = 1 if self.unit is RouteUnit.EVALUATION else 0
        return (instants - self.origin - closed) // self.size

    def _bucket(self, hashes: Words, stretches: Longs) -> Ints:
        salt, buckets = np.uint64(self.salt & 0xFFFF_FFFF_FFFF_FFFF), np.uint64(self.buckets)
        places = _mixed(stretches.astype(np.uint64) ^ _mixed(np.array([salt], np.uint64)))
        if self.groups:
            return side_by_side(self.buckets)[(places % buckets + hashes % np.uint64(self.groups)) % buckets]
        return (_mixed(hashes ^ places) % buckets).astype(np.int32)


def routing_of(
    program: Program, buckets: int, salt: int = 0, *, streaming: bool = False, one_place: bool = False
) -> Routing:
    """How the compiler's `Distribution` is carried out; ``one_place`` keeps all rows together.

    The routes of an endless input are part of its checkpoint: they may never change.
    """
    how = program.query.distribution
    unit = RouteUnit.WHOLE if one_place and how.unit is not RouteUnit.PARTITION else how.unit
    if unit is RouteUnit.EVALUATION and streaming:
        unit = RouteUnit.WHOLE
    many = not streaming and buckets > settings().tick_groups
    if many and unit is RouteUnit.KEY_AND_TICKS and how.stretches is not None:
        unit = RouteUnit.EVALUATION  # keys would go in groups, and leave the other buckets without work
    if program.counts_events:
        ticks = Ticks.EVENTS
    elif program.counts_instants:
        ticks = Ticks.INSTANTS
    else:
        ticks = Ticks.NONE
    if one_place:
        return Routing(unit, how.variables, ticks, 1, salt)
    if unit is RouteUnit.EVALUATION:
        assert how.stretches is not None
        length, reach, origin = how.stretches.length, how.stretches.reach, how.stretches.origin
        size = length * settings().slice_ranges if reach else length
        return Routing(unit, (), ticks, buckets, salt, size, origin, reach=reach)
    window, start = program.window_time
    groups = 0
    if unit is RouteUnit.KEY_AND_TICKS:
        groups = min(GROUPS if streaming else settings().tick_groups, buckets)
    if how.by_slice and not streaming:
        size = window * settings().slice_windows
        return Routing(unit, how.variables, ticks, buckets, salt, size, reach=window, groups=groups)
    size = window if how.by_window else 0
    return Routing(unit, how.variables, ticks, buckets, salt, size, start or 0, start is not None, 0, groups)


def no_key(count: int) -> Words:
    """The hashes of rows without a key."""
    return np.zeros(count, np.uint64)


def combined(parts: list[Words], count: int) -> Words:
    """One hash of several columns."""
    total = no_key(count)
    for part in parts:
        total = _mixed(total ^ part)
    return total


def _mixed(words: Words) -> Words:
    """The finaliser of splitmix64: every bit of the input moves every bit of the output."""
    with np.errstate(over="ignore"):
        words = (words + np.uint64(0x9E3779B97F4A7C15)).astype(np.uint64)
        words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return words ^ (words >> np.uint64(31))


# --- the numbers of buckets, so that Spark spreads them evenly over the partitions of the state store ------------


GROUPS: Final = 8
"""Of an endless input, over how many buckets the keys of a query go that must hear of all instants: as fixed as the buckets."""
BUCKETS: Final = 64
"""The default for endless inputs: a fixed number, since a checkpoint must find it again in any session."""


def bucket_places(buckets: int) -> tuple[int, ...]:
    """The key of every bucket in the state store, chosen so that Spark's partitions are even if they divide the buckets.

    Keys follow from the number of buckets alone: Spark keeps the number of partitions that a checkpoint began with,
    whatever the session of a restart says. The first key is always 0, so a run with another number of buckets finds the
    state of at least one bucket, which refuses it.
    """
    places: dict[int, int] = {}
    number = 0
    while len(places) < buckets:
        places.setdefault(spark_partition(number, buckets), number)
        number += 1
    return tuple(places.values())


@cache
def side_by_side(buckets: int) -> Ints:
    """All buckets in such an order that those which follow each other are in different partitions of the state store."""
    partitions = [spark_partition(place, buckets) for place in bucket_places(buckets)]
    return np.argsort(partitions).astype(np.int32)


def spark_partition(number: int, partitions: int) -> int:
    """The partition of an int key: Murmur3 with seed 42, modulo the number of partitions."""
    value = spark_hash(number)
    return (value - (1 << 32) if value >= 1 << 31 else value) % partitions


def spark_hash(number: int) -> int:
    """Spark's ``hash(int)`` as an unsigned word."""
    mixed = (number & _WORD) * 0xCC9E2D51 & _WORD
    mixed = _rotated(mixed, 15) * 0x1B873593 & _WORD
    value = _rotated(42 ^ mixed, 13) * 5 + 0xE6546B64 & _WORD
    value ^= 4
    value = (value ^ (value >> 16)) * 0x85EBCA6B & _WORD
    value = (value ^ (value >> 13)) * 0xC2B2AE35 & _WORD
    return value ^ (value >> 16)


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> (32 - bits)) & _WORD
