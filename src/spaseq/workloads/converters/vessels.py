"""`vessels`: AIS positions of US waters on 2022-01-03, and the vessels' static data (use case 2).

What AIS marks as not available is left out: heading 511, course 360.0, speed 102.3 knots, and an empty status.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from spaseq.workloads.converters.source_tables import rows, source, utc_ms
from spaseq.workloads.production import BackgroundGraph, ProducedStream, Production
from spaseq.workloads.selection import Selection
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
)
from spaseq.workloads.timed_events import Clock, StreamEvent, event_text
from spaseq.workloads.turtle import Subject

POSITIONS: Final = "vessel_ais_us_20220103.csv.gz"
STATIC: Final = "vessel_ais_us_20220103_static_kb.csv.gz"
STREAM: Final = ProducedStream(
    "vessels", "http://example.org/streams/vessels", "AIS positions, about one in 70 seconds"
)
KNOWLEDGE: Final = "http://example.org/vessels/register"

SPEED, COURSE, HEADING, STATUS = (
    own("speedOverGround"),
    own("courseOverGround"),
    own("heading"),
    own("navigationalStatus"),
)
TYPES: Final = (
    (20, 29, "wing in ground"), (30, 30, "fishing"), (31, 32, "towing"), (33, 33, "dredging"), (34, 34, "diving"), (35, 35, "military"),
    (36, 36, "sailing"), (37, 37, "pleasure craft"), (40, 49, "high-speed craft"), (50, 50, "pilot vessel"),
    (51, 51, "search and rescue"), (52, 52, "tug"), (53, 53, "port tender"), (54, 54, "anti-pollution"),
    (55, 55, "law enforcement"), (58, 58, "medical transport"), (60, 69, "passenger"), (70, 79, "cargo"),
    (80, 89, "tanker"), (90, 99, "other"),
)  # fmt: skip
"""Type codes of ITU-R M.1371 in words: from, to, meaning."""


def produce(dataset: str, data: Path, selection: Selection) -> Production:
    """The stream of positions and the register of vessels."""
    return Production(
        name=dataset,
        about="AIS positions of vessels in US waters, 2022-01-03 UTC",
        streams=(STREAM,),
        events=_positions(data, selection),
        background=(
            BackgroundGraph(
                "register", KNOWLEDGE, "vessels by MMSI, as they say themselves", _register(data, selection)
            ),
        ),
        sources=source("VS", POSITIONS, STATIC),
        settings=selection.settings(),
    )


def _vessel(mmsi: str) -> str:
    return f"<http://example.org/vessel/{mmsi}>"


def _positions(data: Path, selection: Selection) -> Iterator[StreamEvent]:
    clock = Clock()
    for number, row in enumerate(rows(data, POSITIONS), 1):
        mmsi, instant = row["mmsi"], utc_ms(row["timestamp"])
        if not selection.takes(instant, mmsi):
            continue
        said = [
            (A, OBSERVATION),
            (FEATURE, _vessel(mmsi)),
            (LATITUDE, decimal(row["lat"])),
            (LONGITUDE, decimal(row["lon"])),
        ]
        if float(row["sog"]) < 102.3:
            said.append((SPEED, decimal(row["sog"])))
        if float(row["cog"]) < 360:
            said.append((COURSE, decimal(row["cog"])))
        if row["heading"] not in ("511", ""):
            said.append((HEADING, integer(row["heading"])))
        if row["nav_status"]:
            said.append((STATUS, integer(row["nav_status"])))
        text = event_text(f"<http://example.org/fix/{number}>", clock.stamp(instant), said)
        yield StreamEvent("vessels", text)


def _register(data: Path, selection: Selection) -> Iterator[Subject]:
    for row in rows(data, STATIC):
        if selection.names(row["mmsi"]):
            said = [(A, own("Vessel")), (own("mmsi"), string(row["mmsi"]))]
            code = int(row["vessel_type"] or 0)
            said += [(own("aisTypeCode"), integer(code)), (own("vesselType"), string(type_of(code)))]
            if row["vessel_name"]:
                said.append((NAME, string(row["vessel_name"])))
            if row["call_sign"]:
                said.append((own("callSign"), string(row["call_sign"])))
            if row["imo"]:
                said.append((own("imo"), string(row["imo"])))
            if row["length"] and float(row["length"]) > 0:
                said.append((own("lengthInMetres"), decimal(row["length"])))
            yield _vessel(row["mmsi"]), said


def type_of(code: int) -> str:
    """A type code in words.

    >>> type_of(30), type_of(0)
    ('fishing', 'unknown')
    """
    return next((meaning for least, most, meaning in TYPES if least <= code <= most), "unknown")
