"""Rows numbered by sorted keys and by a compiled hash table: equal rows have one number, different ones have two."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import spaseq.model.jit
from spaseq.columnar.row_kernel import HashedRows
from spaseq.columnar.row_numbers import RowNumbers, order_of

assert spaseq.model.jit  # it is loaded, so rows may be hashed


@pytest.mark.parametrize("width", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("hashed_rows", [1 << 30, 20, 0])
def test_equal_rows_have_one_number(
    width: int, hashed_rows: int, change_settings: Callable[..., None]
) -> None:
    """Over several steps, after some were forgotten, and where the compiled code takes over in between."""
    change_settings(hashed_rows=hashed_rows)
    chance = np.random.default_rng(width)
    numbers = RowNumbers(width)
    known: dict[tuple[int, ...], int] = {}
    for step in range(12):
        ids = chance.integers(0, 5, (int(chance.integers(0, 60)), width)).astype(np.int32)
        for row, number in zip(map(tuple, ids.tolist()), numbers.number(ids).tolist(), strict=True):
            assert known.setdefault(row, number) == number
        assert sorted(known.values()) == list(range(len(numbers)))
        assert {tuple(row): number for number, row in enumerate(numbers.ids.tolist())} == known
        if step % 4 == 3:
            kept = chance.integers(0, 2, len(numbers)).astype(np.bool_)
            moved = numbers.keep(kept).tolist()
            known = {row: moved[number] for row, number in known.items() if moved[number] >= 0}
    assert isinstance(numbers._index, HashedRows) == (hashed_rows < 1 << 30)


@pytest.mark.parametrize("bound", [1, 1 << 16, (1 << 16) + 1, 1 << 32, 1 << 40])
def test_numbers_are_ordered_by_their_digits(bound: int) -> None:
    """Equal ones keep their order."""
    numbers = np.random.default_rng(1).integers(0, bound, 500)
    numbers[::3] = bound - 1
    assert order_of(numbers, bound).tolist() == np.argsort(numbers, kind="stable").tolist()
