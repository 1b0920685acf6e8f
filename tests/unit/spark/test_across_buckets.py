"""What is decided over all buckets together, without Spark."""

from __future__ import annotations

import pyarrow as pa
import pytest

from spaseq.errors import LimitReached
from spaseq.model.forms import CountLimit
from spaseq.spark.output.across_buckets import COUNTED, FirstOfEqual
from spaseq.spark.schemas import EQUAL, INSTANT, SPREAD


def rows(*counted: tuple[str | None, int]) -> pa.RecordBatch:
    """Rows with a text that makes them equal, and a start."""
    equal, start = zip(*counted, strict=True)
    columns = {
        SPREAD: pa.array([0] * len(counted), pa.int32()),
        EQUAL: pa.array(equal, pa.string()),
        "start": pa.array(start, pa.int64()).cast(INSTANT),
    }
    return pa.RecordBatch.from_pydict(columns)


LIMITS = [None, CountLimit(5, "too many at {instant}")]


def test_counts_of_one_instant_are_added_up_and_no_answers() -> None:
    """Also from one batch of rows to the next; instants and queries count for themselves."""
    first = rows((None, 7), (f"{COUNTED}1 1000000", 2))
    second = rows((f"{COUNTED}1 1000000", 3), (f"{COUNTED}1 2000000", 5), ("answer", 8), ("answer", 9))
    found = pa.Table.from_batches(FirstOfEqual(LIMITS)([first, second]))
    assert found.column("start").cast(pa.int64()).to_pylist() == [7, 8]


def test_more_than_the_limit_at_one_instant_is_an_error() -> None:
    """It names the instant."""
    given = [rows((f"{COUNTED}1 1000000", 2)), rows((f"{COUNTED}1 1000000", 4))]
    with pytest.raises(LimitReached, match="too many at 1970-01-01T00:00:01Z"):
        list(FirstOfEqual(LIMITS)(given))
