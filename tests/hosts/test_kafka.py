"""Facts about a real broker of Kafka: records are events, and what is not is named by topic, partition and offset. `make servers` fetches it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name

import spaseq
from spaseq import spark as sps
from spaseq.model.events import GraphEvent
from support.event_files import nquads
from support.servers import archives, kafka_broker
from support.trades import EX, HEAD, RISE, STREAM, trades

pytestmark = [pytest.mark.spark, pytest.mark.slow]

BUILD = f"""{HEAD}CONSTRUCT {{ ?c :rose ?q }} WITHIN 1 MINUTE SLIDING {STREAM}
WHERE {{ SEQ (A ; B) DEFINE GPM A ON S1 {{ ?c :price ?p }} DEFINE GPM B ON S1 {{ ?c :price ?q FILTER (?q > ?p) }} }}"""
TWICE = f"""{HEAD}SELECT ?c ?p ?q WITHIN 1 MINUTE SLIDING FROM STREAM R <{EX}rises>
WHERE {{ SEQ (A ; B) DEFINE GPM A ON R {{ ?c :rose ?p }} DEFINE GPM B ON R {{ ?c :rose ?q }} }}"""

Record = tuple[int, str | None, str | None]
"""Partition, key and value."""


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[str]:
    """One broker for all tests here, which Spark can talk to."""
    with kafka_broker(tmp_path_factory.mktemp("kafka")) as found:
        if found is None:
            pytest.skip("Kafka is not on this machine: `make servers`")
        for archive in archives("kafka-connector"):
            spark.sql(f"ADD JAR '{archive}'")
        yield found


class Topic:
    """A topic of the broker, of two partitions."""

    def __init__(self, spark: SparkSession, broker: str, folder: Path) -> None:
        self.spark, self.broker, self.folder = spark, broker, folder
        self.name = folder.name

    def send(self, records: Sequence[Record]) -> None:
        """Records in this order within each partition."""
        for partition in {partition for partition, _, _ in records}:
            rows = [each for each in records if each[0] == partition]
            frame = self.spark.createDataFrame(rows, "partition int, key string, value string").coalesce(1)
            writer = frame.withColumn("topic", F.lit(self.name)).write.format("kafka")
            writer.option("kafka.bootstrap.servers", self.broker).save()

    def read(self, streaming: bool = True, name: str = "") -> DataFrame:
        """What was sent, a few records in each micro-batch."""
        reader = self.spark.readStream if streaming else self.spark.read
        source = reader.format("kafka").option("kafka.bootstrap.servers", self.broker)
        if streaming:
            source = source.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", 25)
        return source.option("subscribe", name or self.name).load()

    def events(self) -> DataFrame:
        """The records as `match` reads them: with the key `end` one without payload is a promise."""
        promise = F.col("key").eqNullSafe(F.lit(b"end"))
        return self.read().select("topic", "partition", "offset", "key", "value", promise.alias("promise"))

    def written(self, answers: DataFrame) -> list[tuple[str, ...]]:
        """Work off what was sent; all that was written so far."""
        writer = answers.writeStream.option("checkpointLocation", str(self.folder / "points"))
        writer.format("parquet").option("path", str(self.folder / "out")).trigger(
            availableNow=True
        ).start().awaitTermination()
        rows = self.spark.read.parquet(str(self.folder / "out"))
        return sorted((str(row.time), row.c, row.p, row.q) for row in rows.collect())


@pytest.fixture
def topic(spark: SparkSession, broker: str, tmp_path: Path) -> Topic:
    """A topic of its own."""
    return Topic(spark, broker, tmp_path)


def record(event: GraphEvent) -> Record:
    """An event as a record; events of one company lie in one partition."""
    (triple,) = event.triples
    company = str(triple.subject.value).removeprefix(EX)
    return int(company[1:]) % 2, company, nquads([event])


def expected(events: Sequence[GraphEvent]) -> list[tuple[str, ...]]:
    """What the in-process engine finds."""
    found = spaseq.run(RISE, {"S1": events})
    return sorted(
        (str(match.time.replace(tzinfo=None)), *(str(term) for term in match.bindings.values()))
        for match in found
    )


def test_records_are_answered_and_what_is_no_event_is_named(topic: Topic) -> None:
    """In many micro-batches, over two runs with other shuffle partitions; a deleted record does not end its stream."""
    events = trades(120)
    first, second = [record(event) for event in events[:70]], [record(event) for event in events[70:]]
    aside = topic.folder / "bad"

    def answers() -> DataFrame:
        return sps.match(
            RISE,
            {"S1": topic.events()},
            format="nquads",
            provenance=True,
            carry=["topic", "partition", "offset", "key"],
            on_bad_input="quarantine",
            quarantine=str(aside),
        ).drop("events", "match")

    topic.send([*first[:30], (0, "c2", None), (1, "c3", "no quad"), *first[30:]])
    before = topic.written(answers())
    assert before
    topic.spark.conf.set("spark.sql.shuffle.partitions", "7")
    try:
        topic.send([*second, (0, "end", None), (1, "end", None)])
        assert topic.written(answers()) == expected(events)
    finally:
        topic.spark.conf.set("spark.sql.shuffle.partitions", "4")
    bad = sps.bad_records(topic.spark, str(aside)).collect()
    assert sorted((row.source, row.carried["key"]) for row in bad) == [
        (f"{topic.name}/0", "c2"),
        (f"{topic.name}/1", "c3"),
    ]
    assert {row.position for row in bad} <= set(range(40))


def test_a_slow_partition_is_waited_for(topic: Topic) -> None:
    """Records that are days behind those of the other partition are not late."""
    events = trades(60)
    old = [(1, None, value) for _, _, value in map(record, events[:30])]
    new = [(0, None, value) for _, _, value in map(record, events[30:])]
    answers = sps.match(RISE, {"S1": topic.events()}, format="nquads", on_late="fail")
    topic.send([*new, *old])
    topic.written(answers)
    topic.send([(0, "end", None), (1, "end", None)])
    assert topic.written(answers) == expected(events)


def test_graphs_go_through_a_topic_into_another_query(topic: Topic) -> None:
    """Answers of a CONSTRUCT are sent as records, which the next query reads as events."""
    events = trades(60)
    topic.send([*map(record, events), (0, "end", None), (1, "end", None)])
    graphs = sps.match(BUILD, {"S1": topic.events()}, format="nquads")
    lines = F.array_join(
        F.transform("triples", lambda each: F.concat_ws(" ", each.s, each.p, each.o, F.lit("."))), "\n"
    )
    sent = graphs.select(
        F.struct(F.unix_micros("time").alias("micros"), lines.alias("graph")).alias("of")
    ).select(F.to_json("of").alias("value"), F.lit(f"{topic.name}-rises").alias("topic"))
    writer = sent.writeStream.format("kafka").option("kafka.bootstrap.servers", topic.broker)
    writer.option("checkpointLocation", str(topic.folder / "first")).trigger(
        availableNow=True
    ).start().awaitTermination()

    records = topic.read(streaming=False, name=f"{topic.name}-rises")
    parsed = records.select(
        F.from_json(F.col("value").cast("string"), "micros bigint, graph string").alias("of")
    )
    rises = parsed.select(F.timestamp_micros("of.micros").alias("time"), F.col("of.graph").alias("value"))
    found = sps.match(TWICE, {"R": rises}, format="ntriples").count()
    within = list(spaseq.run(BUILD, {"S1": events}))
    streams = {"R": [spaseq.Event(stream="R", time=each.time, graph=each.triples) for each in within]}
    assert found == len(list(spaseq.run(TWICE, streams))) > 0
