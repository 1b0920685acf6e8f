"""Facts about `spaseq_match`, a query as a table function of SQL."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name

import spaseq
from spaseq import spark as sps
from support.trades import QUERIES, RISE, nquads, trades

pytestmark = pytest.mark.spark


def test_several_frames_of_a_stream_are_read_each_in_its_own_way(spark: SparkSession, tmp_path: Path) -> None:
    """As their union is, which Spark would read row by row."""
    for number in range(2):
        text = nquads(trades(20, seed=number, first=20 * number))
        (tmp_path / f"{number}.nq").write_text(text, encoding="utf-8")
    frames = [sps.read_events(spark, tmp_path / f"{number}.nq") for number in range(2)]
    frames[1] = frames[1].where("time > timestamp_seconds(0)")
    found = sps.match(RISE, {"S1": frames}, partitions=2)
    assert found.count() == len(list(spaseq.run(RISE, {"S1": str(tmp_path)})))


def test_a_query_is_a_table_function(spark: SparkSession) -> None:
    """Columns and rows are those of `match`, whatever the order of the table; errors say what is wrong."""
    rows = [(each.time, [tuple(map(str, triple)) for triple in each.triples]) for each in trades(40)]
    texts = [(time, "".join(f"{s} {p} {o} ." for s, p, o in graph)) for time, graph in rows[::-1]]
    triples = "array<struct<s:string,p:string,o:string>>"
    events = spark.createDataFrame(rows, f"at bigint, triples {triples}")
    events = events.withColumn("time", F.timestamp_micros("at"))
    values = spark.createDataFrame(texts, "at bigint, value string").withColumn(
        "time", F.timestamp_micros("at")
    )
    events.createOrReplaceTempView("trades")
    values.createOrReplaceTempView("texts")
    sps.register_function(spark)
    expected = sps.match(RISE, {"S1": events}, partitions=1)
    assert expected.count() > 20
    for table in ("trades", "texts"):
        found = spark.sql(f"SELECT * FROM spaseq_match(TABLE({table}), '{RISE}')")
        assert found.dtypes == expected.dtypes
        assert sorted(found.collect()) == sorted(expected.collect())
    build = spark.sql(f"SELECT size(triples) FROM spaseq_match(TABLE(trades), '{QUERIES['build']}')")
    assert build.count() == expected.count()
    for call, problem in (
        ("TABLE(trades), 'SELECT'", "SPQ"),
        ("TABLE(trades)", "query"),
        (
            f"TABLE(SELECT 1 AS a), '{RISE}'",
            "has a timestamp `time` and `triples` or `value`; this one has a",
        ),
    ):
        with pytest.raises(PySparkException, match=problem):
            spark.sql(f"SELECT * FROM spaseq_match({call})")
