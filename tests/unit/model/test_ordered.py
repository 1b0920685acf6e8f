"""Numbers in order, against NumPy's own functions."""

from __future__ import annotations

import numpy as np
import pytest

from spaseq.model.ordered import among, each_once

SOME = [
    np.zeros(0, np.int64),
    np.array([5], np.int64),
    np.array([3, -1, 3, 2, -1], np.int64),
    np.array([[2, 0], [0, 2]], np.int32),
    np.random.default_rng(1).integers(-50, 50, 1000).astype(np.int16),
    np.array([np.iinfo(np.int64).max, np.iinfo(np.int64).min, 0]),
]


@pytest.mark.parametrize("values", SOME)
def test_each_value_stays_once(values: np.ndarray) -> None:
    """In order and of the same kind; what was given stays as it was."""
    before = values.copy()
    found = each_once(values)
    assert found.tolist() == np.unique(values).tolist()
    assert found.dtype == values.dtype
    assert (values == before).all()


@pytest.mark.parametrize("values", SOME)
@pytest.mark.parametrize("others", SOME)
def test_values_are_found_among_others(values: np.ndarray, others: np.ndarray) -> None:
    """Whatever their order, also among none."""
    values, others = values.ravel(), others.ravel()
    assert among(values, others).tolist() == np.isin(values, others).tolist()
