"""Parts of a bucket: the keys of a query in a bucket, divided by their hashes once their state is large.

What waits for one key never meets what waits for another, so the state of a query may be kept in parts, and a micro-batch
needs only the parts that its events and the passing of time touch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from spaseq.model.ordered import each_once
from spaseq.model.packing import Damaged
from spaseq.planner.distribution import RouteUnit
from spaseq.spark.job import Task
from spaseq.spark.shuffle.arrow_terms import KeyHashes
from spaseq.spark.shuffle.blocks import Block, Mappings
from spaseq.spark.shuffle.routing import Ticks, Words, combined

Ints = npt.NDArray[np.int32]

DEEPEST: Final = 16
"""Bits of a hash by which keys go apart at most."""


@dataclass(frozen=True, slots=True, order=True)
class Part:
    """The keys whose hashes end in ``value``, a number of so many ``bits``; without bits, all keys."""

    bits: int = 0
    value: int = 0

    @property
    def name(self) -> str:
        """How the state store calls it."""
        return f"{self.bits}-{self.value}"

    @staticmethod
    def named(name: str) -> Part:
        """The part of a name."""
        bits, _, value = name.partition("-")
        found = Part(int(bits), int(value))
        if not 0 <= found.bits <= DEEPEST or not 0 <= found.value < 1 << found.bits or found.name != name:
            raise Damaged(f"`{name}` is not a part of a bucket")
        return found

    @property
    def halves(self) -> tuple[Part, Part]:
        """The two parts that it divides into."""
        return Part(self.bits + 1, self.value), Part(self.bits + 1, self.value | 1 << self.bits)

    @property
    def parent(self) -> Part:
        """The part of which it is a half."""
        return Part(self.bits - 1, self.value & ((1 << (self.bits - 1)) - 1))


ALL: Final = Part()


def check_cover(parts: Sequence[Part]) -> None:
    """Refuse parts that leave keys out, or overlap."""
    if sum(1 << (DEEPEST - part.bits) for part in parts) != 1 << DEEPEST or (_numbers(parts) < 0).any():
        raise Damaged("the parts of a bucket are not all of it")


def _numbers(parts: Sequence[Part]) -> Ints:
    """For every ending of a hash the number of its part."""
    found = np.full(1 << max(part.bits for part in parts), -1, np.int32)
    for number, part in enumerate(parts):
        found[part.value :: 1 << part.bits] = number
    return found


def divisible(task: Task) -> bool:
    """True if the keys of a query may be kept apart within a bucket."""
    program, routing = task.program, task.routing
    if program.operator != "automaton" or program.query.form.once:
        return False
    if routing.unit is RouteUnit.PARTITION:
        return True
    known = set(routing.variables) <= set(program.sequence.variables)
    return routing.unit is RouteUnit.KEY and routing.ticks is Ticks.NONE and known


def hashes_of(columns: Ints, hashes: KeyHashes) -> Words:
    """The hashes of keys: rows of ids, one column per variable."""
    return combined([hashes.of(column) for column in columns.T], len(columns))


def divided(
    task: Task, block: Block, ids: Ints, parts: Sequence[Part], hashes: KeyHashes
) -> Iterator[tuple[Part, Block]]:
    """What a block brings to each of the parts that it concerns; ``ids`` are those of its terms."""
    if len(parts) == 1:
        yield parts[0], block
        return
    numbers = _numbers(parts)

    def places(keys: Ints) -> Ints:
        found: Ints = numbers[hashes_of(keys, hashes) & np.uint64(len(numbers) - 1)]
        return found

    if task.routing.unit is RouteUnit.PARTITION:
        pairs = places(ids[block.pairs.terms])
        for number in each_once(pairs).tolist():
            own = replace(block, pairs=_taken(block.pairs, pairs == number))
            yield parts[number], own.take(each_once(own.pairs.event))
        return
    rows = []
    for gpm, columns in zip(block.gpms, task.columns, strict=True):
        wanted = [columns.index(name) for name in task.routing.variables]
        rows.append(places(ids[gpm.terms[:, wanted]]))
    for number in each_once(np.concatenate(rows)).tolist():
        gpms = tuple(_taken(gpm, place == number) for gpm, place in zip(block.gpms, rows, strict=True))
        events = each_once(np.concatenate([gpm.event for gpm in gpms]))
        yield parts[number], replace(block, gpms=gpms).take(events)


def _taken(rows: Mappings, which: npt.NDArray[np.bool_]) -> Mappings:
    return Mappings(rows.event[which], rows.terms[which])
