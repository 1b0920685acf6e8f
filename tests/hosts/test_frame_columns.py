"""Facts about the columns of events DataFrames: their names, types and order, and what else stands beside them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from spaseq import spark as sps
from spaseq.errors import InvalidArgument
from spaseq.spark.sources.bad_events import quarantined
from support.trades import RISE, trades

pytestmark = pytest.mark.spark

TRIPLES = "array<struct<s:string,p:string,o:string>>"
TEXT = "concat_ws('\\n', transform(triples, t -> concat_ws(' ', t.s, t.p, t.o, '.'))) AS value"


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> DataFrame:
    """Trades as rows of triples."""
    rows = [(each.time, [tuple(map(str, triple)) for triple in each.triples]) for each in trades(40)]
    found = spark.createDataFrame(rows, f"at bigint, triples {TRIPLES}")
    return found.select(F.timestamp_micros("at").alias("time"), "triples")


@pytest.fixture(scope="module")
def answers(events: DataFrame) -> list[Row]:
    """What a query finds in them."""
    found = found_in(events)
    assert len(found) > 20
    return found


def found_in(frame: DataFrame, **options: object) -> list[Row]:
    """The answers, in an order of their own."""
    return sorted(sps.match(RISE, {"S1": frame}, **options).collect())  # type: ignore[arg-type]


@contextmanager
def session(spark: SparkSession, **settings: str) -> Iterator[None]:
    """A session with other settings of Spark SQL."""
    before = {f"spark.sql.{name}": spark.conf.get(f"spark.sql.{name}") for name in settings}
    for name, value in zip(before, settings.values(), strict=True):
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, known in before.items():
            spark.conf.set(name, known)


@pytest.mark.parametrize(
    "triple",
    [
        "named_struct('o', t.o, 'p', t.p, 's', t.s)",
        "named_struct('S', t.s, 'O', t.o, 'P', t.p, 'more', 1)",
        "named_struct('object', t.o, 'predicate', t.p, 'subject', t.s)",
        "named_struct('_1', t.s, '_2', t.p, '_3', t.o)",
    ],
)
def test_fields_of_triples_are_known_by_their_names(
    spark: SparkSession, events: DataFrame, answers: list[Row], triple: str
) -> None:
    """JSON gives them in the order of the alphabet, object first; before, they were taken by place."""
    other = events.selectExpr("time", f"transform(triples, t -> {triple}) AS triples")
    assert found_in(other) == answers
    other.createOrReplaceTempView("other")
    sps.register_function(spark)
    assert sorted(spark.sql(f"SELECT * FROM spaseq_match(TABLE(other), '{RISE}')").collect()) == answers


def test_names_of_columns_are_known_in_any_case_as_in_the_session(
    spark: SparkSession, events: DataFrame, answers: list[Row]
) -> None:
    """A column `START` that is passed over would make instants of intervals."""
    renamed = events.withColumnsRenamed({"time": "Time", "triples": "Triples"})
    assert found_in(renamed) == answers
    assert sorted(sps.match(RISE, renamed.withColumn("STREAM", F.lit("S1"))).collect()) == answers
    begun = renamed.withColumn("START", F.col("time") + F.expr("interval 1 second"))
    assert found_in(begun, on_bad_input="skip") == [], "events that begin after their end"
    renamed.createOrReplaceTempView("renamed")
    sps.register_function(spark)
    assert sorted(spark.sql(f"SELECT * FROM spaseq_match(TABLE(renamed), '{RISE}')").collect()) == answers
    with session(spark, caseSensitive="true"), pytest.raises(InvalidArgument, match="has Time, Triples"):
        found_in(renamed)


def test_columns_of_other_types_are_refused_with_a_sentence(events: DataFrame) -> None:
    """Numbers in place of streams would be those of none, and all rows passed over."""
    wrong = {
        "1 AS value": "`value` must be a string or binary, not int",
        "struct(1 AS a) AS value": "`value` must be a string or binary, not struct",
        "array(1) AS triples": r"`triples` must be an array<struct<s:string,p:string,o:string>>, not array<int>",
        "triples, 1 AS graph": "`graph` must be a string, not int",
        "triples, 'x' AS promise": "`promise` must be a boolean, not string",
    }
    for columns, message in wrong.items():
        with pytest.raises(InvalidArgument, match=message):
            found_in(events.selectExpr("time", *columns.split(", ")), format="turtle")
    with pytest.raises(InvalidArgument, match="`stream` must be a string, not int"):
        sps.match(RISE, events.withColumn("stream", F.lit(1)))


def test_columns_that_are_null_throughout_say_nothing(events: DataFrame, answers: list[Row]) -> None:
    """Such as `NULL AS start` in a view."""
    empty = events.selectExpr("*", "NULL AS start", "NULL AS graph", "NULL AS promise")
    assert found_in(empty) == answers


def test_columns_that_happen_to_be_called_so_do_no_harm(events: DataFrame, answers: list[Row]) -> None:
    """A position or an offset need not be that of an event in a file or in Kafka."""
    placed = events.withColumns({"source": F.lit("x"), "position": F.struct(F.lit(1))})
    assert found_in(placed) == answers
    zoned = events.withColumns({"topic": F.lit("x"), "partition": F.lit(1), "offset": F.lit("+02:00")})
    assert found_in(zoned) == answers


def test_a_text_that_is_not_utf_8_is_bad_input(events: DataFrame, answers: list[Row], tmp_path: Path) -> None:
    """Spark takes any bytes for a text, such as those of a record of Kafka."""
    texts = events.selectExpr("time", TEXT)
    broken = texts.limit(1).selectExpr("time", "CAST(X'FF00FE' AS STRING) AS value")
    options = {"format": "ntriples", "on_bad_input": "quarantine", "quarantine": tmp_path}
    assert found_in(texts.unionAll(broken), **options) == answers
    (bad,) = quarantined(tmp_path)
    assert "UTF-8" in str(bad["reason"])


def test_carried_columns_may_have_dots_in_their_names(events: DataFrame) -> None:
    """They are columns, not fields of others."""
    found = found_in(events.withColumn("a.b", F.lit(1)), carry=["a.b"], provenance=True)
    assert found[0].events[0].carried == {"a.b": "1"}
    with pytest.raises(InvalidArgument, match=r"carry= names c, which the DataFrame does not have"):
        found_in(events, carry=["c"], provenance=True)


BOTH = """PREFIX : <http://ex.org/> SELECT ?x ?y (TIME(B) AS ?t) FROM STREAM S1 <http://ex.org/s1>
WHERE { SEQ (A : B) DEFINE GPM A ON S1 { ?x :p :o } DEFINE GPM B ON S1 { ?y :p :o } }"""


def at(spark: SparkSession, *texts: str) -> DataFrame:
    """An event at each of these times."""
    frame = spark.createDataFrame([(each,) for each in texts], "text string")
    triple = (
        "struct(concat('<urn:', hash(text), '>') AS s, '<http://ex.org/p>' AS p, '<http://ex.org/o>' AS o)"
    )
    return frame.selectExpr("text", f"array({triple}) AS triples")


def test_times_are_instants_whatever_the_session_calls_a_timestamp(spark: SparkSession) -> None:
    """Where clocks are put back, one time of the day without zone is two instants."""
    with session(spark, timestampType="TIMESTAMP_NTZ", **{"session.timeZone": "Europe/Berlin"}):
        events = at(spark, "2024-10-27T00:30:00Z", "2024-10-27T01:30:00Z")
        found = sps.match(
            BOTH, {"S1": events.selectExpr("CAST(text AS timestamp_ltz) AS time", "triples")}, native=True
        )
        assert found.selectExpr("unix_seconds(time)", "unix_seconds(start)", "unix_seconds(t)").collect() == [
            (1729992600, 1729989000, 1729992600)
        ]


def test_the_table_function_takes_times_without_zone_in_the_order_of_instants(spark: SparkSession) -> None:
    """Where clocks are put forward, half past two is half past three."""
    with session(spark, **{"session.timeZone": "Europe/Berlin"}):
        events = at(spark, "2024-03-31 01:50:00", "2024-03-31 02:30:00", "2024-03-31 03:10:00")
        events = events.selectExpr("CAST(text AS timestamp_ntz) AS time", "triples")
        events.createOrReplaceTempView("put_forward")
        sps.register_function(spark)
        found = spark.sql(f"SELECT * FROM spaseq_match(TABLE(put_forward), '{BOTH}')")
        assert sorted(found.collect()) == sorted(sps.match(BOTH, {"S1": events}).collect())
        assert found.count() == 3
