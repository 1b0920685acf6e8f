"""The sequence stage works in slices: however small they are, the answers are those of the reference, in order of time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaseq.engine import Engine
from spaseq.model.matches import Match
from spaseq.planner import compile_query
from spaseq.settings import changed_settings
from spaseq.testing.comparison import comparable
from spaseq.testing.runner import reference_host
from support.scenarios import Scenario, scenarios

NAMES = (
    "slice_work",
    "interpreted_work",
    "slice_matches",
    "slice_events",
    "collected_runs",
    "packed_rows",
    "swept_runs",
    "initial_runs",
)
"""Everything that decides where a slice ends, and what is moved in memory between two."""


@pytest.mark.parametrize("compiled", [False, True], ids=["interpreted", "compiled"])
@given(scenario=scenarios(), sizes=st.tuples(*(st.integers(1, 6) for _ in NAMES)))
def test_slices_of_any_size_give_the_answers_of_the_judge(
    compiled: bool, scenario: Scenario, sizes: tuple[int, ...]
) -> None:
    """All events at once, cut into slices that end in the middle of a row, of an instant, of a match's portion."""
    query = compile_query(scenario.query)
    wanted = comparable(query, reference_host.run(query, scenario.events, scenario.knowledge))
    with changed_settings(**dict(zip(NAMES, sizes, strict=True))):
        engine = Engine(query, knowledge=scenario.knowledge, compile_kernels=compiled)
        declared = {stream.iri for stream in query.algebra.streams}
        own = sorted((e for e in scenario.events if e.stream in declared), key=lambda event: event.time)
        found: list[Match] = [*engine.push(own), *engine.finish()]
    assert comparable(query, found) == wanted
    assert [match.instant for match in found] == sorted(match.instant for match in found)
