"""`smartgrid`: power, weather and storage of houses, and a background graph that ties them together (use case 1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from spaseq.workloads.generation_plan import Dice, Plan
from spaseq.workloads.production import BackgroundGraph, Hint, ProducedStream, Production
from spaseq.workloads.terms import (
    HAS_UNIT,
    HOSTED_BY,
    MADE_BY,
    NAME,
    OBSERVATION,
    OBSERVES,
    PRICE,
    RESULT,
    SENSOR,
    A,
    cents,
    decimal,
    integer,
    name,
    own,
    string,
    tenths,
)
from spaseq.workloads.timed_events import Clock, StreamEvent, event_text
from spaseq.workloads.turtle import Subject

KEYS_ARE: Final = "houses"
KEYS: Final = 100
INTERVAL: Final = 500

POWER: Final = ProducedStream(
    "power", "http://example.org/streams/power", "power drawn from the grid, watts and price"
)
WEATHER: Final = ProducedStream(
    "weather", "http://example.org/streams/weather", "weather stations of the places"
)
STORAGE: Final = ProducedStream(
    "storage", "http://example.org/streams/storage", "batteries of the houses, volts and price"
)
KNOWLEDGE: Final = "http://example.org/smart-grid/houses"
HOUSES_PER_PLACE: Final = 10
CITIES: Final = ("Amherst", "Boston", "Concord", "Dover", "Essex", "Fairfax", "Groton", "Hadley")
SHARES: Final = (("power", 80), ("weather", 90), ("storage", 100))
"""Which stream an event belongs to: the first share above a number from 0 to 99."""

FUEL, SOLAR = string("fuel"), string("solar")
SOURCE, VOLTAGE, WIND = own("energySource"), own("batteryVoltage"), own("windSpeed")
TEMPERATURE, HUMIDITY, LIGHT = own("temperature"), own("relativeHumidity"), own("irradiance")
PLACE: Final = name("schema:containedInPlace")

SWITCH: Final = """\
PREFIX sosa: <http://www.w3.org/ns/sosa/>
PREFIX schema: <http://schema.org/>
PREFIX ns: <http://example.org/ns#>
SELECT ?house ?owner ?fuel ?solar
WITHIN 10 MINUTES
FROM STREAM power <http://example.org/streams/power>
FROM STREAM weather <http://example.org/streams/weather>
FROM STREAM storage <http://example.org/streams/storage>
WHERE {
  SEQ (A ; B{2}[;] ; C)
  DEFINE GPM A ON power {
    ?o1 sosa:madeBySensor ?meter ; schema:price ?fuel . FILTER (?fuel > 38)
    GRAPH <http://example.org/smart-grid/houses> {
      ?meter sosa:isHostedBy ?house . ?house schema:containedInPlace ?place ; ns:owner ?owner }
  }
  DEFINE GPM B ON weather {
    ?o2 sosa:madeBySensor ?station ; ns:windSpeed ?wind ; ns:irradiance ?light . FILTER (?wind > 3 && ?light > 40)
    GRAPH <http://example.org/smart-grid/houses> { ?station sosa:isHostedBy ?place }
  }
  DEFINE GPM C ON storage {
    ?o3 sosa:madeBySensor ?battery ; schema:price ?solar . FILTER (?solar < ?fuel)
    GRAPH <http://example.org/smart-grid/houses> { ?battery sosa:isHostedBy ?house . ?house schema:containedInPlace ?place }
  }
}
"""


def produce(plan: Plan) -> Production:
    """The three streams and the background graph of houses."""
    return Production(
        name="smartgrid",
        about="spaseq generate smartgrid: synthetic power, weather and storage readings",
        streams=(POWER, WEATHER, STORAGE),
        events=_readings(plan),
        background=(BackgroundGraph("houses", KNOWLEDGE, "houses, their sensors and owners", _houses(plan)),),
        hints=(Hint("dear fuel, then two good weather readings, then cheaper storage", SWITCH),),
        settings=plan.settings(KEYS_ARE),
    )


def _sensor(kind: str, number: int) -> str:
    return f"<http://example.org/{kind}/{number}>"


def _readings(plan: Plan) -> Iterator[StreamEvent]:
    dice, clock = Dice(plan.seed), Clock()
    places = -(-plan.keys // HOUSES_PER_PLACE)
    watts = [dice.between(200, 800) for _ in range(plan.keys)]
    volts = [dice.between(1180, 1380) for _ in range(plan.keys)]
    wind = [dice.between(0, 60) for _ in range(places)]
    light = [dice.between(0, 100) for _ in range(places)]
    for number in range(plan.events):
        stamp = clock.stamp(plan.instant(number))
        share = dice.below(100)
        stream = next(stream for stream, upto in SHARES if share < upto)
        if stream == "weather":
            which = dice.below(places)
            wind[which] = _walked(dice, wind[which], 8, 0, 120)
            light[which] = _walked(dice, light[which], 10, 0, 100)
            described = _weather(dice, _sensor("station", which), wind[which], light[which])
        elif stream == "power":
            which = dice.below(plan.keys)
            watts[which] = _walked(dice, watts[which], 150, 100, 6000)
            described = _power(dice, _sensor("meter", which), watts[which])
        else:
            which = dice.below(plan.keys)
            volts[which] = _walked(dice, volts[which], 12, 1100, 1450)
            described = _storage(dice, _sensor("battery", which), volts[which])
        yield StreamEvent(stream, event_text(f"<http://example.org/{stream}/{number}>", stamp, described))


def _walked(dice: Dice, value: int, step: int, least: int, most: int) -> int:
    """One step of a walk that stops at the ends of its range."""
    return min(max(value + dice.between(-step, step), least), most)


def _power(dice: Dice, meter: str, watts: int) -> tuple[tuple[str, str], ...]:
    return (
        (A, OBSERVATION),
        (MADE_BY, meter),
        (RESULT, decimal(watts)),
        (SOURCE, FUEL),
        (PRICE, cents(dice.between(1200, 4200))),
    )


def _weather(dice: Dice, station: str, wind: int, light: int) -> tuple[tuple[str, str], ...]:
    return (
        (A, OBSERVATION),
        (MADE_BY, station),
        (WIND, tenths(wind)),
        (LIGHT, integer(light)),
        (TEMPERATURE, tenths(400 + 4 * light + dice.below(30))),
        (HUMIDITY, integer(dice.between(20, 95))),
    )


def _storage(dice: Dice, battery: str, volts: int) -> tuple[tuple[str, str], ...]:
    return (
        (A, OBSERVATION),
        (MADE_BY, battery),
        (VOLTAGE, cents(volts)),
        (SOURCE, SOLAR),
        # The fuller the battery, the cheaper its power.
        (PRICE, cents(max(500, (1450 - volts) * 10 + dice.between(0, 800)))),
    )


def _houses(plan: Plan) -> Iterator[Subject]:
    dice = Dice(plan.seed + 1)
    number = triples = 0
    while number < plan.keys or triples < plan.background_triples:
        for subject in _house(dice, number):
            triples += len(subject[1])
            yield subject
        number += 1


def _house(dice: Dice, number: int) -> Iterator[Subject]:
    place = f"<http://example.org/place/{number // HOUSES_PER_PLACE}>"
    house = f"<http://example.org/house/{number}>"
    if number % HOUSES_PER_PLACE == 0:
        city = CITIES[dice.below(len(CITIES))]
        yield place, [(A, "<http://schema.org/Place>"), (NAME, string(city))]
        station = _sensor("station", number // HOUSES_PER_PLACE)
        yield station, [(A, SENSOR), (HOSTED_BY, place)]
    owner, street = string(f"Owner {number}"), string(f"{dice.between(1, 200)} Main Street")
    yield (
        house,
        [
            (A, "<http://schema.org/House>"),
            (PLACE, place),
            (own("owner"), owner),
            (name("schema:streetAddress"), street),
        ],
    )
    yield (
        _sensor("meter", number),
        [(A, SENSOR), (HOSTED_BY, house), (OBSERVES, own("electricPower")), (HAS_UNIT, name("unit:W"))],
    )
    yield (
        _sensor("battery", number),
        [(A, SENSOR), (HOSTED_BY, house), (OBSERVES, VOLTAGE), (HAS_UNIT, name("unit:V"))],
    )
