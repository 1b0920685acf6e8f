"""Random EP-SPARQL files over random streams of intervals: Spark answers like the reference.

Many scenarios run in one job, each with names of its own; so what would see the triples of others is left to the specs: predicates,
classes and graphs that are variables, negated and empty paths.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from pyoxigraph import NamedNode, Triple
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from spaseq import spark as sps
from spaseq.algebra.expressions import Constant
from spaseq.algebra.intervals import IntervalQuery
from spaseq.algebra.patterns import Graph, TriplePattern
from spaseq.algebra.strata import NegativeCycle, readings
from spaseq.algebra.visibility import every_pattern
from spaseq.languages.epsparql.query import compile_intervals
from spaseq.model.events import GraphEvent, localised
from spaseq.model.forms import EVERY_STREAM
from spaseq.model.matches import Match
from spaseq.model.terms import BlankScopes
from spaseq.planner.compiled import compile_query
from spaseq.reference.interval_answers import interval_answers
from support.interval_scenarios import EX, TYPE, IntervalScenario, interval_scenarios
from support.spark_trials import EVENTS, event_row, matches_by_query

pytestmark = pytest.mark.spark

DRAWN, KEPT, PER_JOB, WITH_RULES = 1000, 300, 80, 12
"""How many scenarios are drawn and kept, and how many run in one job: rules hold for all queries of a job."""

Shown = Counter[tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A scenario with names of its own, and the answers of the reference implementation."""

    name: str
    scenario: IntervalScenario
    answers: Shown

    @property
    def kind(self) -> tuple[object, ...]:
        """Scenarios of one kind may run together."""
        return self.scenario.policy, self.scenario.rdfs, "CONSTRUCT" in self.scenario.query


def _own(scenario: IntervalScenario, number: int) -> IntervalScenario:
    """The scenario in a vocabulary of its own."""
    base = f"{EX}s{number}/"

    def renamed(triple: Triple) -> Triple:
        terms = [
            NamedNode(term.value.replace(EX, base)) if isinstance(term, NamedNode) else term
            for term in triple
        ]
        return Triple(*terms)  # type: ignore[arg-type]

    return replace(
        scenario,
        query=scenario.query.replace(EX, base),
        events=tuple(
            replace(event, triples=frozenset(map(renamed, event.triples))) for event in scenario.events
        ),
        knowledge={
            name.replace(EX, base): frozenset(map(renamed, graph))
            for name, graph in scenario.knowledge.items()
        },
    )


def _separable(query: IntervalQuery) -> bool:
    """True if no other scenario's triples can match."""
    patterns = [rule.pattern for rule in query.rules] + ([query.asked.pattern] if query.asked else [])
    triples = [reading.triple for pattern in patterns for reading in readings(pattern)]
    triples += [triple for rule in query.rules for triple in rule.template]
    named = all(
        isinstance(part.name, Constant)
        for pattern in patterns
        for part in every_pattern(pattern)
        if isinstance(part, Graph)
    )
    return named and all(map(_of_its_own, triples))


def _of_its_own(triple: TriplePattern) -> bool:
    if not isinstance(triple.predicate, Constant):
        return False
    return triple.predicate.term != TYPE or isinstance(triple.object, Constant)


def _shown(match: Match) -> tuple[object, ...]:
    def plain(text: object) -> str:
        return re.sub(r"_:\S+", "_:b", str(text))

    bindings = tuple(sorted((name, plain(term)) for name, term in match.bindings.items()))
    triples = None if match.triples is None else tuple(sorted(map(plain, match.triples)))
    return match.instant, match.begin, bindings, triples, match.boolean


@pytest.fixture(scope="module")
def sample() -> list[Wanted]:
    """The same scenarios every time; those with answers first."""
    drawn: list[IntervalScenario] = []

    @settings(
        max_examples=DRAWN,
        derandomize=settings.default.derandomize,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(interval_scenarios())
    def draw(scenario: IntervalScenario) -> None:
        drawn.append(scenario)

    draw()
    found = []
    for number, each in enumerate(drawn):
        scenario = _own(each, number)
        (query,) = compile_intervals(scenario.query, policy=scenario.policy)
        if query.asked is None or not _separable(query):
            continue
        scopes = BlankScopes()
        events = [localised(event, scopes) for event in scenario.events]
        try:
            answers = interval_answers(
                query, events, scenario.knowledge, policy=scenario.policy, rdfs=scenario.rdfs
            )
        except NegativeCycle:
            continue
        found.append(Wanted(f"scenario {number}", scenario, Counter(map(_shown, answers))))
    return sorted(found, key=lambda wanted: not wanted.answers)[:KEPT]


def _jobs(sample: list[Wanted]) -> Iterator[list[Wanted]]:
    kinds: dict[tuple[object, ...], list[Wanted]] = {}
    for wanted in sample:
        kinds.setdefault(wanted.kind, []).append(wanted)
    for kind, same in kinds.items():
        size = WITH_RULES if kind[-1] else PER_JOB
        yield from (same[at : at + size] for at in range(0, len(same), size))


def _answers(spark: SparkSession, job: list[Wanted]) -> dict[str, list[Match]]:
    queries = {each.name: compile_query(each.scenario.query, "epsparql", name=each.name) for each in job}
    events: list[GraphEvent] = [event for each in job for event in each.scenario.events]
    events.sort(key=lambda event: event.time)
    rows = [(*event_row(EVERY_STREAM, event), event.start) for event in events]
    frame = spark.createDataFrame(spark.sparkContext.parallelize(rows, 2), EVENTS + ", start bigint")
    frame = frame.withColumn("time", F.timestamp_micros("time")).withColumn(
        "start", F.timestamp_micros("start")
    )
    knowledge = {name: graph for each in job for name, graph in each.scenario.knowledge.items()}
    first = job[0].scenario
    found = sps.match_all(
        queries, frame, knowledge, provenance=True, partitions=2, policy=first.policy.value, rdfs=first.rdfs
    )
    return matches_by_query(found)


def test_random_epsparql_on_spark(spark: SparkSession, sample: list[Wanted]) -> None:
    """With rules, RDFS and policies; equal as multisets, with instants and bindings."""
    assert len(sample) == KEPT
    wrong = []
    for job in _jobs(sample):
        found = _answers(spark, job)
        for each in job:
            got = Counter(map(_shown, found.get(each.name, [])))
            if got != each.answers:
                missing, extra = each.answers - got, got - each.answers
                wrong.append(f"{each.scenario.query}\n  missing: {missing}\n  extra: {extra}")
    assert not wrong, f"{len(wrong)} of {len(sample)} differ:\n" + "\n".join(wrong[:3])
