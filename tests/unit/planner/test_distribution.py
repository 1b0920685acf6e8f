"""How a query may be spread over workers without changing its answers (semantics 1.9)."""

from __future__ import annotations

import pytest

from spaseq.planner import compile_query
from spaseq.planner.distribution import Distribution, RouteUnit

PATTERNS = {
    "A": "?k :a ?x",
    "B": "?k :b ?y",
    "C": "?k :c ?z",
    "O": "?o :o ?p . OPTIONAL { ?o :of ?k }",
    "U": "{ ?k :u 1 } UNION { ?k :u 2 }",
    "P": "{ ?k :u ?w } UNION { ?w :v 2 }",
    "F": "?f :f ?w",
    "S": "?s :s ?t . BIND(?x AS ?n)",
}


def distribution(sequence: str, rest: str = "WITHIN 1 MINUTE SLIDING") -> Distribution:
    """How the query over the named patterns is distributed."""
    definitions = " ".join(
        f"DEFINE GPM {name} ON S {{ {body} }}" for name, body in PATTERNS.items() if name in sequence
    )
    window, _, partition = rest.partition("PARTITION")
    by = f"PARTITION{partition}" if partition else ""
    return compile_query(
        f"PREFIX : <urn:> SELECT * {window} FROM STREAM S <urn:s> {by} WHERE {{ SEQ ({sequence}) {definitions} }}"
    ).distribution


@pytest.mark.parametrize(
    ("sequence", "unit"),
    [
        ("A ; B", RouteUnit.KEY),
        ("A : B", RouteUnit.KEY),
        ("A & B | C", RouteUnit.KEY),
        ("A ; U", RouteUnit.KEY),
        ("A ; B! ; C?", RouteUnit.KEY),
        # `,` asks what lies between: the instants of all events are needed as well
        ("A , B", RouteUnit.KEY_AND_TICKS),
        ("A ; B+", RouteUnit.KEY_AND_TICKS),
        ("A ; B+[,]", RouteUnit.KEY_AND_TICKS),
        ("A? ; B+ ; C", RouteUnit.KEY_AND_TICKS),
        ("A , B? , C", RouteUnit.KEY_AND_TICKS),
        # where no `,` can apply there is no need for them
        ("A+ ; B", RouteUnit.KEY),
        ("A ; B+[;]", RouteUnit.KEY),
        ("C! ; A+ ; B", RouteUnit.KEY),
        ("A! , B : C", RouteUnit.KEY),
        ("A ; B , C!", RouteUnit.KEY),
        ("A ; B{1}", RouteUnit.KEY),
        # some step, a negated one included, does not bind a common variable for certain
        ("A ; F", RouteUnit.WHOLE),
        ("A ; O", RouteUnit.WHOLE),
        ("A ; P", RouteUnit.WHOLE),
        ("A ; F! ; B", RouteUnit.WHOLE),
        ("A ; F? ; B", RouteUnit.WHOLE),
        ("A | F", RouteUnit.WHOLE),
        ("A ; S", RouteUnit.WHOLE),
    ],
)
def test_the_unit_follows_from_what_every_step_binds(sequence: str, unit: RouteUnit) -> None:
    """A variable is a key if every GPM certainly binds it; `,` needs ticks."""
    assert distribution(sequence).unit is unit


def test_the_key_is_named() -> None:
    """The variable that all steps bind."""
    assert distribution("A ; B ; C").variables == ("k",)


def test_a_repeated_pattern_alone_has_no_key() -> None:
    """Its variables are iteration variables: two iterations may differ in all of them."""
    assert distribution("A+").unit is RouteUnit.WHOLE


def test_one_step_alone_may_be_spread_by_anything_it_binds() -> None:
    """Every match is one event."""
    assert distribution("A").unit is RouteUnit.KEY


def test_partition_by_makes_every_key_a_query() -> None:
    """Contiguity and windows of events hold inside the partition, so nothing stands against it."""
    found = distribution("A , B+", "WITHIN 5 EVENTS PARTITION BY ?k")
    assert (found.unit, found.variables) == (RouteUnit.PARTITION, ("k",))


def test_windows_of_events_number_all_keys_together() -> None:
    """Without PARTITION BY the query stays in one piece."""
    found = distribution("A ; B", "WITHIN 5 EVENTS")
    assert found.unit is RouteUnit.WHOLE
    assert "PARTITION BY ?k" in found.cure


@pytest.mark.parametrize(
    ("window", "apart"),
    [
        ("WITHIN 1 MINUTE", True),
        ("WITHIN 1 MINUTE SLIDING", False),
        ("WITHIN 5 EVENTS", False),
        ("", False),
    ],
)
def test_only_tumbling_time_windows_go_apart(window: str, apart: bool) -> None:
    """A match lies in one of them."""
    assert distribution("A ; B", window).by_window is apart
    assert distribution("A ; B", window).by_slice is ("SLIDING" in window and "EVENTS" not in window)


def test_the_cure_names_the_steps_that_lack_the_key() -> None:
    """Most steps bind ?k; the one that does not is told."""
    assert "`?k` in `F`" in distribution("A ; B ; F").cure
