"""The law of growing files: however a file grows, its parts hold the events of the whole, each once, in its place."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaseq.io.bad_input import BadInput
from spaseq.io.growing import UNKNOWN, Cut, FileSpan, complete_part, cut_at_end, read_source, recounted
from spaseq.io.options import ReadOptions
from spaseq.io.sources import Source, find_sources
from spaseq.model.dictionary import TermDictionary

STREAM = "urn:s"
STAMP = "http://www.w3.org/ns/prov#generatedAtTime"
INTEGER = "http://www.w3.org/2001/XMLSchema#integer"
OPTIONS = ReadOptions(triples_per_event=2)

Row = tuple[int, int, frozenset[str]]
"""Time, position and triples of an event."""


def nquads(number: int, width: int, first: bool) -> str:
    """An event of a few quads, its timestamp before or after them."""
    stamp = f'<urn:g{number}> <{STAMP}> "{number}"^^<{INTEGER}> .\n'
    quads = "".join(f'<urn:s{i}> <urn:p> "é{number}" <urn:g{number}> .\n' for i in range(width))
    return f"# event {number}\n" + (stamp + quads if first else quads + stamp)


def trig(number: int, width: int, first: bool) -> str:
    """An event as a block; now and then the prefix changes its meaning."""
    declared = f"@prefix e: <http://e/{number}/> .\n" if number % 3 == 0 else ""
    stamp = f"<urn:g{number}> <{STAMP}> {number} .\n"
    body = "\n".join(f'  e:s{i} e:p "{{é{number}" .' for i in range(width))
    block = f"<urn:g{number}> {{\n{body}\n}}\n"
    return declared + (stamp + block if first else block + stamp)


def jsonld(number: int, width: int, first: bool) -> str:
    """An event as one line of JSON."""
    nodes = ",".join(f'{{"@id":"urn:s{i}","urn:p":"é{number}"}}' for i in range(width))
    return f'{{"@id":"urn:g{number}","{STAMP}":{number},"@graph":[{nodes}]}}\n'


def ntriples(number: int, width: int, first: bool) -> str:
    """An event of two triples and its timestamp."""
    lines = [f'<urn:s{i}> <urn:p> "{number}" .\n' for i in range(2)]
    return "".join([*lines, f'<urn:s> <{STAMP}> "{number}"^^<{INTEGER}> .\n'])


TEXTS = {"nq": nquads, "trig": trig, "jsonld": jsonld, "nt": ntriples}


def jelly(numbers: range) -> bytes:
    """One event per frame; names are written once and then looked up."""
    from pyjelly import jelly
    from pyjelly.integrations.generic.generic_sink import (
        IRI,
        DefaultGraph,
        GenericStatementSink,
        Literal,
        Quad,
    )
    from pyjelly.integrations.generic.serialize import GenericSinkTermEncoder, stream_frames
    from pyjelly.options import StreamParameters
    from pyjelly.serialize.ioutils import write_delimited
    from pyjelly.serialize.streams import QuadStream, SerializerOptions

    options = SerializerOptions(logical_type=jelly.LOGICAL_STREAM_TYPE_DATASETS, params=StreamParameters())
    stream = QuadStream(encoder=GenericSinkTermEncoder(lookup_preset=options.lookup_preset), options=options)
    out, name = io.BytesIO(), IRI("urn:g")
    for number in numbers:
        sink = GenericStatementSink()
        sink.add(Quad(IRI("urn:s"), IRI("urn:p"), Literal(f"{number}"), name))
        sink.add(Quad(name, IRI(STAMP), Literal(f"{number}", datatype=INTEGER), DefaultGraph))
        for frame in stream_frames(stream, sink):
            write_delimited(frame, out)
    return out.getvalue()


class Grown:
    """A file that grows, and what its parts have given so far."""

    def __init__(self, path: Path) -> None:
        path.touch()
        self.source = find_sources(path)[0]
        self.at = Cut()
        self.events: list[Row] = []
        self.bad: list[BadInput] = []

    def look(self, *, final: bool = False) -> None:
        """Read on as far as events are complete; at the end as far as there is something."""
        cut = cut_at_end(self.source, self.at, OPTIONS) if final else None
        cut = cut or complete_part(self.source, self.at, OPTIONS)
        self.take(cut)

    def take(self, cut: Cut) -> None:
        """Read up to a cut."""
        if cut.byte > self.at.byte:
            span = FileSpan(self.source.path, self.source.format, self.at, cut.byte)
            self.events += rows(span, self.bad)
        self.at = recounted(self.source, cut, OPTIONS)


def rows(span: FileSpan, bad: list[BadInput]) -> list[Row]:
    """The events of a part."""
    terms, found = TermDictionary(), list[Row]()
    for batch in read_source(span, STREAM, 0, terms, OPTIONS, bad.append):
        for i in range(len(batch)):
            triples = zip(*(column.tolist() for column in batch.triples_of(i)), strict=True)
            texts = frozenset(" ".join(map(terms.ntriples, row)) for row in triples)
            found.append((int(batch.times[i]), batch.origin_of(i)[1], texts))
    return found


def whole(source: Source) -> tuple[list[Row], list[BadInput]]:
    """The events of the file in one go."""
    bad: list[BadInput] = []
    return rows(FileSpan(source.path, source.format), bad), bad


@pytest.mark.parametrize("suffix", ["nq", "trig", "jsonld", "nt", "nq.gz"])
@given(data=st.data())
def test_parts_of_a_growing_file_give_the_events_of_the_whole(suffix: str, data: st.DataObject) -> None:
    """Any number of bytes at a time; a compressed file grows by whole members or by any number of bytes."""
    kind = suffix.partition(".")[0]
    shapes = data.draw(st.lists(st.tuples(st.integers(1, 3), st.booleans()), max_size=6))
    spoiled = data.draw(st.sets(st.integers(0, 5), max_size=1))
    texts = [TEXTS[kind](number, *shape) for number, shape in enumerate(shapes)]
    texts = [
        text if i not in spoiled or kind == "nt" else "{ nonsense }\n" + text for i, text in enumerate(texts)
    ]
    text = b"".join(gzip.compress(t.encode()) if ".gz" in suffix else t.encode() for t in texts)
    steps = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    with TemporaryDirectory() as folder:
        grown = Grown(Path(folder) / f"a.{suffix}")
        for begin, end in zip([0, *steps], [*steps, len(text)], strict=True):
            with grown.source.path.open("ab") as file:
                file.write(text[begin:end])
            grown.look()
        grown.look(final=True)
        events, bad = whole(grown.source)
        left = bool(spoiled) and max(spoiled) >= len(texts) - 1  # what is wrong at the end may become right
        assert grown.events == events[: len(grown.events)]
        assert left or len(grown.events) == len(events)
        assert left or sorted(map(str, grown.bad)) == sorted(map(str, bad))


@given(data=st.data())
def test_parts_of_a_growing_json_array_give_the_events_of_the_whole(data: st.DataObject) -> None:
    """Reading begins in the middle of the array; another document may follow it."""
    shapes = data.draw(st.lists(st.tuples(st.integers(1, 3), st.booleans()), min_size=1, max_size=6))
    values = [jsonld(number, *shape).rstrip("\n") for number, shape in enumerate(shapes)]
    if data.draw(st.booleans()):
        values.insert(data.draw(st.integers(0, len(values) - 1)), "{ nonsense }")
    gap, end = data.draw(st.sampled_from([",", ",\n", "\n, "])), data.draw(st.sampled_from(["]", "\n]\n"]))
    text = (gap.join(["[" + values[0], *values[1:]]) + end + jsonld(9, 1, True)).encode()
    steps = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    with TemporaryDirectory() as folder:
        grown = Grown(Path(folder) / "a.jsonld")
        for stop in [*steps, len(text)]:
            grown.source.path.write_bytes(text[:stop])
            grown.look()
        grown.look(final=True)
        assert (grown.events, grown.bad) == whole(grown.source)


@pytest.mark.parametrize("suffix", ["nq", "trig", "jsonld", "nt", "nq.gz"])
def test_a_large_file_that_ends_in_the_middle_of_an_event_is_not_complete(
    tmp_path: Path, suffix: str
) -> None:
    """Its size does not matter: a statement that is complete is not an event that is."""
    make = TEXTS[suffix.partition(".")[0]]
    event = make(1, 2, False).rstrip("\n")
    part = event[: event.rindex(',"@graph"' if suffix == "jsonld" else "\n") + 1]
    text = (make(0, 2, False) + "\n" * (1 << 20) + part).encode()
    path = tmp_path / f"a.{suffix}"
    path.write_bytes(gzip.compress(text) if suffix.endswith("gz") else text)
    assert cut_at_end(find_sources(path)[0], Cut(), OPTIONS) is None


@pytest.mark.parametrize("suffix", ["nq", "trig", "jsonld", "nt"])
def test_an_event_that_is_not_complete_waits(tmp_path: Path, suffix: str) -> None:
    """Cut anywhere: a part of an event is never taken; a whole one is if nothing unfinished follows it."""
    text = (TEXTS[suffix](0, 2, False) + TEXTS[suffix](1, 2, False)).encode()
    first = len(TEXTS[suffix](0, 2, False).encode())
    for size in range(len(text) + 1):
        grown = Grown(tmp_path / f"{size}.{suffix}")
        grown.source.path.write_bytes(text[:size])
        grown.look(final=True)
        assert grown.bad == []
        ends = [end for end in (first, len(text)) if size >= end - 1]
        assert len(grown.events) <= len(ends), text[:size]
        assert len(grown.events) == len(ends) or size not in (first, len(text))


def test_a_complete_file_that_grows_is_read_on_with_what_it_has_declared(tmp_path: Path) -> None:
    """Nobody counted its lines or knows its prefixes: both are found when they are needed."""
    for suffix, make in TEXTS.items():
        grown = Grown(tmp_path / f"a.{suffix}")
        first, second = make(0, 2, True), make(1, 1, True)
        grown.source.path.write_text(first)
        grown.take(Cut(len(first.encode()), UNKNOWN))
        grown.source.path.write_text(first + second)
        grown.look(final=True)
        assert (grown.events, grown.bad) == whole(grown.source)
        assert len(grown.events) == 2


def test_frames_of_a_growing_jelly_file_are_read_once(tmp_path: Path) -> None:
    """Half a frame waits; frames share names, so they are decoded from the beginning, but given once."""
    data = jelly(range(5))
    grown = Grown(tmp_path / "a.jelly")
    for size in range(0, len(data) + 1, 7):
        grown.source.path.write_bytes(data[:size])
        grown.look(final=size % 2 == 0)
    grown.source.path.write_bytes(data)
    grown.look(final=True)
    assert [(time, position) for time, position, _ in grown.events] == [(i * 1000, i + 1) for i in range(5)]
    assert grown.bad == []


def test_frames_behind_a_damaged_one_are_told_to_be_lost(tmp_path: Path) -> None:
    """Nothing behind it can be decoded; a file that grows on must not lose that silently."""
    data = jelly(range(4))
    grown = Grown(tmp_path / "a.jelly")
    broken = bytearray(data)
    begin = len(jelly(range(2))) + 1
    broken[begin : begin + 8] = b"\xff" * 8
    grown.source.path.write_bytes(bytes(broken[: len(jelly(range(3)))]))
    grown.look()
    assert len(grown.bad) == 1
    grown.source.path.write_bytes(bytes(broken))
    grown.look()
    assert "so nothing behind it can be read" in grown.bad[-1].reason
