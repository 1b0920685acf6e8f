"""Laws of layouts: a data set has the same events in whatever order its quads stand (docs/reference/event-formats.md)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import RdfFormat, parse, serialize

from spaseq.io.options import ReadOptions
from spaseq.io.readers import read_events, read_graph_events
from spaseq.io.sources import Source
from spaseq.io.survey import survey
from spaseq.model.dictionary import TermDictionary
from spaseq.model.terms import unscoped

STREAM = "urn:s"
STAMP = "<http://www.w3.org/ns/prov#generatedAtTime>"
INTEGER = "^^<http://www.w3.org/2001/XMLSchema#integer>"

SYNTAXES = {"trig": RdfFormat.TRIG, "jsonld": RdfFormat.JSON_LD}

Seen = set[tuple[int, str, frozenset[str]]]


@dataclass(frozen=True)
class Graph:
    """An event: its timestamp stands in the default graph or inside."""

    name: str
    time: int
    triples: tuple[str, ...]
    inside: tuple[str, ...]

    @property
    def stamps(self) -> list[str]:
        """Its timestamps as triples, with their graph if they stand inside."""
        value = f'"{self.time}"{INTEGER}'
        beside = [] if self.inside else [f"{self.name} {STAMP} {value} .\n"]
        return beside + [f"{subject} {STAMP} {value} {self.name} .\n" for subject in self.inside]

    @property
    def quads(self) -> list[str]:
        """Its other triples."""
        return [f"{triple} {self.name} .\n" for triple in self.triples]

    @property
    def lines(self) -> list[str]:
        """The layout of streams."""
        return self.stamps + self.quads


TERMS = st.sampled_from(["<urn:a>", "<urn:b>", "_:x", "_:y", "<urn:g1>", "<urn:g3>", "_:g"])
OBJECTS = st.one_of(TERMS, st.sampled_from(['"1"', '"a . \\"b\\" \\n"@en', '"<urn:g1>"', f'"2"{INTEGER}']))
TRIPLES = st.builds("{} {} {}".format, TERMS, st.sampled_from(["<urn:p>", "<urn:q>"]), OBJECTS)
NAMES = ("<urn:g1>", "<urn:g2>", "<urn:g3>", "<urn:é>", "_:g", "_:h")


@st.composite
def graphs(draw: st.DrawFn) -> list[Graph]:
    """Some events, each with its own name."""
    names = draw(st.permutations(NAMES))[: draw(st.integers(1, len(NAMES)))]
    found = []
    for name in names:
        inside = draw(st.one_of(st.just([]), st.lists(TERMS, min_size=1, max_size=2, unique=True)))
        triples = draw(st.lists(TRIPLES, min_size=0 if inside else 1, max_size=4, unique=True))
        found.append(Graph(name, draw(st.integers(0, 9)), tuple(triples), tuple(inside)))
    return found


def plainly(file: Path, options: ReadOptions) -> Seen:
    """Events by pyoxigraph."""
    return {
        (event.time, unscoped(str(event.name)), frozenset(unscoped(str(t)) for t in event.triples))
        for event in read_graph_events(file, stream=STREAM, options=options)
    }


def in_batches(file: Path, options: ReadOptions) -> Seen:
    """Events as the engine gets them."""
    terms, seen = TermDictionary(), set()
    for batch in read_events(file, stream=STREAM, streams=[STREAM], dictionary=terms, options=options):
        for i in range(len(batch)):
            rows = zip(*(column.tolist() for column in batch.triples_of(i)), strict=True)
            triples = frozenset(unscoped(" ".join(terms.ntriples(term) for term in row)) for row in rows)
            seen.add((int(batch.times[i]), unscoped(terms.ntriples(int(batch.names[i]))), triples))
    return seen


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder to write documents into."""
    return tmp_path_factory.mktemp("layouts")


@given(
    given_graphs=graphs(), chance=st.randoms(use_true_random=False), chunk=st.sampled_from([1, 60, 1 << 20])
)
def test_any_order_of_the_quads_has_the_events_of_the_stream(
    folder: Path, given_graphs: list[Graph], chance: Random, chunk: int
) -> None:
    """Small and large files, whatever the size of a piece; bad input would be an error."""
    lines = [line for graph in given_graphs for line in graph.lines]
    stream, mixed = folder / "stream.nq", folder / "mixed.nq"
    stream.write_text("".join(lines), encoding="utf-8")
    chance.shuffle(lines)
    mixed.write_text("".join(lines), encoding="utf-8")
    expected = plainly(stream, ReadOptions())
    assert len(expected) == len(given_graphs)
    assert plainly(mixed, ReadOptions(chunk_bytes=chunk)) == expected
    assert in_batches(mixed, ReadOptions(chunk_bytes=chunk)) == expected
    assert in_batches(mixed, ReadOptions(interpreted_bytes=0, chunk_bytes=chunk)) == expected
    assert in_batches(mixed, ReadOptions(layout="dataset", interpreted_bytes=0)) == expected
    found = survey(Source(mixed, "nquads"), ReadOptions(interpreted_bytes=0, chunk_bytes=chunk))
    assert found.layout == "dataset" or found.count == len(expected)


@given(
    given_graphs=graphs(),
    chance=st.randoms(use_true_random=False),
    suffix=st.sampled_from(["trig", "jsonld"]),
)
def test_any_order_of_graphs_and_timestamps_has_the_events_of_the_stream(
    folder: Path, given_graphs: list[Graph], chance: Random, suffix: str
) -> None:
    """In TriG and JSON-LD: every graph cut into blocks, every timestamp anywhere."""
    stream, mixed = folder / "stream.nq", folder / f"mixed.{suffix}"
    lines = [line for graph in given_graphs for line in graph.lines]
    stream.write_text("".join(lines), encoding="utf-8")
    chance.shuffle(lines)
    blocks = [
        serialize(parse(line.encode(), format=RdfFormat.N_QUADS), format=SYNTAXES[suffix]) for line in lines
    ]
    mixed.write_bytes(b"\n".join(block or b"" for block in blocks))
    expected = plainly(stream, ReadOptions())
    assert plainly(mixed, ReadOptions()) == expected
    assert in_batches(mixed, ReadOptions(interpreted_bytes=0, chunk_bytes=50)) == expected
