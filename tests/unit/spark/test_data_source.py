"""Facts about how far followed files were read, as Spark's log keeps it."""

from __future__ import annotations

import base64
import json
import zlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.datasource import EqualTo, GreaterThan, LessThanOrEqual

from spaseq.engine.bookmarks import Bookmark
from spaseq.io.growing import Cut
from spaseq.operators.saved_state import IncompatibleState
from spaseq.spark.sources.data_source import FilteredReader, SourceOptions
from spaseq.spark.sources.offsets import Offset
from support.event_files import nquads
from support.trades import trades

MARK = Bookmark("", "/in/0.nq", Cut(70, 2), 90, "tail")


def packed(value: Any) -> str:
    """Marks as an offset has them."""
    return base64.b64encode(zlib.compress(json.dumps(value).encode())).decode()


def test_an_offset_is_read_as_it_was_written() -> None:
    """Marks, end and clock."""
    offset = Offset({MARK.path: MARK}, ended=True, clock=5)
    assert Offset.from_dict(json.loads(json.dumps(offset.to_dict()))) == offset


@pytest.mark.parametrize(
    "change",
    [
        {"marks": "!"},
        {"marks": "AAAA"},
        {"marks": packed({})[:-6]},
        {"marks": packed([{}])},
        {"marks": packed([{**MARK.to_dict(), "size": "x"}])},
        {"marks": packed([{**MARK.to_dict(), "cut": {"byte": None}}])},
        {"clock": -1},
        {"clock": "x"},
    ],
)
def test_a_damaged_offset_is_refused_with_advice(change: dict[str, object]) -> None:
    """No error of a decoder comes out."""
    with pytest.raises(IncompatibleState, match="start again with a new checkpoint"):
        Offset.from_dict({**Offset({MARK.path: MARK}).to_dict(), **change})


def test_no_rows_are_made_of_events_outside_the_bounds_of_a_filter(tmp_path: Path) -> None:
    """Spark checks all filters again, so bounds may be taken as inclusive."""
    (tmp_path / "events.nq").write_text(nquads(trades(20)), encoding="utf-8")
    reader = FilteredReader(SourceOptions.of({"path": str(tmp_path)}))

    def at(second: int) -> datetime:
        return datetime.fromtimestamp(second, UTC)

    filters = [GreaterThan(("time",), at(5)), LessThanOrEqual(("time",), at(9)), EqualTo(("graph",), "x")]
    assert list(reader.pushFilters([*filters])) == filters
    rows = [row for task in reader.partitions() for batch in reader.read(task) for row in batch.to_pylist()]
    assert [row["time"] for row in rows] == [at(second) for second in range(5, 10)]
