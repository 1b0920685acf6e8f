"""Where the timestamp of a graph may stand: beside it, inside it, or anywhere in a finite file (CONTRACT section 3)."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from spaseq.io.bad_input import BadInput
from spaseq.io.options import ReadOptions
from spaseq.io.readers import read_events, read_graph_events
from spaseq.model.dictionary import TermDictionary

STAMP = "http://www.w3.org/ns/prov#generatedAtTime"
INTEGER = "http://www.w3.org/2001/XMLSchema#integer"

Seen = tuple[int, str, int, frozenset[str]]


def time(number: int) -> str:
    """A timestamp as a literal."""
    return f'"{number}"^^<{INTEGER}>'


def plainly(file: Path, options: ReadOptions) -> tuple[list[Seen], list[BadInput]]:
    """Times in milliseconds, names, positions and triples by pyoxigraph; and what is bad."""
    bad: list[BadInput] = []
    events = read_graph_events(file, stream="urn:s", options=options, on_bad=bad.append)
    return [(e.time // 1000, str(e.name), e.position, frozenset(map(str, e.triples))) for e in events], bad


def in_batches(file: Path, options: ReadOptions) -> tuple[list[Seen], list[BadInput]]:
    """The same from the batches that an engine gets."""
    bad: list[BadInput] = []
    terms, events = TermDictionary(), []
    for batch in read_events(
        file, stream="urn:s", streams=["urn:s"], dictionary=terms, options=options, on_bad=bad.append
    ):
        for i in range(len(batch)):
            rows = zip(*(column.tolist() for column in batch.triples_of(i)), strict=True)
            triples = frozenset(" ".join(terms.ntriples(term) for term in row) for row in rows)
            name = terms.ntriples(int(batch.names[i])) if batch.names[i] else "None"
            events.append((int(batch.times[i]) // 1000, name, batch.origin_of(i)[1], triples))
    return events, bad


def read(file: Path, options: ReadOptions | None = None) -> tuple[list[Seen], list[BadInput]]:
    """What every tier of the readers gives, which must be the same."""
    options = options or ReadOptions()
    found = plainly(file, options)
    assert in_batches(file, options) == found
    if file.suffix == ".nq":
        compiled = ReadOptions(
            options.timestamp_predicate,
            options.time_unit,
            interpreted_bytes=0,
            chunk_bytes=options.chunk_bytes,
        )
        assert in_batches(file, compiled) == found
    return found


def test_a_timestamp_inside_the_graph_is_read_and_stays_part_of_it(tmp_path: Path) -> None:
    """Whatever its subject."""
    file = tmp_path / "a.nq"
    file.write_text(
        f"<urn:o> <{STAMP}> {time(5)} <urn:g> .\n<urn:o> <urn:p> <urn:b> <urn:g> .\n"
        f"<urn:o> <urn:p> <urn:c> <urn:h> .\n<urn:x> <{STAMP}> {time(6)} <urn:h> .\n"
    )
    events, bad = read(file)
    assert events == [
        (5, "<urn:g>", 1, {f"<urn:o> <{STAMP}> {time(5)}", "<urn:o> <urn:p> <urn:b>"}),
        (6, "<urn:h>", 3, {f"<urn:x> <{STAMP}> {time(6)}", "<urn:o> <urn:p> <urn:c>"}),
    ]
    assert not bad


def test_one_value_inside_the_graph_may_have_many_subjects(tmp_path: Path) -> None:
    """Observations of one moment: the predicate has one value, so the graph has one timestamp."""
    file = tmp_path / "a.nq"
    file.write_text("".join(f"<urn:o{n}> <{STAMP}> {time(5)} <urn:g> .\n" for n in range(3)))
    (event,), bad = read(file)
    assert (event[0], len(event[3])) == (5, 3)
    assert not bad


def test_a_timestamp_beside_the_graph_comes_before_one_inside(tmp_path: Path) -> None:
    """The one inside is then data like any other."""
    file = tmp_path / "a.nq"
    quads = f"<urn:o> <{STAMP}> {time(5)} <urn:g> .\n<urn:o> <{STAMP}> {time(6)} <urn:g> .\n"
    beside = f"<urn:g> <{STAMP}> {time(7)} .\n"
    for text in (quads + beside, beside + quads):
        file.write_text(text)
        (event,), bad = read(file)
        assert (event[0], len(event[3])) == (7, 2)
        assert not bad


def test_the_same_timestamp_twice_is_one(tmp_path: Path) -> None:
    """A data set is a set of quads; only two different timestamps are bad input."""
    file = tmp_path / "a.nq"
    stamp = f"<urn:g> <{STAMP}> {time(7)} .\n"
    file.write_text(f"{stamp}<urn:o> <urn:p> <urn:b> <urn:g> .\n{stamp}")
    events, bad = read(file)
    assert [event[0] for event in events] == [7]
    assert not bad


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ((time(5), time(6)), "more than one timestamp"),
        (('"soon"',), "cannot be read"),
        (("<urn:t>",), "a timestamp is a literal"),
        (("<urn:t>", time(5)), "more than one timestamp"),
    ],
)
def test_a_wrong_timestamp_inside_is_bad_input(tmp_path: Path, values: tuple[str, ...], reason: str) -> None:
    """Two different values, or one that cannot be read; the events around it are not touched."""
    file = tmp_path / "a.nq"
    good = [f"<urn:o> <{STAMP}> {time(n)} <urn:good{n}> .\n" for n in (1, 2)]
    wrong = "".join(f"<urn:o> <{STAMP}> {value} <urn:g> .\n" for value in values)
    file.write_text(good[0] + wrong + good[1])
    events, bad = read(file)
    assert [event[0] for event in events] == [1, 2]
    assert [(item.position, reason in item.reason) for item in bad] == [(2, True)]


def test_trig_and_json_ld_have_timestamps_inside_as_well(tmp_path: Path) -> None:
    """The same graph in both."""
    (tmp_path / "a.trig").write_text(f"GRAPH <urn:g> {{ <urn:o> <{STAMP}> 5 ; <urn:p> <urn:b> }}")
    (tmp_path / "a.jsonld").write_text(
        f'{{"@id":"urn:g","@graph":[{{"@id":"urn:o","{STAMP}":5,"urn:p":{{"@id":"urn:b"}}}}]}}'
    )
    for name in ("a.trig", "a.jsonld"):
        (event,), bad = read(tmp_path / name)
        assert event == (5, "<urn:g>", 1, {f"<urn:o> <{STAMP}> {time(5)}", "<urn:o> <urn:p> <urn:b>"})
        assert not bad


def test_a_jelly_frame_may_have_its_timestamp_inside_the_graph(tmp_path: Path) -> None:
    """The same conventions for the graph of a frame."""
    from pyjelly.integrations.generic.generic_sink import IRI, GenericStatementSink, Literal, Quad

    file = tmp_path / "a.jelly"
    sink = GenericStatementSink()
    stamp, graph = IRI(STAMP), IRI("urn:g")
    sink.add(Quad(IRI("urn:o"), stamp, Literal("5", datatype=INTEGER), graph))
    sink.add(Quad(IRI("urn:o"), IRI("urn:p"), IRI("urn:b"), graph))
    out = io.BytesIO()
    sink.serialize(out)
    file.write_bytes(out.getvalue())
    (event,), bad = read(file)
    assert event == (5, "<urn:g>", 1, {f"<urn:o> <{STAMP}> {time(5)}", "<urn:o> <urn:p> <urn:b>"})
    assert not bad
