"""`traffic`: a week of road traffic in Aarhus, and the segments with their neighbours (use case 5).

All 449 segments report every five minutes at the same instants. A segment leads to another where it ends at the
node at which the other starts; the way back along the same road is told apart as its opposite.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from spaseq.workloads.converters.source_tables import rows, source, utc_ms
from spaseq.workloads.production import BackgroundGraph, ProducedStream, Production
from spaseq.workloads.selection import Selection
from spaseq.workloads.terms import AS_WKT, FEATURE, LABEL, OBSERVATION, A, integer, name, own, string, wkt
from spaseq.workloads.timed_events import Clock, StreamEvent, event_text
from spaseq.workloads.turtle import Subject

READINGS: Final = "aarhus_traffic_allsegments_week.csv.gz"
SEGMENTS: Final = "aarhus_traffic_segments.csv"
STREAM: Final = ProducedStream(
    "traffic", "http://example.org/streams/traffic", "every segment each five minutes, 2014-09-01..07"
)
KNOWLEDGE: Final = "http://example.org/traffic/segments"
SPEED, COUNTED = own("averageSpeed"), own("vehicleCount")
TAKES, MEDIAN = own("averageTravelTime"), own("medianTravelTime")


def produce(dataset: str, data: Path, selection: Selection) -> Production:
    """The stream of readings and the graph of segments."""
    return Production(
        name=dataset,
        about="road traffic of Aarhus, 449 segments, 2014-09-01..07 (times as in the source, taken as UTC)",
        streams=(STREAM,),
        events=_readings(data, selection),
        background=(
            BackgroundGraph(
                "segments",
                KNOWLEDGE,
                "road segments of Aarhus and which follows which",
                _segments(data, selection),
            ),
        ),
        sources=source("CB", READINGS, SEGMENTS),
        settings=selection.settings(),
    )


def _segment(number: str) -> str:
    return f"<http://example.org/segment/{number}>"


def _readings(data: Path, selection: Selection) -> Iterator[StreamEvent]:
    clock = Clock()
    for number, row in enumerate(rows(data, READINGS), 1):
        instant, segment = utc_ms(row["TIMESTAMP"]), row["REPORT_ID"]
        if not selection.takes(instant, segment):
            continue
        said = [
            (A, OBSERVATION),
            (FEATURE, _segment(segment)),
            (SPEED, integer(row["avgSpeed"])),
            (COUNTED, integer(row["vehicleCount"])),
            (TAKES, integer(row["avgMeasuredTime"])),
        ]
        # The median equals the mean in every row of this week; it is written where it would not.
        if row["medianMeasuredTime"] != row["avgMeasuredTime"]:
            said.append((MEDIAN, integer(row["medianMeasuredTime"])))
        text = event_text(f"<http://example.org/reading/{number}>", clock.stamp(instant), said)
        yield StreamEvent("traffic", text)


def _segments(data: Path, selection: Selection) -> Iterator[Subject]:
    table = [row for row in rows(data, SEGMENTS) if selection.names(row["REPORT_ID"])]
    starting: dict[str, list[dict[str, str]]] = {}
    for row in table:
        starting.setdefault(row["POINT_1_NAME"], []).append(row)
    for row in table:
        followers = starting.get(row["POINT_2_NAME"], [])
        back = [other for other in followers if other["POINT_2_NAME"] == row["POINT_1_NAME"]]
        line = f"LINESTRING ({_point(row, 1)}, {_point(row, 2)})"
        yield (
            _segment(row["REPORT_ID"]),
            [
                (A, own("RoadSegment")),
                (name("schema:identifier"), integer(row["REPORT_ID"])),
                (LABEL, string(row["REPORT_NAME"])),
                (own("freeFlowSpeed"), integer(row["NDT_IN_KMH"])),
                (own("lengthInMetres"), integer(row["DISTANCE_IN_METERS"])),
                (own("roadType"), string(row["ROAD_TYPE"])),
                (own("startStreet"), string(row["POINT_1_STREET"])),
                (own("endStreet"), string(row["POINT_2_STREET"])),
                (name("schema:addressLocality"), string(row["POINT_1_CITY"])),
                (own("startNode"), string(row["POINT_1_NAME"])),
                (own("endNode"), string(row["POINT_2_NAME"])),
                (AS_WKT, wkt(line)),
                *((own("leadsTo"), _segment(other["REPORT_ID"])) for other in followers if other not in back),
                *((own("oppositeOf"), _segment(other["REPORT_ID"])) for other in back),
            ],
        )


def _point(row: dict[str, str], end: int) -> str:
    return f"{row[f'POINT_{end}_LNG']} {row[f'POINT_{end}_LAT']}"
