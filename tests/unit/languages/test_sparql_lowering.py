"""SPARQL syntax to algebra (SPARQL 1.1, section 18.2)."""

from __future__ import annotations

import pytest
from pyoxigraph import NamedNode

from spaseq.algebra.expressions import Aggregate, And, Compare, Constant, Exists, Var, walk
from spaseq.algebra.patterns import (
    Bgp,
    Distinct,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    Minus,
    OrderBy,
    Pattern,
    Project,
    Slice,
    Union,
    Values,
)
from spaseq.errors import QueryError
from spaseq.languages.sparql import lower_query
from spaseq.syntax import parse_sparql


def lowered(text: str) -> Pattern:
    """The algebra of a query."""
    return lower_query(parse_sparql("PREFIX : <http://e/> " + text))


def where(body: str) -> Pattern:
    """The algebra of a group, under SELECT *."""
    pattern = lowered(f"SELECT * WHERE {{ {body} }}")
    assert isinstance(pattern, Project)
    return pattern.pattern


def test_triples_around_a_filter_are_one_basic_graph_pattern() -> None:
    """A filter does not end a basic graph pattern (5.1)."""
    pattern = where("?s :p _:b FILTER(?s != :a) _:b :q ?o")
    assert isinstance(pattern, Filter)
    assert isinstance(pattern.pattern, Bgp)
    assert len(pattern.pattern.triples) == 2


def test_all_filters_of_a_group_apply_to_the_whole_group() -> None:
    """Wherever they stand, they are one conjunction at the end."""
    pattern = where("FILTER(?o > 1) ?s :p ?o OPTIONAL { ?s :q ?z } FILTER(BOUND(?z))")
    assert isinstance(pattern, Filter)
    assert isinstance(pattern.condition, And)
    assert isinstance(pattern.pattern, LeftJoin)


def test_the_filter_of_an_optional_group_is_the_condition_of_the_left_join() -> None:
    """It sees both sides (18.2.2.6)."""
    pattern = where("?s :p ?o OPTIONAL { ?s :q ?z FILTER(?z > ?o) }")
    assert isinstance(pattern, LeftJoin)
    assert isinstance(pattern.condition, Compare)
    assert isinstance(pattern.right, Bgp)


def test_a_filter_in_braces_inside_optional_stays_there() -> None:
    """The inner group keeps its filter to itself."""
    pattern = where("?s :p ?o OPTIONAL { { ?s :q ?z FILTER(?z > ?o) } }")
    assert isinstance(pattern, LeftJoin)
    assert pattern.condition is None
    assert isinstance(pattern.right, Filter)


def test_bind_ends_the_basic_graph_pattern() -> None:
    """What follows joins with the extended pattern."""
    pattern = where("?s :p ?o BIND(?o + 1 AS ?n) ?s :q ?n")
    assert isinstance(pattern, Join)
    assert isinstance(pattern.left, Extend)


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("{ ?s :p ?o } UNION { ?s :q ?o }", Union),
        ("?s :p ?o MINUS { ?s :q ?z }", Minus),
        ("GRAPH :g { ?s :p ?o }", Graph),
        ("VALUES ?x { 1 UNDEF }", Values),
        ("{ SELECT ?s WHERE { ?s :p ?o } }", Project),
    ],
)
def test_each_form_has_its_operator(body: str, kind: type[Pattern]) -> None:
    """One node of the algebra per form of the grammar."""
    assert isinstance(where(body), kind)


def test_exists_holds_a_lowered_pattern() -> None:
    """Patterns in expressions are algebra too."""
    pattern = where("?s :p ?o FILTER NOT EXISTS { ?s :q ?z FILTER(?z = ?o) }")
    assert isinstance(pattern, Filter)
    (exists,) = [node for node in walk(pattern.condition) if isinstance(node, Exists)]
    assert isinstance(exists.pattern, Filter)
    assert exists.negated


def test_modifiers_nest_in_the_order_of_the_recommendation() -> None:
    """Slice over Distinct over Project over OrderBy (18.2.5)."""
    pattern = lowered("SELECT DISTINCT ?s WHERE { ?s :p ?o } ORDER BY DESC(?o) LIMIT 3 OFFSET 2")
    assert isinstance(pattern, Slice)
    assert (pattern.offset, pattern.limit) == (2, 3)
    assert isinstance(pattern.pattern, Distinct)
    assert isinstance(pattern.pattern.pattern, Project)
    assert isinstance(pattern.pattern.pattern.pattern, OrderBy)


def test_select_star_takes_visible_variables_in_order() -> None:
    """Blank nodes and the inside of sub-SELECT are not visible."""
    pattern = lowered("SELECT * { ?b :p ?a . ?a :q [] { SELECT ?c { ?c :p ?d } } }")
    assert isinstance(pattern, Project)
    assert [variable.name for variable in pattern.variables] == ["b", "a", "c"]


def test_equal_aggregates_are_computed_once() -> None:
    """HAVING and SELECT share them; names of users cannot clash with theirs."""
    pattern = lowered(
        "SELECT ?s (SUM(?o) AS ?n) { ?s :p ?o } GROUP BY ?s HAVING(SUM(?o) > 3) ORDER BY SUM(?o)"
    )
    groups = [node for node in _nodes(pattern) if isinstance(node, Group)]
    assert [aggregate for _, aggregate in groups[0].aggregates] == [Aggregate("SUM", Var("o"))]
    assert groups[0].aggregates[0][0].hidden


def _nodes(pattern: Pattern) -> list[Pattern]:
    found = [pattern]
    while hasattr(found[-1], "pattern"):
        found.append(found[-1].pattern)
    return found


def test_aggregates_without_group_by_make_one_group() -> None:
    """The whole solution sequence is the group."""
    groups = [
        node for node in _nodes(lowered("SELECT (COUNT(*) AS ?n) { ?s :p ?o }")) if isinstance(node, Group)
    ]
    assert groups[0].keys == ()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("SELECT * { SERVICE <http://x> { ?s ?p ?o } }", "SPQ401"),
        ("SELECT * FROM <http://x> { ?s ?p ?o }", "SPQ402"),
        ("DESCRIBE <http://x>", "SPQ403"),
        ("SELECT * { ?s ?p ?o FILTER(<http://x/f>(?o)) }", "SPQ404"),
    ],
)
def test_what_is_not_supported_has_a_code(text: str, code: str) -> None:
    """No silent approximation."""
    with pytest.raises(QueryError) as caught:
        lowered(text)
    assert caught.value.code == code


def test_constants_keep_their_spelling() -> None:
    """Nothing is normalised on the way."""
    pattern = where("?s :p 05")
    assert isinstance(pattern, Bgp)
    obj = pattern.triples[0].object
    assert isinstance(obj, Constant)
    assert obj.term.value == "05"
    assert pattern.triples[0].predicate == Constant(NamedNode("http://e/p"))
