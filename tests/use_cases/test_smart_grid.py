"""Use case 1: three streams and a background graph, against a plain check on the rows."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from itertools import pairwise

import pytest

SHIFT = 247 * 86_400 - 4 * 3_600
Row = tuple[int, int, float, float, float]


def plain(
    power: list[dict[str, str]], weather: list[dict[str, str]], generation: list[dict[str, str]]
) -> list[Row]:
    """Start and end in seconds, watts before and after, volts: by looking along sorted lists."""
    watts = [(int(row["timestamp"]), float(row["watts"])) for row in power]
    good = [
        int(row["timestamp"])
        for row in weather
        if float(row["windspeed"]) >= 3 and float(row["rainlastmin"]) == 0
    ]
    volts = [(int(row["timestamp"]) + SHIFT, float(row["battery_volts"])) for row in generation]
    full = [(second, value) for second, value in volts if value >= 12.9]
    # Both tables reach beyond the week that was converted, and nobody looks there.
    instants = sorted(
        {*(second for second, _ in watts), *(int(r["timestamp"]) for r in weather), *(v[0] for v in volts)}
    )
    found = []
    for (before, low), (after, high) in pairwise(watts):
        if not (low <= 1000 < high and bisect_right(instants, after) - bisect_right(instants, before) == 1):
            continue
        seen = sorted(set(good[bisect_right(good, after) : bisect_right(good, after) + 6]))[:3]
        if len(seen) < 3:
            continue
        place = bisect_right(full, (seen[2], 1e9))
        if place < len(full) and full[place][0] - before <= 1800:
            found.append((before, full[place][0], low, high, full[place][1]))
    return sorted(found)


def as_rows(matches: list) -> list[Row]:
    """Matches in the same shape."""
    return sorted(
        (
            match.begin // 1_000_000,
            match.instant // 1_000_000,
            *(float(match.bindings[name].value) for name in ("before", "watts", "volts")),
        )
        for match in matches
    )


def test_the_extract_has_steps_up_that_the_battery_could_have_served(found: Callable) -> None:
    """Half an hour of 8 June 2012, windy, with a charged battery."""
    matches = found("smart-grid/use-the-storage.spaseq")
    assert len(matches) == 7
    assert {match.bindings["site"].value for match in matches} == {"Western Massachusetts"}


@pytest.mark.slow
def test_the_whole_week_agrees_with_a_plain_check(
    found: Callable, converted: Callable, table: Callable
) -> None:
    """All 23 matches, each with its instants and values."""
    folder, _ = converted("smart_home")
    rows = as_rows(found("smart-grid/use-the-storage.spaseq", folder))
    tables = (
        "smarthome_homeC_power_1week.csv.gz",
        "smarthome_homeC_weather_3months.csv.gz",
        "smarthome_homeC_generation_1week.csv.gz",
    )
    assert rows == plain(*(table(name) for name in tables))
    assert len(rows) == 23
