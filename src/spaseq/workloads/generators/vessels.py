"""`vessels`: positions of vessels that leave a berth, keep speed and course, and stop again (use case 2)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import cos, radians, sin
from typing import Final

from spaseq.workloads.generation_plan import Dice, Plan
from spaseq.workloads.production import BackgroundGraph, Hint, ProducedStream, Production
from spaseq.workloads.terms import (
    FEATURE,
    LATITUDE,
    LONGITUDE,
    NAME,
    OBSERVATION,
    A,
    decimal,
    integer,
    own,
    string,
    tenths,
)
from spaseq.workloads.timed_events import Clock, StreamEvent, event_text
from spaseq.workloads.turtle import Subject

KEYS_ARE: Final = "vessels"
KEYS: Final = 200
INTERVAL: Final = 350

STREAM: Final = ProducedStream("vessels", "http://example.org/streams/vessels", "positions, one event each")
KNOWLEDGE: Final = "http://example.org/vessels/register"
TYPES: Final = ((30, "fishing"), (31, "towing"), (37, "pleasure craft"), (60, "passenger"), (70, "cargo"))
SPEED, COURSE, HEADING, STATUS = (
    own("speedOverGround"),
    own("courseOverGround"),
    own("heading"),
    own("navigationalStatus"),
)
NORTH: Final = tuple(round(1000 * cos(radians(angle))) for angle in range(360))
EAST: Final = tuple(round(1000 * sin(radians(angle))) for angle in range(360))
"""Thousandths, so that positions are integers and the same on every machine."""

CROSSING: Final = """\
PREFIX sosa: <http://www.w3.org/ns/sosa/>
PREFIX ns: <http://example.org/ns#>
SELECT ?vessel (COUNT(B) AS ?fixes) (AVG(?speed) AS ?knots)
WITHIN 2 HOURS SLIDING
FROM STREAM vessels <http://example.org/streams/vessels>
PARTITION BY ?vessel
WHERE {
  SEQ (A , B{3,}[,] , C)
  DEFINE GPM A ON vessels { ?f1 sosa:hasFeatureOfInterest ?vessel ; ns:speedOverGround ?s1 . FILTER (?s1 < 1) }
  DEFINE GPM B ON vessels {
    ?f2 sosa:hasFeatureOfInterest ?vessel ; ns:speedOverGround ?speed .
    FILTER (?speed >= 5) FILTER (?speed - PREV(?speed) <= 2 && PREV(?speed) - ?speed <= 2)
  }
  DEFINE GPM C ON vessels { ?f3 sosa:hasFeatureOfInterest ?vessel ; ns:speedOverGround ?s3 . FILTER (?s3 < 1) }
}
"""


@dataclass(slots=True)
class Trip:
    """Where a vessel is (in millionths of a degree) and what it does for how many more positions."""

    latitude: int
    longitude: int
    course: int = 0
    speed: int = 0
    moving: bool = False
    left: int = 1


def produce(plan: Plan) -> Production:
    """The stream of positions and the background graph of vessels."""
    return Production(
        name="vessels",
        about="spaseq generate vessels: synthetic positions of vessels that berth, cross and berth again",
        streams=(STREAM,),
        events=_positions(plan),
        background=(
            BackgroundGraph("register", KNOWLEDGE, "vessels, their names and types", _register(plan)),
        ),
        hints=(Hint("from standstill to standstill with at least three steady fixes between", CROSSING),),
        settings=plan.settings(KEYS_ARE),
    )


def vessel(number: int) -> str:
    """The IRI of a vessel."""
    return f"<http://example.org/vessel/{200_000_000 + number}>"


def _positions(plan: Plan) -> Iterator[StreamEvent]:
    dice, clock = Dice(plan.seed), Clock()
    vessels = [vessel(number) for number in range(plan.keys)]
    trips = [
        Trip(
            dice.between(40_000_000, 50_000_000),
            dice.between(-80_000_000, -60_000_000),
            left=dice.between(1, 12),
        )
        for _ in range(plan.keys)
    ]
    for number in range(plan.events):
        which = number % plan.keys
        trip = trips[which]
        _sail(dice, trip)
        stamp = clock.stamp(plan.instant(number))
        described = (
            (A, OBSERVATION),
            (FEATURE, vessels[which]),
            (LATITUDE, _degrees(trip.latitude)),
            (LONGITUDE, _degrees(trip.longitude)),
            (SPEED, tenths(trip.speed)),
            (COURSE, integer(trip.course)),
            (HEADING, integer(trip.course)),
            (STATUS, integer(0 if trip.moving else 5)),
        )
        yield StreamEvent("vessels", event_text(f"<http://example.org/fix/{number}>", stamp, described))


def _sail(dice: Dice, trip: Trip) -> None:
    """Go on for the time of one fix: berthed, or under way with steady speed and course."""
    trip.left -= 1
    if trip.left == 0:
        trip.moving = not trip.moving
        trip.left = dice.between(3, 12)
        trip.course = dice.below(360)
        trip.speed = dice.between(60, 220)
    if trip.moving:
        trip.speed = max(50, trip.speed + dice.between(-4, 4))
        trip.course = (trip.course + dice.between(-3, 3)) % 360
        trip.latitude += trip.speed * NORTH[trip.course] // 300
        trip.longitude += trip.speed * EAST[trip.course] // 200
    else:
        trip.speed = dice.between(0, 3)


def _degrees(millionths: int) -> str:
    sign = "-" if millionths < 0 else ""
    return decimal(f"{sign}{abs(millionths) // 1_000_000}.{abs(millionths) % 1_000_000:06d}")


def _register(plan: Plan) -> Iterator[Subject]:
    dice = Dice(plan.seed + 1)
    number = triples = 0
    while number < plan.keys or triples < plan.background_triples:
        code, label = TYPES[dice.below(len(TYPES))]
        described = [
            (A, own("Vessel")),
            (NAME, string(f"VESSEL {number}")),
            (own("aisTypeCode"), integer(code)),
            (own("vesselType"), string(label)),
        ]
        yield vessel(number), described
        number, triples = number + 1, triples + len(described)
