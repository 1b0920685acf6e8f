"""Facts about the rows that event files become: all columns, or those that are wanted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql.types import DataType, StringType, StructField, StructType, TimestampType

from spaseq.errors import InvalidArgument
from spaseq.io.bad_input import BadInputError
from spaseq.spark.sources.data_source import RdfDataSource, RdfStreamReader
from support.event_files import END, START, interval_nquads, nquads
from support.trades import trades


def source(path: Path, **options: str) -> RdfDataSource:
    """The data source as Spark makes it."""
    return RdfDataSource({"path": str(path), **options})


def some(given: RdfDataSource, *names: str) -> StructType:
    """Some of its columns."""
    return StructType([given.schema()[name] for name in names])


def rows(given: RdfDataSource, *names: str) -> pa.Table:
    """All rows, with some columns or all."""
    reader = given.reader(some(given, *names) if names else given.schema())
    return pa.Table.from_batches(batch for part in reader.partitions() for batch in reader.read(part))


@pytest.mark.parametrize(
    "wanted",
    [["time"], ["source", "time"], ["graph", "position", "promise"], ["triples"]],
)
@pytest.mark.parametrize("interpreted", [True, False])
def test_rows_have_the_columns_that_are_wanted(
    tmp_path: Path, wanted: list[str], interpreted: bool, change_settings: Callable[..., None]
) -> None:
    """The same values as with all columns, with and without kernels."""
    change_settings(interpreted_bytes=1 << 20 if interpreted else 0)
    (tmp_path / "a.nq").write_text(nquads(trades(20)), encoding="utf-8")
    every, found = rows(source(tmp_path)), rows(source(tmp_path), *wanted)
    assert found.column_names == wanted
    assert found.num_rows == every.num_rows == 20
    assert found.equals(every.select(wanted))


def test_intervals_and_promises_keep_to_the_columns(tmp_path: Path) -> None:
    """Also where there is nothing but a start."""
    (tmp_path / "a.nq").write_text(interval_nquads(trades(3)), encoding="utf-8")
    ends = {"startPredicate": START, "endPredicate": END}
    given = source(tmp_path, **ends)
    assert rows(given, "start").equals(rows(given).select(["start"]))
    finite = source(tmp_path, finite="true", **ends)
    stream = finite.streamReader(some(finite, "promise", "start"))
    assert isinstance(stream, RdfStreamReader)
    end = stream.latestOffset(stream.initialOffset(), stream.getDefaultReadLimit())
    found = [batch for part in stream.partitions(stream.initialOffset(), end) for batch in stream.read(part)]
    assert pa.Table.from_batches(found).column("promise").to_pylist() == [False, False, False, True]


def test_triples_are_not_built_where_they_are_not_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor are their terms."""
    (tmp_path / "a.nq").write_text(nquads(trades(3)), encoding="utf-8")
    monkeypatch.setattr(
        "spaseq.spark.sources.file_rows.as_written", lambda *_: pytest.fail("a term is written")
    )
    assert rows(source(tmp_path), "time", "source").num_rows == 3


def test_bad_input_is_bad_whatever_is_wanted(tmp_path: Path) -> None:
    """Lines are read, though their terms are not kept."""
    (tmp_path / "a.nq").write_text(nquads(trades(3)) + "no quad\n", encoding="utf-8")
    with pytest.raises(BadInputError):
        rows(source(tmp_path), "time")


@pytest.mark.parametrize(
    ("name", "kind"), [("house", StringType()), ("time", StringType()), ("start", TimestampType())]
)
def test_a_column_that_there_is_not_is_refused(tmp_path: Path, name: str, kind: DataType) -> None:
    """With those that there are."""
    told = f"has no column `{name}` of the type {kind.simpleString()}; it has time timestamp, triples array"
    with pytest.raises(InvalidArgument, match=told):
        source(tmp_path).reader(StructType([StructField(name, kind)]))
