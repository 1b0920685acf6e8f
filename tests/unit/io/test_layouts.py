"""Where the timestamp of a graph may stand: beside it, inside it, or anywhere in a finite file (docs/reference/event-formats.md)."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spaseq.errors import InvalidArgument
from spaseq.io import layouts, nquads
from spaseq.io.bad_input import BadInput
from spaseq.io.options import ReadOptions
from spaseq.io.readers import read_events, read_graph_events
from spaseq.io.sources import Layout
from spaseq.model.batch import EventBatch
from spaseq.model.dictionary import TermDictionary
from spaseq.settings import changed_settings
from support.datasets import WRITERS

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
        assert in_batches(file, replace(options, interpreted_bytes=0)) == found
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


# --- data sets in any order -------------------------------------------------------------------------


def without_place(found: tuple[list[Seen], list[BadInput]]) -> set[tuple[int, str, frozenset[str]]]:
    """Events without their positions; there is no bad input."""
    events, bad = found
    assert not bad
    return {(time, name, triples) for time, name, _, triples in events}


def stream_file(folder: Path, count: int = 9) -> Path:
    """A file in the layout of streams whose graphs share subjects, describe themselves and use blank nodes."""
    file = folder / "stream.nq"
    lines = []
    for n in range(count):
        name = f"<urn:g{n}>"
        lines += [
            f"{name} <{STAMP}> {time(n)} .\n",
            f"{name} <urn:type> <urn:Event> {name} .\n",
            f'<urn:sensor{n % 3}> <urn:value> "{n} \\" \\\\ é\\n"@en {name} .\n',
            f"<urn:sensor{n % 3}> <urn:part> _:b{n} {name} .\n",
            f"_:b{n} <urn:value> {time(n)} {name} .\n",
        ]
    file.write_text("".join(lines))
    return file


def unscoped(events: set[tuple[int, str, frozenset[str]]]) -> set[tuple[int, str, int, frozenset[str]]]:
    """Events whose blank nodes may have any label: only triples without one are compared, and counted."""
    return {
        (time, name, len(triples), frozenset(t for t in triples if "_:" not in t))
        for time, name, triples in events
    }


@pytest.mark.filterwarnings("ignore::DeprecationWarning:rdflib")
@pytest.mark.parametrize("writer", WRITERS)
def test_a_data_set_as_others_write_it_has_the_events_of_the_stream(tmp_path: Path, writer: str) -> None:
    """In every format, whatever the order of graphs and timestamps."""
    stream = stream_file(tmp_path)
    suffix, write = WRITERS[writer]
    target = tmp_path / f"data.{suffix}"
    target.write_bytes(write(stream.read_bytes()))
    assert unscoped(without_place(read(target))) == unscoped(without_place(read(stream)))


@pytest.mark.parametrize("layout", ["auto", "dataset"])
def test_positions_of_a_data_set_are_those_in_the_file(tmp_path: Path, layout: Layout) -> None:
    """An event stands where its first quad does; bad input where it is."""
    file = tmp_path / "a.nq"
    file.write_text(
        f"<urn:g> <{STAMP}> {time(1)} .\n"
        f"<urn:lost> <{STAMP}> {time(1)} .\n"
        '<urn:a> <urn:p> "x" <urn:timeless> .\n'
        "garbage\n"
        '<urn:a> <urn:p> "h1" <urn:h> .\n'
        '<urn:a> <urn:p> "g1" <urn:g> .\n'
        f"<urn:h> <{STAMP}> {time(2)} .\n"
        '<urn:a> <urn:p> "h2" <urn:h> .\n'
        "<urn:stray> <urn:p> <urn:o> .\n"
        '<urn:a> <urn:p> "g2" <urn:g> .\n'
        f'<urn:broken <{STAMP}> "x" <urn:k> .\n'
        f"<urn:k> <{STAMP}> {time(2)} .\n"
        '<urn:a> <urn:p> "k" <urn:k> .\n'
        f"<urn:two> <{STAMP}> {time(2)} .\n"
        '<urn:a> <urn:p> "two" <urn:two> .\n'
        f"<urn:two> <{STAMP}> {time(3)} .\n"
        '<urn:a> <urn:p> "soon" <urn:soon> .\n'
        '<urn:a> <urn:p> "later" <urn:g> .\n'
        f'<urn:soon> <{STAMP}> "soon" .\n'
    )
    events, bad = read(file, ReadOptions(layout=layout))
    assert [event[:3] for event in events] == [(1, "<urn:g>", 6), (2, "<urn:h>", 5)]
    assert [len(event[3]) for event in events] == [3, 2]
    reasons = {item.position: item.reason for item in bad}
    assert sorted(reasons) == [2, 3, 4, 9, 11, 15, 19]
    assert reasons[2] == "the timestamp of <urn:lost> has no graph in the file"
    assert reasons[3] == (
        "the graph <urn:timeless> has no timestamp in the default graph of the file, nor inside it"
    )
    assert "belongs to no event" in reasons[9]
    assert "more than one timestamp" in reasons[15]
    assert "cannot be read" in reasons[19]
    assert {item.source for item in bad} == {str(file)}


def test_a_timestamp_inside_a_graph_of_a_data_set_comes_before_one_far_away(tmp_path: Path) -> None:
    """The order of docs/reference/event-formats.md: beside, inside, anywhere."""
    file = tmp_path / "a.nq"
    file.write_text(
        f"<urn:a> <{STAMP}> {time(1)} <urn:g> .\n"
        f"<urn:a> <urn:p> <urn:b> <urn:h> .\n"
        f"<urn:g> <{STAMP}> {time(2)} .\n"
        f"<urn:h> <{STAMP}> {time(3)} .\n"
        f"<urn:a> <urn:p> <urn:b> <urn:g> .\n"
    )
    events, bad = read(file)
    assert [(time, name, len(triples)) for time, name, _, triples in events] == [
        (1, "<urn:g>", 2),
        (3, "<urn:h>", 1),
    ]
    assert not bad


def test_parts_of_a_graph_with_one_timestamp_inside_are_one_event(tmp_path: Path) -> None:
    """Sorted observations: every part has a timestamp, but it is the same one of the same graph."""
    file = tmp_path / "a.nq"
    lines = [
        line
        for n in range(6)
        for line in (
            f"<urn:o{n}> <{STAMP}> {time(n % 2)} <urn:g{n % 2}> .\n",
            f'<urn:o{n}> <urn:p> "{n}" <urn:g{n % 2}> .\n',
        )
    ]
    file.write_text("".join(lines))
    events, bad = read(file)
    assert [(time, name, len(triples)) for time, name, _, triples in events] == [
        (0, "<urn:g0>", 6),
        (1, "<urn:g1>", 6),
    ]
    assert not bad


def test_a_stream_that_uses_a_name_again_stays_one_in_spite_of_damage(tmp_path: Path) -> None:
    """A graph without timestamp is bad input; that others of its name have some does not make a data set of it."""
    file = tmp_path / "a.nq"
    quad = '<urn:a> <urn:p> "x" <urn:sensor> .\n'
    other = f"<urn:a> <urn:p> <urn:b> <urn:other> .\n<urn:other> <{STAMP}> {time(9)} .\n"
    stamped = [f"<urn:sensor> <{STAMP}> {time(n)} .\n{quad}" for n in range(3)]
    file.write_text(stamped[0] + other + quad + other + stamped[1] + other + stamped[2])
    events, bad = read(file)
    assert [event[0] for event in events] == [0, 9, 9, 1, 9, 2]
    assert [item.position for item in bad] == [5]


def test_a_layout_that_was_asked_for_is_not_judged(tmp_path: Path) -> None:
    """`stream` leaves what is far away, `dataset` groups what could be a stream."""
    file = tmp_path / "a.nq"
    quad = "<urn:a> <urn:p> <urn:b> {} .\n"
    stamp = f"<urn:g> <{STAMP}> {time(1)} .\n"
    file.write_text(quad.format("<urn:g>") + quad.format("<urn:h>") + stamp)
    assert [item.fault for item in read(file, ReadOptions(layout="stream"))[1]] == [
        "no timestamp", "no timestamp", "no graph",
    ]  # fmt: skip
    assert len(read(file)[0]) == 1
    file.write_text(f"{stamp}{quad.format('<urn:g>')}<urn:g> <{STAMP}> {time(2)} .\n{quad.format('<urn:g>')}")
    assert len(read(file)[0]) == 2
    assert not read(file, ReadOptions(layout="dataset"))[0]


def test_a_damaged_stream_costs_no_memory_for_all_its_names(tmp_path: Path) -> None:
    """Only names with something wrong and a limited number of others are counted to decide the layout."""
    file = tmp_path / "a.nq"
    event = (
        "<urn:g{0}> <" + STAMP + "> " + '"{0}"^^<' + INTEGER + "> .\n<urn:a> <urn:p> <urn:b> <urn:g{0}> .\n"
    )
    file.write_text("".join(event.format(n) for n in range(50)) + "<urn:a> <urn:p> <urn:b> <urn:bad> .\n")
    with changed_settings(tallied_names=3):
        events, bad = read(file)
    assert (len(events), len(bad)) == (50, 1)


STREAM = "".join(f'<urn:g{n}> <{STAMP}> {time(n)} .\n<urn:s> <urn:p> "{n}" <urn:g{n}> .\n' for n in range(3))


@pytest.mark.parametrize("more", ["", "<urn:s> <urn:p> bad <urn:g2> .\n", "_:b <urn:p> _:c <urn:g2> .\n"])
def test_a_small_stream_is_read_once_unless_it_has_blank_nodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: str
) -> None:
    """The data that is read anyway shows the layout; labels of blank nodes depend on it, so there it comes first."""
    (tmp_path / "a.nq").write_text(STREAM + more)
    readings: list[object] = []
    kernel = nquads.read_nquads

    def counted(*args: Any) -> Iterator[EventBatch]:
        readings.append(args)
        return kernel(*args)

    monkeypatch.setattr(nquads, "read_nquads", counted)
    events, bad = in_batches(tmp_path / "a.nq", ReadOptions(interpreted_bytes=0))
    spoiled = int("bad" in more)
    assert (len(events), len(bad)) == (3 - spoiled, spoiled)
    assert len(readings) == (3 if more.startswith("_:") else 1)


def test_blank_nodes_of_a_data_set_have_the_labels_that_its_events_give_them(tmp_path: Path) -> None:
    """A first look at the file as a stream counts no event: the same names on every host."""
    lines = [f"_:b <urn:p> _:c <urn:g{n}> .\n" for n in (0, 1, 0, 2)]
    lines += [f"<urn:g{n}> <{STAMP}> {time(n)} .\n" for n in range(3)]
    (tmp_path / "a.nq").write_text("".join(lines))
    assert read(tmp_path / "a.nq") == read(tmp_path / "a.nq", ReadOptions(layout="dataset"))


@pytest.mark.parametrize("most", [0, 40, 1 << 24])
def test_a_file_that_is_too_large_to_hold_is_read_twice(tmp_path: Path, most: int) -> None:
    """With the same events."""
    (tmp_path / "a.nq.gz").write_bytes(gzip.compress((STREAM * 20).encode()))
    options = ReadOptions(interpreted_bytes=0, chunk_bytes=64)
    with changed_settings(sorted_bytes=most):
        assert in_batches(tmp_path / "a.nq.gz", options) == plainly(tmp_path / "a.nq.gz", options)


def test_an_unknown_layout_is_refused() -> None:
    """With the ones there are."""
    with pytest.raises(InvalidArgument, match="`heap` is not a layout; use one of auto, stream, dataset"):
        ReadOptions(layout="heap")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "stamped",
    [
        f"<urn:g> <{STAMP}> {time(5)} .",
        f"<urn:g><{STAMP}>{time(5)}.",
        f"<urn:o> <{STAMP}> {time(5)} <urn:g> .",
        f"<urn:\\u0067> <{STAMP}> {time(5)} .",
    ],
)
def test_a_part_of_a_graph_belongs_to_the_timestamp_of_another_part_however_it_is_written(
    tmp_path: Path, stamped: str
) -> None:
    """The first part has one, the second does not: grouped by name they are one event."""
    file = tmp_path / "a.nq"
    other = f"<urn:h> <{STAMP}> {time(6)} .\n<urn:o> <urn:p> <urn:c> <urn:h> .\n"
    parts = [f"{stamped}\n<urn:o> <urn:p> <urn:a> <urn:g> .\n", other, "<urn:o> <urn:p> <urn:b> <urn:g> .\n"]
    file.write_text("".join(parts))
    events, bad = read(file)
    assert not bad
    assert sorted((time, name) for time, name, _, _ in events) == [(5, "<urn:g>"), (6, "<urn:h>")]
    assert {"<urn:o> <urn:p> <urn:a>", "<urn:o> <urn:p> <urn:b>"} <= next(e[3] for e in events if e[0] == 5)


def test_timestamps_are_not_counted_where_no_graph_without_one_can_be_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One such graph made a large file fifty times as slow."""
    file = tmp_path / "a.nq"
    lines = [f"<urn:g{n}> <{STAMP}> {time(n)} .\n<urn:o> <urn:p> <urn:a> <urn:g{n}> .\n" for n in range(50)]
    file.write_text("".join(lines) + "<urn:o> <urn:p> <urn:b> <urn:none> .\n")
    expected = read(file)
    assert (len(expected[0]), [each.fault for each in expected[1]]) == (50, ["no timestamp"])

    def counted(*_: object) -> None:
        raise AssertionError("timestamps are counted")

    monkeypatch.setattr(layouts, "hand_over", counted)
    assert read(file) == expected
    with changed_settings(chunk_bytes=50):
        assert read(file) == expected
