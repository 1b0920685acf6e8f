"""`traffic`: readings of road segments; congestion spreads to the segments that lead into it (use case 5)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Final

from spaseq.workloads.generation_plan import Dice, Plan
from spaseq.workloads.production import BackgroundGraph, Hint, ProducedStream, Production
from spaseq.workloads.terms import FEATURE, LABEL, OBSERVATION, A, integer, name, own, string
from spaseq.workloads.timed_events import Clock, StreamEvent, event_text
from spaseq.workloads.turtle import Subject

KEYS_ARE: Final = "segments"
KEYS: Final = 400
INTERVAL: Final = 300_000

STREAM: Final = ProducedStream(
    "traffic", "http://example.org/streams/traffic", "all segments report at the same instants"
)
KNOWLEDGE: Final = "http://example.org/traffic/segments"
OFFSETS: Final = (1, -1, 7, -7)
"""How far a node's segments go on the ring of nodes; each has its opposite."""
SPEED, COUNTED, TAKES = own("averageSpeed"), own("vehicleCount"), own("averageTravelTime")
FREE_SPEED, LEADS_TO, OPPOSITE = own("freeFlowSpeed"), own("leadsTo"), own("oppositeOf")

SPREAD: Final = """\
PREFIX sosa: <http://www.w3.org/ns/sosa/>
PREFIX ns: <http://example.org/ns#>
PREFIX schema: <http://schema.org/>
SELECT ?jam ?left ?right
WITHIN 15 MINUTES SLIDING
FROM STREAM traffic <http://example.org/streams/traffic>
WHERE {
  SEQ (A ; (B & C))
  DEFINE GPM A ON traffic {
    ?o1 sosa:hasFeatureOfInterest ?jam ; ns:averageSpeed ?v1 .
    GRAPH <http://example.org/traffic/segments> { ?jam ns:freeFlowSpeed ?f1 } FILTER (?v1 * 2 < ?f1)
  }
  DEFINE GPM B ON traffic {
    ?o2 sosa:hasFeatureOfInterest ?left ; ns:averageSpeed ?v2 .
    GRAPH <http://example.org/traffic/segments> { ?left ns:freeFlowSpeed ?f2 ; ns:leadsTo ?jam ; schema:identifier ?l } FILTER (?v2 * 2 < ?f2)
  }
  DEFINE GPM C ON traffic {
    ?o3 sosa:hasFeatureOfInterest ?right ; ns:averageSpeed ?v3 .
    GRAPH <http://example.org/traffic/segments> { ?right ns:freeFlowSpeed ?f3 ; ns:leadsTo ?jam ; schema:identifier ?r } FILTER (?v3 * 2 < ?f3)
    FILTER (?l < ?r)
  }
}
"""


class Network:
    """A ring of nodes with directed segments between neighbours, so that every segment has followers."""

    def __init__(self, plan: Plan) -> None:
        nodes = max(8, -(-plan.keys // len(OFFSETS)))
        self.ends = [
            (which % nodes, (which % nodes + OFFSETS[which // nodes]) % nodes) for which in range(plan.keys)
        ]
        dice = Dice(plan.seed + 1)
        self.free = [dice.between(40, 110) for _ in range(plan.keys)]
        self.length = [dice.between(300, 3000) for _ in range(plan.keys)]
        into: dict[int, list[int]] = {}
        for which, (_, end) in enumerate(self.ends):
            into.setdefault(end, []).append(which)
        self.upstream = [
            [other for other in into.get(start, ()) if self.ends[other][0] != end] for start, end in self.ends
        ]
        self.opposite = {which: other for which, ends in enumerate(self.ends) for other in into.get(ends[0], ())
                         if self.ends[other][0] == ends[1]}  # fmt: skip


def produce(plan: Plan) -> Production:
    """The stream of readings and the background graph of segments."""
    network = Network(plan)
    return Production(
        name="traffic",
        about="spaseq generate traffic: synthetic readings; congestion spreads upstream",
        streams=(STREAM,),
        events=_readings(plan, network),
        background=(
            BackgroundGraph(
                "segments", KNOWLEDGE, "road segments and which follows which", _segments(plan, network)
            ),
        ),
        hints=(Hint("congestion that spreads to two segments upstream", SPREAD),),
        settings=plan.settings(KEYS_ARE),
    )


def segment(number: int) -> str:
    """The IRI of a segment."""
    return f"<http://example.org/segment/{number}>"


def _readings(plan: Plan, network: Network) -> Iterator[StreamEvent]:
    dice, clock = Dice(plan.seed), Clock()
    segments = [segment(number) for number in range(plan.keys)]
    jammed: dict[int, int] = {}
    number = 0
    for tick in count():
        stamp = clock.stamp(plan.instant(tick))
        jammed = _spread(dice, network, jammed, plan.keys)
        for which in range(plan.keys):
            if number == plan.events:
                return
            described = _reading(dice, network, which, segments[which], which in jammed)
            yield StreamEvent(
                "traffic", event_text(f"<http://example.org/reading/{number}>", stamp, described)
            )
            number += 1


def _spread(dice: Dice, network: Network, jammed: dict[int, int], segments: int) -> dict[int, int]:
    """The next round of congestion, by the rounds it will last: it ends, spreads upstream, and begins anew."""
    now = {which: left - 1 for which, left in jammed.items() if left > 1}
    for which, left in jammed.items():
        for other in network.upstream[which] if left == 3 else ():
            if dice.chance(60):
                now.setdefault(other, dice.between(2, 4))
    for _ in range(max(1, segments // 300)):
        if dice.chance(60):
            now.setdefault(dice.below(segments), 5)
    return now


def _reading(dice: Dice, network: Network, which: int, iri: str, jam: bool) -> tuple[tuple[str, str], ...]:
    free = network.free[which]
    speed = max(1, free * (dice.between(10, 45) if jam else dice.between(75, 110)) // 100)
    vehicles = dice.between(5, 40) if jam else dice.between(0, 12)
    return (
        (A, OBSERVATION),
        (FEATURE, iri),
        (SPEED, integer(speed)),
        (COUNTED, integer(vehicles)),
        (TAKES, integer(network.length[which] * 36 // (speed * 10))),
    )


def _segments(plan: Plan, network: Network) -> Iterator[Subject]:
    followers: dict[int, list[int]] = {}
    for which, (start, _) in enumerate(network.ends):
        followers.setdefault(start, []).append(which)
    triples = 0
    for which, (start, end) in enumerate(network.ends):
        described = [
            (A, own("RoadSegment")),
            (name("schema:identifier"), integer(which)),
            (FREE_SPEED, integer(network.free[which])),
            (own("lengthInMetres"), integer(network.length[which])),
            (own("startNode"), string(str(start))),
            (own("endNode"), string(str(end))),
            (own("endStreet"), string(f"Street {end}")),
            *(
                (LEADS_TO, segment(other))
                for other in followers.get(end, ())
                if network.ends[other][1] != start
            ),
            *((OPPOSITE, segment(other)) for other in (network.opposite.get(which),) if other is not None),
        ]
        triples += len(described)
        yield segment(which), described
    # Junctions that no segment touches make the graph larger without changing an answer.
    for number in count():
        if triples >= plan.background_triples:
            return
        triples += 2
        yield (
            f"<http://example.org/junction/{number}>",
            [(A, name("geo:Feature")), (LABEL, string(f"junction {number}"))],
        )
