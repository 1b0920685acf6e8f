"""`cards`: payments by card, some of which rise step by step and then drop (use case 3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from spaseq.workloads.generation_plan import Dice, Plan
from spaseq.workloads.production import BackgroundGraph, Hint, ProducedStream, Production
from spaseq.workloads.terms import (
    AMOUNT,
    INSTRUMENT,
    NAME,
    RECIPIENT,
    TRANSFER,
    A,
    boolean,
    cents,
    own,
    string,
)
from spaseq.workloads.timed_events import Clock, StreamEvent, event_text
from spaseq.workloads.turtle import Subject

KEYS_ARE: Final = "cards"
KEYS: Final = 1000
INTERVAL: Final = 250

STREAM: Final = ProducedStream("cards", "http://example.org/streams/cards", "payments, one event each")
KNOWLEDGE: Final = "http://example.org/cards/holders"
MERCHANTS: Final = 500
FRAUD_PERCENT: Final = 0.2
"""How often, of a hundred payments, a card begins to be abused."""
CITIES: Final = ("Aarhus", "Brno", "Cork", "Delft", "Essen", "Faro", "Graz", "Lyon")

RISE_THEN_DROP: Final = """\
PREFIX schema: <http://schema.org/>
SELECT ?card (FIRST(?amount) AS ?from) (LAST(?amount) AS ?to) ?small
WITHIN 1 DAY SLIDING
FROM STREAM cards <http://example.org/streams/cards>
PARTITION BY ?card
WHERE {
  SEQ (A{4}[,] , B)
  DEFINE GPM A ON cards { ?t1 schema:instrument ?card ; schema:amount ?amount . FILTER (?amount > PREV(?amount)) }
  DEFINE GPM B ON cards { ?t2 schema:instrument ?card ; schema:amount ?small . FILTER (?small * 10 <= LAST(?amount)) }
}
"""


def produce(plan: Plan) -> Production:
    """The stream of payments and the background graph of card holders."""
    return Production(
        name="cards",
        about="spaseq generate cards: synthetic payments; in abused cards amounts rise, then drop",
        streams=(STREAM,),
        events=_payments(plan),
        background=(BackgroundGraph("holders", KNOWLEDGE, "who holds which card", _holders(plan)),),
        hints=(Hint("amounts that rise four times and then drop to a tenth", RISE_THEN_DROP),),
        settings=plan.settings(KEYS_ARE),
    )


def card(number: int) -> str:
    """The IRI of a card."""
    return f"<http://example.org/card/{number}>"


def _payments(plan: Plan) -> Iterator[StreamEvent]:
    dice, clock = Dice(plan.seed), Clock()
    cards = [card(number) for number in range(plan.keys)]
    merchants = [f"<http://example.org/merchant/{number}>" for number in range(MERCHANTS)]
    planned: dict[int, list[int]] = {}
    fraud = own("isFraud")
    for number in range(plan.events):
        which = dice.below(plan.keys)
        abused = which in planned
        amount = _next_planned(planned, which) if abused else _usual(dice)
        if not abused and dice.chance(FRAUD_PERCENT):
            planned[which] = _series(dice)
        described = (
            (A, TRANSFER),
            (INSTRUMENT, cards[which]),
            (AMOUNT, cents(amount)),
            (RECIPIENT, merchants[dice.below(MERCHANTS)]),
            (fraud, boolean(abused)),
        )
        stamp = clock.stamp(plan.instant(number))
        yield StreamEvent("cards", event_text(f"<http://example.org/payment/{number}>", stamp, described))


def _usual(dice: Dice) -> int:
    """An everyday amount in cents: many small ones, few large ones."""
    first, second = dice.below(400), dice.below(400)
    return 100 + first * second // 4


def _series(dice: Dice) -> list[int]:
    """What an abused card pays next, last first: three to six rising amounts and then a small one."""
    amounts = [dice.between(500, 1500)]
    for _ in range(dice.between(3, 6)):
        amounts.append(amounts[-1] * dice.between(12, 25) // 10)
    return [amounts[-1] // dice.between(10, 40), *reversed(amounts)]


def _next_planned(planned: dict[int, list[int]], which: int) -> int:
    amount = planned[which].pop()
    if not planned[which]:
        del planned[which]
    return amount


def _holders(plan: Plan) -> Iterator[Subject]:
    dice = Dice(plan.seed + 1)
    number = triples = 0
    while number < plan.keys or triples < plan.background_triples:
        described = [
            (A, "<http://schema.org/PaymentCard>"),
            (own("holder"), string(f"Holder {number}")),
            (own("holderCity"), string(CITIES[dice.below(len(CITIES))])),
            (NAME, string(f"card {number}")),
        ]
        yield card(number), described
        number, triples = number + 1, triples + len(described)
