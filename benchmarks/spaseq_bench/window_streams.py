"""Streams for windows: the triples of a workload, cut into events of a given size, as many of them at one instant as asked for.

``lubm`` are the triples of `spaseq generate lubm`; ``seas`` observations of the power of houses, in the terms of the SPECTRA paper's
second query; ``readings`` what sensors report in turn; ``orders`` orders and deliveries of customers. The first ``filling`` triples come at one instant, so that
a window is full after one evaluation; afterwards there is an instant for every ``per_instant`` events.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import count, islice
from pathlib import Path
from typing import Final

from spaseq.workloads.catalogue import START, generate
from spaseq.workloads.generation_plan import Dice
from spaseq.workloads.terms import A, cents, name, tenths
from spaseq.workloads.timed_events import Clock, event_text, instant_ms
from spaseq_bench.declared import Params

SHAPES: Final = ("triples", "per_event", "filling", "per_instant", "interval", "keys", "seed")
STREAM: Final = "http://example.org/streams/"
SEAS: Final = "http://purl.org/NET/seas#"
MEASURES: Final = "http://purl.org/NET/seas/measures#"

Triples = Iterator[str]
"""Triples as texts, without the point at their end."""


def lubm(shape: dict[str, int]) -> Triples:
    """The entities of universities, triple by triple."""
    production = generate(
        "lubm", events=shape["triples"], seed=shape["seed"], start=0, keys=shape["keys"] or None
    )
    for _, text in production.events:
        for line in text.splitlines()[1:]:
            yield line[: line.rindex(" <")]


def seas(shape: dict[str, int]) -> Triples:
    """Observations of houses: one has eight triples, about one in twelve passes the filter of the paper's second query."""
    dice = Dice(shape["seed"])
    energy = [0] * shape["keys"]
    for number in count():
        house = number % shape["keys"]
        watt = dice.between(0, 10_000) if dice.chance(33) else dice.between(0, 1000)
        energy[house] += watt // 12
        # Hundredths are odd: a store of numbers, as pyoxigraph's, would cut a last 0 off.
        subject = f"<http://example.org/observation/{number}>"
        values = {
            "V_RMS": cents(dice.between(22_000, 24_000) | 1),
            "V_THD": cents(dice.between(0, 500) | 1),
            "V_CF": cents(dice.between(110, 150) | 1),
            "W": cents(watt | 1),
            "Wh": cents(energy[house] | 1),
            "DPF": cents(dice.between(50, 100) | 1),
        }
        yield f"{subject} {A} <{SEAS}PowerObservation>"
        yield f"{subject} <{SEAS}house> <http://example.org/house/{house}>"
        yield from (f"{subject} <{MEASURES}{each}> {value}" for each, value in values.items())


def readings(shape: dict[str, int]) -> Triples:
    """What sensors report in turn: two triples each."""
    dice = Dice(shape["seed"])
    for number in count():
        subject = f"<http://example.org/reading/{number}>"
        yield f"{subject} {name('sosa:madeBySensor')} <http://example.org/sensor/{number % shape['keys']}>"
        yield f"{subject} {name('sosa:hasSimpleResult')} {tenths(dice.between(150, 300) | 1)}"


def orders(shape: dict[str, int]) -> Triples:
    """Orders and deliveries of customers in any turn: one that has an open order gets its delivery, else it orders."""
    dice = Dice(shape["seed"])
    waiting = [False] * shape["keys"]
    for number in count():
        customer = dice.between(0, shape["keys"] - 1)
        verb = "deliveredTo" if waiting[customer] else "orderedBy"
        waiting[customer] = not waiting[customer]
        item = f"<http://example.org/item/{number}>"
        yield f"{item} <http://example.org/ns#{verb}> <http://example.org/customer/{customer}>"


STREAMS: Final[dict[str, Callable[[dict[str, int]], Triples]]] = {
    "lubm": lubm,
    "seas": seas,
    "readings": readings,
    "orders": orders,
}


def cut_up(params: Params) -> bool:
    """True if the triples of a workload are asked for, not its events."""
    return "triples" in params


def write_stream(workload: str, params: Params, place: Path) -> None:
    """Write the stream and its manifest into a folder."""
    shape = {"per_event": 1, "filling": 0, "per_instant": 1, "interval": 1, "keys": 0, "seed": 7}
    shape |= {key: int(value) for key, value in params.items() if key in SHAPES}
    triples = islice(STREAMS[workload](shape), shape["triples"])
    place.mkdir(parents=True, exist_ok=True)
    events = quads = 0
    with (place / f"{workload}.nq").open("w", encoding="utf-8") as out:
        for text in _events(triples, shape):
            out.write(text)
            events += 1
            quads += text.count("\n") - 1
    manifest = {
        "streams": [{"name": workload, "iri": STREAM + workload, "file": f"{workload}.nq"}],
        "background": [],
        "events": events,
        "quads": quads,
    }
    (place / "manifest.json").write_text(json.dumps(manifest, indent=2), encoding="utf-8")


def _events(triples: Triples, shape: dict[str, int]) -> Iterator[str]:
    clock, start = Clock(), instant_ms(START)
    size, interval = shape["per_event"], shape["interval"]
    filling = shape["filling"] // size
    for number in count():
        said = list(islice(triples, size))
        if not said:
            return
        instant = max(number - filling, -1) // shape["per_instant"] + 1
        # No event lies on a full second, where windows that are open at one end differ from those open at the other.
        stamp = clock.stamp(start + instant * interval + interval // 2)
        graph = f"<http://example.org/event/{number}>"
        yield event_text(graph, stamp, ()) + "".join([f"{each} {graph} .\n" for each in said])
