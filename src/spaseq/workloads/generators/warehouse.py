"""`warehouse`: orders that pass six stations, mostly in order, and whose six goods are picked in any order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from spaseq.workloads.generation_plan import Dice, Plan
from spaseq.workloads.production import BackgroundGraph, Hint, ProducedStream, Production
from spaseq.workloads.terms import A, integer, own
from spaseq.workloads.timed_events import Clock, StreamEvent, event_text
from spaseq.workloads.turtle import Subject

KEYS_ARE: Final = "orders"
KEYS: Final = 100
"""How many orders are on their way at a time, and of how many goods are being picked."""
INTERVAL: Final = 100

STREAM: Final = ProducedStream(
    "warehouse", "http://example.org/streams/warehouse", "steps of orders, one event each"
)
KNOWLEDGE: Final = "http://example.org/warehouse/shelves"
STATIONS: Final = ("Received", "Paid", "Printed", "Packed", "Weighed", "Sent")
GOODS: Final = ("Bolt", "Nut", "Screw", "Washer", "Nail", "Hook")
SWAPPED_PERCENT: Final = 5
"""How many orders, of a hundred, pass two neighbouring stations the other way round."""

IN_ANY_ORDER: Final = """\
PREFIX ns: <http://example.org/ns#>
SELECT ?order
WITHIN 10 MINUTES SLIDING
FROM STREAM warehouse <http://example.org/streams/warehouse>
WHERE {
  SEQ (PERMUTE(A ; B ; C))
  DEFINE GPM A ON warehouse { ?e1 ns:order ?order ; ns:picked ns:Bolt }
  DEFINE GPM B ON warehouse { ?e2 ns:order ?order ; ns:picked ns:Nut }
  DEFINE GPM C ON warehouse { ?e3 ns:order ?order ; ns:picked ns:Screw }
}
"""


def produce(plan: Plan) -> Production:
    """The stream of steps."""
    return Production(
        name="warehouse",
        about="spaseq generate warehouse: synthetic orders at six stations, and their goods picked in any order",
        streams=(STREAM,),
        events=_steps(plan),
        background=(BackgroundGraph("shelves", KNOWLEDGE, "which goods lie where", _shelves(plan)),),
        hints=(Hint("orders of which bolts, nuts and screws are picked, in any order", IN_ANY_ORDER),),
        settings=plan.settings(KEYS_ARE),
    )


def _steps(plan: Plan) -> Iterator[StreamEvent]:
    """Steps of the one and of the other kind in turn, each of any order that is on its way."""
    dice, clock = Dice(plan.seed), Clock()
    open_steps: dict[tuple[bool, int], list[str]] = {}
    orders: dict[tuple[bool, int], int] = {}
    begun = 0
    for number in range(plan.events):
        place = number % 2 == 0, dice.below(plan.keys)
        if not open_steps.get(place):
            open_steps[place] = _stations(dice) if place[0] else _goods(dice)
            orders[place] = begun
            begun += 1
        step = own(open_steps[place].pop())
        described = (
            (A, own("Step")),
            (own("order"), f"<http://example.org/order/{orders[place]}>"),
            (own("station"), step) if place[0] else (own("picked"), step),
            (own("seconds"), integer(dice.between(1, 60))),
        )
        stamp = clock.stamp(plan.instant(number))
        yield StreamEvent("warehouse", event_text(f"<http://example.org/step/{number}>", stamp, described))


def _stations(dice: Dice) -> list[str]:
    """The stations of an order, last first."""
    stations = list(reversed(STATIONS))
    if dice.chance(SWAPPED_PERCENT):
        at = dice.below(len(stations) - 1)
        stations[at], stations[at + 1] = stations[at + 1], stations[at]
    return stations


def _goods(dice: Dice) -> list[str]:
    """The goods of an order, in any order."""
    left, goods = list(GOODS), []
    while left:
        goods.append(left.pop(dice.below(len(left))))
    return goods


def _shelves(plan: Plan) -> Iterator[Subject]:
    dice = Dice(plan.seed + 1)
    number = triples = 0
    while number < plan.keys or triples < plan.background_triples:
        described = [
            (A, own("Shelf")),
            (own("holds"), own(GOODS[dice.below(len(GOODS))])),
            (own("aisle"), integer(dice.between(1, 40))),
        ]
        yield f"<http://example.org/shelf/{number}>", described
        number, triples = number + 1, triples + len(described)
