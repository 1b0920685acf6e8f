"""Interval events in files: both ends in every format and layout, and what is bad input."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from pyoxigraph import Quad, RdfFormat, parse

from spaseq.errors import InvalidArgument
from spaseq.io.bad_input import BadInput
from spaseq.io.options import ReadOptions
from spaseq.io.readers import read_events, read_graph_events
from spaseq.model.dictionary import TermDictionary

OPTIONS = ReadOptions(start_predicate="urn:start", end_predicate="urn:end", time_unit="s")
EVENTS = """
<urn:e1> <urn:start> 1 .
<urn:e1> <urn:end> 3 .
GRAPH <urn:e1> { <urn:a> <urn:p> 1 }
GRAPH <urn:e2> { <urn:b> <urn:p> 2 , 3 }
<urn:e2> <urn:end> 4 .
<urn:e2> <urn:start> 4 .
GRAPH <urn:e3> { <urn:c> <urn:p> 4 }
<urn:e3> <http://www.w3.org/ns/prov#generatedAtTime> 5 .
GRAPH <urn:e4> { <urn:d> <urn:p> 5 ; <urn:start> 2 ; <urn:end> 6 }
"""
TIMES = [
    (1_000_000, 3_000_000, 1),
    (4_000_000, 4_000_000, 2),
    (None, 5_000_000, 1),
    (2_000_000, 6_000_000, 3),
]
"""Start, end and number of triples; what stands in the default graph is not part of the event, what stands inside is."""


def _quads(text: str = EVENTS) -> list[Quad]:
    return list(parse(text, format=RdfFormat.TRIG))


def _nquads(text: str = EVENTS) -> bytes:
    return "".join(f"{quad} .\n" for quad in _quads(text)).encode()


def _jsonld() -> bytes:
    documents = []
    quads = _quads()
    number = {"@type": "http://www.w3.org/2001/XMLSchema#integer"}
    for name in ("urn:e1", "urn:e2", "urn:e3", "urn:e4"):
        inside = [q for q in quads if str(q.graph_name) == f"<{name}>"]
        beside = [q for q in quads if str(q.subject) == f"<{name}>"]
        node: dict[str, object] = {"@id": name}
        for quad in beside:
            node[quad.predicate.value] = {"@value": quad.object.value, **number}
        nodes = [
            {"@id": q.subject.value, q.predicate.value: {"@value": q.object.value, **number}} for q in inside
        ]
        documents.append({**node, "@graph": nodes})
    import json

    return "\n".join(json.dumps(document) for document in documents).encode()


def _jelly() -> bytes:
    from pyjelly.integrations.generic.generic_sink import IRI, DefaultGraph, GenericStatementSink, Literal
    from pyjelly.integrations.generic.generic_sink import Quad as JellyQuad
    from pyjelly.integrations.generic.serialize import grouped_stream_to_file

    def term(value: object) -> object:
        kind = type(value).__name__
        if kind == "NamedNode":
            return IRI(value.value)  # type: ignore[attr-defined]
        if kind == "DefaultGraph":
            return DefaultGraph
        return Literal(value.value, datatype=value.datatype.value)  # type: ignore[attr-defined]

    frames = []
    for name in ("urn:e1", "urn:e2", "urn:e3", "urn:e4"):
        sink = GenericStatementSink()
        for quad in _quads():
            if f"<{name}>" in (str(quad.subject), str(quad.graph_name)):
                terms = (quad.subject, quad.predicate, quad.object, quad.graph_name)
                sink.add(JellyQuad(*map(term, terms)))
        frames.append(sink)
    out = io.BytesIO()
    grouped_stream_to_file(iter(frames), out)
    return out.getvalue()


FILES = {
    "events.nq": _nquads,
    "sorted.nq": lambda: b"".join(sorted(_nquads().splitlines(keepends=True))),
    "events.trig": lambda: EVENTS.encode(),
    "events.jsonld": _jsonld,
    "events.jelly": _jelly,
}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("small", [0, 1_000_000])
def test_every_format_has_interval_events(tmp_path: Path, name: str, small: int) -> None:
    """Beside the graph in any order, inside it, and among instants; as objects and as columns, however small."""
    path = tmp_path / name
    path.write_bytes(FILES[name]())
    plain = list(read_graph_events(path, stream="urn:s", options=OPTIONS))
    assert sorted((e.start, e.time, len(e.triples)) for e in plain if e.start is not None) == sorted(
        each for each in TIMES if each[0] is not None
    )
    assert [(e.time, len(e.triples)) for e in plain if e.start is None] == [(5_000_000, 1)]
    from dataclasses import replace

    options = replace(OPTIONS, interpreted_bytes=small)
    batches = read_events(
        path, stream="urn:s", dictionary=TermDictionary(), streams=("urn:s",), options=options
    )
    found = []
    for batch in batches:
        starts = batch.times if batch.starts is None else batch.starts
        sizes = [batch.slice(at, at + 1).triple_count for at in range(len(batch))]
        found += zip(starts.tolist(), batch.times.tolist(), sizes, strict=True)
    assert sorted(found) == sorted((time if start is None else start, time, n) for start, time, n in TIMES)


def test_n_triples_have_both_ends_among_or_right_after_the_triples(tmp_path: Path) -> None:
    """An event is complete when its triples and both ends are there."""
    lines = ["<urn:a> <urn:p> <urn:b>", '<urn:e> <urn:start> "1"^^<http://www.w3.org/2001/XMLSchema#integer>']
    lines += ["<urn:a> <urn:q> <urn:b>", '<urn:e> <urn:end> "2"^^<http://www.w3.org/2001/XMLSchema#integer>']
    lines += ["<urn:c> <urn:p> <urn:b>", "<urn:c> <urn:q> <urn:b>"]
    lines += ['<urn:f> <urn:end> "9"^^<http://www.w3.org/2001/XMLSchema#integer>']
    path = tmp_path / "events.nt"
    path.write_text("".join(f"{line} .\n" for line in lines))
    bad: list[BadInput] = []
    options = ReadOptions(
        start_predicate="urn:start", end_predicate="urn:end", time_unit="s", triples_per_event=2
    )
    events = list(read_graph_events(path, stream="urn:s", options=options, on_bad=bad.append))
    assert [(event.start, event.time, len(event.triples)) for event in events] == [(1_000_000, 2_000_000, 2)]
    assert [each.reason for each in bad] == ["the event has an end, but no start"]


@pytest.mark.parametrize(
    ("stamps", "reason"),
    [
        ("<urn:e> <urn:start> 1 .", "the graph <urn:e> has a start, but no end"),
        ("<urn:e> <urn:end> 1 .", "the graph <urn:e> has an end, but no start"),
        (
            "<urn:e> <urn:start> 1 ; <urn:end> 2 ; <http://www.w3.org/ns/prov#generatedAtTime> 2 .",
            "the graph <urn:e> has a timestamp besides its start and end",
        ),
        ("<urn:e> <urn:start> 1 ; <urn:end> 2 , 3 .", "the graph <urn:e> has more than one end"),
        (
            "<urn:e> <urn:start> 3 ; <urn:end> 2 .",
            "the graph <urn:e> starts at 1970-01-01T00:00:03Z, after its end 1970-01-01T00:00:02Z",
        ),
        (
            '<urn:e> <urn:start> "soon" ; <urn:end> 2 .',
            "the timestamp of <urn:e> cannot be read: a timestamp is a date-time, a date or a number",
        ),
    ],
)
@pytest.mark.parametrize("name", ["events.nq", "events.trig"])
def test_a_wrong_interval_is_bad_input(tmp_path: Path, stamps: str, reason: str, name: str) -> None:
    """One end, a timestamp besides, two different ends, a start after the end, an end that cannot be read."""
    text = f"GRAPH <urn:e> {{ <urn:a> <urn:p> 1 }}\n{stamps}\n"
    path = tmp_path / name
    path.write_bytes(text.encode() if name.endswith("trig") else _nquads(text))
    bad: list[BadInput] = []
    assert list(read_graph_events(path, stream="urn:s", options=OPTIONS, on_bad=bad.append)) == []
    assert [each.reason.startswith(reason) for each in bad] == [True], [each.reason for each in bad]


def test_equal_names_in_a_row_are_events_of_their_own(tmp_path: Path) -> None:
    """A name that comes again with its own ends is a new event, with the ends before or after the graph."""
    graph = "GRAPH <urn:e> { <urn:a> <urn:p> 1 }\n"
    first, second = (
        "<urn:e> <urn:start> 1 .\n<urn:e> <urn:end> 2 .\n",
        "<urn:e> <urn:start> 3 .\n<urn:e> <urn:end> 4 .\n",
    )
    for text in (graph + first + graph + second, first + graph + second + graph):
        path = tmp_path / "events.nq"
        path.write_bytes(_nquads(text))
        events = list(read_graph_events(path, stream="urn:s", options=OPTIONS))
        assert [(e.start, e.time) for e in events] == [(1_000_000, 2_000_000), (3_000_000, 4_000_000)]


def test_wrong_options_are_refused() -> None:
    """Both predicates or none, and three different ones."""
    with pytest.raises(InvalidArgument, match="`start_predicate=` needs `end_predicate=`"):
        ReadOptions(start_predicate="urn:start")
    with pytest.raises(InvalidArgument, match="`end_predicate=` needs `start_predicate=`"):
        ReadOptions(end_predicate="urn:end")
    with pytest.raises(InvalidArgument, match="three different predicates"):
        ReadOptions(start_predicate="urn:t", end_predicate="urn:t")
    with pytest.raises(InvalidArgument, match="the end predicate is not an IRI"):
        ReadOptions(start_predicate="urn:s", end_predicate="no iri")
