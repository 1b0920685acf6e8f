"""A language with an operator of its own, added by the recipes of docs/how-to/extend.md: nothing else has to change for it."""

from __future__ import annotations

import pickle
import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import spaseq
from spaseq import Engine, Event, InvalidArgument, QueryError, Session
from spaseq.algebra.operator_query import OperatorQuery
from spaseq.io.encode import encode_pushed
from spaseq.languages.registry import language_names, language_of
from spaseq.model.events import GraphEvent
from spaseq.operators.snapshot import IncompatibleSnapshot
from spaseq.planner.program import build_program
from spaseq.settings import changed_settings
from spaseq.spark.job import Job, make_tasks
from spaseq.spark.output.answer_rows import RowForm
from spaseq.spark.shared_folder import BadPolicy
from spaseq.spark.shuffle.routing import Ticks, routing_of
from spaseq.spark.sources.bad_events import BadEvents
from spaseq.spark.sources.task_place import TaskPlace
from spaseq.spark.stages.mapper import Mapper
from spaseq.spark.state import bucket_state
from spaseq.spark.state.stream_stage import BucketInput, Work
from spaseq.temporal.instants import FOREVER
from support.toys import added

STREAM = "http://ex.org/s"
QUERY = f"PREFIX : <http://ex.org/>\nTALLY ?k EVERY 10 ON <{STREAM}> {{ ?k :v ?v FILTER (?v > 1) }}"
PAIRS = f"""SELECT ?k WITHIN 5 SECONDS FROM STREAM S <{STREAM}> WHERE {{ SEQ (A ; B)
DEFINE GPM A ON S {{ ?k <http://ex.org/v> ?v }} DEFINE GPM B ON S {{ ?k <http://ex.org/v> ?w }} }}"""
XSD = "http://www.w3.org/2001/XMLSchema#"
Row = tuple[int, int, str, str]


@pytest.fixture(autouse=True, scope="module")
def _toys() -> Iterator[None]:
    with added():
        yield


def events(count: int, keys: int = 4) -> list[Event]:
    """Random values, in order of time."""
    chance, second, found = random.Random(count), 0, []
    for _ in range(count):
        second += chance.choice((0, 0, 1, 2, 5))
        graph = f"<http://ex.org/k{chance.randrange(keys)}> <http://ex.org/v> {chance.randrange(4)} ."
        found.append(Event(STREAM, second * 1_000_000, graph, format="turtle"))
    return found


def expected(given: list[Event]) -> list[Row]:
    """What the definition says: solutions by window and key."""
    counts: dict[tuple[int, str], int] = {}
    for event in given:
        subject, _, value, _ = str(event.graph).split()
        if int(value) > 1:
            window = (int(event.time) // 10_000_000 + 1) * 10_000_000, subject
            counts[window] = counts.get(window, 0) + 1
    return sorted(
        (end, end - 10_000_000, key.strip("<>"), str(count)) for (end, key), count in counts.items()
    )


def rows(matches: list[spaseq.Match]) -> list[Row]:
    """Matches as plain values."""
    return [
        (match.instant, match.begin, match.bindings["k"].value, match.bindings["count"].value)
        for match in matches
    ]


def test_the_language_is_found_checked_and_explained() -> None:
    """By name, extension and words; its errors have a place, and `explain` tells what runs it."""
    assert {"spaseq", "tally"} <= set(language_names())
    assert language_of(QUERY).name == language_of("", "x.tally").name == "tally"
    query = spaseq.compile(QUERY)
    assert query.explain().splitlines() == [
        "SELECT ?k ?count",
        f"stream    events <{STREAM}>",
        f'pattern   counted on <{STREAM}>: ?k <http://ex.org/v> ?v . FILTER((?v > "1"^^<{XSD}integer>))',
        "operator  tally",
        "by        ?k: every value of ?k is counted for itself",
    ]
    assert '"operator": "tally"' in query.explain("json")
    assert repr(query) == "<CompiledQuery query: tally over counted>"
    with pytest.raises(InvalidArgument, match="draws an automaton, and a query of tally has none"):
        query.explain("svg")
    with pytest.raises(QueryError, match="TLY001") as caught:
        spaseq.compile(QUERY.replace("?k :v ?v", "OPTIONAL { ?k :v ?v }"))
    assert caught.value.line == 2
    with pytest.raises(QueryError, match="expected an integer"):
        spaseq.compile(QUERY.replace("EVERY 10", "EVERY"))


@pytest.mark.parametrize("size", [1, 7, 200])
def test_it_runs_in_process_and_goes_on_from_a_snapshot_anywhere(size: int) -> None:
    """Also while ids move, with events that wait, and beside a query of another language."""
    given = events(60)
    with changed_settings(compacted_terms=8):
        engine, found = Engine(QUERY, lateness="3s"), []
        for at in range(0, len(given), size):
            found += engine.push(given[at : at + size])
            engine = Engine.restore(QUERY, engine.snapshot(), lateness="3s")
        found += engine.finish()
    assert sorted(rows(found)) == expected(given)
    assert [match.instant for match in found] == sorted(match.instant for match in found)
    assert len({match.identity for match in found}) == len(found)
    session = Session()
    session.add(QUERY, "counts")
    session.add(PAIRS, "pairs")
    both = [*session.push(given), *session.finish()]
    assert sorted(rows([match for match in both if match.query == "counts"])) == expected(given)
    assert any(match.query == "pairs" for match in both)


def test_a_snapshot_of_another_language_is_refused() -> None:
    """State belongs to a query."""
    engine = Engine(PAIRS)
    engine.push(events(5))
    with pytest.raises(IncompatibleSnapshot, match="belongs to another query"):
        Engine.restore(QUERY, engine.snapshot())


@pytest.mark.parametrize(
    ("options", "ticks"),
    [({}, Ticks.NONE), ({"hears_instants": True}, Ticks.INSTANTS), ({"counts_events": True}, Ticks.EVENTS)],
    ids=["rows only", "instants", "all events"],
)
def test_an_operator_hears_of_as_many_events_as_it_asks_for(options: dict[str, bool], ticks: Ticks) -> None:
    """Also in buckets that none of their rows goes to."""
    query = spaseq.compile(QUERY)
    assert isinstance(query.source, OperatorQuery)
    program = build_program(replace(query, source=replace(query.source, **options)))
    assert routing_of(program, 3).ticks is ticks
    assert program.needs_positions is program.tells_events is (ticks is Ticks.EVENTS)


class Store(dict[str, bytes]):
    """A state store in memory."""

    def put(self, name: str, data: bytes) -> None:
        self[name] = data

    def remove(self, name: str) -> None:
        self.pop(name, None)


@pytest.mark.parametrize("cold", [False, True], ids=["one process", "a new process for every micro-batch"])
@pytest.mark.parametrize("provenance", [False, True])
def test_it_runs_in_the_buckets_of_spark_with_its_state_in_the_store(cold: bool, provenance: bool) -> None:
    """Rows go by key to a bucket, state is put down and taken up, nothing is left at the end."""
    given = events(60)
    tasks, streams = make_tasks({"q": spaseq.compile(QUERY)}, 3, streaming=True)
    job = pickle.loads(
        pickle.dumps(Job(f"{cold}{provenance}", tasks, streams, 3, provenance=provenance, places=(0, 1, 2)))
    )
    mapper, stores, found, used = Mapper(job), [Store() for _ in range(3)], [], set()
    for piece in [*(given[at : at + 8] for at in range(0, len(given), 8)), None]:
        if cold:
            bucket_state._warm = bucket_state._Warm()
        brought = [BucketInput() for _ in stores]
        plain: list[GraphEvent] = [e.to_graph_event(STREAM, mapper.dictionary) for e in piece or ()]
        batch = encode_pushed(plain, streams, mapper.dictionary)
        for _, bucket, _, block in mapper.blocks(batch, np.arange(len(plain), dtype=np.int64), ""):
            brought[bucket].blocks.setdefault(0, []).append(block)
            used.add(bucket)
        for bucket, (given_here, store) in enumerate(zip(brought, stores, strict=True)):
            if piece is None:
                given_here.progress.promise(STREAM, FOREVER)
            for event in plain:
                given_here.progress.see(STREAM, event.time)
            work = Work(job, bucket, bucket_state.BucketState(job, bucket, store), TaskPlace())
            for answers in work.run(
                given_here, RowForm(together=True).opened(job, TaskPlace()), BadEvents(BadPolicy("fail"), "")
            ):
                for row in pa.Table.from_batches([answers]).to_pylist():
                    bindings = dict(row["bindings"])
                    count = bindings["count"].split('"')[1]
                    times = [int(row[name].timestamp() * 1_000_000) for name in ("time", "start")]
                    found.append((*times, bindings["k"].strip("<>"), count))
    assert sorted(found) == expected(given)
    assert len(used) > 1
    assert all(list(store) == ["head"] for store in stores)
