"""Every spec file on Spark over a finite input, with one to two hundred buckets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spaseq import spark as sps
from spaseq.model.matches import Match
from spaseq.settings import changed_settings
from spaseq.testing import Case, Host, check, load_all
from support.spark_trials import (
    ALL_BUCKETS,
    BUCKETS,
    Fact,
    event_row,
    events_frame,
    matches_by_query,
    together,
)

SPECS = Path(__file__).resolve().parents[1] / "spec"
CASES = [case for case in load_all(SPECS) if case.expected is not None]
ALL_GRAPHS = [case for case in CASES if "GRAPH ?" in case.query.upper()]
"""Cases that range over all background graphs, so they cannot share a job with others."""


def answers(spark: SparkSession, cases: list[Case], partitions: int) -> dict[str, list[Match]]:
    """What Spark answers to some cases in one job."""
    job = together([Fact(case.id, case.query, case.events, case.knowledge) for case in cases])
    events = events_frame(spark, [event_row(stream, event) for stream, event in job.events], 2)
    frame = sps.match_all(job.queries, events, job.knowledge, provenance=True, partitions=partitions)
    return matches_by_query(frame)


def cases_with(buckets: int) -> list[Case]:
    """The cases that run with so many buckets: in CI all with seven, the others are spread over the other numbers."""
    if buckets == 7 or ALL_BUCKETS:
        return CASES
    others = [number for number in BUCKETS if number != 7]
    return CASES[others.index(buckets) :: len(others)]


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> Callable[[int], dict[str, list[Match]]]:
    """The answers to the cases with so many buckets, computed once."""
    known: dict[int, dict[str, list[Match]]] = {}

    def of(buckets: int) -> dict[str, list[Match]]:
        if buckets not in known:
            cases = cases_with(buckets)
            with changed_settings(tasks_per_core=max(BUCKETS)):
                known[buckets] = answers(spark, [case for case in cases if case not in ALL_GRAPHS], buckets)
                for case in cases:
                    if case in ALL_GRAPHS:
                        known[buckets] |= answers(spark, [case], buckets)
        return known[buckets]

    return of


@pytest.mark.spark
@pytest.mark.parametrize(
    ("case", "buckets"),
    [
        pytest.param(case, number, id=f"{case.id}-{number}")
        for number in BUCKETS
        for case in cases_with(number)
    ],
)
def test_spec_on_spark(case: Case, buckets: int, found: Callable[[int], dict[str, list[Match]]]) -> None:
    """The host gives what the spec file says, however many buckets there are."""
    host = Host(
        f"spark, {buckets} buckets",
        lambda query, _events, _knowledge: found(buckets).get(query.name, []),
    )
    check(case, host)
