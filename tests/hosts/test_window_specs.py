"""Every spec of queries over windows on Spark: over finite inputs, and in micro-batches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from spaseq import spark as sps
from spaseq.algebra.operator_query import OperatorQuery
from spaseq.algebra.windows import WindowQuery
from spaseq.model.forms import EVERY_STREAM
from spaseq.model.matches import Match
from spaseq.planner.compiled import CompiledQuery, compile_query, operator_distribution
from spaseq.planner.continuous import continuous_query
from spaseq.settings import changed_settings
from spaseq.testing import Case, Host, check, load_all
from support.engine_hosts import disordered
from support.spark_trials import (
    ALL_BUCKETS,
    BUCKETS,
    EVENTS,
    Together,
    event_row,
    matches_by_query,
    stream_in_batches,
)

SPECS = Path(__file__).resolve().parents[1] / "spec"
CASES = [case for case in load_all(SPECS, "rsepql") if case.expected is not None]
EVERYTHING = [
    case
    for case in CASES
    if compile_query(case.query, "rsepql", profile=case.profile).streams[0].iri == EVERY_STREAM
]
"""Cases that read every stream, so they cannot share a job with others."""
INSTANTS = [case for case in CASES if all(event.start is None for event in case.events)]
"""Cases whose events are instants, as files in micro-batches have them."""

Found = Callable[[int], dict[str, list[Match]]]


def _own_streams(query: CompiledQuery, mark: str) -> CompiledQuery:
    """The query over streams whose names end in a mark."""
    assert isinstance(query.source, OperatorQuery)
    assert isinstance(query.source.details, WindowQuery)
    windows = query.source.details
    streams = tuple(replace(stream, iri=stream.iri + mark) for stream in windows.streams)
    moved = tuple(replace(window, stream=window.stream + mark) for window in windows.windows)
    source = continuous_query(replace(windows, streams=streams, windows=moved))
    return replace(
        query,
        source=source,
        streams=streams,
        patterns=source.patterns,
        distribution=operator_distribution(source),
    )


def _together(cases: list[Case], *, late: bool = False) -> Together:
    """The cases as one job; their background graphs are the same."""
    queries, events, knowledge = {}, [], {}
    for number, case in enumerate(cases):
        mark = f"/fact{number}" if len(cases) > 1 else ""
        query = compile_query(case.query, "rsepql", profile=case.profile, name=case.id)
        queries[case.id] = _own_streams(query, mark) if mark else query
        own = disordered(case.events, 5_000_000) if late else case.events
        events += [(f"{event.stream}{mark}", event) for event in own]
        knowledge |= case.knowledge
    if cases == EVERYTHING:
        events = [(EVERY_STREAM, event) for _, event in events]
    return Together(queries, events, knowledge)


JOBS = [[case for case in CASES if case not in EVERYTHING], *([case] for case in EVERYTHING)]


@pytest.fixture(scope="module")
def batch(spark: SparkSession) -> Found:
    """The answers to all cases with so many partitions, computed once."""
    known: dict[int, dict[str, list[Match]]] = {}

    def of(partitions: int) -> dict[str, list[Match]]:
        if partitions not in known:
            known[partitions] = {}
            for job in map(_together, JOBS):
                rows = [(*event_row(stream, event), event.start) for stream, event in job.events]
                spread = spark.sparkContext.parallelize(rows, min(partitions, 7))
                events = spark.createDataFrame(spread, EVENTS + ", start bigint")
                events = events.withColumn("time", F.timestamp_micros("time"))
                events = events.withColumn("start", F.timestamp_micros("start"))
                with changed_settings(tasks_per_core=max(BUCKETS)):
                    frame = sps.match_all(
                        job.queries, events, job.knowledge, provenance=True, partitions=partitions
                    )
                    known[partitions] |= matches_by_query(frame)
        return known[partitions]

    return of


@pytest.mark.spark
@pytest.mark.parametrize("partitions", BUCKETS if ALL_BUCKETS else BUCKETS[:3])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_windows_on_spark(case: Case, partitions: int, batch: Found) -> None:
    """The host gives what the spec file says, however the input is spread."""
    check(
        case, Host(f"spark, {partitions} partitions", lambda query, *_: batch(partitions).get(query.name, []))
    )


@pytest.fixture(scope="module")
def stream(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Found:
    """The answers to all cases in so many micro-batches, computed once."""
    known: dict[int, dict[str, list[Match]]] = {}

    def of(batches: int) -> dict[str, list[Match]]:
        if batches not in known:
            known[batches] = {}
            for cases in ([case for case in job if case in INSTANTS] for job in JOBS):
                folder = tmp_path_factory.mktemp(f"windows-{batches}")
                job = _together(cases, late=True)
                answers, _ = stream_in_batches(spark, job, folder, batches, 6_000_000)
                known[batches] |= answers
        return known[batches]

    return of


@pytest.mark.spark
@pytest.mark.parametrize("batches", [4])
@pytest.mark.parametrize("case", INSTANTS, ids=lambda case: case.id)
def test_windows_on_a_stream(case: Case, batches: int, stream: Found) -> None:
    """The host gives what the spec file says, however the input is cut."""
    check(
        case, Host(f"spark, {batches} micro-batches", lambda query, *_: stream(batches).get(query.name, []))
    )
