"""Facts about the part files of answers that Spark has written."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from spaseq.spark.output.answer_files import merged
from spaseq.temporal.instants import FIRST_INSTANT, LAST_INSTANT


def test_times_of_all_years_are_read_as_they_were_written(tmp_path: Path) -> None:
    """Those outside of 1678 to 2261 became others, and answers came in their order."""
    times = [FIRST_INSTANT, -14_825_000_000_000_001, 0, 13_600_000_000_000_001, LAST_INSTANT]
    kind, event = pa.timestamp("us"), ("step", "stream", "time", "graph")
    rows = {
        "query": pa.array(["q"] * len(times)),
        "time": pa.array(times, kind),
        "start": pa.array(times, kind),
        "bindings": pa.array([[]] * len(times), pa.map_(pa.string(), pa.string())),
        "triples": pa.nulls(len(times)),
        "boolean": pa.array([True] * len(times)),
        "events": pa.array(
            [[dict(zip(event, ("A", "urn:s", time, None), strict=True))] for time in times],
            pa.list_(pa.struct([(name, kind if name == "time" else pa.string()) for name in event])),
        ),
    }
    # As Spark does, each file is in order of time itself.
    for number in range(2):
        part = pa.table(rows).take(list(range(number, len(times), 2)))
        pq.write_table(part, tmp_path / f"part-{number}.parquet", use_deprecated_int96_timestamps=True)
    found = [match for _, match in merged(tmp_path)]
    assert [match.instant for match in found] == times
    assert [match.begin for match in found] == times
    assert [match.events[0].instant for match in found] == times
