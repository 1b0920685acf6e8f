"""`stocks`: trades of companies whose prices walk at random (use case 4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from spaseq.workloads.generation_plan import Dice, Plan
from spaseq.workloads.production import BackgroundGraph, Hint, ProducedStream, Production
from spaseq.workloads.terms import LABEL, NAME, OBJECT, PRICE, TRADE, A, cents, integer, own, string
from spaseq.workloads.timed_events import Clock, StreamEvent, event_text
from spaseq.workloads.turtle import Subject

KEYS_ARE: Final = "companies"
KEYS: Final = 100
INTERVAL: Final = 100

STREAM: Final = ProducedStream("stocks", "http://example.org/streams/stocks", "trades, one event each")
KNOWLEDGE: Final = "http://example.org/stocks/companies"
EXCHANGES: Final = tuple(string(letter) for letter in "ABCDJKMNPTXYZ")
SECTORS: Final = ("energy", "finance", "health", "industry", "technology", "utilities")

V_SHAPE: Final = """\
PREFIX schema: <http://schema.org/>
SELECT ?company ?p1 ?p2 ?p3
WITHIN 60 MINUTES
FROM STREAM stocks <http://example.org/streams/stocks>
WHERE {
  SEQ (A ; B ; C)
  DEFINE GPM A ON stocks { ?t1 schema:object ?company ; schema:price ?p1 }
  DEFINE GPM B ON stocks { ?t2 schema:object ?company ; schema:price ?p2 . FILTER (?p2 < ?p1) }
  DEFINE GPM C ON stocks { ?t3 schema:object ?company ; schema:price ?p3 . FILTER (?p3 > ?p2) }
}
"""


def produce(plan: Plan) -> Production:
    """The stream of trades and the background graph of companies."""
    return Production(
        name="stocks",
        about="spaseq generate stocks: synthetic trades, prices walk at random",
        streams=(STREAM,),
        events=_trades(plan),
        background=(
            BackgroundGraph(
                "companies", KNOWLEDGE, "the companies whose shares are traded", _companies(plan)
            ),
        ),
        hints=(Hint("a price that falls and rises again", V_SHAPE),),
        settings=plan.settings(KEYS_ARE),
    )


def company(number: int) -> str:
    """The IRI of a company."""
    return f"<http://example.org/company/C{number}>"


def _trades(plan: Plan) -> Iterator[StreamEvent]:
    dice, clock = Dice(plan.seed), Clock()
    companies = [company(number) for number in range(plan.keys)]
    prices = [dice.between(1_000, 20_000) for _ in range(plan.keys)]
    kind, traded, price_is, volume, exchange = A, OBJECT, PRICE, own("volume"), own("exchange")
    for number in range(plan.events):
        which = dice.below(plan.keys)
        # The walk turns back at the ends of its range, so that a price never becomes zero or absurd.
        price = prices[which] + dice.between(-10, 10)
        prices[which] = price = price if 100 <= price <= 100_000 else 2 * prices[which] - price
        described = (
            (kind, TRADE),
            (traded, companies[which]),
            (price_is, cents(price)),
            (volume, integer(100 * dice.between(1, 50))),
            (exchange, EXCHANGES[dice.below(len(EXCHANGES))]),
        )
        stamp = clock.stamp(plan.instant(number))
        yield StreamEvent("stocks", event_text(f"<http://example.org/trade/{number}>", stamp, described))


def _companies(plan: Plan) -> Iterator[Subject]:
    dice = Dice(plan.seed + 1)
    number = triples = 0
    while number < plan.keys or triples < plan.background_triples:
        sector = SECTORS[dice.below(len(SECTORS))]
        described = [
            (A, "<http://schema.org/Corporation>"),
            (NAME, string(f"Company {number}")),
            (LABEL, string(f"C{number}")),
            (own("sector"), string(sector)),
        ]
        yield company(number), described
        number, triples = number + 1, triples + len(described)
