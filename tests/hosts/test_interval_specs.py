"""Every spec of EP-SPARQL on Spark: over finite inputs, and in micro-batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyoxigraph import NamedNode, Triple
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from spaseq import spark as sps
from spaseq.model.events import GraphEvent
from spaseq.model.forms import EVERY_STREAM
from spaseq.model.matches import Match
from spaseq.planner.compiled import compile_query
from spaseq.settings import changed_settings
from spaseq.testing import Case, load_all
from spaseq.testing.runner import check_matches
from support.spark_trials import (
    ALL_BUCKETS,
    BUCKETS,
    EVENTS,
    Together,
    event_row,
    matches_by_query,
    stream_in_batches,
)

EX = "http://ex.org/"
SPECS = Path(__file__).resolve().parents[1] / "spec"
CASES = [case for case in load_all(SPECS, "epsparql") if case.expected is not None]
INSTANTS = [case for case in CASES if all(event.start is None for event in case.events)]

Answers = dict[str, list[Match]]


def _jobs(cases: list[Case]) -> Iterator[list[Case]]:
    """Cases that may run together: over the same input, with the same options; rules would hold for all, so they run alone."""
    jobs: dict[object, list[Case]] = {}
    for case in cases:
        alone = case.id if "CONSTRUCT" in case.query else ""
        graphs = tuple(sorted((name, graph) for name, graph in case.knowledge.items()))
        jobs.setdefault((case.events, graphs, case.policy, case.rdfs, alone), []).append(case)
    yield from jobs.values()


def _together(cases: list[Case]) -> Together:
    queries = {case.id: compile_query(case.query, "epsparql", name=case.id) for case in cases}
    events = sorted(cases[0].events, key=lambda event: event.time)
    return Together(queries, [(EVERY_STREAM, event) for event in events], cases[0].knowledge)


def _options(cases: list[Case]) -> dict[str, object]:
    return {"policy": cases[0].policy, "rdfs": cases[0].rdfs}


@pytest.fixture(scope="module")
def batch(spark: SparkSession) -> Callable[[int], Answers]:
    """The answers to all cases with so many buckets, computed once."""
    known: dict[int, Answers] = {}

    def of(buckets: int) -> Answers:
        if buckets not in known:
            known[buckets] = {}
            with changed_settings(tasks_per_core=max(BUCKETS)):
                for cases in _jobs(CASES):
                    known[buckets] |= _answers(spark, cases, buckets)
        return known[buckets]

    return of


def _answers(spark: SparkSession, cases: list[Case], buckets: int) -> Answers:
    job = _together(cases)
    rows = [(*event_row(stream, event), event.start) for stream, event in job.events]
    frame = spark.createDataFrame(spark.sparkContext.parallelize(rows, 3), EVENTS + ", start bigint")
    frame = frame.withColumn("time", F.timestamp_micros("time"))
    frame = frame.withColumn("start", F.timestamp_micros("start"))
    options = {"provenance": True, "partitions": buckets, **_options(cases)}
    return matches_by_query(sps.match_all(job.queries, frame, job.knowledge, **options))


@pytest.mark.spark
@pytest.mark.parametrize("buckets", BUCKETS if ALL_BUCKETS else [7])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_intervals_on_spark(case: Case, buckets: int, batch: Callable[[int], Answers]) -> None:
    """The host gives what the spec file says, however many buckets there are."""
    check_matches(case, f"spark, {buckets} buckets", batch(buckets).get(case.id, []))


@pytest.fixture(scope="module")
def stream(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Case], list[Match]]:
    """The answers to cases in micro-batches, computed once for those that run together."""
    found: Answers = {}
    for cases in _jobs(INSTANTS):
        if len(cases) > 1:
            folder = tmp_path_factory.mktemp("intervals")
            answers, _ = stream_in_batches(spark, _together(cases), folder, 3, 0, **_options(cases))
            found |= {case.id: answers.get(case.id, []) for case in cases}
    return lambda case: found[case.id]


STREAMED = [case for cases in _jobs(INSTANTS) if len(cases) > 1 for case in cases]


@pytest.mark.spark
@pytest.mark.parametrize("case", STREAMED, ids=lambda case: case.id)
def test_intervals_on_a_stream(case: Case, stream: Callable[[Case], list[Match]]) -> None:
    """The host gives what the spec file says, however the input is cut."""
    check_matches(case, "spark, micro-batches", stream(case))


LINKS = (
    "PREFIX : <http://ex.org/> CONSTRUCT { ?x :linked ?y } WHERE { ?x :edge ?y } SELECT ?y { ?x :linked ?y }"
)


@pytest.mark.spark
def test_the_limit_of_rules_counts_all_buckets(spark: SparkSession, tmp_path: Path) -> None:
    """Twelve keys, each with one occurrence at one instant; finite, and in a micro-batch."""
    query = compile_query(LINKS, "epsparql", name="links")
    assert query.distribution.variables
    edges = [
        Triple(NamedNode(f"{EX}a{key}"), NamedNode(f"{EX}edge"), NamedNode(f"{EX}b")) for key in range(12)
    ]
    events = [GraphEvent(EVERY_STREAM, 1_000_000, frozenset({edge})) for edge in edges]
    rows = [event_row(EVERY_STREAM, event) for event in events]
    frame = spark.createDataFrame(rows, EVENTS).withColumn("time", F.timestamp_micros("time"))
    assert sps.match(query, frame, partitions=3, rule_limit=12).count() == 12
    said = "rule 1 produces more than 11 occurrences at 1970-01-01T00:00:01Z"
    with pytest.raises(Exception, match=said):
        sps.match(query, frame, partitions=3, rule_limit=11).collect()
    job = Together({"links": query}, [(EVERY_STREAM, event) for event in events], {})
    with pytest.raises(Exception, match=said):
        stream_in_batches(spark, job, tmp_path, 2, 0, rule_limit=11)
