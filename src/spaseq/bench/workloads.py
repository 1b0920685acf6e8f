"""The streams of the benchmarks, after the four data sets of the SPAseq paper (section 8.1); same seed, same bytes.

Each is a random process with the features its query looks at: prices that wander (stocks), amounts that rise
and drop (cards), sensors that report at one instant (traffic), three streams of one grid (smartgrid).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Final, TypeAlias

from spaseq.bench.declared import Params
from spaseq.temporal.instants import format_instant

XSD: Final = "http://www.w3.org/2001/XMLSchema#"
STAMP: Final = "http://www.w3.org/ns/prov#generatedAtTime"
BEGIN: Final = 1_700_000_000_000_000
"""The instant of the first event, in microseconds."""

Chunk: TypeAlias = tuple[str, int, str]
"""The alias of a stream, how many quads, and their text: one event."""


def number(params: Params, name: str, default: int) -> int:
    """A whole number among the parameters."""
    value = params.get(name, default)
    return int(value)


def decimal(value: float) -> str:
    """A number with two places, as xsd:decimal; never ending in 0, since some stores would cut that off.

    >>> decimal(1.5)
    '"1.51"^^<http://www.w3.org/2001/XMLSchema#decimal>'
    """
    cents = round(value * 100)
    cents += cents % 10 == 0
    return f'"{cents // 100}.{cents % 100:02d}"^^<{XSD}decimal>'


def integer(value: int) -> str:
    """A whole number, as xsd:integer."""
    return f'"{value}"^^<{XSD}integer>'


def event(alias: str, serial: int, instant: int, triples: list[str]) -> Chunk:
    """One event in N-Quads: its timestamp, then its triples in a graph of its own."""
    graph = f"<http://ex.org/e{serial}>"
    stamp = f'{graph} <{STAMP}> "{format_instant(instant)}"^^<{XSD}dateTime> .\n'
    return alias, len(triples) + 1, stamp + "".join(f"{triple} {graph} .\n" for triple in triples)


def stocks(params: Params) -> Iterator[Chunk]:
    """Trades of companies whose prices wander: five quads each, with the timestamp."""
    random = Random(number(params, "seed", 7))
    companies, step = number(params, "companies", 100), number(params, "interval_ms", 100) * 1000
    prices = [100 + random.random() * 100 for _ in range(companies)]
    for serial in range(number(params, "events", 1000)):
        who = random.randrange(companies)
        prices[who] = max(1.0, prices[who] + random.gauss(0, 1))
        company = f"<http://ex.org/c{who}>"
        yield event(
            "S",
            serial,
            BEGIN + serial * step,
            [
                f"{company} <http://ex.org/price> {decimal(prices[who])}",
                f"{company} <http://ex.org/volume> {integer(random.randrange(1000))}",
                f"{company} <http://ex.org/exchange> <http://ex.org/x{who % 5}>",
                f"{company} <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://ex.org/Trade>",
            ],
        )


def cards(params: Params) -> Iterator[Chunk]:
    """Withdrawals: amounts that rise for a while and then, now and again, drop to less than a tenth."""
    random = Random(number(params, "seed", 7))
    count, step = number(params, "cards", 500), number(params, "interval_ms", 100) * 1000
    amounts = [20 + random.random() * 50 for _ in range(count)]
    for serial in range(number(params, "events", 1000)):
        who = random.randrange(count)
        drop = amounts[who] > 400 or random.random() < 0.05
        amounts[who] = amounts[who] * (0.06 if drop else 0.9 + random.random() * 0.4) + 1
        card = f"<http://example/card{who}>"
        yield event(
            "S1",
            serial,
            BEGIN + serial * step,
            [
                f"{card} <http://example/id> {integer(who)}",
                f"{card} <http://example/amount> {decimal(amounts[who])}",
                f'{card} <http://example/loc> "L{random.randrange(50)}"',
            ],
        )


def traffic(params: Params) -> Iterator[Chunk]:
    """Three sensors; most instants have all three, as in the CityBench replay of Aarhus."""
    random = Random(number(params, "seed", 7))
    segments, step = number(params, "segments", 20), number(params, "interval_ms", 300) * 1000
    together = float(params.get("together", 0.6))
    serial, instant = 0, BEGIN
    while serial < number(params, "events", 1000):
        name = random.randrange(segments)
        here = ["S1", "S2", "S3"] if random.random() < together else [f"S{random.randrange(3) + 1}"]
        for alias in here:
            seen = f"<http://ex.org/o{serial}>"
            yield event(
                alias,
                serial,
                instant,
                [
                    f"{seen} <http://purl.oclc.org/NET/ssnx/ssn#observedProperty> <http://ex.org/property{name}>",
                    f"{seen} <http://purl.oclc.org/NET/sao/ssn#hasValue> {integer(random.randrange(10))}",
                    f"{seen} <http://purl.oclc.org/NET/ssnx/ssn#observedBy> <http://ex.org/{alias}>",
                ],
            )
            serial += 1
        instant += step


def smartgrid(params: Params) -> Iterator[Chunk]:
    """Power, weather and storage readings of a grid: three streams that take turns."""
    random = Random(number(params, "seed", 7))
    places, step = number(params, "places", 200), number(params, "interval_ms", 100) * 1000
    base = "http://smartgrid.org/"
    for serial in range(number(params, "events", 1000)):
        alias = ("S1", "S2", "S3")[serial % 3]
        place = random.randrange(places)
        located = f"<{base}loc> <{base}l{place}>"
        if alias == "S2":
            thing, part = f"<{base}w{place}>", f"<{base}v{serial}>"
            triples = [
                f"{thing} {located}",
                f"{thing} <{base}value> {part}",
                f"{part} <{base}light> {integer(random.randrange(100))}",
                f"{part} <{base}windsp> {integer(random.randrange(10))}",
            ]
        else:
            power = alias == "S1"
            thing = f"<{base}{'h' if power else 's'}{place}>"
            part = f"<{base}p{serial}>"
            kind = random.choice(["fuel", "fuel", "coal"] if power else ["solar", "solar", "wind"])
            triples = [
                f"{thing} {located}",
                f"{thing} <{base}pow> {part}",
                f'{part} <{base}source> "{kind}"',
                f"{part} <{base}fare> {integer(random.randrange(10, 40))}",
            ]
        yield event(alias, serial, BEGIN + serial * step, triples)


WORKLOADS: Final[dict[str, Callable[[Params], Iterator[Chunk]]]] = {
    "stocks": stocks,
    "cards": cards,
    "traffic": traffic,
    "smartgrid": smartgrid,
}


# --- background graphs ----------------------------------------------------------------------------


def company_facts(triples: int) -> Iterator[str]:
    """Name, address, page and telephone of companies (figure 18 of the paper)."""
    for serial in range(triples):
        who, what = divmod(serial, 4)
        subject = f"<http://ex.org/c{who}>"
        fact = (
            f'<http://ex.org/name> "Company {who}"',
            f'<http://ex.org/address> "{who} Wall Street"',
            f"<http://ex.org/page> <http://ex.org/page{who}>",
            f'<http://ex.org/phone> "+1 {who:07d}"',
        )[what]
        yield f"{subject} {fact} .\n"


def card_facts(triples: int) -> Iterator[str]:
    """Holder, address, bank and kind of cards (figure 18 of the paper)."""
    for serial in range(triples):
        who, what = divmod(serial, 4)
        subject = f"<http://example/card{who}>"
        fact = (
            f'<http://example/cardHolder> "Holder {who}"',
            f'<http://example/holderAddress> "{who} High Street"',
            f"<http://example/bank> <http://example/bank{who % 40}>",
            f'<http://example/kind> "{("debit", "credit")[who % 2]}"',
        )[what]
        yield f"{subject} {fact} .\n"


def house_facts(triples: int) -> Iterator[str]:
    """City, neighbour and owner of houses (Query 1 of the paper)."""
    base = "http://smartgrid.org/"
    for serial in range(triples):
        who, what = divmod(serial, 3)
        fact = (
            f"<{base}locatedIn> <{base}city{who % 10}>",
            f"<{base}nearBy> <{base}h{who + 1}>",
            f'<{base}ownerName> "Owner {who}"',
        )[what]
        yield f"<{base}h{who}> {fact} .\n"


FACTS: Final[dict[str, Callable[[int], Iterator[str]]]] = {
    "stocks": company_facts,
    "cards": card_facts,
    "smartgrid": house_facts,
}
