"""Many facts in one job: what the tests of this host run their cases with.

A job costs a second, a case should not. Every case gets streams of its own, by name; the events of all cases
stand in one DataFrame with a column ``stream``, and all queries run in one `match_all`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyoxigraph import Triple
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql.types import ArrayType, BooleanType, LongType, StringType, StructField, StructType

from spaseq.model.events import GraphEvent
from spaseq.model.matches import Match, MatchedEvent
from spaseq.model.terms import term_of
from spaseq.planner.compiled import CompiledQuery, compile_query
from spaseq.spark.matching import match_all


@dataclass(frozen=True, slots=True)
class Fact:
    """A query over events and background graphs, with a name."""

    name: str
    query: str
    events: tuple[GraphEvent, ...]
    knowledge: dict[str, frozenset[Triple]]


@dataclass(frozen=True, slots=True)
class Together:
    """Many facts as one job: queries that share no stream and no graph, and one list of events."""

    queries: dict[str, CompiledQuery]
    events: list[tuple[str, GraphEvent]]
    knowledge: dict[str, frozenset[Triple]]


_STREAM = re.compile(r"(FROM\s+STREAM\s+\S+\s+<)([^>]*)(>)", re.IGNORECASE)


def together(facts: Sequence[Fact]) -> Together:
    """Facts side by side; one among others has its number in the names of its streams and graphs."""
    queries, events, knowledge = {}, [], {}
    for number, fact in enumerate(facts):
        mark = f"/fact{number}" if len(facts) > 1 else ""
        text = _STREAM.sub(rf"\g<1>\g<2>{mark}\g<3>", fact.query)
        for iri, graph in fact.knowledge.items():
            text = text.replace(f"<{iri}>", f"<{iri}{mark}>")
            knowledge[f"{iri}{mark}"] = graph
        queries[fact.name] = compile_query(text, name=fact.name)
        events += [(f"{event.stream}{mark}", event) for event in fact.events]
    return Together(queries, events, knowledge)


BUCKETS = (1, 7, 64, 200)
"""The numbers of buckets that specs are held to."""
ALL_BUCKETS = os.environ.get("HYPOTHESIS_PROFILE") == "full"
"""Whether every spec runs with every number of them; CI has time for a part."""

EVENTS = "time bigint, triples array<struct<s:string,p:string,o:string>>, graph string, stream string"


def event_row(stream: str, event: GraphEvent) -> tuple[int, list[tuple[str, str, str]], str | None, str]:
    """An event as a row of `EVENTS`."""
    triples = [(str(t.subject), str(t.predicate), str(t.object)) for t in event.triples]
    return event.time, triples, None if event.name is None else str(event.name), stream


def events_frame(spark: SparkSession, rows: Sequence[tuple[object, ...]], partitions: int) -> DataFrame:
    """Rows of `EVENTS` as a DataFrame, in order, in so many partitions."""
    frame = spark.createDataFrame(spark.sparkContext.parallelize(rows, partitions), EVENTS)
    return frame.withColumn("time", F.timestamp_micros("time"))


def matches_by_query(answers: DataFrame) -> dict[str, list[Match]]:
    """What `match_all` with provenance found, as the objects that the local engine gives."""
    found: dict[str, list[Match]] = {}
    exact = answers.withColumn("time", F.unix_micros("time")).withColumn("start", F.unix_micros("start"))
    shown = exact.withColumn(
        "events",
        F.transform(
            "events",
            lambda event: F.struct(
                event.step, event.stream, F.unix_micros(event.time).alias("time"), event.graph
            ),
        ),
    )
    for row in shown.collect():
        found.setdefault(row["query"], []).append(match_of(row))
    return found


def match_of(row: Row) -> Match:
    """A row of answers as a match."""
    triples = row["triples"]
    return Match(
        row["time"],
        row["start"],
        {name: term_of(text) for name, text in (row["bindings"] or {}).items()},
        tuple(MatchedEvent(e[0], e[1], e[2], None if e[3] is None else term_of(e[3])) for e in row["events"]),
        None
        if triples is None
        else frozenset(Triple(term_of(t.s), term_of(t.p), term_of(t.o)) for t in triples),  # type: ignore[arg-type]
        row["match"],
        row["query"],
        row["boolean"],
    )


def stream_in_batches(
    spark: SparkSession, job: Together, folder: Path, batches: int, lateness: int, **options: object
) -> tuple[dict[str, list[Match]], list[dict[str, object]]]:
    """What `match_all` answers to an input that comes in so many micro-batches, and Spark's reports of them.

    Each stream comes in the order in which its events stand in the job, cut into even pieces; one more micro-batch
    says that all streams have ended.
    """
    source, sink = folder / "events", folder / "answers"
    source.mkdir(parents=True)
    by_stream: dict[str, list[GraphEvent]] = {}
    for stream, event in job.events:
        by_stream.setdefault(stream, []).append(event)
    pieces: list[list[tuple[object, ...]]] = [[] for _ in range(batches)]
    for stream, events in by_stream.items():
        for number, event in enumerate(events):
            pieces[number * batches // len(events)].append(event_row(stream, event))
    declared = {iri for query in job.queries.values() for iri in (s.iri for s in query.streams)}
    pieces.append([(None, None, None, iri, True) for iri in sorted(declared)])
    names = ("time", "triples", "graph", "stream", "promise")
    for number, rows in enumerate(pieces):
        file = source / f"{number:04d}.json"
        file.write_text("".join(json.dumps(dict(zip(names, row, strict=False))) + "\n" for row in rows))
        os.utime(file, (1_000_000 + number, 1_000_000 + number))
    kinds = (LongType(), ArrayType(ArrayType(StringType())), StringType(), StringType(), BooleanType())
    schema = StructType([StructField(name, kind) for name, kind in zip(names, kinds, strict=True)])
    read = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).json(str(source))
    events_of = read.select(
        F.timestamp_micros("time").alias("time"),
        F.transform("triples", lambda t: F.struct(t[0].alias("s"), t[1].alias("p"), t[2].alias("o"))).alias(
            "triples"
        ),
        "graph",
        "stream",
        "promise",
    )
    # As many buckets as there are partitions: each costs a little in every micro-batch.
    known = {"partitions": 4, "metrics": "spaseq", **options}
    answers = match_all(job.queries, events_of, job.knowledge, provenance=True, lateness=lateness, **known)
    query = (
        answers.writeStream.format("parquet")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .option("path", str(sink))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    reports = [json.loads(report.json) for report in query.recentProgress]
    return matches_by_query(spark.read.schema(answers.schema).parquet(str(sink))), reports
