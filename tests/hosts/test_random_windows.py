"""Random queries over windows of random streams, with and without MATCH: Spark answers like the reference, in one job and in micro-batches."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from pyspark.sql import SparkSession

from spaseq import spark as sps
from spaseq.algebra.operator_query import OperatorQuery
from spaseq.algebra.windows import WindowQuery
from spaseq.model.events import GraphEvent
from spaseq.model.forms import EVERY_STREAM
from spaseq.model.matches import Match
from spaseq.planner import CompiledQuery, compile_query
from spaseq.planner.compiled import operator_distribution
from spaseq.planner.continuous import continuous_query
from spaseq.testing import reference_host
from support.engine_hosts import disordered
from support.match_scenarios import match_scenarios
from support.spark_trials import Together, event_row, events_frame, matches_by_query, stream_in_batches
from support.window_scenarios import WindowScenario, window_scenarios

pytestmark = pytest.mark.spark

DRAWN, KEPT = 420, 300
"""Of the scenarios that are drawn, those with answers are kept, and others until there are so many."""
STREAMED = 60
"""How many of them also come in micro-batches."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Scenarios as one job, and the answers of the reference implementation."""

    job: Together
    wanted: dict[str, Counter[tuple[object, ...]]]

    def first(self, count: int) -> Sample:
        """Some of the scenarios."""
        names = list(self.wanted)[:count]
        queries = {name: self.job.queries[name] for name in names}
        streams = {stream.iri for query in queries.values() for stream in query.streams}
        events = [(stream, event) for stream, event in self.job.events if stream in streams]
        job = replace(self.job, queries=queries, events=events)
        return Sample(job, {name: self.wanted[name] for name in names})

    def check(self, found: dict[str, list[Match]]) -> None:
        """Equal as multisets, with instants, bindings and identities."""
        wrong = [
            f"{self.job.queries[name].text}\n  missing: {wanted - got}\n  extra: {got - wanted}"
            for name, wanted in self.wanted.items()
            for got in [Counter(map(_shown, found.get(name, [])))]
            if wanted != got
        ]
        assert not wrong, f"{len(wrong)} of {len(self.wanted)} differ:\n" + "\n".join(wrong[:3])


def _shown(match: Match) -> tuple[object, ...]:
    def plain(text: object) -> str:
        return re.sub(r"_:\S+", "_:b", str(text))

    bindings = tuple(sorted((name, plain(term)) for name, term in match.bindings.items()))
    triples = None if match.triples is None else tuple(sorted(map(plain, match.triples)))
    return match.time, match.start, bindings, triples, match.boolean


SCENARIOS = {"windows": window_scenarios(), "event patterns": match_scenarios(lasting=False)}


@pytest.fixture(scope="module", params=SCENARIOS)
def sample(request: pytest.FixtureRequest) -> Sample:
    """The same scenarios every time. All share the background graphs of the first."""
    drawn: list[WindowScenario] = []

    @settings(
        max_examples=DRAWN,
        derandomize=settings.default.derandomize,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(SCENARIOS[request.param])
    def draw(scenario: WindowScenario) -> None:
        drawn.append(scenario)

    draw()
    knowledge = drawn[0].knowledge
    runs = []
    for scenario in drawn:
        query = compile_query(scenario.query, "rsepql")
        if query.streams[0].iri != EVERY_STREAM:  # streams of their own keep the queries of a job apart
            answers = list(reference_host.run(query, scenario.events, knowledge))
            runs.append((scenario, answers))
    runs.sort(key=lambda run: not run[1])
    queries: dict[str, CompiledQuery] = {}
    events: list[tuple[str, GraphEvent]] = []
    wanted = {}
    for number, (scenario, answers) in enumerate(runs[:KEPT]):
        name, mark = f"scenario {number}", f"/{number}"
        queries[name] = _own_streams(compile_query(scenario.query, "rsepql", name=name), mark)
        events += [(event.stream + mark, event) for event in scenario.events]
        wanted[name] = Counter(map(_shown, answers))
    assert len(wanted) == KEPT
    return Sample(Together(queries, events, knowledge), wanted)


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


def test_random_queries_over_windows_on_spark(spark: SparkSession, sample: Sample) -> None:
    """A finite input in several partitions."""
    job = sample.job
    events = events_frame(spark, [event_row(stream, event) for stream, event in job.events], 2)
    frame = sps.match_all(job.queries, events, job.knowledge, provenance=True, partitions=3)
    sample.check(matches_by_query(frame))


def test_random_queries_over_windows_on_a_stream(spark: SparkSession, sample: Sample, tmp_path: Path) -> None:
    """Two micro-batches, with events out of order by as much as is waited for."""
    sample = sample.first(STREAMED)
    ordered = disordered([replace(event, stream=stream) for stream, event in sample.job.events], 5_000_000)
    job = replace(sample.job, events=[(event.stream, event) for event in ordered])
    answers, _ = stream_in_batches(spark, job, tmp_path, 2, 6_000_000)
    sample.check(answers)
