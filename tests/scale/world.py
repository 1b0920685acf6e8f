"""The events of the scale job: two streams of plain rows, and how they are written as files.

A row is ``(time in ms, key, kinds, number)``. An event of stream S has the kinds ``a`` and ``c``, one of stream T ``b`` and
``d``; each has one kind of its stream or both, and a few have the rare ones that queries without a window ask for. Every event
has two triples, since in N-Triples all events must have equally many. Times are distinct within a stream, so that the
positions of events do not depend on the order of arrival; events of the two streams share instants often.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

STREAMS = {"S": "urn:s", "T": "urn:t"}
KINDS = {"S": "ac", "T": "bd"}
STAMP = "http://www.w3.org/ns/prov#generatedAtTime"
INTEGER = "http://www.w3.org/2001/XMLSchema#integer"
KEYS = 40
FORMATS = ("nquads", "trig", "jsonld", "ntriples", "jelly")
SUFFIX = {"nquads": "nq", "trig": "trig", "jsonld": "jsonld", "ntriples": "nt", "jelly": "jelly"}


class Row(NamedTuple):
    """One event."""

    time: int
    key: int
    kinds: str
    number: int
    """Its own."""

    @property
    def value(self) -> int:
        """The object of all its triples: no two events have the same, and later ones not a larger one."""
        return self.number * 48_271 % 2_147_483_647


def rows(stream: str, count: int, seed: int = 1) -> list[Row]:
    """The events of a stream in order of time, the same for the same arguments."""
    chance = random.Random(f"{stream}{seed}")
    first, second = KINDS[stream]
    found, time = [], 0
    offset = 0 if stream == "S" else 1
    for number in range(count):
        time += chance.choice((1, 1, 2, 3))
        kinds = chance.choice((first, second, first, second, first + second))
        if chance.random() < 0.002:  # capitals are the rare kinds
            kinds = kinds[0] + chance.choice((first, second)).upper()
        found.append(Row(time, chance.randrange(KEYS), kinds, 2 * number + offset))
    return found


def triples(row: Row) -> list[tuple[str, str, int]]:
    """Two triples: one per kind, and one that no query asks for if there is one kind only."""
    names = [*row.kinds, "n"][:2]
    return [(f"urn:k{row.key}", f"urn:{name}", row.value) for name in names]


# --- one event in every format --------------------------------------------------------------------


def _literal(value: int) -> str:
    return f'"{value}"^^<{INTEGER}>'


def nquads(row: Row) -> str:
    """Quads, then the timestamp."""
    name = f"<urn:g{row.number}>"
    quads = "".join(f"<{s}> <{p}> {_literal(o)} {name} .\n" for s, p, o in triples(row))
    return f"{quads}{name} <{STAMP}> {_literal(row.time)} .\n"


def ntriples(row: Row) -> str:
    """Triples, then the timestamp."""
    data = "".join(f"<{s}> <{p}> {_literal(o)} .\n" for s, p, o in triples(row))
    return f"{data}<urn:e{row.number}> <{STAMP}> {_literal(row.time)} .\n"


def trig(row: Row) -> str:
    """A block, then the timestamp."""
    data = " ".join(f"<{s}> <{p}> {o} ." for s, p, o in triples(row))
    return f"<urn:g{row.number}> {{ {data} }}\n<urn:g{row.number}> <{STAMP}> {row.time} .\n"


def jsonld(row: Row) -> str:
    """A node with a graph and a timestamp."""
    nodes = [{"@id": s, p: [{"@value": o}]} for s, p, o in triples(row)]
    return json.dumps({"@id": f"urn:g{row.number}", STAMP: [{"@value": row.time}], "@graph": nodes})


# --- files ----------------------------------------------------------------------------------------


def write(file: Path, file_format: str, events: Sequence[Row]) -> None:
    """A file of events; gzip if its name says so."""
    if file_format == "jelly":
        _write_jelly(file, events)
        return
    with gzip.open(file, "wt", 1) if file.suffix == ".gz" else file.open("w") as out:
        if file_format == "jsonld":  # one array without line breaks
            out.write("[")
            out.writelines(("," if at else "") + jsonld(row) for at, row in enumerate(events))
            out.write("]")
        else:
            as_text: Callable[[Row], str] = {"nquads": nquads, "ntriples": ntriples, "trig": trig}[
                file_format
            ]
            out.writelines(map(as_text, events))


def _write_jelly(file: Path, events: Sequence[Row]) -> None:
    from pyjelly.integrations.generic.generic_sink import (
        IRI,
        DefaultGraph,
        GenericStatementSink,
        Literal,
        Quad,
    )
    from pyjelly.integrations.generic.serialize import grouped_stream_to_file

    def frames() -> Iterator[GenericStatementSink]:
        for row in events:
            sink, name = GenericStatementSink(), IRI(f"urn:g{row.number}")
            for s, p, o in triples(row):
                sink.add(Quad(IRI(s), IRI(p), Literal(str(o), None, INTEGER), name))
            sink.add(Quad(name, IRI(STAMP), Literal(str(row.time), None, INTEGER), DefaultGraph))
            yield sink

    with file.open("wb") as out:
        grouped_stream_to_file(frames(), out)


def write_streams(
    folder: Path, streams: dict[str, list[Row]], file_format: str, *, shuffled: bool, files: int
) -> None:
    """A folder per stream. ``files`` share the events: in pieces, or at random; every second file is packed if it can be."""
    for name, events in streams.items():
        place = folder / name
        place.mkdir(parents=True)
        ordered = list(events)
        if shuffled:
            random.Random(7).shuffle(ordered)
        size = -(-len(ordered) // files)
        for number in range(files):
            packed = ".gz" if number % 2 and file_format != "jelly" else ""
            part = ordered[number * size : (number + 1) * size]
            if part:
                write(place / f"{number:03d}.{SUFFIX[file_format]}{packed}", file_format, part)
