"""Use case 5: congestion that spreads to adjacent segments, against a plain check on the rows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

Row = tuple[str, str, str, str, str]


def plain(readings: list[dict[str, str]], segments: list[dict[str, str]]) -> list[Row]:
    """Start, end, jam and its two feeders, found by dictionaries alone."""
    free = {row["REPORT_ID"]: int(row["NDT_IN_KMH"]) for row in segments}
    feeders: dict[str, list[str]] = {}
    for row in segments:
        for other in segments:
            if other["POINT_2_NAME"] == row["POINT_1_NAME"] and other["POINT_1_NAME"] != row["POINT_2_NAME"]:
                feeders.setdefault(row["REPORT_ID"], []).append(other["REPORT_ID"])
    congested = {
        (row["REPORT_ID"], row["TIMESTAMP"]):
            int(row["vehicleCount"]) >= 3 and 2 * int(row["avgSpeed"]) < free[row["REPORT_ID"]]
        for row in readings
    }  # fmt: skip
    found = []
    for (jam, time), is_jam in congested.items():
        if not is_jam:
            continue
        begin = datetime.fromisoformat(time)
        later = [(begin + timedelta(minutes=5 * step)).isoformat() for step in (1, 2, 3)]
        behind = sorted(feeders.get(jam, []))
        for left, right in ((a, b) for a in behind for b in behind if a < b):
            if congested.get((left, time)) is not False or congested.get((right, time)) is not False:
                continue
            both = [t for t in later if congested.get((left, t)) and congested.get((right, t))]
            if both:
                found.append((time, both[0], jam, left, right))
    return sorted(found)


def as_rows(matches: list) -> list[Row]:
    """Matches in the same shape."""
    return sorted(
        (
            f"{match.start:%Y-%m-%dT%H:%M:%S}",
            f"{match.time:%Y-%m-%dT%H:%M:%S}",
            *(match.bindings[name].value.rpartition("/")[2] for name in ("jam", "left", "right")),
        )
        for match in matches
    )


def test_the_extract_has_congestion_that_spreads(found: Callable) -> None:
    """The morning of Monday, 1 September 2014, around the ring road."""
    matches = found("traffic/spreading-congestion.spaseq")
    assert len(matches) == 29
    assert {match.bindings["street"].value for match in matches} >= {"Randersvej", "Viby Ringvej"}


@pytest.mark.slow
def test_the_whole_week_agrees_with_a_plain_check(
    found: Callable, converted: Callable, table: Callable
) -> None:
    """All 155 matches, each with its instants and segments, none at the weekend."""
    folder, _ = converted("traffic")
    rows = as_rows(found("traffic/spreading-congestion.spaseq", folder))
    assert rows == plain(
        table("aarhus_traffic_allsegments_week.csv.gz"), table("aarhus_traffic_segments.csv")
    )
    assert len(rows) == 155
    assert {datetime.fromisoformat(row[0]).weekday() for row in rows} == {0, 1, 2, 3, 4}
