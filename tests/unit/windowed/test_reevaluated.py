"""What is evaluated anew holds the solutions of few evaluations at a time."""

from __future__ import annotations

from typing import Any

import pytest
from pyoxigraph import NamedNode, Triple

from spaseq.engine import Engine
from spaseq.model.events import GraphEvent
from spaseq.planner import compile_query
from spaseq.settings import changed_settings
from spaseq.windowed import reevaluated

STREAM = "http://ex.org/s"


def test_evaluations_with_many_solutions_are_made_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A path over a chain has the square of it as solutions; all events come at once."""
    query = compile_query(
        "PREFIX : <http://ex.org/> SELECT * FROM STREAM :s [RANGE 20 EVENTS] { ?x :next+ ?y }", "rsepql"
    )
    node = [NamedNode(f"http://ex.org/n{number}") for number in range(501)]
    events = [
        GraphEvent(
            STREAM,
            at * 1_000_000,
            frozenset({Triple(node[at], NamedNode("http://ex.org/next"), node[at + 1])}),
        )
        for at in range(500)
    ]
    held: list[int] = []
    changes = reevaluated.lasting_changes

    def counted(columns: Any, weight: Any, *rest: Any) -> Any:
        held.append(len(weight))
        return changes(columns, weight, *rest)

    monkeypatch.setattr(reevaluated, "lasting_changes", counted)
    with changed_settings(reevaluated_triples=1000):
        found = Engine(query).push(events)
    assert len(found) == 20 * 21 // 2 + 479 * 20
    assert max(held) < 5_000
