"""Evaluations over gaps in time: those that only repeat the one before are not listed, and reported in portions."""

from __future__ import annotations

from itertools import islice

import numpy as np
import pytest
from pyoxigraph import Literal, NamedNode, Triple

from spaseq.columnar.knowledge import Knowledge
from spaseq.languages.rsepql.query import compile_windows
from spaseq.model.dictionary import TermDictionary
from spaseq.model.events import GraphEvent
from spaseq.model.mappings import MappingTable
from spaseq.planner import compile_query
from spaseq.settings import changed_settings
from spaseq.temporal.instants import FOREVER
from spaseq.testing import Host
from spaseq.windowed.continuous import ContinuousQuery
from spaseq.windowed.evaluations import Alike, Evaluations
from spaseq.windowed.inputs import window_inputs
from spaseq.windowed.instants import Longs, many_true, steps, turning
from support.engine_hosts import ENGINE_HOSTS

EX = "http://ex.org/"
YEARS = 1_704_067_200
"""Seconds from 1970 to 2024."""


def _event(second: int, value: int) -> GraphEvent:
    triple = Triple(NamedNode(EX + "x"), NamedNode(EX + "p"), Literal(value))
    return GraphEvent(EX + "s", second * 1_000_000, frozenset([triple]))


EVENTS = (_event(0, 1), _event(YEARS, 2))


NAMED = "FROM NAMED WINDOW :w ON :s"
READ = "{ WINDOW :w { ?x :p ?v } }"
COUNTED = "FROM NAMED WINDOW :u ON :s [RANGE 1 EVENTS STEP 1]"
CASES = (
    ("SELECT ?v FROM STREAM :s [RANGE 3s STEP 1s] { ?x :p ?v }", [0, 1, 2, YEARS, YEARS + 1, YEARS + 2]),
    ("SELECT ?v FROM STREAM :s [RANGE 3ms STEP 1s] { ?x :p ?v }", [0, YEARS]),
    (f"SELECT ?v {NAMED} [RANGE 2s STEP 1s] {READ}", [0, 1, YEARS, YEARS + 1]),
    (f"REGISTER ISTREAM :q AS SELECT (COUNT(*) AS ?n) {NAMED} [RANGE 2s STEP 1s] {READ}", [0, 2, YEARS]),
    (f"REGISTER DSTREAM :q AS SELECT ?v {NAMED} [RANGE 2s] {READ} REPORT EVERY 1s", [2]),
    (f"REGISTER ISTREAM :q AS SELECT ?v {NAMED} [LND 0] {READ} REPORT EVERY 1ms", [0, YEARS]),
    (
        f"REGISTER ISTREAM :q AS SELECT ?v {NAMED} [RANGE 9s STEP 3s] {COUNTED} {{ WINDOW :w {{ ?x :p ?v }} WINDOW :u {{ ?x :p ?v }} }}",
        [0, YEARS],
    ),
)


@pytest.mark.parametrize("host", ENGINE_HOSTS, ids=lambda host: host.name)
@pytest.mark.parametrize(("query", "seconds"), CASES)
def test_a_gap_of_years_costs_nothing(query: str, seconds: list[int], host: Host) -> None:
    """What is empty, or does not change, is not looked at second by second."""
    compiled = compile_query(f"PREFIX : <{EX}> {query}", "rsepql")
    assert [match.instant // 1_000_000 for match in host.run(compiled, EVENTS, {})] == seconds


def test_lines_over_empty_windows_come_in_portions() -> None:
    """A line per second of 54 years: the first of them are there before the others are made."""
    query = compile_windows(f"PREFIX : <{EX}> SELECT (COUNT(*) AS ?n) {NAMED} [RANGE 2s STEP 1s] {READ}")
    dictionary = TermDictionary()
    running = ContinuousQuery(query, dictionary, Knowledge({}))
    ids = np.array([dictionary.encode(Literal(number)) for number in (1, 2)], np.int32)
    rows = MappingTable(np.arange(2), dict.fromkeys(("s", "o"), ids))
    tables = dict.fromkeys(window_inputs(query), rows)
    times = np.array([0, YEARS * 1_000_000])
    with changed_settings(slice_matches=10):
        found = list(islice(running.step(tables, times, FOREVER), 50))
    assert max(len(each.reported) for each in found) <= 11
    instants = np.concatenate([each.period.instants[each.reported.at] for each in found])
    np.testing.assert_array_equal(instants, np.arange(len(instants)) * 1_000_000)


def test_evaluations_whose_answers_may_differ_are_listed_in_portions() -> None:
    """As NOW() makes them."""
    query = compile_windows(f"PREFIX : <{EX}> SELECT * {NAMED} [RANGE 2s STEP 1s] {READ}")
    made = Evaluations(query.windows, query.report, Alike.NEVER)
    times = np.array([0, YEARS * 1_000_000])
    with changed_settings(listed_evaluations=100, slice_evaluations=7):
        found = list(islice(made.step({EX + "s": (times, np.ones(2, np.int64))}, FOREVER), 5))
    assert max(map(len, found)) <= 8
    instants = np.concatenate([period.instants for period in found])
    np.testing.assert_array_equal(instants, np.arange(len(instants)) * 1_000_000)
    assert [period.first for period in found] == np.cumsum([0, *map(len, found)]).tolist()[:-1]


def test_turning_points_are_found_without_a_look_at_all_numbers() -> None:
    """By halving, which is enough because no value ever falls."""
    asked: list[int] = []

    def values(numbers: Longs) -> Longs:
        asked.append(len(numbers))
        return np.column_stack([numbers >= 5, np.minimum(numbers, 10**15) // 10**14])

    found = turning(10**18, values)
    np.testing.assert_array_equal(found, [0, 5, *(number * 10**14 for number in range(1, 11))])
    assert sum(asked) < 2_000
    assert turning(0, lambda numbers: numbers[:, None]).tolist() == []


def test_steps_count_from_their_origin() -> None:
    """It is the first of them if it is given."""
    assert steps(-1, 20, 5, None).listed().tolist() == [0, 5, 10, 15, 20]
    assert steps(-1, 20, 5, 7).listed().tolist() == [7, 12, 17]
    assert steps(8, 20, 5, 7).listed().tolist() == [12, 17]
    assert len(steps(20, 20, 5, None)) == 0
    assert steps(-1, 20, 5, None).many_before(np.array([-3, 0, 1, 5, 6, 99])).tolist() == [0, 0, 1, 1, 2, 5]
    assert many_true(10, lambda number: number < 7) == 7
