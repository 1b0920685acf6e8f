"""Every spec file on Spark over a finite input, with one, two and seven partitions."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spaseq import spark as sps
from spaseq.model.matches import Match
from spaseq.testing import Case, Host, check, load_all
from support.spark_trials import Fact, event_row, events_frame, matches_by_query, together

SPECS = Path(__file__).resolve().parents[1] / "spec"
CASES = [case for case in load_all(SPECS) if case.expected is not None]
ALL_GRAPHS = [case for case in CASES if "GRAPH ?" in case.query.upper()]
"""Cases that range over all background graphs, so they cannot share a job with others."""
TOGETHER = [case for case in CASES if case not in ALL_GRAPHS]


def answers(spark: SparkSession, cases: list[Case], partitions: int) -> dict[str, list[Match]]:
    """What Spark answers to some cases in one job."""
    job = together([Fact(case.id, case.query, case.events, case.knowledge) for case in cases])
    events = events_frame(spark, [event_row(stream, event) for stream, event in job.events], partitions)
    frame = sps.match_all(job.queries, events, job.knowledge, provenance=True, partitions=partitions)
    return matches_by_query(frame)


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> Callable[[int], dict[str, list[Match]]]:
    """The answers to all cases with so many partitions, computed once."""
    known: dict[int, dict[str, list[Match]]] = {}

    def of(partitions: int) -> dict[str, list[Match]]:
        if partitions not in known:
            known[partitions] = answers(spark, TOGETHER, partitions)
            for case in ALL_GRAPHS:
                known[partitions] |= answers(spark, [case], partitions)
        return known[partitions]

    return of


@pytest.mark.spark
@pytest.mark.parametrize("partitions", [1, 2, 7])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_spec_on_spark(case: Case, partitions: int, found: Callable[[int], dict[str, list[Match]]]) -> None:
    """The host gives what the spec file says, however the input is spread."""
    host = Host(
        f"spark, {partitions} partitions",
        lambda query, _events, _knowledge: found(partitions).get(query.name, []),
    )
    check(case, host)
