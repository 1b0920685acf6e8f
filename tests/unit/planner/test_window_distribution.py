"""How continuous queries are spread over workers, and why not further (semantics 3.6)."""

from __future__ import annotations

import pytest

from spaseq.planner.compiled import compile_query
from spaseq.planner.distribution import Distribution, RouteUnit

SLIDING = "[RANGE 10s STEP 2s]"
TUMBLING = "[RANGE 10s TUMBLING]"


def distribution(
    where: str, head: str = "SELECT *", tail: str = "", *, window: str = "[RANGE 10s]", more: str = ""
) -> Distribution:
    """How a query over the window :w, and perhaps others, is spread."""
    return compile_query(
        f"PREFIX : <http://ex.org/> {head} FROM NAMED WINDOW :w ON :s {window} {more} WHERE {{ {where} }} {tail}",
        "rsepql",
    ).distribution


@pytest.mark.parametrize(
    "where",
    [
        "WINDOW :w { ?k :p ?x }",
        "WINDOW :w { ?k :p ?x . ?y :q ?k }",
        "WINDOW :w { ?k :p ?x } OPTIONAL { WINDOW :w { ?k :q ?y } }",
        "WINDOW :w { ?k :p ?x } MINUS { WINDOW :w { ?k :q ?x } }",
        "WINDOW :w { ?k :p ?x } FILTER NOT EXISTS { WINDOW :w { ?y :q ?k } }",
        "{ WINDOW :w { ?k :p ?x } } UNION { WINDOW :w { ?k :q ?y } }",
        "WINDOW :w { ?k :p ?x } GRAPH :g { ?x :r ?y } VALUES ?x { 1 2 }",
        "WINDOW :w { ?k :p ?x } { SELECT ?k (COUNT(*) AS ?n) { WINDOW :w { ?k :q ?y } } GROUP BY ?k }",
        "WINDOW :w { ?k :p ?x . ?k :q ?y BIND(timestamp(?k :p ?x) AS ?at) }",
    ],
)
def test_a_variable_of_every_triple_pattern_over_windows_is_the_key(where: str) -> None:
    """Every worker hears of all instants, since each key is evaluated at all of them."""
    found = distribution(where)
    assert (found.unit, found.variables) == (RouteUnit.KEY_AND_TICKS, ("k",))


@pytest.mark.parametrize(
    ("where", "reason"),
    [
        ("WINDOW :w { ?k :p ?x . ?x :q ?y . ?y :q ?z }", "reads a window, and not by"),
        ("WINDOW :w { ?k :p+ ?x }", "reads a window, and not by"),
        ("WINDOW :w { ?x ?k ?x . :a ?k :b }", "reads a window, and not by"),
        ("GRAPH :g { ?k :r ?y } OPTIONAL { WINDOW :w { ?k :p 1 } }", "a background graph, VALUES or BIND"),
        ("VALUES ?k { 1 } MINUS { WINDOW :w { :a :p ?k } }", "a background graph, VALUES or BIND"),
        (
            "WINDOW :w { ?k :r 1 } { GRAPH :g { ?x :r ?y } FILTER EXISTS { WINDOW :w { ?k :p 1 } } }",
            "EXISTS looks for partners",
        ),
        (
            "WINDOW :w { ?k :r 1 } { { GRAPH :g { ?x :r ?y } } OPTIONAL { WINDOW :w { ?k :p 1 } } }",
            "OPTIONAL and MINUS look for partners",
        ),
        ("WINDOW :w { ?k :r 1 } { SELECT ?x { WINDOW :w { ?k :p ?x } } }", "a sub-SELECT leaves ?k behind"),
        (
            "WINDOW :w { ?k :r 1 } { SELECT (COUNT(*) AS ?n) { WINDOW :w { ?k :p 2 } } }",
            "is over all values of ?k",
        ),
        (
            "WINDOW :w { ?k :r 1 } { SELECT ?k { WINDOW :w { ?k :p 2 } } LIMIT 1 }",
            "LIMIT in a sub-SELECT chooses among the solutions of all values",
        ),
        ("WINDOW :w { ?k :p 1 } BIND(BNODE() AS ?x)", "BNODE()"),
    ],
)
def test_what_depends_on_other_values_keeps_a_query_on_one_worker(where: str, reason: str) -> None:
    """The reason names it."""
    found = distribution(where)
    assert found.unit is RouteUnit.WHOLE
    assert reason in found.reason


def test_an_aggregate_is_told_what_its_group_lacks() -> None:
    """A rolling average per sensor goes by the values of readings, of which some patterns know no sensor."""
    where = "WINDOW :w { ?reading :sensor ?sensor ; :value ?v }"
    found = distribution(where, "SELECT ?sensor (AVG(?v) AS ?mean)", "GROUP BY ?sensor", window=SLIDING)
    assert (found.unit, found.variables) == (RouteUnit.EVALUATION, ())
    assert "`?reading <http://ex.org/value> ?v` reads a window, and not by ?sensor" in found.reason


def test_triples_of_the_background_may_stand_for_those_of_a_window() -> None:
    """A default graph of both has solutions without any event, which all workers would report."""
    text = "SELECT * FROM STREAM <http://ex.org/s> [RANGE 9s] {} WHERE {{ ?k <http://ex.org/p> ?x }}"
    alone, mixed = (compile_query(text.format(more), "rsepql") for more in ("", "FROM <http://ex.org/g>"))
    assert alone.distribution.unit is RouteUnit.KEY_AND_TICKS
    assert mixed.distribution.unit is RouteUnit.WHOLE


@pytest.mark.parametrize(
    ("head", "tail", "unit"),
    [
        ("SELECT ?k", "", RouteUnit.KEY_AND_TICKS),
        ("SELECT (?k AS ?sensor)", "", RouteUnit.KEY_AND_TICKS),
        ("SELECT DISTINCT ?k", "", RouteUnit.KEY_AND_TICKS),
        ("SELECT ?k (AVG(?v) AS ?mean)", "GROUP BY ?k HAVING (COUNT(*) > 1)", RouteUnit.KEY_AND_TICKS),
        ("SELECT ?v", "", RouteUnit.WHOLE),
        ("SELECT DISTINCT ?v", "", RouteUnit.WHOLE),
        ("SELECT (AVG(?v) AS ?mean)", "", RouteUnit.WHOLE),
        ("SELECT ?k", "ORDER BY ?k LIMIT 1", RouteUnit.WHOLE),
        ("ASK", "", RouteUnit.WHOLE),
        ("CONSTRUCT { ?k :is ?v }", "", RouteUnit.WHOLE),
        ("REGISTER RSTREAM :q AS SELECT ?v", "", RouteUnit.KEY_AND_TICKS),
    ],
)
def test_what_is_reported_must_not_compare_keys(head: str, tail: str, unit: RouteUnit) -> None:
    """ISTREAM is the default where a window has no STEP: bags of solutions are compared, so the key must be in them."""
    assert distribution("WINDOW :w { ?k :p ?v . ?k :q ?w }", head, tail).unit is unit


@pytest.mark.parametrize(
    ("window", "more", "found"),
    [
        (TUMBLING, "", (10_000_000, 0, 0)),
        ("[RANGE 4s STEP 10s STARTING AT 3]", "", (10_000_000, 0, 3_000_000)),
        (SLIDING, "", (10_000_000, 10_000_000, 0)),
        (TUMBLING, "FROM NAMED WINDOW :v ON :t [RANGE 3s STEP 1s]", (20_000_000, 20_000_000, 0)),
        (TUMBLING, "FROM NAMED WINDOW :v ON :t [RANGE 30s]", (30_000_000, 30_000_000, 0)),
        ("[RANGE 10s STEP 2s] OF [LND 0]", "", (10_000_000, 10_000_000, 0)),
        (TUMBLING, "FROM NAMED WINDOW :v ON :t [LND 0]", None),
        (TUMBLING, "FROM NAMED WINDOW :v ON :t [RANGE 3 EVENTS STEP 1]", None),
        ("[RANGE 10 TRIPLES TUMBLING]", "", None),
    ],
)
def test_evaluations_go_apart_by_time(window: str, more: str, found: tuple[int, int, int] | None) -> None:
    """By windows if these share no event, else by slices of time with the rows of a window before each."""
    other = "UNION { WINDOW :v { ?x :p ?v } }" if more else ""
    where = f"{{ WINDOW :w {{ ?x :p ?v }} }} {other}"
    spread = distribution(where, "SELECT (COUNT(*) AS ?n)", window=window, more=more)
    shape = spread.stretches
    assert (shape and (shape.length, shape.reach, shape.origin)) == found
    assert spread.unit is (RouteUnit.WHOLE if found is None else RouteUnit.EVALUATION)


@pytest.mark.parametrize(
    ("report", "window", "found"),
    [
        ("", TUMBLING, (20_000_000, 20_000_000, 0)),
        ("", SLIDING, (12_000_000, 12_000_000, 0)),
        ("REPORT EVERY 3s", "[RANGE 10s]", (13_000_000, 13_000_000, 0)),
        ("REPORT ON WINDOW CLOSE AND NON-EMPTY CONTENT", TUMBLING, None),
        ("REPORT ON CONTENT CHANGE", TUMBLING, None),
    ],
)
def test_what_is_new_needs_the_evaluation_before(
    report: str, window: str, found: tuple[int, int, int] | None
) -> None:
    """Its rows are there too, if it is known how far back it lies."""
    head = "REGISTER ISTREAM :q AS SELECT (COUNT(*) AS ?n)"
    spread = distribution("WINDOW :w { ?x :p ?v }", head, report, window=window)
    shape = spread.stretches
    assert (shape and (shape.length, shape.reach, shape.origin)) == found
    if found is None:
        assert "ISTREAM compares every evaluation with the one before" in spread.reason


def test_explain_says_when_a_query_with_a_key_goes_apart_by_time_instead() -> None:
    """Keys go in few groups, so a finite input that goes to more workers is cut by time where an evaluation needs no other."""
    query = """PREFIX : <http://ex.org/> SELECT ?x (AVG(?v) AS ?a)
    FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 3s] WHERE { WINDOW :w { ?x :p ?v } } GROUP BY ?x"""
    by = "by        ?x; slice of time instead, where a finite input goes to more than 8 workers"
    assert by in compile_query(query, "rsepql").explain()
    compared = query.replace(" STEP 3s", "")  # ISTREAM: the evaluation before may lie far back
    assert "by        ?x: every" in compile_query(compared, "rsepql").explain()
