"""Each rewrite rule does what its law says; that answers stay the same is tests/properties/test_reference.py."""

from __future__ import annotations

import pytest

from spaseq.algebra.events import Both, Condition, Either, EventQuery, Gpm, gpms
from spaseq.algebra.format import format_expression, format_pattern
from spaseq.algebra.patterns import Extend, Filter, Join, LeftJoin, Minus, Pattern, Union
from spaseq.algebra.rules import RULES, Rule, rewrite
from spaseq.algebra.rules.order_edges import cost, order_edges
from spaseq.algebra.rules.push_filters import push_filters, pushed
from spaseq.algebra.rules.push_window import push_window
from spaseq.algebra.rules.split_filters import split_filters
from spaseq.languages.spaseq.dialect import parse
from spaseq.languages.spaseq.query import lower


def lowered(sequence: str, *patterns: str, partition: str = "") -> EventQuery:
    """The algebra of a query over one stream; a pattern is ``A { … }``."""
    definitions = " ".join(f"DEFINE GPM {pattern.replace(' ', ' ON S ', 1)}" for pattern in patterns)
    by = f"PARTITION BY {partition}" if partition else ""
    return lower(
        parse(
            f"PREFIX : <urn:> SELECT * WITHIN 1 MINUTE FROM STREAM S <urn:s> {by} "
            f"WHERE {{ SEQ ({sequence}) {definitions} }}"
        )
    ).query


def gpm(query: EventQuery, name: str) -> Gpm:
    """A GPM by name."""
    return next(found for found in query.gpms if found.name == name)


A = "A { ?a :p ?x }"


# --- split_filters ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sequence", "filters", "local", "stateful"),
    [
        ("A ; B", "FILTER(?y > 1)", 1, 0),
        ("A ; B", "FILTER(?y > ?x)", 0, 1),
        ("A ; B", "FILTER(?y > 1 && ?y > ?x && ?b != ?y)", 2, 1),
        ("A ; B", "FILTER(?y > 1 || ?y > ?x)", 0, 1),
        ("A ; B", "FILTER(?y > 1) FILTER(?y > ?x)", 1, 1),
        ("A & B", "FILTER(?y > ?x)", 0, 1),
        ("A+ ; B", "FILTER(COUNT(A) > ?y)", 0, 1),
        ("A ; B+", "FILTER(?y > PREV(?y) && ?y > 0)", 1, 1),
        # a variable that the event may leave open and an earlier step may have bound
        ("A ; B", "OPTIONAL { ?b :r ?x } FILTER(?x > 1)", 0, 1),
        ("A ; B", "OPTIONAL { ?b :r ?z } FILTER(?z > 1)", 1, 0),
        # certainly bound by the event: it joins anyway
        ("A ; B", "?b :r ?x . FILTER(?x > 1)", 1, 0),
        # an earlier iteration may have bound a shared variable
        ("B+ ; A", "OPTIONAL { ?b :r ?x } FILTER(?x > 1)", 0, 1),
        ("B ; A", "OPTIONAL { ?b :r ?x } FILTER(?x > 1)", 1, 0),
        ("A ; B", "FILTER NOT EXISTS { ?b :r ?z }", 1, 0),
    ],
)
def test_filters_are_split_into_what_the_event_decides_and_what_waits(
    sequence: str, filters: str, local: int, stateful: int
) -> None:
    """Conjunct by conjunct (semantics 1.4)."""
    found = gpm(split_filters(lowered(sequence, A, f"B {{ ?b :q ?y . {filters} }}")), "B")
    assert found.filters == ()
    assert len(found.stateful) == stateful
    assert depth_of_filters(found.pattern) == local


def depth_of_filters(pattern: Pattern) -> int:
    """How many filters stand around a pattern."""
    return 1 + depth_of_filters(pattern.pattern) if isinstance(pattern, Filter) else 0


def test_a_filter_on_an_open_partition_key_waits_for_the_partition() -> None:
    """Within a partition the key is bound, even where the event leaves it open (semantics 1.9)."""
    patterns = ("A { ?a :p ?x OPTIONAL { ?a :k ?k } FILTER(?k = 1) }", "B { ?b :k ?k }")
    assert len(gpm(split_filters(lowered("A ; B", *patterns, partition="?k")), "A").stateful) == 1
    assert len(gpm(split_filters(lowered("A ; B", *patterns)), "A").stateful) == 0


def test_conjuncts_with_prev_are_marked_for_the_first_iteration() -> None:
    """The first iteration skips them (semantics 1.5), and only them."""
    found = gpm(split_filters(lowered("A+", "A { ?a :p ?x FILTER(?x > PREV(?x) && COUNT(A) < 3) }")), "A")
    marks = {
        format_expression(c.expression): c.after_first for c in found.stateful if isinstance(c, Condition)
    }
    assert marks == {"(?x > PREV(?x))": True, "(COUNT(A) < "
                     '"3"^^<http://www.w3.org/2001/XMLSchema#integer>)': False}  # fmt: skip


# --- push_filters -------------------------------------------------------------------------------


def placed(body: str) -> Pattern:
    """The pattern of a GPM after its filters were split and pushed."""
    return gpm(push_filters(split_filters(lowered("A", f"A {{ {body} }}"))), "A").pattern


def test_a_filter_moves_into_the_side_of_a_join_that_binds_it() -> None:
    """``Filter(Join(l, r))`` is ``Join(Filter(l), r)`` if ``l`` binds all that it reads."""
    pattern = placed("?a :p ?x GRAPH :g { ?b :q ?y } FILTER(?y > 1)")
    assert isinstance(pattern, Join)
    assert isinstance(pattern.right, Filter)
    assert not isinstance(pattern.left, Filter)


def test_a_filter_over_both_sides_stays() -> None:
    """No side decides it."""
    assert isinstance(placed("?a :p ?x GRAPH :g { ?b :q ?y } FILTER(?y > ?x)"), Filter)


def test_a_filter_moves_below_optional_only_if_the_left_side_binds_it() -> None:
    """On the right a false filter would unbind instead of remove."""
    left = placed("?a :p ?x OPTIONAL { ?a :q ?y } FILTER(?x > 1)")
    assert isinstance(left, LeftJoin)
    assert isinstance(left.left, Filter)
    assert isinstance(placed("?a :p ?x OPTIONAL { ?a :q ?y } FILTER(?y > 1)"), Filter)


def test_a_filter_moves_into_both_branches_of_union() -> None:
    """Whatever the branches bind."""
    pattern = placed("{ ?a :p ?x } UNION { ?a :q ?y } FILTER(?x > 1)")
    assert isinstance(pattern, Union)
    assert isinstance(pattern.left, Filter)
    assert isinstance(pattern.right, Filter)


def test_a_filter_moves_below_minus_and_below_a_bind_it_does_not_read() -> None:
    """Neither changes the variables that it reads."""
    below_minus = placed("?a :p ?x MINUS { ?a :q 1 } FILTER(?x > 1)")
    below_bind = placed("?a :p ?x BIND(?x + 1 AS ?n) FILTER(?x > 1)")
    assert isinstance(below_minus, Minus)
    assert isinstance(below_minus.left, Filter)
    assert isinstance(below_bind, Extend)
    assert isinstance(below_bind.pattern, Filter)
    assert isinstance(placed("?a :p ?x BIND(?x + 1 AS ?n) FILTER(?n > 1)"), Filter)


def test_exists_reads_the_whole_solution_and_stays() -> None:
    """Pushed down, it would be asked of less."""
    assert isinstance(placed("?a :p ?x GRAPH :g { ?b :q ?y } FILTER EXISTS { ?a :r ?b }"), Filter)


def test_a_pattern_without_filters_is_not_touched() -> None:
    """The rule moves filters only."""
    pattern = gpm(lowered("A", "A { ?a :p ?x OPTIONAL { ?a :q ?y } }"), "A").pattern
    assert pushed(pattern) == pattern


# --- order_edges and push_window ----------------------------------------------------------------


def test_the_cheaper_pattern_goes_first() -> None:
    """Fewer triples, more constants, filters that prune; a property path is a search."""
    query = lowered(
        "A | B | C | D",
        "A { ?a :p ?x . ?a :q ?y }",
        "B { ?b (:p/:q)+ ?z }",
        "C { ?c :p 5 }",
        "D { ?d :p ?w }",
    )
    (step,) = order_edges(query).sequence.steps
    assert [found.name for found in gpms(step.element)] == ["C", "D", "A", "B"]


def test_sorting_does_not_change_how_a_match_lists_its_events() -> None:
    """Names keep the order of SEQ."""
    query = lowered("A & B", "A { ?a :p ?x . ?a :q ?y }", "B { ?b :p 5 }")
    assert order_edges(query).names == ("A", "B")


def test_equal_costs_keep_the_order_written() -> None:
    """Sorting is stable."""
    query = lowered("A & B | C", "A { ?a :p ?x }", "B { ?b :p ?y }", "C { ?c :p ?z }")
    assert order_edges(query) == query


def test_the_cost_of_a_conjunction_is_its_cheapest_part_of_a_disjunction_all_of_them() -> None:
    """One failing part decides a conjunction; a disjunction asks every side."""
    a, b = lowered("A ; B", "A { ?a :p ?x }", "B { ?b :p 5 }").gpms
    assert cost(Both((a, b))) == cost(b) < cost(a)
    assert cost(Either((a, b))) == cost(a) + cost(b)


def test_every_step_gets_the_window() -> None:
    """So that a run is dropped where it waits."""
    query = lowered("A ; B+", A, "B { ?b :q ?y }")
    assert {step.window for step in push_window(query).sequence.steps} == {query.window}


# --- all of them --------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_rule_applied_twice_does_no_more(rule: Rule) -> None:
    """What it decides, it decides once."""
    query = rewrite(
        lowered(
            "A ; (B | C)+ ; D?",
            A,
            "B { ?b :q ?y OPTIONAL { ?b :r ?z } FILTER(?y > ?x && ?y > 1) }",
            "C { ?c :p 5 . BIND(?x + 1 AS ?n) }",
            "D { { ?d :p ?w } UNION { ?d :q ?w } FILTER(?w > 1) }",
        ),
        RULES[: RULES.index(rule)],
    )
    once = rule(query)
    assert rule(once) == once


def test_rewritten_patterns_can_be_printed() -> None:
    """Every stage has a printed form (explain shows it)."""
    query = rewrite(lowered("A", "A { ?a :p ?x OPTIONAL { ?a :q ?y } FILTER(?x > 1) }"))
    assert format_pattern(gpm(query, "A").pattern) == (
        '{ ?a <urn:p> ?x . FILTER((?x > "1"^^<http://www.w3.org/2001/XMLSchema#integer>)) } '
        "OPTIONAL { ?a <urn:q> ?y . }"
    )
