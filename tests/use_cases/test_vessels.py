"""Use case 2: trajectories of vessels, against a plain check on the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import groupby, pairwise, product

import pytest

Fix = tuple[str, float | None, float | None]
Row = tuple[str, str, str, int]


def tracks(positions: list[dict[str, str]]) -> Iterator[tuple[str, list[list[Fix]]]]:
    """For each vessel its instants in order, with the fixes (time, speed, course) at each."""
    by_vessel: dict[str, list[Fix]] = {}
    for row in positions:
        speed, course = float(row["sog"]), float(row["cog"])
        fix = (row["timestamp"], None if speed >= 102.3 else speed, None if course >= 360 else course)
        by_vessel.setdefault(row["mmsi"], []).append(fix)
    for mmsi, fixes in by_vessel.items():
        yield (
            mmsi,
            [
                list(group)
                for _, group in groupby(sorted(fixes, key=lambda fix: fix[0]), key=lambda fix: fix[0])
            ],
        )


def steady(before: Fix, after: Fix) -> bool:
    """Whether a vessel kept speed and course."""
    if None in before or None in after:
        return False
    turn = abs(after[2] - before[2])  # type: ignore[operator]
    return (
        after[1] >= 3 and abs(after[1] - before[1]) <= 2 + 1e-9 and (turn <= 20 + 1e-9 or turn >= 340 - 1e-9)
    )  # type: ignore[operator]


def slow(fix: Fix, limit: float) -> bool:
    """Whether a vessel hardly moves."""
    return fix[1] is not None and fix[1] < limit


def crossings(positions: list[dict[str, str]], named: set[str]) -> list[Row]:
    """Vessel, start, end and number of steady fixes."""
    found = []

    def follow(mmsi: str, instants: list[list[Fix]], at: int, path: list[Fix]) -> None:
        for fix in instants[at] if at < len(instants) else ():
            if len(path) >= 4 and slow(fix, 2) and minutes(path[0][0], fix[0]) <= 30:
                found.append((mmsi, path[0][0], fix[0], len(path) - 1))
            moving = fix[1] is not None and fix[2] is not None and fix[1] >= 3
            if moving and (len(path) == 1 or steady(path[-1], fix)):
                follow(mmsi, instants, at + 1, [*path, fix])

    for mmsi, instants in tracks(positions):
        for at, fixes in enumerate(instants if mmsi in named else ()):
            for fix in fixes:
                if slow(fix, 2):
                    follow(mmsi, instants, at + 1, [fix])
    return sorted(found)


def stops(positions: list[dict[str, str]], fishing: set[str]) -> list[tuple[str, str, str]]:
    """Fishing vessels with three fixes under way and then three at rest: vessel, start, end."""
    found = []
    for mmsi, instants in tracks(positions):
        for first in range(len(instants) - 5 if mmsi in fishing else 0):
            for six in product(*instants[first : first + 6]):
                under_way = all(fix[1] is not None and fix[1] >= 3 for fix in six[:3])
                rests = all(slow(fix, 1) for fix in six[3:])
                if under_way and rests and minutes(six[0][0], six[5][0]) <= 30:
                    found.append((mmsi, six[0][0], six[5][0]))
    return sorted(found)


def minutes(start: str, end: str) -> float:
    """The time between two instants of one day."""
    seconds = [
        int(t[8:10]) * 86_400 + int(t[11:13]) * 3600 + int(t[14:16]) * 60 + int(t[17:19])
        for t in (start, end)
    ]
    return next(later - earlier for earlier, later in pairwise(seconds)) / 60


def key(match) -> tuple[str, str, str]:  # type: ignore[no-untyped-def]
    """Vessel, start and end of a match."""
    vessel = match.bindings["vessel"].value.rpartition("/")[2]
    return vessel, f"{match.start:%Y-%m-%dT%H:%M:%S}", f"{match.time:%Y-%m-%dT%H:%M:%S}"


def test_the_extract_has_ferries_that_do_not_say_so(found: Callable) -> None:
    """The Toronto Island ferry calls itself unknown, the Amherst Island ferry other; their way tells."""
    matches = found("vessels/crossing.spaseq")
    types = {match.bindings["name"].value: match.bindings["type"].value for match in matches}
    assert len(matches) == 12
    assert types["MV ONGIARA"] == "unknown"
    assert types["FRONTENAC II"] == "other"


def test_the_extract_has_a_fishing_boat_that_stops(found: Callable) -> None:
    """One of the fishing vessels of the extract comes to rest."""
    (match,) = found("vessels/fishing-stop.spaseq")
    assert match.bindings["name"].value == "DUANE AND AMY"


@pytest.mark.slow
def test_all_vessels_agree_with_a_plain_check(found: Callable, converted: Callable, table: Callable) -> None:
    """Every crossing and every stop of 10,631 vessels."""
    folder, _ = converted("vessels")
    positions, register = (
        table("vessel_ais_us_20220103.csv.gz"),
        table("vessel_ais_us_20220103_static_kb.csv.gz"),
    )
    named = {row["mmsi"] for row in register if row["vessel_name"]}
    fishing = {
        row["mmsi"] for row in register if row["vessel_name"] and int(float(row["vessel_type"] or 0)) == 30
    }
    matches = found("vessels/crossing.spaseq", folder)
    rows = sorted((*key(match), int(match.bindings["fixes"].value)) for match in matches)
    assert rows == crossings(positions, named)
    assert len(rows) == 12
    assert sorted(key(match) for match in found("vessels/fishing-stop.spaseq", folder)) == stops(
        positions, fishing
    )
