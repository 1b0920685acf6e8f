"""The rows that the automaton reads, in order of time."""

from __future__ import annotations

import numpy as np
import pytest

from spaseq.automaton.occurrences import Assembler
from spaseq.automaton.state import Keys
from spaseq.automaton.tables import Rows
from spaseq.model.mappings import MappingTable
from spaseq.planner.compiled import compile_query
from spaseq.planner.program import build_program

QUERY = """PREFIX : <http://ex.org/>
SELECT ?c ?p ?q ?r WITHIN 1 MINUTE FROM STREAM S <http://ex.org/s>
WHERE { SEQ (A ; B ; C) DEFINE GPM A ON S { ?c :p ?p } DEFINE GPM B ON S { ?c :p ?q } DEFINE GPM C ON S { ?c :p ?r } }"""


def rows(events: dict[str, list[int]], times: list[int]) -> Rows:
    """The rows of three GPMs that match these events, each with its own number as what it binds."""
    program = build_program(compile_query(QUERY)).sequence
    assembler = Assembler(program, Keys())
    tables = {
        name: MappingTable(
            np.array(found, np.int64),
            {variable: np.array(found, np.int32) + 100 for variable in ("c", bound)},
        )
        for (name, found), bound in zip(events.items(), "pqr", strict=True)
    }
    return assembler.rows(tables, np.array(times, np.int64), np.arange(len(times)) + 1000, None)


def flat(found: Rows) -> list[tuple[int, int, int]]:
    """Choice, time and event of every row."""
    return list(
        zip(found.ids[:, 0].tolist(), found.times[:, 0].tolist(), found.events[:, 0].tolist(), strict=True)
    )


@pytest.mark.parametrize(
    ("a", "b", "c"),
    [
        ([0, 1, 2], [0, 1, 2], [0, 1, 2]),
        ([0, 2, 4], [1, 3, 5], [0, 2, 4]),
        ([0, 1, 5], [5], []),
        ([], [], []),
    ],
    ids=["the same events", "others at the same instants", "some", "none"],
)
def test_rows_come_in_order_of_time_whatever_the_steps_share(
    a: list[int], b: list[int], c: list[int]
) -> None:
    """Tables of the same events are placed once, and rows in step are not sorted; the rows are the same."""
    times = [10, 20, 30] if max([*a, *b, *c], default=0) < 3 else [10, 10, 20, 20, 30, 30]
    expected = sorted(
        ((times[event], choice, event) for choice, events in enumerate((a, b, c)) for event in events),
        key=lambda row: row[0],
    )
    found = rows({"A": a, "B": b, "C": c}, times)
    assert sorted(flat(found)) == sorted((choice, time, 1000 + event) for time, choice, event in expected)
    assert found.times[:, 0].tolist() == [time for time, _, _ in expected]
    bound = {number: found.slots[number][found.slots[number] > 0].tolist() for number in range(len(found))}
    assert all(set(values) == {found.events[n, 0] - 900} for n, values in bound.items())
