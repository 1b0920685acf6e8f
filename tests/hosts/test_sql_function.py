"""Facts about `spaseq_match`, a query as a table function of SQL."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name

import spaseq
from spaseq import spark as sps
from support.trades import EX, QUERIES, RISE, nquads, trades

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
    named = spark.sql(
        f"SELECT * FROM spaseq_match(query => '{RISE}', syntax => 'turtle', table => TABLE(texts))"
    )
    assert sorted(named.collect()) == sorted(expected.collect())
    build = spark.sql(f"SELECT size(triples) FROM spaseq_match(TABLE(trades), '{QUERIES['build']}')")
    assert build.count() == expected.count()
    for call, problem in (
        ("TABLE(trades), 'SELECT'", "SPQ"),
        ("TABLE(trades)", "query"),
        (
            f"TABLE(SELECT 1 AS a), '{RISE}'",
            "has a timestamp `time` and `triples` or `value`; this one has a",
        ),
        (
            f"TABLE(trades), '{RISE.replace('?q FILTER', '?q GRAPH <urn:db> { ?c a ?kind } FILTER')}'",
            r"reads the background graph <urn:db>, and spaseq_match has none: use sps.match\(query",
        ),
    ):
        with pytest.raises(PySparkException, match=problem):
            spark.sql(f"SELECT * FROM spaseq_match({call})")


def test_the_table_function_judges_rows_as_match_does(spark: SparkSession) -> None:
    """NULL is bad input, a time may be without zone, events may last, and promises are no events."""
    sps.register_function(spark)
    rows = [(second, f"<{EX}c> <{EX}price> {second} .", False) for second in (1, 2)]

    def table(more: list[tuple[int | None, str | None, bool]], time: str = "timestamp_seconds(at)") -> str:
        frame = spark.createDataFrame([*rows, *more], "at bigint, value string, promise boolean")
        frame.selectExpr(f"{time} AS time", "value", "promise").createOrReplaceTempView("judged")
        return f"SELECT * FROM spaseq_match(TABLE(judged), '{RISE}')"

    for more, reason in (
        ([(3, None, False)], "the row has no `value` (NULL)"),
        ([(None, "", False)], "the row has no time"),
        ([(3, "rubbish", False)], "bad input: the table row 2"),
    ):
        with pytest.raises(PySparkException) as failed:
            spark.sql(table(more)).collect()
        assert reason in str(failed.value)
        assert "leave the row out with WHERE" in str(failed.value)
    assert spark.sql(table([(3, None, True), (None, None, True)])).count() == 1
    zoned = spark.sql(table([])).collect()
    void = "SELECT time, value, NULL AS start, NULL AS promise, NULL AS graph FROM judged"
    assert spark.sql(f"SELECT * FROM spaseq_match(TABLE({void}), '{RISE}')").collect() == zoned
    for name in ("start", "promise"):
        wrong = f"SELECT time, value, 1 AS {name} FROM judged"
        with pytest.raises(PySparkException, match=f"the column `{name}` must be a .*, not int"):
            spark.sql(f"SELECT * FROM spaseq_match(TABLE({wrong}), '{RISE}')")
    local = spark.sql(table([], "CAST(timestamp_seconds(at) AS timestamp_ntz)"))
    assert (
        local.collect() == zoned == sps.match(RISE, {"S1": spark.table("judged")}, format="turtle").collect()
    )


def test_a_session_may_tell_the_cases_of_columns_apart(spark: SparkSession) -> None:
    """A column of exactly the name goes before one that differs in case."""
    sps.register_function(spark)
    rows = [(second, f"<{EX}c> <{EX}price> {second} .") for second in (1, 2)]
    frame = spark.createDataFrame(rows, "at bigint, Value string")
    frame.withColumn("Time", F.timestamp_seconds("at")).createOrReplaceTempView("cases")

    def answers(table: str) -> list[Row]:
        return spark.sql(f"SELECT * FROM spaseq_match(TABLE({table}), '{RISE}')").collect()

    expected = answers("cases")
    assert len(expected) == 1
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        assert answers("cases") == expected
        both = spark.table("cases").withColumn("time", F.col("Time")).withColumn("Time", F.lit("noon"))
        both.createOrReplaceTempView("both")
        assert answers("both") == expected
        spark.table("cases").withColumn("Stream", F.lit("other")).createOrReplaceTempView("both")
        with pytest.raises(PySparkException, match=r"UNRESOLVED_COLUMN.*`stream`"):
            answers("both")  # `match` would take it for another column, and it may be none
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


def test_events_of_the_table_function_may_last(spark: SparkSession) -> None:
    """An answer begins where its first event does."""
    sps.register_function(spark)
    query = f"PREFIX : <{EX}> SELECT ?p ?q WHERE {{ ?c :price ?p }} SEQ {{ ?c :price ?q }}"
    rows = [(start, end, f"<{EX}c> <{EX}price> {end} .") for start, end in ((1, 3), (2, 4), (5, 6))]
    frame = spark.createDataFrame(rows, "a bigint, b bigint, value string")
    frame = frame.selectExpr("timestamp_seconds(a) AS start", "timestamp_seconds(b) AS time", "value")
    frame.createOrReplaceTempView("lasting")
    (name,) = (stream.alias for stream in spaseq.compile(query).streams)
    expected = sps.match(query, {name: frame}, format="turtle")
    found = spark.sql(f"SELECT * FROM spaseq_match(TABLE(lasting), '{query}')")
    assert sorted(found.collect()) == sorted(expected.collect())
    assert found.count() == 2, "two that overlap are no sequence"
