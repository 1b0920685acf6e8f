"""Facts about snapshots: what is refused, and that saying so changes nothing."""

from __future__ import annotations

import io
import zlib

import numpy as np
import pytest
from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from spaseq import Engine, Event
from spaseq.columnar.knowledge import Knowledge
from spaseq.engine.inputs import NamedQuery
from spaseq.engine.query_group import GroupOptions, QueryGroup
from spaseq.engine.reorder import ReorderBuffer
from spaseq.engine.session import wall_clock
from spaseq.io.encode import encode_pushed
from spaseq.model.packing import pack, unpack
from spaseq.operators.snapshot import (
    VERSION,
    DamagedSnapshot,
    IncompatibleSnapshot,
    restore_machine,
    snapshot_machine,
)
from spaseq.planner import compile_query

QUERY = """PREFIX : <http://ex.org/>
SELECT ?k ?v WITHIN 30 SECONDS SLIDING FROM STREAM S <http://ex.org/s> WHERE {
  SEQ (A ; B) DEFINE GPM A ON S { ?k :a ?v } DEFINE GPM B ON S { ?k :b ?w FILTER (?w > ?v) }
}"""


def event(second: int, name: str, value: int) -> Event:
    """One triple at a second."""
    graph = f"<http://ex.org/k> <http://ex.org/{name}> {value} ."
    return Event("S", second * 1_000_000, graph, format="turtle")


@pytest.fixture
def blob() -> bytes:
    """The snapshot of an engine in which one run waits."""
    engine = Engine(QUERY, lateness="1s")
    engine.push([event(1, "a", 5), event(5, "a", 6)])
    return engine.snapshot()


def changed(blob: bytes, name: str, place: tuple[int, ...] | int, value: int) -> bytes:
    """The snapshot with another number in one array, under a right checksum."""
    header, views = unpack(zlib.decompress(blob), VERSION)
    arrays = {each: array.copy() for each, array in views.items()}
    arrays[name][place] = value
    return zlib.compress(pack(header, arrays, VERSION))


@pytest.mark.parametrize(
    ("name", "place", "value", "reason"),
    [
        ("ids:operator.slots", (0, 0), 1 << 30, "`operator.slots` holds numbers that are not between 0 and"),
        ("ids:operator.slots", (0, 0), -7, "`operator.slots` holds numbers that are not between 0 and"),
        ("operator.runs", (0, 0), 1 << 40, "`runs` holds numbers that are not between 0 and 1"),
        ("operator.runs", (0, 1), 99, "`runs` holds numbers that are not between 0 and"),
        ("operator.partials", (0, 0), 0, "extends one that comes after it"),
        ("operator.partials", (0, 1), 9, "`partials` holds numbers that are not between 0 and 2"),
        ("operator.partials", (0, 9), 5, "ends at another time than its window"),
        ("operator.events", (0, 0), 1 << 50, "`events` holds numbers that are not between -1 and"),
        ("waiting.offsets", 1, 77, "the triples of waiting events"),
        ("waiting.streams", 0, 5, "`streams` holds numbers that are not between 0 and 1"),
        ("log.serials", 0, 3, "`serials` holds numbers"),
    ],
)
def test_a_number_that_kernels_would_follow_out_of_bounds_is_refused(
    blob: bytes, name: str, place: tuple[int, ...] | int, value: int, reason: str
) -> None:
    """The sentence names the array, or what does not fit."""
    with pytest.raises(DamagedSnapshot, match=reason):
        Engine.restore(QUERY, changed(blob, name, place, value))


@pytest.mark.parametrize(
    "data",
    [b"", b"x", b"PK\x03\x04nothing", zlib.compress(b"nonsense"), b"spaseq"],
    ids=["nothing", "a byte", "a zip", "nonsense", "the beginning"],
)
def test_what_is_no_snapshot_is_refused(data: bytes) -> None:
    """Whatever it is."""
    with pytest.raises(IncompatibleSnapshot):
        Engine.restore(QUERY, data)


def test_a_snapshot_of_an_older_release_is_told_by_its_version() -> None:
    """Those were archives of arrays."""
    old = io.BytesIO()
    np.savez_compressed(old, header=np.zeros(3, np.uint8))
    with pytest.raises(IncompatibleSnapshot, match=rf"has version 3, this release reads version {VERSION}"):
        Engine.restore(QUERY, old.getvalue())


def test_a_snapshot_of_another_query_is_refused(blob: bytes) -> None:
    """Its runs would mean something else."""
    with pytest.raises(IncompatibleSnapshot, match="belongs to another query"):
        Engine.restore(QUERY.replace("30 SECONDS", "31 SECONDS"), blob)


def test_a_flipped_bit_anywhere_is_found(blob: bytes) -> None:
    """A checksum covers everything behind it."""
    plain = zlib.decompress(blob)
    for at in range(0, len(plain), 7):
        damaged = plain[:at] + bytes([plain[at] ^ 1]) + plain[at + 1 :]
        with pytest.raises(IncompatibleSnapshot):
            Engine.restore(QUERY, zlib.compress(damaged))


def test_a_snapshot_that_would_fill_the_memory_is_refused() -> None:
    """A few bytes can be made to give very many."""
    bomb = zlib.compress(bytes(50_000_000))
    assert len(bomb) < 50_000
    with pytest.raises(IncompatibleSnapshot, match="more than max_memory=40,000,000 bytes; allow more"):
        Engine.restore(QUERY, bomb, max_memory=40_000_000)


def test_an_untouched_snapshot_goes_on(blob: bytes) -> None:
    """And finds what the engine would have found."""
    engine = Engine.restore(QUERY, blob, lateness="1s")
    found = [*engine.push(event(9, "b", 7)), *engine.finish()]
    assert [match.bindings["v"].value for match in found] == ["5", "6"]


def test_events_wait_in_a_checkpoint_whichever_query_declares_their_stream() -> None:
    """Queries of one run share the buffer, and the first of them saves it."""
    pattern = "SELECT * WITHIN 1 HOUR FROM STREAM {0} <urn:{0}> WHERE {{ SEQ (A) DEFINE GPM A ON {0} {{ ?s ?p ?o }} }}"
    queries = [NamedQuery(name, compile_query(pattern.format(name))) for name in "ST"]
    groups = [QueryGroup(queries, Knowledge(), wall_clock(), GroupOptions()) for _ in range(2)]
    buffers = [ReorderBuffer(10_000_000) for _ in groups]
    (first, *_), names = groups[0].runs, groups[0].dictionary
    late = Event("T", 1_000_000, "<urn:a> <urn:b> 1 .", format="turtle").to_graph_event("urn:T", names)
    buffers[0].push(encode_pushed([late], groups[0].streams, names))
    blob = snapshot_machine(first.machine, buffers[0])
    restore_machine(groups[1].runs[0].machine, blob, buffers[1], len(groups[1].streams))
    assert buffers[1].held.streams.tolist() == [1]


def is_triples(*subjects: NamedNode | BlankNode) -> list[Triple]:
    """What each of some subjects is: 1, 2 and so on."""
    return [
        Triple(each, NamedNode("http://ex.org/is"), Literal(number))
        for number, each in enumerate(subjects, 1)
    ]


@pytest.mark.parametrize("rdfs", [False, True])
def test_epsparql_goes_on_with_the_background_it_began_with(rdfs: bool) -> None:
    """Its background has no time: what came is joined with it once. Order and labels of blank nodes mean nothing."""
    query = "PREFIX : <http://ex.org/> SELECT ?x ?y { { ?x :a ?v . ?x :is ?y } SEQ { ?x :b ?w } }"
    compiled = compile_query(query, "epsparql")
    known = is_triples(NamedNode("http://ex.org/k"), BlankNode())
    engine = Engine(compiled, knowledge={"http://ex.org/kb": known}, rdfs=rdfs)
    engine.push(event(1, "a", 5))
    blob = engine.snapshot()
    same = is_triples(NamedNode("http://ex.org/k"), BlankNode())[::-1]
    restored = Engine.restore(compiled, blob, knowledge={"http://ex.org/kb": same}, rdfs=rdfs)
    found = [*restored.push(event(2, "b", 6)), *restored.finish()]
    assert [each.bindings["y"] for each in found] == [Literal(1)]
    others: tuple[dict[str, list[Triple]], ...] = (
        {},
        {"http://ex.org/kb": known[:1]},
        {"http://ex.org/other": known},
        {"http://ex.org/kb": known, "http://ex.org/more": []},
    )
    for other in others:
        with pytest.raises(
            IncompatibleSnapshot, match="was taken with other background graphs, and what EP-SPARQL"
        ):
            Engine.restore(compiled, blob, knowledge=other, rdfs=rdfs)


def test_other_queries_go_on_with_another_background(blob: bytes) -> None:
    """Each event reads the background of its time."""
    engine = Engine.restore(
        QUERY, blob, knowledge={"http://ex.org/kb": is_triples(NamedNode("urn:a"))}, lateness="1s"
    )
    assert len([*engine.push(event(9, "b", 7)), *engine.finish()]) == 2
