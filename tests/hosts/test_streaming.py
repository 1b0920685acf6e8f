"""Endless inputs: lateness, idle streams, restarts, and what the state store holds."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pyspark import cloudpickle
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name everybody knows it by

from spaseq import spark as sps
from spaseq.errors import IncompatibleCheckpoint
from spaseq.operators.saved_state import STATE_VERSION
from spaseq.spark.command.problems import problem_of
from spaseq.spark.sources.bad_events import quarantined
from spaseq.spark.state.processor import COUNTS, SequenceProcessor

pytestmark = pytest.mark.spark

match_module = import_module("spaseq.spark.matching")
"""The module; the package has a function of that name."""

QUERY = """PREFIX : <http://ex.org/>
{form} WITHIN 10 SECONDS SLIDING FROM STREAM S <http://ex.org/s>
WHERE {{ SEQ ({seq}) DEFINE GPM A ON S {{ ?k :a ?v }} DEFINE GPM B ON S {{ ?k :b ?w }} }}"""
PAIRS = QUERY.format(form="SELECT ?k ?v ?w", seq="A ; B")
SCHEMA = "time bigint, triples array<struct<s:string,p:string,o:string>>, stream string, promise boolean"

KAFKA = "topic string, partition int, offset bigint"

Event = tuple[float | None, str, str]
"""Seconds, property, key; no property for a promise, no time for the end."""


class Feed:
    """Micro-batches as files, a query over them, and what came out."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.folder, self.count, self.rows = spark, folder, 0, 0
        (folder / "in").mkdir()

    def add(
        self, events: list[Event], stream: str = "http://ex.org/s", partitions: Sequence[int] = ()
    ) -> Feed:
        """One more micro-batch, perhaps of partitions of Kafka."""
        lines = []
        for seconds, name, key in events:
            triples = (
                [{"s": f"<http://ex.org/{key}>", "p": f"<http://ex.org/{name}>", "o": f'"{seconds}"'}]
                if name
                else None
            )
            time = None if seconds is None else round(seconds * 1_000_000)
            row = {"time": time, "triples": triples, "stream": stream, "promise": not name}
            if partitions:
                row |= {"topic": "t", "partition": partitions[len(lines)], "offset": self.rows}
                self.rows += 1
            lines.append(json.dumps(row) + "\n")
        file = self.folder / "in" / f"{self.count:04d}.json"
        file.write_text("".join(lines))
        os.utime(file, (1_000_000 + self.count, 1_000_000 + self.count))
        self.count += 1
        return self

    def frame(self) -> DataFrame:
        """The events as a streaming DataFrame, a file at a time."""
        schema = f"{SCHEMA}, {KAFKA}" if self.rows else SCHEMA
        read = (
            self.spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(self.folder / "in"))
        )
        return read.withColumn("time", F.timestamp_micros("time"))

    def run(self, text: str = PAIRS, **options: object) -> list[dict[str, object]]:
        """Work off what is there; the reports of the micro-batches."""
        # As many buckets as there are partitions: each costs a little in every micro-batch.
        known: dict[str, Any] = {"partitions": 4, "metrics": "spaseq", **options}
        answers = sps.match(text, self.frame(), **known)
        self.schema = answers.schema
        query = (
            answers.writeStream.format("parquet")
            .option("checkpointLocation", str(self.folder / "checkpoint"))
            .option("path", str(self.folder / "out"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return [json.loads(report.json) for report in query.recentProgress]

    def stored(self) -> dict[tuple[int, str], int]:
        """The pieces in the state store by bucket and name, and how large each is."""
        rows = self.spark.read.format("statestore").option("stateVarName", "pieces")
        pieces = rows.load(str(self.folder / "checkpoint")).select(
            "key.bucket", "user_map_key.name", F.length("user_map_value.data")
        )
        return {(row[0], row[1]): row[2] for row in pieces.collect()}

    def written(self) -> int:
        """Bytes that were ever written for the state."""
        files = (self.folder / "checkpoint" / "state").rglob("*")
        return sum(file.stat().st_size for file in files if file.is_file())

    def found(self) -> list[tuple[float, float]]:
        """Start and time of every answer, in seconds."""
        rows = self.spark.read.schema(self.schema).parquet(str(self.folder / "out"))
        exact = rows.select(F.unix_micros("start"), F.unix_micros("time")).collect()
        return sorted((row[0] / 1_000_000, row[1] / 1_000_000) for row in exact)


@pytest.fixture
def feed(spark: SparkSession, tmp_path: Path) -> Feed:
    """An empty feed."""
    return Feed(spark, tmp_path)


def test_answers_come_when_they_are_certain_and_not_before(feed: Feed) -> None:
    """An event at the latest instant may still have company; the end of the stream decides the rest."""
    feed.add([(1, "a", "k"), (2, "b", "k")])
    feed.run()
    assert feed.found() == []
    feed.add([(2.5, "c", "k")]).run()
    assert feed.found() == [(1, 2)]
    feed.add([(3, "a", "k"), (4, "b", "k")]).add([(None, "", "")]).run()
    assert feed.found() == [(1, 2), (3, 4)]


def test_ties_of_the_latest_instant_and_microseconds_are_kept(feed: Feed) -> None:
    """Spark's own watermark would drop both: it compares milliseconds and drops what equals the maximum."""
    feed.add([(1.000001, "a", "k1")]).add(
        [(1.000001, "a", "k2"), (1.000002, "b", "k1"), (1.000002, "b", "k2")]
    )
    reports = feed.add([(None, "", "")]).run()
    assert feed.found() == [(1.000001, 1.000002)] * 2
    assert not any(report["observedMetrics"]["spaseq_late"]["late"] for report in reports)


def test_late_events_are_counted_and_kept_and_do_not_end_the_query(feed: Feed) -> None:
    """Each once, however many partitions its mappings would have gone to, and also if it matches nothing.

    Bad input ends it, as is the default, and ``on_late`` can make late events do so.
    """
    feed.add([(10, "a", "k")]).add([(7, "a", "k"), (7, "nothing", "k"), (8, "a", "k")]).add(
        [(12, "b", "k"), (None, "", "")]
    )
    place = str(feed.folder / "late")
    reports = feed.run(lateness="2s", quarantine=place)
    assert [report["observedMetrics"]["spaseq_late"]["late"] for report in reports] == [0, 2, 0]
    told = reports[1]["observedMetrics"]
    assert sum(count for name, count in told["spaseq_late"].items() if name.startswith("late of ")) == 2
    assert set(told["spaseq_state"]) == {*COUNTS, "watermark"}
    assert told["spaseq_state"]["state_bytes"] > 0
    assert told["spaseq_state"]["watermark"] is not None
    kept = list(quarantined(place))
    assert len(kept) == 2
    assert [each["time"] for each in kept] == ["1970-01-01T00:00:07Z"] * 2
    assert sorted(str(each["text"]) for each in kept) == [
        '<http://ex.org/k> <http://ex.org/a> "7" .\n',
        '<http://ex.org/k> <http://ex.org/nothing> "7" .\n',
    ], "the events themselves, also where queries do not look at them"
    assert all("the watermark has reached 1970-01-01T00:00:08Z" in str(each["reason"]) for each in kept)
    assert feed.found() == [(8, 12), (10, 12)]
    (feed.folder / "again").mkdir()
    strict = Feed(feed.spark, feed.folder / "again").add([(10, "a", "k")]).add([(7, "a", "k")])
    with pytest.raises(Exception, match="STREAM_FAILED") as failed:
        strict.run(on_late="fail")
    assert "late: its time is 1970-01-01T00:00:07Z" in str(problem_of(failed.value))


def test_counts_of_a_micro_batch_without_rows_are_0(feed: Feed) -> None:
    """Spark's sum of nothing is NULL, which nobody can add up."""
    for report in feed.add([]).run():
        found = report["observedMetrics"]
        assert isinstance(found, dict)
        assert found["spaseq"] == {"events": 0, "bad": 0}
        assert found["spaseq_late"] == {"late": 0, "late of http://ex.org/s": 0}
    assert feed.add([(1, "a", "k")]).run()[-1]["observedMetrics"]["spaseq"]["events"] == 1  # type: ignore[index]


def test_every_partition_of_kafka_has_its_own_watermark(spark: SparkSession, tmp_path: Path) -> None:
    """One that is read more slowly than the others is waited for; what is late is named by topic, partition and offset."""
    found = []
    for name, options in (("each", {}), ("all", {"watermark_by": []})):
        (tmp_path / name).mkdir()
        feed = Feed(spark, tmp_path / name)
        feed.add([(1, "a", "k"), (20, "c", "k"), (1, "c", "j")], partitions=(0, 0, 1))
        feed.add([(2, "b", "k")], partitions=(1,)).add([(None, "", "")])
        feed.run(quarantine=str(tmp_path / "late" / name), **options)
        found.append(feed.found())
    assert found == [[(1, 2)], []]
    assert list(quarantined(tmp_path / "late" / "each")) == []
    late = sorted((each["source"], each["position"]) for each in quarantined(tmp_path / "late" / "all"))
    assert late == [("t/1", 3)]


def test_a_negation_at_the_end_is_decided_while_the_stream_is_silent(feed: Feed) -> None:
    """Event time passes as the wall clock does when nothing has come for long enough."""
    text = QUERY.format(form="SELECT ?k", seq="A ; B!").replace("10 SECONDS", "1 SECONDS")
    feed.add([(1, "a", "k")])
    answers = sps.match(text, feed.frame(), close_after="1 second")
    feed.schema = answers.schema
    writer = answers.writeStream.format("parquet").option("path", str(feed.folder / "out"))
    query = writer.option("checkpointLocation", str(feed.folder / "checkpoint")).start()
    try:
        written = feed.folder / "out" / "_spark_metadata" / "0"
        while query.isActive and not (written.exists() and feed.found()):
            query.awaitTermination(0.2)
    finally:
        query.stop()
    assert feed.found() == [(1, 2)]


def test_a_promise_lets_time_pass_without_events(feed: Feed) -> None:
    """A row that says so and has no triples: nothing before its time will come. Trailing negation is decided by it."""
    text = QUERY.format(form="SELECT ?k", seq="A ; B!")
    feed.add([(1, "a", "k")]).add([(11, "", "")])
    feed.run(text)
    assert feed.found() == []
    feed.add([(11.000001, "", "")]).run(text)
    assert feed.found() == [(1, 11)]


def test_an_idle_stream_is_waited_for_only_so_long(spark: SparkSession, tmp_path: Path) -> None:
    """``stream_lag`` bounds how far behind the fastest one a stream may be."""
    text = PAIRS.replace(
        "FROM STREAM S <http://ex.org/s>", "FROM STREAM S <http://ex.org/s> FROM STREAM T <urn:t>"
    )
    found = []
    for name, options in (("stalls", {}), ("goes on", {"stream_lag": "5s"})):
        (tmp_path / name).mkdir()
        feed = Feed(spark, tmp_path / name)
        feed.add([(1, "a", "k"), (2, "b", "k")]).add([(30, "a", "k")]).run(text, **options)
        found.append(feed.found())
    assert found == [[], [(1, 2)]]


@pytest.mark.parametrize("partition", ["", "PARTITION BY ?k"])
def test_state_of_idle_keys_is_dropped(feed: Feed, partition: str) -> None:
    """A hundred thousand keys with one event each: after their windows the store has nothing of any key.

    A head per bucket stays for ever, however many keys there were: it says how far time has come, without which
    nobody could tell after a restart which events are late, and what the checkpoint belongs to.
    """
    text = PAIRS.replace("WHERE", f"{partition} WHERE")
    feed.add([(i / 100_000, "a", f"k{i}") for i in range(100_000)]).add([(5, "nothing", "x")])
    feed.run(text)
    before = feed.stored()
    feed.add([(60, "nothing", "x")])
    reports = feed.run(text)
    after = feed.stored()
    assert sum(before.values()) > 1_000_000
    assert [name for _, name in after] == ["head"] * 4
    assert sum(after.values()) < 2_000
    assert reports[-1]["stateOperators"][0]["numRowsTotal"] == len(after)


def test_a_micro_batch_writes_what_it_touched(feed: Feed) -> None:
    """One per cent of the keys move: the store gets far less than the whole state."""
    text = PAIRS.replace("10 SECONDS", "1 HOURS")
    feed.add([(i / 100_000, "a", f"k{i}") for i in range(50_000)]).add([(2, "nothing", "x")])
    feed.run(text)
    whole, written = sum(feed.stored().values()), feed.written()
    feed.add([(3 + i / 100_000, "a", f"k{i}") for i in range(500)]).add([(4, "nothing", "x")])
    feed.run(text)
    assert feed.written() - written < whole / 10


def test_a_restart_in_another_session_finds_the_state_of_every_key(feed: Feed) -> None:
    """Neither shuffle partitions nor cores decide where keys are; another number of buckets is refused."""
    shuffled = "spark.sql.shuffle.partitions"
    before = feed.spark.conf.get(shuffled)
    try:
        feed.add([(1, "a", f"k{i}") for i in range(40)]).run(partitions=None)
        feed.spark.conf.set(shuffled, "7")
        feed.add([(2, "b", f"k{i}") for i in range(40)]).add([(3, "nothing", "x")])
        feed.run(partitions=None)
        assert feed.found() == [(1, 2)] * 40
        feed.add([(4, "a", "k")])
        with pytest.raises(Exception, match="STREAM_FAILED") as failed:
            feed.run(partitions=8)
    finally:
        feed.spark.conf.set(shuffled, before or "200")
    problem = problem_of(failed.value)
    assert isinstance(problem, IncompatibleCheckpoint)
    assert "run again with partitions=64" in str(problem)


def test_another_query_cannot_take_up_a_checkpoint(feed: Feed) -> None:
    """It is refused, and the sentence says what to do."""
    feed.add([(1, "a", "k")]).run()
    feed.add([(2, "b", "k")])
    with pytest.raises(Exception, match="STREAM_FAILED") as failed:
        feed.run(PAIRS.replace("10 SECONDS", "11 SECONDS"))
    problem = problem_of(failed.value)
    assert isinstance(problem, IncompatibleCheckpoint)
    assert "start with a new checkpoint" in str(problem)


class _OlderRelease(SequenceProcessor):
    """Writes heads as a release with another state version would."""

    def handleInputRows(self, *given: Any, **named: Any) -> Iterator[pd.DataFrame]:  # noqa: N802
        yield from super().handleInputRows(*given, **named)
        (head,) = self._state.getValue(("head",))
        self._state.updateValue(("head",), (json.dumps({**json.loads(head), "version": 0}).encode(),))


def test_state_of_another_version_is_refused(feed: Feed, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sentence names both versions and what to do."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    with monkeypatch.context() as older:
        older.setattr(match_module, "SequenceProcessor", _OlderRelease)
        feed.add([(1, "a", "k")]).run()
    with pytest.raises(Exception, match="STREAM_FAILED") as failed:
        feed.add([(2, "b", "k")]).run()
    problem = problem_of(failed.value)
    assert isinstance(problem, IncompatibleCheckpoint)
    assert (
        f"state of version 0, this release reads version {STATE_VERSION}; finish the run with the release"
        in str(problem)
    )


def test_distinct_and_ask_hold_over_all_buckets_and_micro_batches(
    spark: SparkSession, tmp_path: Path
) -> None:
    """DISTINCT keeps one of equal answers, ASK answers once and never again, also after a restart."""
    events: list[Event] = [(1, "a", f"k{i}") for i in range(8)]
    closing: list[Event] = [(2, "b", f"k{i}") for i in range(8)]
    found = {}
    for name, form in (("distinct", "SELECT DISTINCT ?w"), ("ask", "ASK")):
        (tmp_path / name).mkdir()
        feed = Feed(spark, tmp_path / name)
        text = QUERY.format(form=form, seq="A ; B")
        feed.add(events).add(closing).add([(3, "nothing", "x")]).run(text)
        feed.add([(4, "a", "k1"), (5, "b", "k1")]).add([(None, "", "")]).run(text)
        found[name] = feed.found()
    assert found == {"distinct": [(1, 2), (4, 5)], "ask": [(1, 2)]}


def test_a_restart_may_tell_other_sources_apart(feed: Feed) -> None:
    """Those of before are not waited for any more; they held up all answers for ever."""
    feed.add([(1, "a", "k"), (2, "a", "k")], partitions=[0, 1]).run()
    feed.add([(3, "b", "k"), (4, "a", "x")], partitions=[0, 0])
    feed.run(watermark_by=[])
    assert feed.found() == [(1, 3), (2, 3)]


def test_sources_are_known_whatever_the_order_of_the_streams(spark: SparkSession, tmp_path: Path) -> None:
    """A restart whose mapping has another order read the files of each stream again."""
    query = PAIRS.replace("FROM STREAM S <http://ex.org/s>", "FROM STREAM S <urn:s> FROM STREAM T <urn:t>")
    query = query.replace("B ON S", "B ON T")

    def add(stream: str, number: int, name: str, *seconds: int) -> None:
        (tmp_path / stream).mkdir(exist_ok=True)
        stamp, integer = (
            "<http://www.w3.org/ns/prov#generatedAtTime>",
            "<http://www.w3.org/2001/XMLSchema#integer>",
        )
        lines = [
            f'<urn:{at}> {stamp} "{at}000"^^{integer} .\n<http://ex.org/k> <http://ex.org/{name}> "{at}" <urn:{at}> .\n'
            for at in seconds
        ]
        (tmp_path / stream / f"{number}.nq").write_text("".join(lines))

    def run(order: str) -> list[tuple[int, int]]:
        frames = {name: sps.read_events(spark, tmp_path / name, streaming=True) for name in order}
        writer = sps.match(query, frames, partitions=4).writeStream.format("parquet")
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.option("path", str(tmp_path / "out")).trigger(availableNow=True).start().awaitTermination()
        rows = spark.read.parquet(str(tmp_path / "out")).select(
            F.unix_seconds("start"), F.unix_seconds("time")
        )
        return sorted(map(tuple, rows.collect()))

    add("S", 0, "a", 1, 3)
    add("T", 0, "b", 2, 4)
    assert run("ST") == [(1, 2)]
    add("S", 1, "a", 5)
    add("T", 1, "b", 6)
    assert run("TS") == [(1, 2), (3, 4)]
