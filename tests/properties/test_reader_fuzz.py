"""A fuzzer over the readers: random damage never crashes them and never costs an untouched event."""

from __future__ import annotations

import gzip
import io
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from spaseq.io.bad_input import BadInput
from spaseq.io.options import ReadOptions
from spaseq.io.readers import read_events, read_graph_events
from spaseq.model.dictionary import TermDictionary
from support.seeds import repeated, seeds

STREAM = "http://example.org/stream"
PREDICATE = "http://www.w3.org/ns/prov#generatedAtTime"
XSD = "http://www.w3.org/2001/XMLSchema#"
HOT = [
    b'"',
    b"<",
    b">",
    b"\\",
    b".",
    b"_:",
    b"{",
    b"}",
    b"[",
    b"]",
    b"#",
    b"\n",
    b"\r",
    b"\xff",
    b"\0",
    b"@",
    b"^^",
    b"'",
]


def nquads(rng: random.Random, number: int, *, before: bool = False) -> bytes:
    """An event with its timestamp before or after it."""
    name = f"<http://example.org/graph/{rng.getrandbits(60):x}>"
    stamp = f'{name} <{PREDICATE}> "{number}"^^<{XSD}integer> .\n'
    quads = "".join(
        f'<http://example.org/s{rng.randrange(5)}> <http://example.org/p> "{rng.random()}é" {name} .\n'
        for _ in range(rng.randint(1, 3))
    )
    return (stamp + quads if before else quads + stamp).encode()


def trig(rng: random.Random, number: int) -> bytes:
    """An event as a block over several lines."""
    name = f"<http://example.org/graph/{rng.getrandbits(60):x}>"
    body = "".join(f'  <http://e/s> <http://e/p> "{rng.random()}", [ <http://e/q> 5 ] .\n' for _ in range(2))
    return f"{name} {{\n{body}}}\n{name} <{PREDICATE}> {number} .\n".encode()


def jsonld(rng: random.Random, number: int) -> bytes:
    """An event as one line of JSON."""
    name = f"http://example.org/graph/{rng.getrandbits(60):x}"
    stamp = f'"{PREDICATE}":{number}'
    graph = f'"@graph":[{{"@id":"http://e/s","http://e/p":"{rng.random()}"}}]'
    return f'{{"@id":"{name}",{stamp},{graph}}}\n'.encode()


def ntriples(rng: random.Random, number: int) -> bytes:
    """An event of two data triples and a timestamp."""
    lines = [f'<http://e/s{i}> <http://e/p> "{rng.random()}" .\n' for i in range(2)]
    stamp = f'<http://e/s0> <{PREDICATE}> "{number}"^^<{XSD}integer> .\n'
    return "".join([*lines, stamp]).encode()


def nquads_before(rng: random.Random, number: int) -> bytes:
    """An event with its timestamp before it."""
    return nquads(rng, number, before=True)


def damaged(rng: random.Random, event: bytes, most: int = 3) -> bytes:
    """The event with a few random bytes changed, inserted or removed; its last line feed stays."""
    data = bytearray(event[:-1])
    for _ in range(rng.randint(1, most)):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(3)
        if kind == 0 and at < len(data):
            data[at] = rng.randrange(256)
        elif kind == 1:
            data[at:at] = rng.choice(HOT)
        else:
            del data[at : at + rng.randint(1, 30)]
    return bytes(data) + b"\n"


def times_read(file: Path, options: ReadOptions, compiled: bool) -> set[int]:
    """The instants (in milliseconds) of the events that come out."""
    bad: list[BadInput] = []
    if not compiled:
        events = read_graph_events(file, stream=STREAM, options=options, on_bad=bad.append)
        return {event.time // 1000 for event in events}
    batches = read_events(
        file,
        stream=STREAM,
        streams=(STREAM,),
        dictionary=TermDictionary(),
        options=options,
        on_bad=bad.append,
    )
    return {int(instant) // 1000 for batch in batches for instant in batch.times}


@pytest.mark.parametrize(
    ("make", "suffix", "compiled"),
    [
        (nquads, ".nq", False),
        (nquads, ".nq", True),
        (nquads_before, ".nq", False),
        (nquads_before, ".nq", True),
        (trig, ".trig", False),
        (jsonld, ".jsonld", False),
        (ntriples, ".nt", False),
        (ntriples, ".nt", True),
    ],
    ids=[
        "nquads",
        "nquads-kernel",
        "nquads-before",
        "nquads-before-kernel",
        "trig",
        "jsonld",
        "ntriples",
        "ntriples-kernel",
    ],
)
def test_damage_to_one_event_costs_no_other(
    tmp_path: Path, make: Callable[[random.Random, int], bytes], suffix: str, compiled: bool
) -> None:
    """Events whose bytes are untouched all come out, whatever happened to their neighbours.

    In N-Quads every event gets one fault: of a line in which nothing can be read any more one cannot tell which
    event it belongs to.
    """
    file = tmp_path / f"fuzz{suffix}"
    for seed in seeds(300):
        rng = random.Random(seed)
        parts = [make(rng, number) for number in range(8)]
        hurt = set(rng.sample(range(8), rng.randint(1, 2)))
        most = 1 if suffix == ".nq" else 3
        if suffix == ".nt":  # where triples are counted, one more or less moves all that follow
            hurt = set(range(min(hurt), 8))
        parts = [
            damaged(rng, part, most) if i in hurt and rng.random() < 0.9 else part
            for i, part in enumerate(parts)
        ]
        file.write_bytes(b"".join(parts))
        options = ReadOptions(
            interpreted_bytes=0, chunk_bytes=rng.choice([64, 500, 1 << 20]), triples_per_event=2
        )
        missing = set(range(8)) - hurt - times_read(file, options, compiled)
        assert not missing, f"lost the untouched events {missing}; {repeated(seed)}"


@pytest.mark.parametrize("suffix", [".nq", ".trig", ".jsonld", ".nt", ".jelly", ".nq.gz", ".nq.zst"])
def test_no_bytes_crash_a_reader(tmp_path: Path, suffix: str) -> None:
    """Random bytes, and truncated or damaged files, become bad input and nothing worse."""
    file = tmp_path / f"fuzz{suffix}"
    valid = valid_bytes(suffix)
    for seed in seeds(150):
        rng = random.Random(seed)
        data = rng.choice([rng.randbytes(rng.randrange(300)), valid[: rng.randrange(len(valid))], valid])
        file.write_bytes(damaged(rng, data + b"\n") if rng.random() < 0.8 else data)
        for compiled in (False, True):
            times_read(file, ReadOptions(interpreted_bytes=0, chunk_bytes=200, triples_per_event=2), compiled)


def valid_bytes(suffix: str) -> bytes:
    """A valid file of a format."""
    rng = random.Random(1)
    makers = {".trig": trig, ".jsonld": jsonld, ".nt": ntriples}
    data = b"".join(makers.get(suffix, nquads)(rng, number) for number in range(6))
    if suffix == ".nq.gz":
        return gzip.compress(data)
    if suffix == ".nq.zst":
        from zstandard import compress

        return compress(data)
    if suffix == ".jelly":
        return jelly_bytes(data)
    return data


def jelly_bytes(data: bytes) -> bytes:
    """The same events as a Jelly file, one frame each."""
    from pyjelly.integrations.generic.generic_sink import (
        IRI,
        DefaultGraph,
        GenericStatementSink,
        Literal,
        Quad,
    )
    from pyjelly.integrations.generic.serialize import grouped_stream_to_file
    from pyoxigraph import RdfFormat, parse

    sinks: dict[str, GenericStatementSink] = {}
    for quad in parse(data, format=RdfFormat.N_QUADS):
        stamped = quad.predicate.value == PREDICATE
        name = quad.subject.value if stamped else quad.graph_name.value
        sink = sinks.setdefault(name, GenericStatementSink())
        value = Literal(quad.object.value, None, quad.object.datatype.value)
        graph = DefaultGraph if stamped else IRI(name)
        sink.add(Quad(IRI(quad.subject.value), IRI(quad.predicate.value), value, graph))
    out = io.BytesIO()
    grouped_stream_to_file((sink for sink in sinks.values()), out)
    return out.getvalue()
