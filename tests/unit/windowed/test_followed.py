"""What of a continuous query is followed from evaluation to evaluation, and that `explain` says what is not."""

from __future__ import annotations

import pytest

from spaseq.planner import compile_query, explain

NOTHING = "nothing: every part is followed incrementally"


def anew(where: str, select: str = "SELECT *", tail: str = "") -> list[str]:
    """The lines about what is made anew in a query over one window."""
    text = f"PREFIX : <http://ex.org/> {select} FROM STREAM :s [RANGE 5s STEP 1s] WHERE {{ {where} }} {tail}"
    lines = explain(compile_query(text, "rsepql")).splitlines()
    return [line.removeprefix("anew").strip() for line in lines if line.startswith("anew")]


@pytest.mark.parametrize(
    "pattern",
    [
        "FILTER NOT EXISTS { ?x :q ?w }",
        "FILTER NOT EXISTS { ?x :p ?w FILTER(?w > ?v) }",
        "FILTER EXISTS { ?z :q ?w FILTER(?w > ?v) FILTER(?z != ?x) }",
        "FILTER(EXISTS { ?x :q ?w } || ?v = 2)",
        "FILTER(!EXISTS { ?x :q ?w })",
        "BIND(EXISTS { ?x :q ?w } AS ?found)",
        "OPTIONAL { ?x :q ?w FILTER EXISTS { ?w :q ?u FILTER(?u != ?v) } }",
        "FILTER EXISTS { { ?x :q ?w } UNION { ?w :q ?x FILTER(?w != ?v) } }",
        "FILTER EXISTS { ?x :q ?w OPTIONAL { ?w :q ?u } FILTER(!BOUND(?u) || ?u != ?v) }",
        "FILTER EXISTS { ?x :q ?w MINUS { ?w :q ?u } FILTER(?w != ?v) }",
        "FILTER EXISTS { ?x :q ?w BIND(?w + ?v AS ?sum) FILTER(?sum > 3) }",
        "FILTER EXISTS { ?x :q ?w VALUES ?w { 1 2 } FILTER(?w != ?v) }",
        "FILTER EXISTS { ?x :q ?w FILTER NOT EXISTS { ?w :q ?u FILTER(?u > ?v) } }",
        "FILTER EXISTS { SELECT ?x { ?x :q ?w } GROUP BY ?x HAVING(COUNT(*) > 1) }",
        "FILTER EXISTS { SELECT (MAX(?w) AS ?v) { ?z :p ?w } }",
    ],
)
def test_exists_is_followed(pattern: str) -> None:
    """As partners of rows: what reads the outer solution is asked of pairs, EXISTS in an expression is a column."""
    assert anew(f"?x :p ?v {pattern}") == [NOTHING]


def test_exists_is_followed_in_order_groups_and_having() -> None:
    """Wherever an expression may stand."""
    found = "EXISTS { ?x :q ?w FILTER(?w > ?v) }"
    grouped = "GROUP BY ?x HAVING(EXISTS { ?x :q ?w } || COUNT(*) > 2)"
    assert anew("?x :p ?v", f"SELECT ?x (SUM(IF({found}, 1, 0)) AS ?n)", grouped) == [NOTHING]
    assert anew("?x :p ?v", "SELECT ?found (COUNT(*) AS ?n)", f"GROUP BY ({found} AS ?found)") == [NOTHING]


@pytest.mark.parametrize(
    "pattern",
    [
        "FILTER EXISTS { ?x :q ?w MINUS { ?u :q ?v } }",
        "FILTER EXISTS { SELECT ?x { ?x :q ?w } LIMIT 1 }",
        "FILTER EXISTS { ?x :q ?w BIND(?w + 1 AS ?v) }",
    ],
)
def test_where_substitution_is_no_join_exists_is_evaluated_anew(pattern: str) -> None:
    """And `explain` says so."""
    assert [line.rpartition(": ")[2] for line in anew(f"?x :p ?v {pattern}")] == [
        "EXISTS with a pattern that sees the outer solution otherwise than by a join"
    ]


@pytest.mark.parametrize(
    ("select", "where", "tail", "told"),
    [
        (
            "SELECT ?x",
            "?x :p ?v",
            "ORDER BY ?v LIMIT 1",
            "ORDER BY: all solutions of an evaluation are sorted",
        ),
        ("SELECT ?x", "?x :p ?v", "LIMIT 1", "LIMIT, OFFSET: all solutions of an evaluation are counted"),
        ("ASK", "?x :p ?v", "ORDER BY ?v", NOTHING),
        (
            "SELECT (GROUP_CONCAT(?v) AS ?n) (COUNT(?v) AS ?m)",
            "?x :p ?v",
            "",
            "GROUP_CONCAT(?v): a group that changes is made anew from all its rows",
        ),
        (
            "SELECT *",
            "?x :p? ?v",
            "",
            "?x (<http://ex.org/p>)? ?v .: a path that may have no length",
        ),
        ("SELECT *", "?x :p+ ?v", "", "?x (<http://ex.org/p>)+ ?v .: a path of unbounded length"),
    ],
)
def test_explain_says_what_grows_with_the_window(select: str, where: str, tail: str, told: str) -> None:
    """Sorting, aggregates over all members of a group, paths."""
    assert anew(where, select, tail) == [told]


def test_explain_says_from_when_on_a_query_is_evaluated() -> None:
    """REPORT EVERY with a start."""
    text = "SELECT * FROM STREAM <s> [RANGE 5s] { ?a ?b ?c } REPORT EVERY 2s STARTING AT 1"
    shown = explain(compile_query(text, "rsepql"))
    assert 'evaluated EVERY 2s STARTING AT "1970-01-01T00:00:01Z"\n' in shown


@pytest.mark.parametrize(
    "where",
    [
        "?x :p ?v . ?x :q+ ?w",
        "?x :p ?v { ?x :q+ ?w }",
        "?x :p ?v OPTIONAL { ?v :r ?u } ?x :q+ ?w",
        "?x :p ?v { ?x :q+ ?w } FILTER(?w != ?v)",
        "?x :q+ ?w FILTER(?w != ?x)",
    ],
)
def test_a_path_of_unbounded_length_is_made_anew_alone(where: str) -> None:
    """Not what it joins with, wherever the path stands."""
    assert anew(where) == ["?x (<http://ex.org/q>)+ ?w .: a path of unbounded length"]


@pytest.mark.parametrize(
    "path",
    [":p/:q?", ":q?/:p", ":p/(:q|:r?)/^:q?", ":p/(:q?/:r?)", "^(:q?/:p)", "(:p|:q)/!:r", ":p/(:q?|^:r)"],
)
def test_what_may_be_empty_beside_what_is_not_is_followed(path: str) -> None:
    """Part by part."""
    assert anew(f"?x {path} ?v") == [NOTHING]


@pytest.mark.parametrize(
    ("path", "part"),
    [
        (":p/:q*", "(:q)*"),
        (":q*/:p", "(:q)*"),
        (":p/(:q|:q*)", "(:q)*"),
        (":p/(:q+)?", "(:q)+"),
        ("(:p/:q+)|:r", "(:q)+"),
        (":p|(:q?)+/:r", "((:q)?)+"),
    ],
)
def test_only_the_unbounded_part_of_a_path_is_made_anew(path: str, part: str) -> None:
    """And `explain` names it, with the whole that it is a part of."""
    (told,) = anew(f"?x {path} ?v")
    assert told.startswith(f"{part} in ?x (".replace(":q", "<http://ex.org/q>"))
    assert told.endswith("?v .: a path of unbounded length")


@pytest.mark.parametrize(
    ("select", "where", "tail", "told"),
    [
        (
            "SELECT ?x",
            "?x :p ?v { SELECT ?x (STR(COUNT(?v)) AS ?c) { ?x :p ?v } GROUP BY ?x ORDER BY ?c LIMIT 2 }",
            "",
            "{ SELECT ?x ?c WHERE { { SELECT ?x WHERE { ?x <p> ?v . } GROUP BY ?x } BIND(STR(COUNT(?v)) AS ?c) } ORDER BY ASC(?c) LIMIT 2 }",
        ),
        (
            "SELECT (timestamp(:x, :p, MAX(?v)) AS ?t)",
            "?x :p ?v",
            "",
            "{ SELECT * WHERE { ?x <p> ?v . } } BIND(TIMESTAMP(<x>, <p>, MAX(?v)) AS ?t)",
        ),
        (
            "SELECT (MIN(?v) AS ?m)",
            "?x :p ?v",
            "GROUP BY (STR(?x)) HAVING(NOW() > MAX(?v) || EXISTS { ?x :q ?w })",
            "{ SELECT * WHERE { ?x <p> ?v . } GROUP BY (STR(?x)) } FILTER(((NOW() > MAX(?v)) || EXISTS { ?x <q> ?w . }))",
        ),
    ],
)
def test_explain_says_what_is_made_anew_in_words_of_the_query(
    select: str, where: str, tail: str, told: str
) -> None:
    """Aggregates stand where they were written; names that lowering gave them do not show."""
    (found,) = anew(where, select, tail)
    found = found.replace("http://ex.org/", "").replace("http://www.w3.org/2001/XMLSchema#", "")
    assert found.rpartition(": ")[0] == told
