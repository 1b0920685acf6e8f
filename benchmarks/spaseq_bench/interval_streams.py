"""Streams for EP-SPARQL: what the applications of its paper read, generated or taken from the bundled extracts.

``prices`` are the paper's `hasStockPrice`; ``windows`` readings with the window that each belongs to; ``specimens`` instances of classes, with a hierarchy
eight levels deep as background; ``edges`` chains; ``deliveries`` requests and blocked roads of Aarhus; ``gauges`` water columns with a wave; ``trades`` the
bundled real trades with the simulated news.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from math import exp, pi, sin
from pathlib import Path
from typing import Final

from spaseq.workloads.catalogue import START
from spaseq.workloads.generation_plan import Dice
from spaseq.workloads.terms import A, cents, integer
from spaseq.workloads.timed_events import Clock, event_text, instant_ms
from spaseq_bench.declared import Params

SHAPES: Final = ("direct", "events", "first", "interval", "keys", "seed", "size")
STREAM: Final = "http://example.org/streams/"
EXAMPLE: Final = "http://example.org/"
EXAMPLES: Final = Path(__file__).resolve().parents[2] / "examples"
ROADS: Final = EXAMPLES / "epsparql" / "aarhus-roads.ttl"

Shape = dict[str, int]
Said = tuple[int, list[str]]
"""An event: its place on the axis of instants, and its triples as texts without the point at their end."""


def own(name: str) -> str:
    """An IRI of the examples."""
    return f"<{EXAMPLE}{name}>"


def prices(shape: Shape) -> Iterator[Said]:
    """Prices of companies: each walks by up to a fifth at a time."""
    dice = Dice(shape["seed"])
    worth = [dice.between(5_000, 15_000) for _ in range(shape["keys"])]
    for number in range(shape["events"]):
        which = dice.below(shape["keys"])
        price = worth[which] * dice.between(80, 120) // 100
        worth[which] = price = min(max(price, 1_000), 100_000)
        yield number, [f"{own(f'company/C{which}')} {own('hasStockPrice')} {cents(price)}"]


def windows(shape: Shape) -> Iterator[Said]:
    """Readings of one sensor; as many as ``size`` belong to one window."""
    dice = Dice(shape["seed"])
    for number in range(shape["events"]):
        window = own(f"window/{number // shape['size']}")
        yield number, [f"{window} {own('reading')} {integer(dice.between(0, 1000))}"]


def specimens(shape: Shape) -> Iterator[Said]:
    """Instances of classes, half of them below the class of concern, or of it if ``direct`` is asked for."""
    dice = Dice(shape["seed"])
    for number in range(shape["events"]):
        below = dice.below(shape["keys"])
        inside = own("Tracheobionta") if shape["direct"] else own(f"C{below}")
        kind = inside if dice.chance(50) else own(f"Other{below}")
        yield number, [f"{own(f'specimen/{number}')} {A} {kind}"]


def edges(shape: Shape) -> Iterator[Said]:
    """Chains of ``size`` edges, an edge of each in turn."""
    for number in range(shape["events"]):
        at, chain = divmod(number, shape["keys"])
        yield number, [f"{own(f'n{chain}.{at}')} {own('edge')} {own(f'n{chain}.{at + 1}')}"]


def deliveries(shape: Shape) -> Iterator[Said]:
    """Rounds: a little more than half of the roads of Aarhus is reported as blocked, then every agent asks for the way to a place."""
    dice = Dice(shape["seed"])
    roads = [line.split() for line in _roads(shape) if "ns:startNode" in line]
    segments = [(own("segment/" + road[0].removeprefix("segment:")), road[2], road[5]) for road in roads]
    nodes = sorted({node for _, start, end in segments for node in (start, end)})
    for visit in range(shape["events"]):
        yield (
            2 * visit,
            [
                f"{segment} {own('reportedAs')} {own('blocked')}"
                for segment, _, _ in segments
                if dice.chance(51)
            ],
        )
        said = []
        for agent in range(shape["keys"]):
            request = own(f"request/{visit}.{agent}")
            said += [
                f"{request} {own('by')} {own(f'agent/{agent}')}",
                f"{request} {own('from')} {nodes[dice.below(len(nodes))]}",
                f"{request} {own('to')} {nodes[dice.below(len(nodes))]}",
            ]
        yield 2 * visit + 1, said


def _roads(shape: Shape) -> list[str]:
    """The lines of the road graph, with the first ``size`` of its roads."""
    lines = ROADS.read_text(encoding="utf-8").splitlines(keepends=True)
    roads = [line for line in lines if "ns:startNode" in line]
    return [line for line in lines if line not in roads] + roads[: shape["size"]]


def gauges(shape: Shape) -> Iterator[Said]:
    """Water columns every 15 seconds: a tide, noise of 3 mm, and at the end of the fifth sixth a wave of 60 mm."""
    dice = Dice(shape["seed"])
    rounds = shape["events"] // shape["keys"]
    for number in range(shape["events"]):
        at, gauge = divmod(number, shape["keys"])
        seconds, since = 15 * at, 15 * (at - 5 * rounds // 6)
        height = 4600 + 0.8 * sin(2 * pi * seconds / 44_712) + 0.3 * sin(2 * pi * seconds / 43_200 + 1)
        if since >= 0:
            height += 0.06 * sin(2 * pi * since / 1200) * exp(-since / 2400)
        text = f"{height + dice.between(-3, 3) / 1000:.3f}"
        yield (
            at,
            [
                f'{own(f"gauge/{gauge}")} {own("waterColumn")} "{text}"^^<http://www.w3.org/2001/XMLSchema#decimal>'
            ],
        )


STREAMS: Final[dict[str, Callable[[Shape], Iterator[Said]]]] = {
    "prices": prices,
    "windows": windows,
    "specimens": specimens,
    "edges": edges,
    "deliveries": deliveries,
    "gauges": gauges,
}
EXTRACTS: Final = {
    "trades": (EXAMPLES / "stocks" / "trades" / "stocks.nq.gz", EXAMPLES / "epsparql" / "news.trig")
}


def known(workload: str) -> bool:
    """True for a workload that is made here."""
    return workload in STREAMS or workload in EXTRACTS


def write_stream(workload: str, params: Params, place: Path) -> None:
    """Write the stream, its background and its manifest into a folder."""
    place.mkdir(parents=True, exist_ok=True)
    if workload in EXTRACTS:
        events, quads, files = _extract(workload, params, place)
    else:
        shape = {"events": 1000, "interval": 1, "keys": 1, "seed": 7, "size": 1, "direct": 0}
        shape |= {key: int(value) for key, value in params.items() if key in SHAPES}
        events, quads = _write(workload, shape, place)
        files = [f"{workload}.nq"]
        _background(workload, shape, place)
    manifest = {
        "streams": [
            {"name": Path(name).name.split(".")[0], "iri": STREAM + workload, "file": name} for name in files
        ],
        "background": [
            {"iri": f"{EXAMPLE}{path.stem}", "file": path.name} for path in sorted(place.glob("*.ttl"))
        ],
        "events": events,
        "quads": quads,
    }
    (place / "manifest.json").write_text(json.dumps(manifest, indent=2), encoding="utf-8")


def _write(workload: str, shape: Shape, place: Path) -> tuple[int, int]:
    clock, start = Clock(), instant_ms(START)
    events = quads = 0
    with (place / f"{workload}.nq").open("w", encoding="utf-8") as out:
        for at, said in STREAMS[workload](shape):
            graph = f"<http://example.org/event/{events}>"
            out.write(event_text(graph, clock.stamp(start + at * shape["interval"]), ()))
            out.write("".join([f"{each} {graph} .\n" for each in said]))
            events, quads = events + 1, quads + len(said)
    return events, quads


def _background(workload: str, shape: Shape, place: Path) -> None:
    if workload == "deliveries":
        (place / "roads.ttl").write_text("".join(_roads(shape)), encoding="utf-8")
    if workload == "specimens":
        with (place / "plants.ttl").open("w", encoding="utf-8") as out:
            for number in range(shape["keys"]):
                above = "Tracheobionta" if number < 4 else f"C{number // 4 - 1}"
                out.write(
                    f"{own(f'C{number}')} <http://www.w3.org/2000/01/rdf-schema#subClassOf> {own(above)} .\n"
                )


def _extract(workload: str, shape: Params, place: Path) -> tuple[int, int, list[str]]:
    """Copy an extract; of its first file only so many ``events``, after the ``first`` ones, if that is asked for."""
    events = quads = 0
    files = []
    for number, path in enumerate(EXTRACTS[workload]):
        raw = path.read_bytes()
        lines = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode().splitlines(keepends=True)
        begins = [at for at, line in enumerate(lines) if "generatedAtTime" in line]
        if number == 0 and "events" in shape:
            first = int(shape.get("first", 0))
            begins = begins[first : first + int(shape["events"]) + 1]
            lines, begins = lines[begins[0] : begins[-1]], begins[:-1]
        files.append(path.name.removesuffix(".gz"))
        (place / files[-1]).write_text("".join(lines), encoding="utf-8")
        events += len(begins)
        quads += sum(line.rstrip().endswith((".", "}")) and not line.startswith(("#", "@")) for line in lines)
    return events, quads - events, files
