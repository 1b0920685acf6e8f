"""Facts about the columns of events DataFrames: their names, types and order, and what else stands beside them."""

from __future__ import annotations

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
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        with pytest.raises(InvalidArgument, match="this one has Time, Triples"):
            found_in(renamed)
    finally:
        spark.conf.unset("spark.sql.caseSensitive")


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
