"""Formats: each reads events as docs/reference/event-formats.md says, in batches of ids and as plain events."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from spaseq.io.bad_input import BadInput
from spaseq.io.options import ReadOptions
from spaseq.io.readers import read_events, read_graph_events
from spaseq.model.dictionary import TermDictionary
from spaseq.model.events import GraphEvent

STAMP = "http://www.w3.org/ns/prov#generatedAtTime"
XSD = "http://www.w3.org/2001/XMLSchema#"
A, P, B, G = (NamedNode(f"urn:{x}") for x in "apbg")


def read(
    file: Path, options: ReadOptions | None = None, file_format: str | None = None
) -> tuple[list[GraphEvent], list[BadInput]]:
    """Plain events; and a check that batches hold the same."""
    options = options or ReadOptions()
    bad: list[BadInput] = []
    events = list(
        read_graph_events(file, stream="urn:s", options=options, on_bad=bad.append, file_format=file_format)
    )
    terms = TermDictionary()
    encoded = []
    for batch in read_events(
        file, stream="urn:s", streams=["urn:x", "urn:s"], dictionary=terms, options=options,
        on_bad=lambda _: None, file_format=file_format,
    ):  # fmt: skip
        assert set(batch.streams.tolist()) == {1}
        for i in range(len(batch)):
            rows = zip(*(terms.decode_many(column) for column in batch.triples_of(i)), strict=True)
            name = terms.decode(int(batch.names[i])) if batch.names[i] else None
            triples = frozenset(Triple(*row) for row in rows)  # type: ignore[arg-type]
            encoded.append(GraphEvent("urn:s", int(batch.times[i]), triples, name, *batch.origin_of(i)))
    assert encoded == events
    return events, bad


@pytest.mark.parametrize("after", [True, False])
def test_a_named_graph_with_its_timestamp_is_an_event(tmp_path: Path, after: bool) -> None:
    """Before or after; the timestamp is not part of the graph."""
    lines = [f"{A} {P} {B} {G} .\n", f'{G} <{STAMP}> "1970-01-01T00:00:01Z"^^<{XSD}dateTime> .\n']
    (tmp_path / "a.nq").write_text("".join(lines if after else lines[::-1]))
    events, bad = read(tmp_path / "a.nq")
    assert [(event.time, event.name, event.triples) for event in events] == [
        (1_000_000, G, {Triple(A, P, B)})
    ]
    assert not bad


def test_a_name_that_comes_again_with_its_own_timestamp_is_a_new_event(tmp_path: Path) -> None:
    """Directly one after the other, in either style, and later again."""
    quad = f"{A} {P} {B} {G} .\n"
    stamps = [f'{G} <{STAMP}> "{i}"^^<{XSD}integer> .\n' for i in range(8)]
    other = f'{A} {P} {B} <urn:h> .\n<urn:h> <{STAMP}> "9"^^<{XSD}integer> .\n'
    after = quad + stamps[0] + quad + stamps[1]
    before = stamps[2] + quad + stamps[3] + quad
    mixed = quad + stamps[4] + stamps[5] + quad
    (tmp_path / "a.nq").write_text(after + other + before + other + mixed)
    for small in (0, 1 << 20):
        events, bad = read(tmp_path / "a.nq", ReadOptions(interpreted_bytes=small))
        assert [event.time // 1000 for event in events] == [0, 1, 9, 2, 3, 9, 4, 5]
        assert not bad


def test_other_triples_of_the_default_graph_do_not_tear_an_event_apart(tmp_path: Path) -> None:
    """They belong to no event and are reported, nothing more."""
    stamp = f'{G} <{STAMP}> "1"^^<{XSD}integer> .\n'
    (tmp_path / "a.nq").write_text(f"{stamp}{G} {P} {A} .\n{A} {P} {B} {G} .\n")
    for small in (0, 1 << 20):
        events, bad = read(tmp_path / "a.nq", ReadOptions(interpreted_bytes=small))
        assert len(events) == 1
        assert [item.position for item in bad] == [2]


@pytest.mark.parametrize("small", [0, 1 << 20], ids=["kernel", "pyoxigraph"])
def test_blank_nodes_are_local_to_their_event(tmp_path: Path, small: int) -> None:
    """Equal labels in two events are two nodes; a graph's blank name is the same node inside it."""
    stamp = f'_:g <{STAMP}> "1"^^<{XSD}integer> .\n'
    (tmp_path / "a.nq").write_text(f"_:g {P} _:b _:g .\n{stamp}" * 3)
    events, _ = read(tmp_path / "a.nq", ReadOptions(interpreted_bytes=small))
    (first,), (second,), _third = (event.triples for event in events)
    assert first.subject == events[0].name
    assert first.object != second.object
    assert isinstance(first.object, BlankNode)
    assert first.object.value.startswith("b-e")
    again, _ = read(tmp_path / "a.nq", ReadOptions(interpreted_bytes=small))
    assert again == events


@pytest.mark.parametrize("small", [0, 1 << 20], ids=["kernel", "pyoxigraph"])
@pytest.mark.parametrize(
    ("literal", "unit", "expected"),
    [
        (f'"20"^^<{XSD}integer>', "s", 20_000_000),
        (f'"20"^^<{XSD}long>', "ms", 20_000),
        (f'"-20"^^<{XSD}integer>', "us", -20),
        (f'"20999"^^<{XSD}integer>', "ns", 20),
        (f'"-1"^^<{XSD}integer>', "ns", -1),
        (f'"20.5"^^<{XSD}decimal>', "ms", 20_500),
        (f'"2.05E1"^^<{XSD}double>', "ms", 20_500),
        (f'"20"^^<{XSD}unsignedInt>', "ms", 20_000),
        (f'"1970-01-02"^^<{XSD}date>', "ms", 86_400_000_000),
        (f'"1969-12-31T23:59:59.9999999Z"^^<{XSD}dateTime>', "ms", -1),
        (f'"1970-01-01T05:30:00+05:30"^^<{XSD}dateTimeStamp>', "ms", 0),
        (f'"1970-01-01T00:00:00"^^<{XSD}dateTime>', "ms", 0),
        (f'"0001-01-01T00:00:00Z"^^<{XSD}dateTime>', "ms", -62_135_596_800_000_000),
    ],
)
def test_every_form_of_timestamp_is_read(
    tmp_path: Path, literal: str, unit: str, expected: int, small: int
) -> None:
    """In the unit that the user states."""
    (tmp_path / "a.nq").write_text(f"{A} {P} {B} {G} .\n{G} <{STAMP}> {literal} .\n")
    options = ReadOptions(time_unit=unit, interpreted_bytes=small)  # type: ignore[arg-type]
    assert [event.time for event in read(tmp_path / "a.nq", options)[0]] == [expected]


def test_the_timestamp_predicate_can_be_another(tmp_path: Path) -> None:
    """The default one is then data like any other."""
    (tmp_path / "a.nq").write_text(f'{A} <{STAMP}> {B} {G} .\n{G} <urn:at> "5"^^<{XSD}integer> .\n')
    for small in (0, 1 << 20):
        options = ReadOptions(timestamp_predicate="urn:at", interpreted_bytes=small)
        (event,), _ = read(tmp_path / "a.nq", options)
        assert event.time == 5000


def test_trig_and_json_ld_follow_the_same_conventions(tmp_path: Path) -> None:
    """The same event in both."""
    (tmp_path / "a.trig").write_text(f"PREFIX : <urn:>\n:g <{STAMP}> 5 . GRAPH :g {{ :a :p :b }}")
    (tmp_path / "a.jsonld").write_text(
        f'{{"@id":"urn:g","{STAMP}":5,"@graph":[{{"@id":"urn:a","urn:p":{{"@id":"urn:b"}}}}]}}'
    )
    for name in ("a.trig", "a.jsonld"):
        (event,), bad = read(tmp_path / name)
        assert (event.time, event.name, event.triples) == (5000, G, {Triple(A, P, B)})
        assert not bad


@pytest.mark.parametrize("longest", [1 << 26, 1 << 12], ids=["in-memory", "taken-apart"])
def test_a_document_with_many_events_loses_none_but_the_broken_one(
    tmp_path: Path, change_settings: Callable[..., None], longest: int
) -> None:
    """One document with a context, longer than a piece of input or than what is held in memory."""
    change_settings(whole_document_bytes=longest)
    nodes = [
        f'{{"@id":"urn:g{i}","t":{i},"@graph":[{{"@id":"urn:a","urn:p":"{"x" * 50}"}}]}}' for i in range(300)
    ]
    nodes[150] = nodes[150].replace('"urn:a"', "5")
    text = f'{{"@context":{{"t":"{STAMP}"}},"@graph":[{",".join(nodes)}'
    (tmp_path / "a.jsonld").write_text(text + "]}")
    events, bad = read(tmp_path / "a.jsonld", ReadOptions(chunk_bytes=1000))
    assert [event.time // 1000 for event in events] == [i for i in range(300) if i != 150]
    assert ["string" in item.reason for item in bad] == [True]
    (tmp_path / "a.jsonld").write_text(text[:-10])
    events, bad = read(tmp_path / "a.jsonld", ReadOptions(chunk_bytes=1000))
    assert [event.time // 1000 for event in events] == [i for i in range(299) if i != 150]
    assert len(bad) == 2


def test_every_n_triples_with_a_timestamp_among_or_right_after_them_are_an_event(tmp_path: Path) -> None:
    """For data made for the original engine."""
    data = [f'{A} {P} "{i}" .\n' for i in range(6)]
    stamps = [f'{A} <{STAMP}> "{i}"^^<{XSD}integer> .\n' for i in range(3)]
    text = data[0] + data[1] + stamps[0] + data[2] + stamps[1] + data[3] + data[4] + data[5] + stamps[2]
    (tmp_path / "a.nt").write_text(text)
    events, bad = read(tmp_path / "a.nt", ReadOptions(triples_per_event=2, chunk_bytes=10))
    assert [(event.time // 1000, len(event.triples), event.position) for event in events] == [
        (0, 2, 1),
        (1, 2, 4),
        (2, 2, 7),
    ]
    assert not bad


def test_n_triples_that_do_not_add_up_are_reported(tmp_path: Path) -> None:
    """No timestamp, two, an unreadable line, an unreadable timestamp and an incomplete end; the rest survives."""
    quad = f'{A} {P} "x" .\n'
    stamp = f'{A} <{STAMP}> "1"^^<{XSD}integer> .\n'
    text = quad * 2 + quad * 2 + stamp  # none, good
    text += quad + stamp + stamp + quad  # two
    text += quad + "garbage\n" + stamp  # unreadable line
    text += quad * 2 + f'{A} <{STAMP}> "soon" .\n'  # unreadable timestamp
    text += quad * 2 + stamp + quad  # good, incomplete
    (tmp_path / "a.nt").write_text(text)
    events, bad = read(tmp_path / "a.nt", ReadOptions(triples_per_event=2))
    assert [event.position for event in events] == [3, 16]
    words = ["no timestamp", "more than one", "subject", "cannot be read", "1 of the 2"]
    assert [word in item.reason for word, item in zip(words, bad, strict=True)] == [True] * 5


def jelly_file(frames: list[list[tuple[object, ...]]], physical: str) -> bytes:
    """A Jelly file with these frames of statements."""
    from pyjelly import jelly
    from pyjelly.integrations.generic.generic_sink import GenericStatementSink, Quad
    from pyjelly.integrations.generic.generic_sink import Triple as JellyTriple
    from pyjelly.integrations.generic.serialize import GenericSinkTermEncoder, stream_frames
    from pyjelly.options import StreamParameters
    from pyjelly.serialize.ioutils import write_delimited
    from pyjelly.serialize.streams import GraphStream, QuadStream, SerializerOptions, TripleStream

    kinds = {"quads": QuadStream, "graphs": GraphStream, "triples": TripleStream}
    logical = (
        jelly.LOGICAL_STREAM_TYPE_GRAPHS if physical == "triples" else jelly.LOGICAL_STREAM_TYPE_DATASETS
    )
    options = SerializerOptions(logical_type=logical, params=StreamParameters())
    stream = kinds[physical](
        encoder=GenericSinkTermEncoder(lookup_preset=options.lookup_preset), options=options
    )
    out = io.BytesIO()
    for statements in frames:
        sink = GenericStatementSink()
        for statement in statements:
            sink.add(JellyTriple(*statement) if physical == "triples" else Quad(*statement))
        for frame in stream_frames(stream, sink):
            write_delimited(frame, out)
    return out.getvalue()


@pytest.mark.parametrize("physical", ["quads", "graphs"])
def test_a_jelly_frame_is_an_event(tmp_path: Path, physical: str) -> None:
    """Quads or graphs with a timestamp in the default graph; frames that are no event are reported by number."""
    from pyjelly.integrations.generic.generic_sink import IRI, DefaultGraph
    from pyjelly.integrations.generic.generic_sink import BlankNode as JellyBlank
    from pyjelly.integrations.generic.generic_sink import Literal as JellyLiteral

    a, p, g = IRI("urn:a"), IRI("urn:p"), IRI("urn:g")
    five = JellyLiteral("05", None, XSD + "integer")
    stamp = (g, IRI(STAMP), JellyLiteral("5", None, XSD + "integer"), DefaultGraph)
    quad = (a, p, five, g)
    frames: list[list[tuple[object, ...]]] = [
        [stamp, quad, (JellyBlank("b"), p, JellyLiteral("x", "en", None), g)],
        [quad],
        [stamp, (*stamp[:2], JellyLiteral("6", None, XSD + "integer"), DefaultGraph), quad],
        [stamp],
        [quad, (a, p, five, IRI("urn:h")), stamp],
        [quad, (a, p, a, DefaultGraph), stamp],
        [quad, (g, IRI(STAMP), JellyLiteral("soon", None, None), DefaultGraph)],
        [quad, stamp],
    ]
    (tmp_path / "a.jelly").write_bytes(jelly_file(frames, physical))
    events, bad = read(tmp_path / "a.jelly")
    assert [(event.time, event.name, event.position, len(event.triples)) for event in events] == [
        (5000, G, 1, 2),
        (5000, G, 8, 1),
    ]
    assert Triple(A, P, Literal("05", datatype=NamedNode(XSD + "integer"))) in events[0].triples
    assert [(item.position, item.unit) for item in bad] == [(n, "frame") for n in range(2, 8)]


def test_a_jelly_frame_of_triples_has_its_timestamp_among_them(tmp_path: Path) -> None:
    """There is no graph name; the timestamp may have any subject."""
    from pyjelly.integrations.generic.generic_sink import IRI
    from pyjelly.integrations.generic.generic_sink import Literal as JellyLiteral

    triple = (IRI("urn:a"), IRI("urn:p"), IRI("urn:b"))
    stamp = (IRI("urn:a"), IRI(STAMP), JellyLiteral("5", None, XSD + "integer"))
    (tmp_path / "a.jelly").write_bytes(jelly_file([[triple, stamp], [triple]], "triples"))
    events, bad = read(tmp_path / "a.jelly")
    assert [(event.time, event.name, event.triples) for event in events] == [(5000, None, {Triple(A, P, B)})]
    assert len(bad) == 1


def test_a_jelly_file_is_read_up_to_the_frame_that_cannot_be_decoded(tmp_path: Path) -> None:
    """Nothing behind it can be trusted; an empty file has no frames."""
    from pyjelly.integrations.generic.generic_sink import IRI, DefaultGraph
    from pyjelly.integrations.generic.generic_sink import Literal as JellyLiteral

    g = IRI("urn:g")
    stamp = (g, IRI(STAMP), JellyLiteral("5", None, XSD + "integer"), DefaultGraph)
    data = jelly_file([[stamp, (g, g, g, g)]] * 5, "quads")
    (tmp_path / "a.jelly").write_bytes(data[:-3])
    events, bad = read(tmp_path / "a.jelly")
    assert len(events) == 4
    assert [item.unit for item in bad] == ["frame"]
    (tmp_path / "a.jelly").write_bytes(b"")
    assert read(tmp_path / "a.jelly") == ([], [])


def test_a_small_file_is_read_without_numba(tmp_path: Path) -> None:
    """The plain events even without numpy."""
    (tmp_path / "a.nq").write_text(f'{A} {P} {B} {G} .\n{G} <{STAMP}> "1"^^<{XSD}integer> .\n')
    code = (
        "import sys; from spaseq.io.readers import *; from spaseq.model.dictionary import TermDictionary\n"
        f"assert len(list(read_graph_events({str(tmp_path)!r}, stream='urn:s'))) == 1\n"
        "assert 'numpy' not in sys.modules\n"
        f"list(read_events({str(tmp_path)!r}, stream='urn:s', streams=['urn:s'], dictionary=TermDictionary()))\n"
        "assert 'numba' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})


def test_many_small_files_reach_the_kernel(tmp_path: Path) -> None:
    """Sizes add up over files; the events are the same, in the order of the files."""
    for i in range(30):
        name = f"<urn:g{i}>"
        (tmp_path / f"{i:02}.nq").write_text(
            f'_:b {P} "{i}" {name} .\n{name} <{STAMP}> "{i}"^^<{XSD}integer> .\n'
        )
    terms = TermDictionary()
    options = ReadOptions(interpreted_bytes=1000)
    batches = list(
        read_events(tmp_path, stream="urn:s", streams=["urn:s"], dictionary=terms, options=options)
    )
    assert [int(time) // 1000 for batch in batches for time in batch.times] == list(range(30))
    assert terms.promoted
    assert len({int(s) for batch in batches for s in batch.subjects}) == 30


def test_names_can_be_left_out(tmp_path: Path) -> None:
    """Where nobody asks for provenance, the dictionary is spared a term per event."""
    (tmp_path / "a.nq").write_text(f'{A} {P} {B} {G} .\n{G} <{STAMP}> "1"^^<{XSD}integer> .\n')
    for small in (0, 1 << 20):
        terms = TermDictionary()
        options = ReadOptions(keep_names=False, interpreted_bytes=small)
        (batch,) = read_events(tmp_path, stream="urn:s", streams=["urn:s"], dictionary=terms, options=options)
        assert batch.names.tolist() == [0]
        assert terms.find(G) == 0


def test_a_dictionary_compacted_between_batches_is_followed(tmp_path: Path) -> None:
    """The reader's own ids move along."""
    text = "".join(
        f'{A} {P} "{i}" <urn:g{i}> .\n{A} <urn:q> "{i}" <urn:g{i}> .\n'
        f'<urn:g{i}> <{STAMP}> "{i}"^^<{XSD}integer> .\n'
        for i in range(300)
    )
    (tmp_path / "a.nq").write_text(text)
    terms = TermDictionary()
    options = ReadOptions(
        interpreted_bytes=0, chunk_bytes=4096, needed_predicates=frozenset({"urn:p"}), layout="stream"
    )
    seen = []
    for batch in read_events(tmp_path, stream="urn:s", streams=["urn:s"], dictionary=terms, options=options):
        assert {terms.ntriples(int(p)) for p in batch.predicates} == {"<urn:p>"}
        seen += [terms.decode(int(o)).value for o in batch.objects]
        terms.compact([])
    assert seen == [str(i) for i in range(300)]
    assert len(terms) < 10


def test_kernels_can_be_warmed_up_before_they_are_needed() -> None:
    """After that nothing is left to compile."""
    from spaseq.io.nquads import warm_up
    from spaseq.io.nquads_kernel import lex_events

    warm_up()
    assert lex_events.signatures  # type: ignore[attr-defined]
