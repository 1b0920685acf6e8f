"""What a user asks a generator for, and the randomness it may use."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Final

from spaseq.errors import InvalidArgument

_WORD: Final = 0xFFFF_FFFF_FFFF_FFFF


@dataclass(frozen=True, slots=True)
class Plan:
    """So many events from a seed.

    ``keys`` is the number of companies, houses, cards, segments, vessels or universities; ``start`` the first
    instant and ``interval`` the time from one event to the next (for traffic: from one round of readings to the
    next), in milliseconds. With ``jitter`` each comes up to so many milliseconds after its turn, at random.
    ``background_triples`` asks for a background graph of at least that size.
    """

    events: int
    seed: int
    keys: int
    start: int
    interval: int
    background_triples: int = 0
    jitter: int = 0

    def __post_init__(self) -> None:
        lower = {"events": 0, "keys": 1, "interval": 1, "background_triples": 0, "jitter": 0}
        for name, least in lower.items():
            value = getattr(self, name)
            if value < least:
                raise InvalidArgument(f"`{name}` must be at least {least}, not {value}")

        if self.jitter > self.interval:
            raise InvalidArgument(
                f"`jitter` must be at most `interval`, {self.interval}, not {self.jitter}: events are in order of time"
            )

    def instant(self, number: int) -> int:
        """The instant of an event, or of a round of readings, in milliseconds."""
        due = self.start + number * self.interval
        return due + _mixed(self.seed, number) % self.jitter if self.jitter else due

    def settings(self, keys_are: str) -> dict[str, object]:
        """The plan as the manifest has it."""
        return {
            "events": self.events,
            "seed": self.seed,
            keys_are: self.keys,
            "start_ms": self.start,
            "interval_ms": self.interval,
            "background_triples": self.background_triples,
            **({"jitter_ms": self.jitter} if self.jitter else {}),
        }


def _mixed(seed: int, number: int) -> int:
    """A number that looks like chance, the same on every machine: the finaliser of splitmix64."""
    word = (seed * 0x9E3779B97F4A7C15 + number) & _WORD
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & _WORD
    word = (word ^ word >> 27) * 0x94D049BB133111EB & _WORD
    return word ^ word >> 31


class Dice:
    """Random numbers that are the same for a seed on every machine and version.

    Only `Random.random` is used, whose sequence Python guarantees, and everything else is integers.
    """

    def __init__(self, seed: int) -> None:
        self.random = Random(seed).random

    def below(self, bound: int) -> int:
        """An integer from 0 to ``bound - 1``."""
        return int(self.random() * bound)

    def between(self, least: int, most: int) -> int:
        """An integer from ``least`` to ``most``, both included."""
        return least + int(self.random() * (most - least + 1))

    def chance(self, percent: float) -> bool:
        """True in so many of a hundred cases."""
        return self.random() * 100 < percent
