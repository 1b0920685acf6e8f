"""`smart_home`: power, weather and storage of UMass Smart* Home C as three streams (use case 1).

Power and weather are of one week of June 2012; generation was recorded in October 2011. To play them together,
generation is moved forward by a stated shift. All times are the house's local clock, written as UTC, as the source
writes power and weather.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from spaseq.workloads.converters.source_tables import rows, source
from spaseq.workloads.production import BackgroundGraph, ProducedStream, Production
from spaseq.workloads.selection import Selection
from spaseq.workloads.terms import (
    HAS_UNIT,
    HOSTED_BY,
    MADE_BY,
    NAME,
    OBSERVATION,
    OBSERVES,
    RESULT,
    SENSOR,
    A,
    decimal,
    name,
    own,
    string,
)
from spaseq.workloads.timed_events import Clock, StreamEvent, event_text
from spaseq.workloads.turtle import Subject

POWER_FILE: Final = "smarthome_homeC_power_1week.csv.gz"
WEATHER_FILE: Final = "smarthome_homeC_weather_3months.csv.gz"
GENERATION_FILE: Final = "smarthome_homeC_generation_1week.csv.gz"

SHIFT: Final = 247 * 86_400 - 4 * 3_600
"""Seconds added to generation: 247 days from 2011-10-01 to 2012-06-04, less 4 hours from UTC to local summer time."""
BEGIN, END = 1_338_768_000, 1_339_372_800
"""The week of the power readings, 2012-06-04 to 2012-06-11, in the source's seconds; weather is cut to it."""

BASE: Final = "http://example.org/home-c/"
HOME, SITE = f"<{BASE}house>", f"<{BASE}site>"
METER, STATION, BATTERY = f"<{BASE}meter>", f"<{BASE}weather-station>", f"<{BASE}battery>"
KNOWLEDGE: Final = "http://example.org/smart-grid/houses"

STREAMS: Final = (
    ProducedStream(
        "power", "http://example.org/streams/power", "power drawn from the grid, one reading a second"
    ),
    ProducedStream(
        "weather", "http://example.org/streams/weather", "the house's weather station, one reading a minute"
    ),
    ProducedStream(
        "storage", "http://example.org/streams/storage", "battery, panels and turbines, every five seconds"
    ),
)

WEATHER: Final = {
    "temperature": ("temperature", "DEG_F"), "humidity": ("relativeHumidity", "PERCENT"),
    "dewpoint": ("dewPoint", "DEG_F"), "barometer": ("airPressure", "IN_HG"),
    "windspeed": ("windSpeed", "MI-PER-HR"), "gustspeed": ("gustSpeed", "MI-PER-HR"),
    "direction": ("windDirection", "DEG"), "rainlastmin": ("rainLastMinute", "IN"),
    "dailyrain": ("rainToday", "IN"), "monthlyrain": ("rainThisMonth", "IN"),
    "yearlyrain": ("rainThisYear", "IN"), "heatindex": ("heatIndex", "DEG_F"),
}  # fmt: skip
"""Columns of the weather table with their property and its QUDT unit."""
GENERATION: Final = {
    "battery_volts": ("batteryVoltage", "V"), "turbine1_mA": ("turbine1Current", "MilliA"),
    "turbine2_mA": ("turbine2Current", "MilliA"), "panel1_mA": ("panel1Current", "MilliA"),
    "panel2_mA": ("panel2Current", "MilliA"), "panel3_mA": ("panel3Current", "MilliA"),
}  # fmt: skip
MISSING_VOLTS: Final = "-888.88"
"""What the source writes for a voltage that was not measured."""


def produce(dataset: str, data: Path, selection: Selection) -> Production:
    """The three streams and a background graph that says which sensor belongs to which house."""
    return Production(
        name=dataset,
        about="UMass Smart* Home C: power and weather 2012-06-04..10 (local clock), generation 2011-10-01..07"
        " moved forward by 247 days less 4 hours",
        streams=STREAMS,
        events=_events(data, selection),
        background=(BackgroundGraph("houses", KNOWLEDGE, "the sensors of Home C", _house()),),
        sources=source("SE", POWER_FILE, WEATHER_FILE, GENERATION_FILE),
        settings={"generation_shift_s": SHIFT, **selection.settings()},
    )


def _events(data: Path, selection: Selection) -> Iterator[StreamEvent]:
    yield from _power(data, selection)
    weather = [(column, own(local)) for column, (local, _) in WEATHER.items()]
    yield from _readings(data, selection, "weather", STATION, weather, 0)
    generation = [(column, own(local)) for column, (local, _) in GENERATION.items()]
    yield from _readings(data, selection, "storage", BATTERY, generation, SHIFT)


def _power(data: Path, selection: Selection) -> Iterator[StreamEvent]:
    clock = Clock()
    for number, row in enumerate(rows(data, POWER_FILE), 1):
        instant = 1000 * int(row["timestamp"])
        if selection.takes(instant, "power"):
            described = ((A, OBSERVATION), (MADE_BY, METER), (RESULT, decimal(row["watts"])))
            yield StreamEvent("power", event_text(f"<{BASE}power/{number}>", clock.stamp(instant), described))


def _readings(
    data: Path, selection: Selection, stream: str, sensor: str, columns: list[tuple[str, str]], shift: int
) -> Iterator[StreamEvent]:
    """The rows of a table with several measurements, each row one event."""
    clock = Clock()
    file = WEATHER_FILE if stream == "weather" else GENERATION_FILE
    for number, row in enumerate(rows(data, file), 1):
        second = int(row["timestamp"]) + shift
        if not (BEGIN <= second < END and selection.takes(1000 * second, stream)):
            continue
        said = [(A, OBSERVATION), (MADE_BY, sensor)]
        said += [
            (term, decimal(row[column])) for column, term in columns if row[column] not in ("", MISSING_VOLTS)
        ]
        yield StreamEvent(stream, event_text(f"<{BASE}{stream}/{number}>", clock.stamp(1000 * second), said))


def _house() -> Iterator[Subject]:
    yield SITE, [(A, name("schema:Place")), (NAME, string("Western Massachusetts"))]
    yield HOME, [(A, name("schema:House")), (NAME, string("Home C")), (name("schema:containedInPlace"), SITE)]
    yield (
        METER,
        [(A, SENSOR), (HOSTED_BY, HOME), (OBSERVES, own("electricPower")), (HAS_UNIT, name("unit:W"))],
    )
    yield (
        STATION,
        [(A, SENSOR), (HOSTED_BY, SITE), *((OBSERVES, own(local)) for local, _ in WEATHER.values())],
    )
    yield (
        BATTERY,
        [(A, SENSOR), (HOSTED_BY, HOME), *((OBSERVES, own(local)) for local, _ in GENERATION.values())],
    )
    for local, unit in (*WEATHER.values(), *GENERATION.values()):
        described = [(name("rdfs:subPropertyOf"), RESULT), (HAS_UNIT, name(f"unit:{unit}"))]
        yield own(local), described
