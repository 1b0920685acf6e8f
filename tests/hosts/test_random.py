"""Random queries over random streams: Spark answers like the reference implementation, however the input is spread or cut."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyoxigraph import Triple
from pyspark.sql import SparkSession

from spaseq import spark as sps
from spaseq.model.matches import Match
from spaseq.planner import compile_query
from spaseq.testing.comparison import comparable
from spaseq.testing.runner import reference_host
from support.engine_hosts import disordered
from support.scenarios import Scenario, scenarios
from support.spark_trials import (
    Fact,
    Together,
    event_row,
    events_frame,
    matches_by_query,
    stream_in_batches,
    together,
)

pytestmark = pytest.mark.spark

DRAWN, KEPT = 400, 300
"""Of the scenarios that are drawn, those with matches are kept, and others until there are so many."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Scenarios as one job, and the answers of the reference implementation."""

    job: Together
    wanted: dict[str, Counter[tuple[object, ...]]]

    def check(self, found: dict[str, list[Match]]) -> None:
        """Equal as multisets, with instants, bindings, events and identities."""
        wrong = [
            f"{query.algebra}\n  missing: {wanted - got}\n  extra: {got - wanted}"
            for name, query in self.job.queries.items()
            for wanted, got in [(self.wanted[name], comparable(query, found.get(name, []), labels=False))]
            if wanted != got
        ]
        assert not wrong, f"{len(wrong)} of {len(self.wanted)} differ:\n" + "\n".join(wrong[:3])


@pytest.fixture(scope="module")
def samples() -> list[Sample]:
    """The same scenarios every time, in two jobs: those that range over all background graphs share them."""
    drawn: list[Scenario] = []

    @settings(
        max_examples=DRAWN,
        derandomize=settings.default.derandomize,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(scenario=st.one_of(scenarios(), scenarios(beyond=True)))
    def draw(scenario: Scenario) -> None:
        drawn.append(scenario)

    draw()
    ranging = [each for each in drawn if "GRAPH ?" in each.query]
    others = [each for each in drawn if "GRAPH ?" not in each.query]
    shared = max((each.knowledge for each in ranging), key=_triples)
    found = [
        _sample(_telling(others), {}),
        _sample([replace(each, knowledge={}) for each in ranging], shared),
    ]
    assert sum(len(sample.wanted) for sample in found) >= 300
    return found


def _telling(drawn: list[Scenario]) -> list[Scenario]:
    """The scenarios with matches, and others until there are enough."""
    compiled = ((each, compile_query(each.query)) for each in drawn)
    runs = ((each, reference_host.run(query, each.events, each.knowledge)) for each, query in compiled)
    return [each for each, _ in sorted(runs, key=lambda run: not run[1])][:KEPT]


def _triples(knowledge: dict[str, frozenset[Triple]]) -> int:
    return sum(map(len, knowledge.values()))


def _sample(drawn: list[Scenario], shared: dict[str, frozenset[Triple]]) -> Sample:
    facts = [
        Fact(f"case {number}", each.query, tuple(disordered(each.events, 5_000_000)), each.knowledge)
        for number, each in enumerate(drawn)
    ]
    job = together(facts)
    job = replace(job, knowledge={**job.knowledge, **shared})
    wanted = {}
    for number, (name, query) in enumerate(job.queries.items()):
        events = tuple(
            replace(event, stream=stream) for stream, event in job.events if stream.endswith(f"/fact{number}")
        )
        known = {
            iri: graph for iri, graph in job.knowledge.items() if shared or iri.endswith(f"/fact{number}")
        }
        wanted[name] = comparable(query, reference_host.run(query, events, known), labels=False)
    return Sample(job, wanted)


def test_the_sample_says_something(samples: list[Sample]) -> None:
    """More than a hundred of its queries have matches."""
    assert sum(bool(wanted) for sample in samples for wanted in sample.wanted.values()) > 100


@pytest.mark.parametrize("partitions", [2, 7])
def test_a_finite_input_is_answered_like_the_judge_does(
    partitions: int, samples: list[Sample], spark: SparkSession
) -> None:
    """However many partitions keys and windows are spread over."""
    for sample in samples:
        job = sample.job
        events = events_frame(spark, [event_row(stream, event) for stream, event in job.events], partitions)
        answers = sps.match_all(job.queries, events, job.knowledge, provenance=True, partitions=partitions)
        sample.check(matches_by_query(answers))


@pytest.mark.parametrize("batches", [3])
def test_an_endless_input_is_answered_like_the_judge_does(
    batches: int, samples: list[Sample], spark: SparkSession, tmp_path: Path
) -> None:
    """Out of order within the lateness, in however many micro-batches."""
    for number, sample in enumerate(samples):
        found, reports = stream_in_batches(spark, sample.job, tmp_path / str(number), batches, 6_000_000)
        assert not any(report["observedMetrics"]["spaseq_late"]["late"] for report in reports)  # type: ignore[index]
        sample.check(found)
