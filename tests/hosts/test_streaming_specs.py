"""Every spec file on Spark over an endless input: out of order, in one, three and ten micro-batches."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spaseq.model.matches import Match
from spaseq.testing import Case, Host, check, load_all
from support.engine_hosts import disordered
from support.spark_trials import Fact, stream_in_batches, together

SPECS = Path(__file__).resolve().parents[1] / "spec"
CASES = [case for case in load_all(SPECS) if case.expected is not None]
ALL_GRAPHS = [case for case in CASES if "GRAPH ?" in case.query.upper()]
"""Cases that range over all background graphs, so they cannot share a job with others."""
TOGETHER = [case for case in CASES if case not in ALL_GRAPHS]

Found = Callable[[int], dict[str, list[Match]]]


@pytest.fixture(scope="module")
def found(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Found:
    """The answers to all cases in so many micro-batches, computed once."""
    known: dict[int, dict[str, list[Match]]] = {}

    def of(batches: int) -> dict[str, list[Match]]:
        if batches not in known:
            known[batches] = {}
            for cases in (TOGETHER, ALL_GRAPHS):
                facts = [
                    Fact(case.id, case.query, tuple(disordered(case.events, 5_000_000)), case.knowledge)
                    for case in cases
                ]
                folder = tmp_path_factory.mktemp(f"streaming-{batches}")
                answers, reports = stream_in_batches(spark, together(facts), folder, batches, 6_000_000)
                late = [report["observedMetrics"]["spaseq_late"]["late"] for report in reports]
                assert not any(late), f"nothing is late: {late}"
                known[batches] |= answers
        return known[batches]

    return of


@pytest.mark.spark
@pytest.mark.parametrize("batches", [1, 3, 10])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_spec_on_a_stream(case: Case, batches: int, found: Found) -> None:
    """The host gives what the spec file says, however the input is cut."""
    check(case, Host(f"spark, {batches} micro-batches", lambda query, *_: found(batches).get(query.name, [])))
