"""How many pairs a join over time looks at."""

from __future__ import annotations

from typing import Any

import pytest
from pyoxigraph import Literal, NamedNode, Triple

from spaseq.intervals.interval_joins import Matching
from spaseq.languages.epsparql.query import compile_intervals
from spaseq.model.events import GraphEvent
from spaseq.reference.interval_answers import interval_answers
from spaseq.settings import changed_settings
from support.interval_hosts import WAYS, column_answers

EX = "http://ex.org/"
BOUND = 'FILTER(getDURATION() <= "PT4S"^^xsd:duration)'
JOINS = (
    f"?s :a ?x . ?s :b ?y {BOUND}",
    f"{{ ?s :a ?x }} SEQ {{ ?s :b ?y }} {BOUND}",
    f"?s :a ?x OPTIONAL {{ ?s :b ?y {BOUND} }}",
)


@pytest.mark.parametrize("join", JOINS)
def test_a_bound_on_the_duration_limits_the_pairs_of_a_long_step(
    join: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All events at once: those that are near each other are compared, and background triples with all."""
    looked = 0
    merged = Matching._merged

    def counted(self: Matching, rows: Any, table: Any, asked: Any, other: Any, *, left: bool) -> Any:
        nonlocal looked
        looked += len(asked)
        return merged(self, rows, table, asked, other, left=left)

    monkeypatch.setattr(Matching, "_merged", counted)
    prefixes = f"PREFIX : <{EX}> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>"
    (query,) = compile_intervals(f"{prefixes} SELECT * {{ {join} }}")
    events = [
        GraphEvent(f"{EX}s", at * 1_000_000, frozenset({Triple(NamedNode(f"{EX}x"), NamedNode(EX + "ab"[at % 2]), Literal(at))}))
        for at in range(60)
    ]  # fmt: skip
    known = {f"{EX}kb": frozenset({Triple(NamedNode(f"{EX}x"), NamedNode(f"{EX}b"), Literal(99))})}
    for knowledge, most in (({}, 60 * 5), (known, 60 * 60)):
        looked = 0
        with changed_settings(portion_events=1 << 10, batch_events=1 << 10):
            found = column_answers(query, events, knowledge, WAYS["at once"])
        assert sorted(map(str, found)) == sorted(map(str, interval_answers(query, events, knowledge)))
        assert 0 < looked <= most
