"""Equal matches of different buckets have the identities that the other engine gives them (semantics 1.10)."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyoxigraph import Literal, NamedNode, Triple
from pyspark.sql import SparkSession

from spaseq import spark as sps
from spaseq.model.events import GraphEvent
from spaseq.planner import compile_query
from spaseq.testing.comparison import comparable
from spaseq.testing.runner import reference_host
from support.spark_trials import Fact, event_row, events_frame, matches_by_query, stream_in_batches, together

pytestmark = pytest.mark.spark

EX = "http://ex.org/"
KEYS = [f"{EX}k{number}" for number in range(12)]
FORMS = {
    "nothing of the key": "SELECT ?v",
    "a constant": "SELECT (1 AS ?one)",
    "the key": "SELECT ?k",
    "a graph": "CONSTRUCT { [] :saw ?v }",
    "one of them": "SELECT DISTINCT ?v",
    "whether": "ASK",
}


def _query(form: str, partition: str) -> str:
    return (
        f"PREFIX : <{EX}> {form} WITHIN 10 SECONDS FROM STREAM S <{EX}s> {partition} WHERE {{ SEQ (A ; B) "
        "DEFINE GPM A ON S { ?k :a ?v } DEFINE GPM B ON S { ?k :b ?w } }"
    )


def _event(second: int, predicate: str, name: str) -> GraphEvent:
    """One event that speaks of all keys, so that its matches go to all buckets."""
    triples = (Triple(NamedNode(key), NamedNode(EX + predicate), Literal("5")) for key in KEYS)
    return GraphEvent(f"{EX}s", second * 1_000_000, frozenset(triples), NamedNode(EX + name))


EVENTS = (_event(1, "a", "e1"), _event(2, "a", "e2"), _event(3, "b", "e3"))
JOB = together(
    [
        Fact(f"{name}{partition}", _query(form, partition), EVENTS, {})
        for name, form in FORMS.items()
        for partition in ("", "PARTITION BY ?k")
    ]
)
WANTED = {
    name: comparable(
        query,
        reference_host.run(query, tuple(GraphEvent(s, e.time, e.triples, e.name) for s, e in JOB.events), {}),
        labels=False,
    )
    for name, query in JOB.queries.items()
}


def test_a_finite_input_gives_the_judges_identities(spark: SparkSession) -> None:
    """However the keys are spread."""
    frame = events_frame(spark, [event_row(stream, event) for stream, event in JOB.events], 3)
    answers = sps.match_all(JOB.queries, frame, provenance=True, partitions=5)
    found = matches_by_query(answers)
    assert {name: comparable(JOB.queries[name], found[name], labels=False) for name in WANTED} == WANTED
    assert len(found["nothing of the key"]) == 2 * len(KEYS)
    nodes = {str(triple.subject) for match in found["a graph"] for triple in match.triples or ()}
    assert len(nodes) == len(found["a graph"])


def test_an_endless_input_gives_the_judges_identities(spark: SparkSession, tmp_path: Path) -> None:
    """Equal matches come in one micro-batch."""
    found, _ = stream_in_batches(spark, JOB, tmp_path, 2, 0, partitions=5)
    assert {name: comparable(JOB.queries[name], found[name], labels=False) for name in WANTED} == WANTED


def test_only_unreported_keys_need_another_exchange() -> None:
    """A query that selects its keys is numbered where it is evaluated."""
    from spaseq.spark.job import make_tasks

    queries = {name: compile_query(_query(form, "PARTITION BY ?k")) for name, form in FORMS.items()}
    tasks, _ = make_tasks(queries, 5)
    assert [task.name for task in tasks if task.splits_equals] == [
        "nothing of the key",
        "a constant",
        "a graph",
    ]
