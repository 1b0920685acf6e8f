"""The twelve questions of CityBench over the bundled extract, in both spellings."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterable
from pathlib import Path

from pyoxigraph import RdfFormat, Triple, parse

from spaseq.model.events import GraphEvent
from spaseq.model.matches import Match
from spaseq.planner.compiled import CompiledQuery, compile_query
from spaseq.temporal.instants import parse_date_time

FOLDER = Path(__file__).resolve().parents[2] / "examples" / "citybench"
BASE = "http://www.insight-centre.org/dataset/"
GRAPHS = {
    f"{BASE}SensorRepository": "sensors.ttl",
    f"{BASE}cultural-events": "cultural-events.ttl",
    f"{BASE}library-events": "library-events.ttl",
}
SPELLINGS = ("rspql", "csparql")
ANSWERS = {
    1: (298, "a15a8571c56c"),
    2: (95, "58020bef075c"),
    3: (38, "c3cd996e655e"),
    4: (36, "64640213305c"),
    5: (94, "30b4f6d505a0"),
    6: (6, "1fb531ae7d46"),
    7: (0, "e3b0c44298fc"),
    8: (66, "409a6f32b1ab"),
    9: (264, "76e5cd2b99c6"),
    10: (316, "3d08d4e862ff"),
    11: (37, "006a2d759630"),
    12: (17, "e4febfc2be3d"),
}
"""How many answers each question has, and a digest of them."""


def question(number: int, spelling: str) -> CompiledQuery:
    """A question as a query."""
    name = f"q{number:02}.{spelling}"
    return compile_query((FOLDER / name).read_text(encoding="utf-8"), "rsepql", name=name)


def graphs() -> dict[str, frozenset[Triple]]:
    """The background graphs."""
    return {iri: frozenset(quad.triple for quad in parse(path=FOLDER / file)) for iri, file in GRAPHS.items()}


def file_of(stream: str) -> Path:
    """The file of a stream."""
    return FOLDER / f"{stream.removeprefix(BASE + 'SampleEventService#')}.nq.gz"


def events_of(stream: str) -> list[GraphEvent]:
    """The events of a stream, in order."""
    graphs: dict[object, tuple[int, set[Triple]]] = {}
    for quad in parse(gzip.decompress(file_of(stream).read_bytes()), format=RdfFormat.N_QUADS):
        if quad.predicate.value.endswith("#generatedAtTime"):
            graphs[quad.subject] = parse_date_time(quad.object.value), set()
        else:
            graphs[quad.graph_name][1].add(quad.triple)
    return [GraphEvent(stream, time, frozenset(triples)) for time, triples in graphs.values()]


def digest(matches: Iterable[Match]) -> tuple[int, str]:
    """How many matches there are, and a digest of their instants and values; order within an instant is free."""
    lines = sorted(
        f"{match.time} {match.boolean} {sorted((name, str(term)) for name, term in match.bindings.items())}"
        for match in matches
    )
    return len(lines), hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]
