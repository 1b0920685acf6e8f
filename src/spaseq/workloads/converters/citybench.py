"""`citybench`: the streams of CityBench over Aarhus, in the benchmark's own names (ssn, sao, citytraffic).

Every observation says what it observes (`ssn:observedProperty`), its value (`sao:hasValue`) and its stream (`ssn:observedBy`); which
kind of property that is, and where, is background. The user's positions have no times in the source: they get one a minute.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from heapq import merge
from pathlib import Path
from typing import Final

from spaseq.workloads.converters.source_tables import rows, source, utc_ms
from spaseq.workloads.production import BackgroundGraph, ProducedStream, Production
from spaseq.workloads.selection import Selection
from spaseq.workloads.terms import A, decimal, string
from spaseq.workloads.timed_events import Clock, Described, StreamEvent, event_text, instant_ms
from spaseq.workloads.turtle import Subject

SERVICE: Final = "http://www.insight-centre.org/dataset/SampleEventService#"
SENSORS: Final = "http://www.insight-centre.org/dataset/SensorRepository"
EVENTS: Final = "http://www.insight-centre.org/dataset/"
SSN, SAO = "http://purl.oclc.org/NET/ssnx/ssn#", "http://purl.oclc.org/NET/sao/"
NEXT = "next"
"""In place of an object: the subject that is described next."""
CT: Final = "http://www.insight-centre.org/citytraffic#"
TRAFFIC: Final = "aarhus_traffic_selected_2months.csv.gz"
SEGMENTS, GARAGES = "aarhus_traffic_segments.csv", "aarhus_parking_garages.csv"
PARKING, POLLUTION = "aarhus_parking.csv.gz", "aarhus_pollution_SIMULATED_week.csv.gz"
WEATHER, USER = "aarhus_weather.csv", "aarhus_user_location_SIMULATED.csv"
EVENT_FILES: Final = {
    "cultural": "aarhus_CulturalEvents.n3.gz",
    "library": "aarhus_LibraryEvents.n3.gz",
}
ROADS, PARKS = ("182955", "158505", "186979"), ("BRUUNS", "KALKVAERKSVEJ", "SKOLEBAKKEN")
AIR: Final = ("158505", "182955")
GASES: Final = {"ozone": "Ozone", "carbon_monoxide": "CarbonMonoxide", "nitrogen_dioxide": "NitrogenDioxide"}
USER_STARTS: Final = "2014-09-01T05:00:00Z"
KEPT_EVENTS: Final = 12
"""How many of the cultural, and of the library events become background."""

Timed = Iterator[tuple[int, str, list[Described]]]
"""Instant, stream, and what is said of each observation."""


def produce(dataset: str, data: Path, selection: Selection) -> Production:
    """Traffic on three segments, three garages, the air at two places, the weather and a user's positions."""
    streams = [f"AarhusTrafficData{road}" for road in ROADS]
    streams += [f"AarhusParkingData{garage}" for garage in PARKS]
    streams += [f"AarhusPollutionData{place}" for place in AIR]
    streams += ["AarhusWeatherData0", "UserLocationService"]
    return Production(
        name=dataset,
        about="streams of CityBench over Aarhus; pollution and the user's positions are SIMULATED",
        streams=tuple(ProducedStream(each, SERVICE + each, "observations of CityBench") for each in streams),
        events=_events(data, selection),
        background=(
            BackgroundGraph("sensors", SENSORS, "what is observed where", _sensors(data)),
            *(
                BackgroundGraph(f"{kind}-events", f"{EVENTS}{kind}-events", "some events", _happenings(data, kind))
                for kind in EVENT_FILES
            ),
        ),
        sources=source("CB", TRAFFIC, SEGMENTS, GARAGES, PARKING, POLLUTION, WEATHER, USER, *EVENT_FILES.values()),
        settings=selection.settings(),
    )  # fmt: skip


def _property(stream: str, kind: str) -> str:
    return f"<{SERVICE}{stream}-{kind}>"


def _place(stream: str) -> str:
    return f"<{SERVICE}{stream}-place>"


def _said(stream: str, kind: str, value: str) -> Described:
    return (
        (A, f"<{SSN}Observation>"),
        (f"<{SSN}observedBy>", f"<{SERVICE}{stream}>"),
        (f"<{SSN}observedProperty>", _property(stream, kind)),
        (f"<{SAO}hasValue>", value),
    )


def _events(data: Path, selection: Selection) -> Iterator[StreamEvent]:
    clock = Clock()
    parts = (_traffic(data), _parking(data), _pollution(data), _weather(data), _user(data))
    number = 0
    for instant, stream, said in merge(*parts, key=lambda event: event[0]):
        if not selection.takes(instant, stream):
            continue
        number += 1
        graph = f"<http://example.org/citybench/event/{number}>"
        text = event_text(graph, clock.stamp(instant), ())
        for place, each in enumerate(said):
            subject, following = (
                f"<http://example.org/citybench/observation/{number}-{which}>" for which in (place, place + 1)
            )
            for predicate, obj in each:
                text += f"{subject} {predicate} {following if obj == NEXT else obj} {graph} .\n"
        yield StreamEvent(stream, text)


def _traffic(data: Path) -> Timed:
    metres = {row["REPORT_ID"]: int(row["DISTANCE_IN_METERS"]) for row in rows(data, SEGMENTS)}
    for row in rows(data, TRAFFIC):
        if row["REPORT_ID"] in ROADS:
            stream = f"AarhusTrafficData{row['REPORT_ID']}"
            # The benchmark's level of congestion: vehicles per kilometre of the segment.
            level = 1000 * int(row["vehicleCount"]) / metres[row["REPORT_ID"]]
            said = [
                _said(stream, "CongestionLevel", decimal(f"{level:.2f}")),
                _said(stream, "AvgSpeed", decimal(f"{float(row['avgSpeed']):.1f}")),
            ]
            yield utc_ms(row["TIMESTAMP"]), stream, said


def _parking(data: Path) -> Timed:
    for row in rows(data, PARKING):
        if row["garagecode"] in PARKS:
            stream = f"AarhusParkingData{row['garagecode']}"
            free = int(row["totalspaces"]) - int(row["vehiclecount"])
            yield utc_ms(row["updatetime"]), stream, [_said(stream, "ParkingVacancy", decimal(f"{free:.1f}"))]


def _pollution(data: Path) -> Timed:
    for row in rows(data, POLLUTION):
        if row["sensor"] in AIR:
            stream = f"AarhusPollutionData{row['sensor']}"
            said = [_said(stream, kind, decimal(f"{int(row[gas]):.1f}")) for gas, kind in GASES.items()]
            yield utc_ms(row["timestamp"]), stream, said


def _weather(data: Path) -> Timed:
    stream = "AarhusWeatherData0"
    kinds = {"tempm": "Temperature", "hum": "Humidity", "wspdm": "WindSpeed"}
    for row in rows(data, WEATHER):
        said = [
            _said(stream, kind, decimal(f"{float(row[name]):.1f}"))
            for name, kind in kinds.items()
            if row[name]
        ]
        yield utc_ms(row["TIMESTAMP"]), stream, said


def _user(data: Path) -> Timed:
    stream, start = "UserLocationService", instant_ms(USER_STARTS)
    for number, row in enumerate(rows(data, USER)):
        position: Described = tuple(_position(row["latitude"], row["longitude"]))
        # The benchmark's observation has a value with a position; ours has the position itself, too.
        said: Described = (
            (A, f"<{SSN}Observation>"),
            (f"<{SSN}observedBy>", f"<{SERVICE}{stream}>"),
            (f"<{SSN}observedProperty>", _property(stream, "Location")),
            (f"<{SAO}hasValue>", NEXT),
            *position,
        )
        yield start + 60_000 * number, stream, [said, position]


def _sensors(data: Path) -> Iterator[Subject]:
    kinds: dict[str, tuple[str, ...]] = {}
    kinds |= {f"AarhusTrafficData{road}": ("CongestionLevel", "AvgSpeed") for road in ROADS}
    kinds |= {f"AarhusParkingData{garage}": ("ParkingVacancy",) for garage in PARKS}
    kinds |= {f"AarhusPollutionData{place}": tuple(GASES.values()) for place in AIR}
    kinds |= {"AarhusWeatherData0": ("Temperature", "Humidity", "WindSpeed")}
    for stream, observed in kinds.items():
        for kind in observed:
            yield (
                _property(stream, kind),
                [(A, f"<{CT}{kind}>"), (f"<{SSN}isPropertyOf>", _place(stream))],
            )
    for row in rows(data, SEGMENTS):
        if row["REPORT_ID"] in ROADS:
            yield from _node(f"AarhusTrafficData{row['REPORT_ID']}", row["POINT_1_LAT"], row["POINT_1_LNG"])
    for row in rows(data, GARAGES):
        if row["garagecode"] in PARKS:
            yield from _node(f"AarhusParkingData{row['garagecode']}", row["latitude"], row["longitude"])


def _node(stream: str, latitude: str, longitude: str) -> Iterator[Subject]:
    node = f"<{SERVICE}{stream}-node>"
    start = [
        (f"<{CT}hasStart{which}>", decimal(f"{float(degrees):.6f}"))
        for which, degrees in (("Latitude", latitude), ("Longitude", longitude))
    ]
    yield _place(stream), [(f"<{CT}hasFirstNode>", node), *start]
    yield node, _position(latitude, longitude)


def _position(latitude: str, longitude: str) -> list[tuple[str, str]]:
    return [
        (f"<{CT}hasLatitude>", decimal(f"{float(latitude):.6f}")),
        (f"<{CT}hasLongitude>", decimal(f"{float(longitude):.6f}")),
    ]


def _happenings(data: Path, kind: str) -> Iterator[Subject]:
    """Some of the events of a file: what they are called, and where they take place."""
    from pyoxigraph import Literal, NamedNode, RdfFormat, Store

    store = Store()
    with gzip.open(data / EVENT_FILES[kind]) as file:
        store.load(file.read(), format=RdfFormat.TURTLE)
    query = (
        f"PREFIX ssn: <{SSN}> PREFIX sao: <{SAO}> PREFIX ct: <{CT}> SELECT ?event ?title ?lat ?lng WHERE {{ "
        "?event a ssn:Observation ; sao:value ?title ; ssn:featureOfInterest/ct:hasFirstNode ?node . "
        "?node ct:hasLatitude ?lat ; ct:hasLongitude ?lng } ORDER BY ?event ?title"
    )
    for number, row in enumerate(list(store.query(query))[:KEPT_EVENTS]):  # type: ignore[arg-type]
        title, latitude, longitude = row["title"], row["lat"], row["lng"]
        assert isinstance(title, Literal)
        assert isinstance(row["event"], NamedNode)
        foi, node = (f"<{EVENTS}{kind}-{what}-{number}>" for what in ("place", "node"))
        told = title.value.removeprefix("Title: ").partition(" Price:")[0]
        yield (
            str(row["event"]),
            [(A, f"<{SSN}Observation>"), (f"<{SAO}value>", string(told)), (f"<{SSN}featureOfInterest>", foi)],
        )
        yield foi, [(f"<{CT}hasFirstNode>", node)]
        yield node, _position(latitude.value, longitude.value)
