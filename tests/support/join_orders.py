"""Joins over intervals in other orders than the evaluation would choose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from random import Random

import pytest

from spaseq.algebra.patterns import Relation
from spaseq.intervals.conjunction import ConjoinedSolutions


def any_order(count: int, chance: Random, *, adjacent: bool) -> tuple[int, ...]:
    """An order at random; of a sequence one without gaps."""
    if not adjacent:
        return tuple(chance.sample(range(count), count))
    first = last = chance.randrange(count)
    order = [first]
    while len(order) < count:
        if last == count - 1 or (first > 0 and chance.random() < 0.5):
            first -= 1
            order.append(first)
        else:
            last += 1
            order.append(last)
    return tuple(order)


@contextmanager
def shuffled_joins(chance: Random) -> Iterator[set[tuple[Relation | None, tuple[int, ...]]]]:
    """Another order at random at every other step of every join; gives those that were taken."""
    taken = set()

    def look(self: ConjoinedSolutions, new: Sequence[object]) -> None:
        if chance.random() < 0.5:
            order = any_order(len(new), chance, adjacent=self._relation is Relation.SEQ)
            taken.add((self._relation, order))
            self.reorder(order, self.held())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ConjoinedSolutions, "_look", look)
        yield taken
