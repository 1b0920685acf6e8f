"""Names for buckets that Spark spreads evenly: one bucket per partition of the state store."""

from __future__ import annotations

from typing import Final

_WORD: Final = 0xFFFF_FFFF


def bucket_places(buckets: int, partitions: int) -> tuple[int, ...]:
    """A number per bucket, so that Spark's hash partitioning gives no partition two before all have one."""
    places: list[int] = []
    taken = [0] * partitions
    number = 0
    while len(places) < buckets:
        partition = spark_partition(number, partitions)
        if taken[partition] == min(taken):
            taken[partition] += 1
            places.append(number)
        number += 1
    return tuple(places)


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
