"""In which order views are joined: one after the other, so that what is found on the way, and kept, is little."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from spaseq.model.ordered import each_once

GAIN: Final = 2.0
"""How many times less another order must promise to cost."""

Order = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Statistics:
    """What is known of the rows of a view, or of a join: how many there are, and how many values each variable has."""

    rows: float
    values: dict[str, float]

    @staticmethod
    def of(columns: Mapping[str, npt.NDArray[np.int32]], count: int) -> Statistics:
        """Those of some rows."""
        return Statistics(count, {name: len(each_once(column)) for name, column in columns.items()})

    def joined(self, other: Statistics) -> Statistics:
        """Those of a join, if values are spread evenly and those of the smaller side occur in the other."""
        rows = self.rows * other.rows
        for name in self.values.keys() & other.values.keys():
            rows /= max(self.values[name], other.values[name], 1.0)
        values = {**other.values, **self.values}
        for name in self.values.keys() & other.values.keys():
            values[name] = min(self.values[name], other.values[name])
        return Statistics(rows, {name: min(count, rows) for name, count in values.items()})

    def connected(self, other: Statistics) -> bool:
        """True if both have a variable."""
        return not self.values.keys().isdisjoint(other.values)

    def where(self, share: float) -> Statistics:
        """Those of some of the rows."""
        rows = self.rows * share
        return Statistics(rows, {name: min(count, rows) for name, count in self.values.items()})


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition that a join checks: the variables it reads, and on which share of rows it holds."""

    variables: frozenset[str]
    share: float


def written_order(names: Sequence[Sequence[str]]) -> Order:
    """The views as they are written, but for those that share no variable with the ones before: connected ones come first."""
    waiting = list(range(1, len(names)))
    order, known = [0], set(names[0])
    while waiting:
        connected = [part for part in waiting if not known.isdisjoint(names[part])]
        order.append((connected or waiting)[0])
        known |= set(names[order[-1]])
        waiting.remove(order[-1])
    return tuple(order)


def best_order(
    parts: Sequence[Statistics], conditions: Sequence[Condition] = (), *, adjacent: bool = False
) -> Order:
    """From some view on always one that leaves the fewest rows, connected ones before others.

    ``adjacent`` views are in sequence: what is joined has no gaps.
    """
    begun = sorted(range(len(parts)), key=lambda part: parts[part].rows)
    orders = [_onwards(first, parts, conditions, adjacent=adjacent) for first in begun]
    return min(orders, key=lambda order: cost(order, parts, conditions))


def _onwards(
    first: int, parts: Sequence[Statistics], conditions: Sequence[Condition], *, adjacent: bool
) -> Order:
    order, known = [first], parts[first]
    waiting = [part for part in range(len(parts)) if part != first]
    while waiting:
        within = [part for part in waiting if not adjacent or part in (min(order) - 1, max(order) + 1)]
        connected = [part for part in within if known.connected(parts[part])]
        after = {part: _checked(known, parts[part], conditions) for part in connected or within}
        order.append(min(after, key=lambda part: after[part].rows))
        known = after[order[-1]]
        waiting.remove(order[-1])
    return tuple(order)


def _checked(known: Statistics, other: Statistics, conditions: Sequence[Condition]) -> Statistics:
    """A join with the conditions that neither side can check alone."""
    found, share = known.joined(other), 1.0
    for condition in conditions:
        if condition.variables <= found.values.keys() and not any(
            condition.variables <= side.values.keys() for side in (known, other)
        ):
            share *= condition.share
    return found.where(share)


def cost(order: Order, parts: Sequence[Statistics], conditions: Sequence[Condition] = ()) -> float:
    """About how many rows the joins give in some order, and how many conditions drop.

    What the last join gives is the same in every order.
    """
    total, known = 0.0, parts[order[0]]
    for part in order[1:]:
        pairs = known.joined(parts[part]).rows
        known = _checked(known, parts[part], conditions)
        total += pairs
    return total - known.rows
