"""Which bucket a mapping row goes to: rows that can join must be in one bucket (semantics 1.9).

A bucket is a place of the sequence stage. Keys are hashed into buckets, and so are the tumbling windows of
a query that has them: each key and each window is evaluated as if it were alone. An event on a boundary
belongs to two windows, so its rows go to the buckets of both; a match is reported where the window of its
start is at home (`Routing.owned`), hence once.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

import numpy as np
import numpy.typing as npt

from spaseq.planner.distribution import RouteUnit
from spaseq.planner.program import Program

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
    """The length of tumbling windows that go apart, 0 if there are none."""
    origin: int = 0
    from_origin: bool = False
    """True if events before the origin do not take part."""

    @property
    def keyed(self) -> bool:
        """True if rows are distributed by key."""
        return self.unit is not RouteUnit.WHOLE

    def targets(self, hashes: Words, times: Longs) -> Targets:
        """The buckets of rows with these hashes of their keys."""
        rows = np.arange(len(times))
        if self.from_origin:
            rows = rows[times >= self.origin]
        window = self._windows(times[rows])
        bucket = self._bucket(hashes[rows], window)
        if not self.size:
            return Targets(rows, bucket)
        border = (times[rows] - self.origin) % self.size == 0
        if self.from_origin:
            border &= times[rows] > self.origin
        before = np.flatnonzero(border)
        earlier = self._bucket(hashes[rows[before]], window[before] - 1)
        elsewhere = earlier != bucket[before]
        return Targets(
            np.concatenate([rows, rows[before[elsewhere]]]), np.concatenate([bucket, earlier[elsewhere]])
        )

    def tick_targets(self, times: Longs) -> Targets:
        """The buckets that must receive these instants."""
        if self.unit is not RouteUnit.KEY_AND_TICKS:
            return self.targets(no_key(len(times)), times)
        everywhere = np.arange(self.buckets, dtype=np.int32)
        return Targets(np.repeat(np.arange(len(times)), self.buckets), np.tile(everywhere, len(times)))

    def home(self, hashes: Words, starts: Longs) -> Ints:
        """The bucket that reports matches with these keys and starts."""
        return self._bucket(hashes, self._windows(starts))

    def _windows(self, times: Longs) -> Longs:
        return (times - self.origin) // self.size if self.size else np.zeros(len(times), np.int64)

    def _bucket(self, hashes: Words, windows: Longs) -> Ints:
        salt = np.uint64(self.salt & 0xFFFF_FFFF_FFFF_FFFF)
        mixed = _mixed(hashes ^ _mixed(windows.astype(np.uint64) ^ _mixed(np.array([salt], np.uint64))))
        return (mixed % np.uint64(self.buckets)).astype(np.int32)


def routing_of(program: Program, buckets: int, salt: int = 0, *, one_place: bool = False) -> Routing:
    """How the compiler's `Distribution` is carried out; ``one_place`` keeps all rows together."""
    how = program.query.distribution
    unit = RouteUnit.WHOLE if one_place and how.unit is not RouteUnit.PARTITION else how.unit
    if program.counts_events:
        ticks = Ticks.EVENTS
    elif program.counts_instants:
        ticks = Ticks.INSTANTS
    else:
        ticks = Ticks.NONE
    size, start = program.window_time
    if not how.by_window or one_place:
        size = 0
    buckets = 1 if one_place else buckets
    return Routing(unit, how.variables, ticks, buckets, salt, size, start or 0, start is not None)


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
