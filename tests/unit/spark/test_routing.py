"""Routing: rows that can join meet, and every match has one home."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from spaseq.algebra.visibility import needed_variables
from spaseq.planner.compiled import compile_query
from spaseq.planner.distribution import RouteUnit
from spaseq.planner.program import build_program
from spaseq.spark.shuffle.arrow_terms import text_hash
from spaseq.spark.shuffle.routing import (
    Routing,
    Ticks,
    bucket_places,
    no_key,
    routing_of,
    spark_partition,
)

QUERY = """PREFIX : <http://ex.org/>
SELECT ?k ?w {window} FROM STREAM S <http://ex.org/s>
WHERE {{ SEQ (A {op} B) DEFINE GPM A ON S {{ ?x :a ?k }} DEFINE GPM B ON S {{ ?y :b ?k ; :c ?w }} }}"""


def routing(window: str = "", op: str = ";", buckets: int = 5, *, streaming: bool = False) -> Routing:
    """How a query is spread over some buckets."""
    program = build_program(compile_query(QUERY.format(window=window, op=op)))
    return routing_of(program, buckets, streaming=streaming)


def hashes(keys: list[str]) -> np.ndarray:
    """The hashes of some keys."""
    return np.array([text_hash(key.encode()) for key in keys], np.uint64)


def test_equal_keys_meet_whatever_their_time() -> None:
    """On endless inputs only tumbling windows go apart."""
    targets = routing("WITHIN 10 SECONDS SLIDING", streaming=True).targets(
        hashes(["<a>", "<b>", "<a>"]), np.array([0, 5, 10**12])
    )
    assert targets.row.tolist() == [0, 1, 2]
    assert targets.bucket[0] == targets.bucket[2]


def test_an_event_on_a_boundary_goes_to_both_windows() -> None:
    """It belongs to two windows (semantics 1.8), in two buckets or once if they share one."""
    how = routing("WITHIN 10 SECONDS", buckets=1000)
    targets = how.targets(hashes(["<a>"]), np.array([20_000_000]))
    assert targets.row.tolist() == [0, 0]
    before, after = (int(how.home(hashes(["<a>"]), np.array([t]))[0]) for t in (19_999_999, 20_000_000))
    assert sorted(targets.bucket.tolist()) == sorted([before, after])


def test_a_match_is_at_home_in_the_window_of_its_start() -> None:
    """So it is reported once."""
    how = routing("WITHIN 10 SECONDS", buckets=1000)
    starts = np.array([10_000_000, 19_999_999])
    assert len(set(how.home(hashes(["<a>", "<a>"]), starts).tolist())) == 1


def test_events_before_the_first_window_go_nowhere() -> None:
    """STARTING AT leaves them out."""
    how = routing('WITHIN 10 SECONDS STARTING AT "1970-01-01T00:01:00Z"')
    assert how.targets(hashes(["<a>"] * 3), np.array([59_999_999, 60_000_000, 60_000_001])).row.tolist() == [
        1,
        2,
    ]


@pytest.mark.parametrize("streaming", [True, False])
def test_instants_go_to_a_few_groups_of_keys_however_many_buckets_there_are(streaming: bool) -> None:
    """With the instants of all events `,` can be distributed by key, and what is shuffled does not grow with the buckets."""
    how = routing("WITHIN 10 SECONDS SLIDING", op=",", buckets=200, streaming=streaming)
    assert (how.unit, how.ticks, how.groups) == (RouteUnit.KEY_AND_TICKS, Ticks.INSTANTS, 8)
    times = np.arange(0, 10**9, 10**6)
    assert len(how.tick_targets(times).row) <= 1.2 * how.groups * len(times)
    keys = hashes([f"<k{n}>" for n in range(100)])
    homes = {int(how.home(keys[n : n + 1], times[5:6])[0]) for n in range(100)}
    told = how.tick_targets(times[5:6])
    assert homes <= set(told.bucket.tolist())
    assert len(homes) == how.groups, "no two groups share a bucket"


@pytest.mark.parametrize("partitions", [2, 4, 8])
def test_groups_of_keys_are_spread_evenly_over_partitions(partitions: int) -> None:
    """Wherever they begin, which is different for the queries of a job."""
    places = bucket_places(64)
    for salt in range(5):
        program = build_program(compile_query(QUERY.format(window="", op=",")))
        told = routing_of(program, 64, salt, streaming=True).tick_targets(np.array([5])).bucket
        counts = np.bincount([spark_partition(places[bucket], partitions) for bucket in told.tolist()])
        assert counts.tolist() == [8 // partitions] * partitions


@pytest.mark.parametrize("op", [";", ","])
def test_a_slice_has_a_window_more_on_either_side(op: str) -> None:
    """So all that a match may depend on is where its start is at home."""
    how = routing("WITHIN 10 SECONDS SLIDING", op=op, buckets=1000)
    chance, window = np.random.default_rng(5), 10_000_000
    starts = chance.integers(-(10**10), 10**10, 500)
    key = hashes(["<a>"])
    for start, event in zip(starts, starts + chance.integers(-window, window + 1, 500), strict=True):
        home = int(how.home(key, np.array([start]))[0])
        assert home in how.targets(key, np.array([event])).bucket
        if op == ",":
            assert home in how.tick_targets(np.array([event])).bucket


def test_a_hot_key_is_spread_over_slices() -> None:
    """One key uses many buckets, at the price of a few copies."""
    how = routing("WITHIN 10 SECONDS SLIDING", buckets=50)
    times = np.arange(0, 10**11, 10**6)
    targets = how.targets(hashes(["<a>"] * len(times)), times)
    assert len(set(targets.bucket.tolist())) == 50
    assert len(targets.row) < 1.2 * len(times)


def test_windows_of_events_need_every_event_in_one_place() -> None:
    """Positions count the events of all keys together."""
    how = routing("WITHIN 3 EVENTS")
    assert (how.unit, how.ticks) == (RouteUnit.WHOLE, Ticks.EVENTS)
    assert len(set(how.tick_targets(np.arange(100)).bucket.tolist())) == 1


def test_only_variables_that_matter_later_cross_the_shuffle() -> None:
    """?x and ?y join nothing and are not asked for."""
    query = compile_query(QUERY.format(window="WITHIN 1 SECOND", op=";"))
    assert needed_variables(query.rewritten) == {"k", "w"}


@pytest.mark.parametrize(("buckets", "partitions"), [(64, 64), (64, 4), (64, 2), (6, 3), (7, 7), (1600, 200)])
def test_buckets_are_named_so_that_partitions_are_even(buckets: int, partitions: int) -> None:
    """Every partition of the state store gets equally many; the names follow from the number of buckets alone."""
    places = bucket_places(buckets)
    counts = np.bincount([spark_partition(place, partitions) for place in places], minlength=partitions)
    assert set(counts.tolist()) == {buckets // partitions}
    assert places[0] == 0, "a run with another number of buckets finds this one, which refuses it"


WINDOWED = """PREFIX : <http://ex.org/>
SELECT (COUNT(*) AS ?n) FROM NAMED WINDOW :w ON :s {window} WHERE {{ WINDOW :w {{ ?x :p ?v }} }}"""


def windowed(window: str, *, streaming: bool = False) -> Routing:
    """How a query over a window is spread over a hundred buckets."""
    return routing_of(
        build_program(compile_query(WINDOWED.format(window=window), "rsepql")), 100, streaming=streaming
    )


def test_a_tumbling_window_goes_to_one_bucket_with_its_last_event() -> None:
    """It is closed at its end: an event on a boundary belongs to the window that ends there, and to no other."""
    how = windowed("[RANGE 10s TUMBLING]")
    targets = how.targets(no_key(3), np.array([10_000_001, 15_000_000, 20_000_000]))
    (home,) = how.home(no_key(1), np.array([20_000_000])).tolist()
    assert targets.row.tolist() == [0, 1, 2]
    assert targets.bucket.tolist() == [home] * 3


def test_an_evaluation_finds_all_events_of_its_window_in_its_bucket() -> None:
    """Whatever slice of time it lies in, and whatever time it is, before 1970 too."""
    how = windowed("[RANGE 10s STEP 3s]")
    events = np.arange(-100_000_000, 100_000_000, 700_000)
    targets = how.targets(no_key(len(events)), events)
    for evaluation in range(-60_000_000, 90_000_000, 3_000_000):
        (home,) = how.home(no_key(1), np.array([evaluation])).tolist()
        here = events[targets.row[targets.bucket == home]]
        needed = events[(events > evaluation - 10_000_000) & (events <= evaluation)]
        assert np.isin(needed, here).all()


def test_buckets_hear_of_the_instants_around_their_evaluations_and_of_the_first_and_the_last() -> None:
    """By these evaluations begin and end, whoever has the rows; on an endless input all rows stay together."""
    how = windowed("[RANGE 10s STEP 3s]")
    times = np.arange(0, 10**9, 10**6)
    ticks, rows = how.tick_targets(times), how.targets(no_key(len(times)), times)
    told = set(zip(ticks.row.tolist(), ticks.bucket.tolist(), strict=True))
    assert len(told) == len(ticks.row), "each once"
    assert (np.diff(ticks.row) >= 0).all()
    ends = {(row, bucket) for row in (0, len(times) - 1) for bucket in range(100)}
    assert told == set(zip(rows.row.tolist(), rows.bucket.tolist(), strict=True)) | ends
    assert sorted(how.tick_targets(times[:1]).bucket.tolist()) == list(range(100))
    assert not len(how.tick_targets(times[:0]).row)
    endless = windowed("[RANGE 10s STEP 3s]", streaming=True)
    assert (endless.unit, endless.size) == (RouteUnit.WHOLE, 0)


@pytest.mark.parametrize(
    ("buckets", "streaming", "unit"),
    [
        (8, False, RouteUnit.KEY_AND_TICKS),
        (9, False, RouteUnit.EVALUATION),
        (9, True, RouteUnit.KEY_AND_TICKS),
    ],
)
def test_many_buckets_of_a_finite_input_are_used_by_time_where_keys_go_in_groups(
    buckets: int, streaming: bool, unit: RouteUnit
) -> None:
    """Eight groups of keys would leave the others without work."""
    query = """PREFIX : <http://ex.org/>
    SELECT ?x (AVG(?v) AS ?a) FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 3s] WHERE { WINDOW :w { ?x :p ?v } } GROUP BY ?x"""
    assert (
        routing_of(build_program(compile_query(query, "rsepql")), buckets, streaming=streaming).unit is unit
    )


def test_few_buckets_keep_the_instants_of_an_endless_input() -> None:
    """Each keeps those of a whole window, whatever rows it has."""
    query = """PREFIX : <http://ex.org/>
    SELECT ?x ?v FROM NAMED WINDOW :w ON :s [RANGE 10s] WHERE { WINDOW :w { ?x :p ?v } }"""
    how = routing_of(build_program(compile_query(query, "rsepql")), 64, streaming=True)
    keys = hashes([f"<{number}>" for number in range(1000)])
    rows = how.targets(keys, np.zeros(1000, np.int64))
    ticks = how.tick_targets(np.array([5]))
    assert len(set(rows.bucket.tolist())) == 8
    assert set(rows.bucket.tolist()) == set(ticks.bucket.tolist())


@pytest.mark.parametrize(
    ("window", "op", "anywhere"),
    [
        ("WITHIN 10 SECONDS", ";", False),
        ('WITHIN 10 SECONDS STARTING AT "1970-01-01T00:01:00Z"', ";", False),
        ("WITHIN 10 SECONDS SLIDING", ";", False),
        ("WITHIN 10 SECONDS", ",", True),
        ("", ";", True),
    ],
)
def test_away_from_borders_rows_are_where_their_matches_are_at_home(
    window: str, op: str, *, anywhere: bool, change_settings: Callable[..., None]
) -> None:
    """So whose match it is must be asked at borders alone, unless there are rows that go everywhere, or nothing goes apart."""
    change_settings(slice_windows=4)
    how = routing(window, op, buckets=1000)
    random = np.random.default_rng(5)
    times = np.concatenate([random.integers(0, 200_000_000, 500), np.arange(0, 200_000_000, 5_000_000)])
    keys = hashes([f"<k{number % 7}>" for number in range(len(times))])
    at_border = how.at_border(times)
    assert at_border.all() == anywhere
    targets = how.targets(keys, times)
    inner = ~at_border[targets.row]
    assert (targets.bucket[inner] == how.home(keys, times)[targets.row[inner]]).all()
    assert (np.bincount(targets.row[inner], minlength=len(times))[~at_border] <= 1).all()
    assert anywhere or 0 < at_border.sum() < len(times)


def test_a_row_that_is_in_many_stretches_is_in_each_of_their_buckets_once(
    change_settings: Callable[..., None],
) -> None:
    """Also where several of them share a bucket, and beside rows that are in one."""
    change_settings(slice_windows=1)
    how = routing("WITHIN 10 SECONDS SLIDING", buckets=2)
    times = np.arange(0, 100_000_000, 3_000_000)
    targets = how.targets(hashes(["<k>"] * len(times)), times)
    assert (np.diff(targets.row) >= 0).all()
    found = {row: targets.bucket[targets.row == row].tolist() for row in range(len(times))}
    stretches = [
        [t // 10_000_000 + step for step in (-1, 0, 1)]
        + ([t // 10_000_000 - 2] if t % 10_000_000 == 0 else [])
        for t in times
    ]
    for row, around in enumerate(stretches):
        own = hashes(["<k>"] * len(around))
        wanted = how.home(own, np.array(around) * 10_000_000)
        assert found[row] == sorted(set(wanted.tolist()))
