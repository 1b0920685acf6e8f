"""The least of intervals, and sums of doubles: each against the plain way."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest
from pyoxigraph import Literal, NamedNode

from spaseq.columnar.rows import RowEvaluator
from spaseq.columnar.totals import RunningTotals
from spaseq.model.dictionary import TermDictionary
from spaseq.windowed.extremes import least
from spaseq.windowed.timed import FAR

DOUBLE = NamedNode("http://www.w3.org/2001/XMLSchema#double")


@pytest.mark.parametrize("seed", range(20))
def test_the_least_key_of_the_intervals_that_cover_a_place(seed: int) -> None:
    """Intervals of any length, empty ones too."""
    chance = random.Random(seed)
    size = chance.randrange(1, 40)
    ends = [sorted(chance.choices(range(size + 1), k=2)) for _ in range(chance.randrange(0, 30))]
    keys = [chance.randrange(100) for _ in ends]
    begin = np.array([first for first, _ in ends], np.intp)
    end = np.array([last for _, last in ends], np.intp)
    wanted = [
        min((key for key, (first, last) in zip(keys, ends, strict=True) if first <= at < last), default=FAR)
        for at in range(size)
    ]
    assert least(size, begin, end, np.array(keys, np.int64)).tolist() == wanted


@pytest.mark.parametrize("seed", range(10))
def test_what_came_and_left_leaves_no_trace_in_a_sum_of_doubles(seed: int) -> None:
    """A sum is the exact one, rounded once, whatever was added and taken away in between."""
    chance = random.Random(seed)
    dictionary = TermDictionary()
    totals = RunningTotals([0], [("SUM", 0)], RowEvaluator(dictionary))
    held: list[float] = []
    for _ in range(30):
        leaves = len(held) > 3 and chance.random() < 0.4
        number = held.pop(chance.randrange(len(held))) if leaves else _number(chance)
        held += [] if leaves else [number]
        ids = np.array([[dictionary.encode(Literal(repr(number), datatype=DOUBLE))]], np.int32)
        one = np.ones(1, np.bool_)
        weight = np.array([-1 if leaves else 1])
        found = totals.step(np.zeros(1, np.intp), weight, ids, one, 1)
        if found is None:  # digits that were not kept so far
            every = [[dictionary.encode(Literal(repr(each), datatype=DOUBLE))] for each in held]
            groups, counts = np.zeros(len(held), np.intp), np.ones(len(held), np.int64)
            totals.add_up(groups, counts, np.array(every, np.int32), 1)
            continue
        (result,) = dictionary.decode_many(totals.result(found[1], "SUM", 0))
        assert float(result.value) == float(sum(map(Fraction, held), Fraction()))


def test_integers_are_added_to_a_double_that_came_before_a_compaction() -> None:
    """The dictionary forgets what it knows of terms, the totals do not; then an integer alone is looked at."""
    dictionary = TermDictionary()
    totals = RunningTotals([0], [("SUM", 0)], RowEvaluator(dictionary))

    def added(term: Literal) -> Literal:
        ids = np.array([[dictionary.encode(term)]], np.int32)
        found = totals.step(np.zeros(1, np.intp), np.ones(1, np.int64), ids, np.ones(1, np.bool_), 1)
        assert found is not None
        (result,) = dictionary.decode_many(totals.result(found[1], "SUM", 0))
        assert isinstance(result, Literal)
        return result

    added(Literal("1.5", datatype=DOUBLE))
    dictionary.compact(np.zeros(0, np.int32))
    assert added(Literal(20)) == Literal("21.5", datatype=DOUBLE)


def _number(chance: random.Random) -> float:
    return chance.uniform(-1, 1) * 10.0 ** chance.choice([-320, -10, 0, 0, 1, 20, 300])
