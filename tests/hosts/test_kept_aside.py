"""What is kept beside the answers: bad and late events, whoever else writes into the same directory."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from spaseq import spark as sps
from spaseq.errors import InvalidArgument
from spaseq.spark.command.problems import problem_of
from support.trades import EX, RISE, nquads, trade

pytestmark = pytest.mark.spark


def values(spark: SparkSession, bad: str) -> DataFrame:
    """An event, and a row whose value is no graph."""
    rows = [(1, f"<{EX}A> <{EX}price> 1 ."), (2, bad)]
    frame = spark.createDataFrame(rows, "at bigint, value string").coalesce(1)
    return frame.select(F.timestamp_seconds("at").alias("time"), "value", F.lit("k").alias("key"))


def kept(spark: SparkSession, place: Path) -> list[str]:
    """The texts of all bad records."""
    return sorted(row.text for row in sps.bad_records(spark, place).collect())


def test_runs_that_share_a_quarantine_keep_their_bad_records_apart(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Each has names of its own; what is done again replaces what it has written before."""
    place = tmp_path / "bad"
    found = [
        sps.match(
            RISE, {"S1": values(spark, bad)}, format="turtle", on_bad_input="quarantine", quarantine=place
        )
        for bad in ("no graph", "nor this")
    ]
    for answers in (*found, found[0]):
        answers.count()
    assert kept(spark, place) == ["no graph", "nor this"]
    files = []
    for name in ("a", "b"):
        (tmp_path / f"{name}.nq").write_text(f"bad line {name}\n")
        files.append(
            sps.read_events(
                spark, tmp_path / f"{name}.nq", on_bad_input="quarantine", quarantine=tmp_path / "read"
            )
        )
    for each in (*files, files[0]):
        each.count()
    assert kept(spark, tmp_path / "read") == ["bad line a", "bad line b"]


def test_streaming_queries_that_share_a_quarantine_keep_their_bad_records_apart(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A query that does its last micro-batch again after a crash writes the same files again, also where sources are idle sooner."""
    place = tmp_path / "bad"

    def run(name: str, idle_after: str = "10 seconds") -> None:
        events = sps.read_events(spark, tmp_path / name, streaming=True, finite=True)
        answers = sps.match(
            RISE,
            {"S1": events},
            on_bad_input="quarantine",
            quarantine=place,
            partitions=2,
            idle_after=idle_after,
        )
        writer = answers.writeStream.option("checkpointLocation", str(tmp_path / f"points-{name}"))
        writer.format("noop").trigger(availableNow=True).start().awaitTermination()

    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "events.nq").write_text(f"bad line {name}\n")
        run(name)
    assert kept(spark, place) == ["bad line a", "bad line b"]
    commits = list((tmp_path / "points-a" / "commits").glob("*"))
    for commit in commits:
        commit.unlink()
    run("a", "20 seconds")
    assert kept(spark, place) == ["bad line a", "bad line b"]


def test_matches_in_one_streaming_query_keep_their_records_apart(spark: SparkSession, tmp_path: Path) -> None:
    """One query over several inputs, or with another lateness, united and written into one quarantine."""
    place = tmp_path / "kept"
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        for number, seconds in enumerate(([10, 20], [5, 21])):
            text = nquads(trade(second, name, second) for second in seconds)
            (tmp_path / name / f"{number}.nq").write_text(f"bad line {name}\n{text}", encoding="utf-8")

    def matched(name: str, lateness: int, *, by_spark: bool = False) -> DataFrame:
        rule = {"on_bad_input": "quarantine", "quarantine": str(place)}
        events = sps.read_events(
            spark, tmp_path / name, streaming=True, finite=True, max_files_per_trigger=1,
            **rule if by_spark else {},
        )  # fmt: skip
        events = events.where("promise OR time IS NOT NULL") if by_spark else events
        return sps.match(RISE, {"S1": events}, partitions=2, lateness=lateness, **rule)  # type: ignore[arg-type]

    for repeated in (False, True):
        if repeated:
            max((tmp_path / "points" / "commits").glob("[0-9]*")).unlink()
        answers = matched("a", 0).union(matched("b", 0)).union(matched("b", 10**6, by_spark=True))
        writer = answers.writeStream.option("checkpointLocation", str(tmp_path / "points"))
        writer.format("noop").trigger(availableNow=True).start().awaitTermination()
        rows = sps.bad_records(spark, place).collect()
        assert sorted(row.text[-1] for row in rows if not row.late) == list("aabbbb")
        assert sorted(row.text.split(">")[0] for row in rows if row.late) == [
            f"<{EX}{name}" for name in "abb"
        ]


def test_bad_records_carry_the_columns_that_events_carry(spark: SparkSession, tmp_path: Path) -> None:
    """So that the record is found again where it came from, with provenance or without."""
    for provenance in (True, False):
        place = tmp_path / str(provenance)
        answers = sps.match(
            RISE, {"S1": values(spark, "no graph")}, format="turtle", on_bad_input="quarantine", quarantine=place,
            provenance=provenance, carry=["key"],
        )  # fmt: skip
        answers.count()
        assert [row.carried for row in sps.bad_records(spark, place).collect()] == [{"key": "k"}]


def test_a_late_event_of_a_file_is_kept_whole(spark: SparkSession, tmp_path: Path) -> None:
    """With triples that no query looks at, its name and its time, though the file may be gone when it is looked for."""
    (tmp_path / "in").mkdir()
    for number, seconds in enumerate(([10, 20], [5, 21])):
        text = nquads(trade(second, "a", second) for second in seconds)
        more = f"<{EX}b> <{EX}note> <{EX}n> <{EX}t5a> .\n" if number else ""
        (tmp_path / "in" / f"{number}.nq").write_text(more + text, encoding="utf-8")
    events = sps.read_events(spark, tmp_path / "in", streaming=True, finite=True, max_files_per_trigger=1)
    answers = sps.match(RISE, {"S1": events}, quarantine=tmp_path / "late", partitions=2)
    writer = answers.writeStream.option("checkpointLocation", str(tmp_path / "points"))
    writer.format("noop").trigger(availableNow=True).start().awaitTermination()
    (late,) = sps.bad_records(spark, tmp_path / "late").withColumn("at", F.unix_seconds("time")).collect()
    assert (late.source, late.late, late.at) == (f"{tmp_path}/in/1.nq", True, 5)
    assert sorted(late.text.splitlines()) == [
        f'<{EX}a> <{EX}price> "5"^^<http://www.w3.org/2001/XMLSchema#integer> <{EX}t5a> .',
        f"<{EX}b> <{EX}note> <{EX}n> <{EX}t5a> .",
    ]


def test_bad_input_that_spark_reads_is_told_with_what_rules_it(spark: SparkSession, tmp_path: Path) -> None:
    """`match` cannot rule files of which Spark makes rows."""
    (tmp_path / "a.nq").write_text("bad line\n")
    events = sps.read_events(spark, tmp_path / "a.nq").where("time IS NOT NULL")
    with pytest.raises(Exception, match="bad input") as failed:
        sps.match(RISE, {"S1": events}, on_bad_input="skip").count()
    problem = str(problem_of(failed.value))
    assert f"{tmp_path}/a.nq:1" in problem
    assert 'help: `read_events(…, on_bad_input="skip")`' in problem


def test_match_rules_the_files_of_read_events_also_if_columns_are_carried_or_chosen(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Spark makes rows of them then, with the rule of `match`."""
    text = nquads([trade(1, "a", 1), trade(2, "a", 2)])
    (tmp_path / "a.nq").write_text(f"bad line\n{text}", encoding="utf-8")
    events = sps.read_events(spark, tmp_path / "a.nq")
    answers = sps.match(
        RISE, {"S1": events}, provenance=True, carry=["position"], on_bad_input="quarantine", quarantine=tmp_path / "bad"
    )  # fmt: skip
    assert [event.carried for row in answers.collect() for event in row.events] == [
        {"position": "2"},
        {"position": "4"},
    ]
    assert kept(spark, tmp_path / "bad") == ["bad line"]
    chosen = sps.read_events(spark, tmp_path / "a.nq", columns=["time", "triples"])
    assert sps.match(RISE, {"S1": chosen}, on_bad_input="skip").count() == 1


def test_records_are_looked_for_where_there_is_a_directory(spark: SparkSession, tmp_path: Path) -> None:
    """It is there from the beginning, with nothing in it; a slip in its name is said at once."""
    (tmp_path / "s.nq").write_text("", encoding="utf-8")
    place = tmp_path / "bad"
    sps.read_events(spark, tmp_path / "s.nq", on_bad_input="quarantine", quarantine=place)
    assert sps.bad_records(spark, place).count() == 0
    for streaming in (False, True):
        with pytest.raises(InvalidArgument, match=r"no directory `.*bda`: give the one that `quarantine=`"):
            sps.bad_records(spark, tmp_path / "bda", streaming=streaming)
