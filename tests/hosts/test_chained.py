"""Facts about queries over what other queries construct, on streams."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name

import spaseq
from spaseq import spark as sps
from spaseq.errors import InvalidArgument
from support.trades import EX, HEAD, QUERIES, nquads, trades

pytestmark = pytest.mark.spark

TWICE = f"""{HEAD}SELECT ?c ?p ?q WITHIN 20 SECONDS SLIDING FROM STREAM R <{EX}rises>
WHERE {{ SEQ (A ; B) DEFINE GPM A ON R {{ ?c :rose ?p }} DEFINE GPM B ON R {{ ?c :rose ?q FILTER (?q > ?p) }} }}"""


def expected(folder: Path) -> list[tuple[int, str]]:
    """What the in-process engine finds in what it has constructed."""
    rises = [
        spaseq.Event(f"{EX}rises", match.instant, match.triples)
        for match in spaseq.run(QUERIES["build"], {"S1": str(folder)})
    ]
    found = spaseq.run(TWICE, {"R": rises})
    return sorted((match.instant, str(match.bindings["c"])) for match in found)


def rows(answers: DataFrame, points: Path) -> list[tuple[int, str]]:
    """All answers of a streaming DataFrame over an input that ends."""
    taken: list[tuple[int, str]] = []

    def take(batch: DataFrame, _: int) -> None:
        taken.extend(map(tuple, batch.select(F.unix_micros("time"), "c").collect()))

    writer = answers.writeStream.option("checkpointLocation", str(points)).foreachBatch(take)
    writer.trigger(availableNow=True).start().awaitTermination()
    return sorted(taken)


def test_a_stream_of_graphs_carries_its_watermark_to_the_next_query(
    spark: SparkSession, tmp_path: Path
) -> None:
    """All matches are found, also those that end with the stream."""
    (tmp_path / "events").mkdir()
    for number in range(2):
        text = nquads(trades(30, seed=number, first=30 * number))
        (tmp_path / f"events/{number}.nq").write_text(text, encoding="utf-8")
    trading = sps.read_events(
        spark, tmp_path / "events", streaming=True, finite=True, max_files_per_trigger=1
    )
    rises = sps.match(QUERIES["build"], {"S1": trading}, partitions=2)
    assert rises.columns == ["time", "triples"]
    found = rows(sps.match(TWICE, {"R": rises}, partitions=2), tmp_path / "points")
    assert len(found) > 10
    assert found == expected(tmp_path / "events")
    told = sps.with_promises(rises)
    assert told.columns == ["time", "triples", "promise"]
    with pytest.raises(InvalidArgument, match="before anything is done with it"):
        sps.with_promises(told.where("promise OR size(triples) > 0"))


LATER = f"PREFIX : <{EX}> CONSTRUCT {{ ?c :rose ?q }} {{ {{ ?c :price ?p }} SEQ {{ ?c :price ?q FILTER(?q > 8) }} }}"
LASTED = f"PREFIX : <{EX}> SELECT ?c ?q {{ ?c :rose ?q FILTER(getDURATION() > 'PT5S'^^<http://www.w3.org/2001/XMLSchema#duration>) }}"


@pytest.mark.parametrize("streaming", [False, True])
def test_what_rules_produce_is_an_interval_for_the_next_query(
    spark: SparkSession, tmp_path: Path, streaming: bool
) -> None:
    """Graphs of EP-SPARQL have a column `start`, which `match` reads as that of any interval event."""
    (tmp_path / "events").mkdir()
    (tmp_path / "events/0.nq").write_text(nquads(trades(20)), encoding="utf-8")
    read = {"streaming": True, "finite": True} if streaming else {}
    later, lasted = (spaseq.compile(text, "epsparql") for text in (LATER, LASTED))
    graphs = sps.match(later, {"S": sps.read_events(spark, tmp_path / "events", **read)}, partitions=2)
    assert graphs.columns == ["time", "start", "triples"]
    answers = sps.match(lasted, {"R": graphs}, partitions=2)
    found = rows(answers, tmp_path / "points") if streaming else None
    if found is None:
        found = sorted(map(tuple, answers.select(F.unix_micros("time"), "c").collect()))
    made = [
        spaseq.Event("R", match.instant, match.triples, start=match.begin)
        for match in spaseq.run(later, {"S": str(tmp_path / "events")})
    ]
    assert len(found) > 10
    assert found == sorted((m.instant, str(m.bindings["c"])) for m in spaseq.run(lasted, {"R": made}))


def test_graphs_that_have_lost_their_watermark_are_refused_with_the_cure(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Answers at the end of the stream would be missing without a word."""
    (tmp_path / "trades.nq").write_text(nquads(trades(9)), encoding="utf-8")
    trading = sps.read_events(spark, tmp_path, streaming=True, finite=True)
    rises = sps.match(QUERIES["build"], {"S1": trading}, partitions=2)
    for lost in (rises.select("time", "triples"), rises.where("size(triples) > 0"), rises.alias("r")):
        with pytest.raises(InvalidArgument, match=r"begin with sps.with_promises\(graphs\)"):
            sps.match(TWICE, {"R": lost})
    told = sps.with_promises(rises).where("promise OR size(triples) > 0").select("promise", "time", "triples")
    sps.match(TWICE, {"R": told})
    sps.match(TWICE, {"R": rises.withColumn("promise", F.lit(False))})
    with pytest.raises(InvalidArgument, match="has lost the watermark"):
        sps.match(TWICE, {"R": told.drop("promise")})
    with pytest.warns(UserWarning, match="were filtered"):
        sps.match(TWICE, {"R": sps.with_promises(rises).where("size(triples) > 0")})


def test_graphs_of_several_queries_are_not_one_stream(spark: SparkSession, tmp_path: Path) -> None:
    """A promise of the faster query would make graphs of the slower one late."""
    (tmp_path / "trades.nq").write_text(nquads(trades(9)), encoding="utf-8")
    told = [
        sps.with_promises(
            sps.match(
                QUERIES["build"], {"S1": sps.read_events(spark, tmp_path, streaming=True)}, partitions=2
            )
        )
        for _ in range(2)
    ]
    plain = sps.read_events(spark, tmp_path, streaming=True).select("time", "triples", "promise")
    for other in (told[1], plain):
        with pytest.raises(InvalidArgument, match="declare a stream for each in the query"):
            sps.match(TWICE, {"R": told[0].union(other)})
    # Promises of one query, and those of streams that rows name, count for what they are meant for.
    sps.match(TWICE, {"R": told[0].where("promise OR size(triples) > 0").union(told[0].where("promise"))})
    names = [each.withColumn("stream", F.lit(f"{EX}rises")) for each in told]
    sps.match(TWICE, names[0].union(names[1]))


def test_graphs_that_come_from_several_streams_that_end(spark: SparkSession, tmp_path: Path) -> None:
    """What they are made of has promises of its own, which are not those of the graphs."""
    second = QUERIES["build"].replace("FROM STREAM S1", f"FROM STREAM S2 <{EX}more> FROM STREAM S1")
    streams = {}
    for name in ("S1", "S2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "trades.nq").write_text(nquads(trades(30)), encoding="utf-8")
        read = sps.read_events(spark, tmp_path / name, streaming=True, finite=True)
        streams[name] = read.where("promise OR size(triples) > 0")
    rises = sps.match(second, streams, partitions=2)
    found = rows(sps.match(TWICE, {"R": rises}, partitions=2), tmp_path / "points")
    assert found == expected(tmp_path / "S1") != []


def test_graphs_with_what_they_are_made_of_carry_their_watermark_too(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Where equal graphs of several buckets are compared, and where events carry columns of their rows."""
    (tmp_path / "events").mkdir()
    (tmp_path / "events/0.nq").write_text(nquads(trades(30)), encoding="utf-8")
    # The key of the first query does not show in its graphs, so equal ones may come from several buckets.
    build = QUERIES["build"].replace("{ ?c :rose ?q }", "{ :all :rose ?q }")
    trading = sps.read_events(spark, tmp_path / "events", streaming=True, finite=True)
    rises = sps.match(build, {"S1": trading}, partitions=2, provenance=True, carry=["position"])
    found = rows(sps.match(TWICE, {"R": rises}, partitions=2), tmp_path / "points")
    graphs = spaseq.run(build, {"S1": str(tmp_path / "events")})
    events = [spaseq.Event(f"{EX}rises", match.instant, match.triples) for match in graphs]
    wanted = spaseq.run(TWICE, {"R": events})
    assert found == sorted((match.instant, str(match.bindings["c"])) for match in wanted) != []
