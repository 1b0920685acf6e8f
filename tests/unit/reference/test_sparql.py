"""Graph patterns and expressions in the reference implementation: pyoxigraph's answers over terms as they were read."""

from __future__ import annotations

import pytest
from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from spaseq.algebra.expressions import Expression
from spaseq.algebra.patterns import Pattern
from spaseq.languages.sparql import lower_group, lower_query
from spaseq.reference.sparql import holds, solutions, unwrap, value_of, wrap
from spaseq.syntax import ast, parse_sparql

EX = "http://ex.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"
P, Q = NamedNode(EX + "p"), NamedNode(EX + "q")
X = NamedNode(EX + "x")


def integer(text: str) -> Literal:
    """An integer as it is written."""
    return Literal(text, datatype=NamedNode(XSD + "integer"))


def group(text: str) -> Pattern:
    """The algebra of a group."""
    query = parse_sparql(f"PREFIX : <{EX}> PREFIX xsd: <{XSD}> ASK {{ {text} }}")
    assert isinstance(query, ast.AskQuery)
    return lower_group(query.where)


def expression(text: str) -> Expression:
    """An expression, lowered."""
    pattern = lower_query(parse_sparql(f"PREFIX : <{EX}> PREFIX xsd: <{XSD}> SELECT ({text} AS ?r) {{}}"))
    return pattern.pattern.expression  # type: ignore[union-attr]


def test_terms_keep_their_lexical_form() -> None:
    """A pyoxigraph store would rewrite "05" to "5" (semantics 0)."""
    graph = [Triple(X, P, integer("05"))]
    assert solutions(group("?s :p ?v FILTER(?v = 5)"), graph) == [{"s": X, "v": integer("05")}]


def test_a_constant_in_a_pattern_matches_its_own_spelling_only() -> None:
    """Joins compare terms."""
    graph = [Triple(X, P, integer("05")), Triple(X, Q, integer("5"))]
    assert solutions(group("?s ?p 5"), graph) == [{"s": X, "p": Q}]
    assert solutions(group('?s ?p "05"^^xsd:integer'), graph) == [{"s": X, "p": P}]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("?v", integer("05")),
        ("?v + 1", integer("6")),
        ("STR(?v)", Literal("05")),
        ("xsd:string(?v)", Literal("5")),
        ("STRLEN(STR(?v))", integer("2")),
        ("IF(true, ?v, 0)", integer("05")),
        ("COALESCE(?nothing, ?v)", integer("05")),
        ("COALESCE(?nothing, ?v) + 0", integer("5")),
        ("DATATYPE(?v)", NamedNode(XSD + "integer")),
        ("sameTerm(?v, 5)", Literal(False)),
        ('sameTerm(?v, "05"^^xsd:integer)', Literal(True)),
        ("?v IN (5)", Literal(True)),
        ("isBlank(?b)", Literal(True)),
        ("isNumeric(?b)", Literal(False)),
        ("BOUND(?b)", Literal(True)),
        ("sameTerm(?b, ?b)", Literal(True)),
        ("?b", BlankNode("n")),
        ("STR(?b)", None),
        ("?v + ?b", None),
        ("?nothing", None),
        ("1 / 0", None),
    ],
)
def test_values_of_expressions(text: str, expected: object) -> None:
    """Where the term matters it is the term, where the value matters it is the value; an error is None."""
    assert value_of(expression(text), {"v": integer("05"), "b": BlankNode("n")}) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("?v = 5", True),
        ("?v = ?b", False),
        ("!(?v > ?b)", False),
        ("?nothing = 1", False),
        ("!BOUND(?nothing)", True),
        ("?nothing = 1 || true", True),
    ],
)
def test_conditions_that_fail_are_false(text: str, expected: bool) -> None:
    """A type error or an unbound variable makes a filter false, unless another operand decides."""
    assert holds(expression(text), {"v": integer("05"), "b": BlankNode("n")}) is expected


def test_a_mapping_may_use_any_variable_name() -> None:
    """The name of the computed value never clashes."""
    assert value_of(
        expression("?value + ?value_ "), {"value": integer("1"), "value_": integer("2")}
    ) == integer("3")


def test_minimum_and_maximum_keep_the_spelling() -> None:
    """They pick a term; only sums compute one."""
    graph = [Triple(X, P, integer("05")), Triple(X, P, integer("7"))]
    found = solutions(
        group("{ SELECT (MIN(?v) AS ?min) (MAX(?v) AS ?max) (SUM(?v) AS ?sum) { ?s :p ?v } }"), graph
    )
    assert found == [{"min": integer("05"), "max": integer("7"), "sum": integer("12")}]


def test_equal_solutions_are_one() -> None:
    """An event's mappings are a set (semantics 1.2)."""
    assert solutions(group("{ ?s :p ?v } UNION { ?s :p ?v }"), [Triple(X, P, integer("1"))]) == [
        {"s": X, "v": integer("1")}
    ]


def test_a_pattern_without_variables_has_one_empty_solution_or_none() -> None:
    """The empty mapping is a mapping."""
    assert solutions(group(":x :p 1"), [Triple(X, P, integer("1"))]) == [{}]
    assert solutions(group(":x :p 2"), [Triple(X, P, integer("1"))]) == []


def test_graph_reads_the_background_and_nothing_else_does() -> None:
    """The event is the default graph (semantics 1.7)."""
    event, known = [Triple(X, P, integer("1"))], {EX + "g": [Triple(X, Q, integer("2"))]}
    assert solutions(group("?s :p ?v GRAPH :g { ?s :q ?w }"), event, known) == [
        {"s": X, "v": integer("1"), "w": integer("2")}
    ]
    assert solutions(group("?s :q ?w"), event, known) == []
    assert solutions(group("GRAPH ?g { ?s :p ?v }"), event, known) == []


def test_an_empty_background_graph_is_a_graph() -> None:
    """``GRAPH ?g {}`` ranges over all registered graphs."""
    assert solutions(group("GRAPH ?g { }"), [], {EX + "g": []}) == [{"g": NamedNode(EX + "g")}]


def test_blank_nodes_of_the_data_join_by_identity() -> None:
    """Also while their stand-ins are in use."""
    node = BlankNode("n")
    graph = [Triple(node, P, integer("05")), Triple(X, Q, node)]
    assert solutions(group("?s :q ?n . ?n :p ?v FILTER(isBlank(?n) && ?v = 5)"), graph) == [
        {"s": X, "n": node, "v": integer("05")}
    ]


@pytest.mark.parametrize(
    "term", [integer("05"), integer("5"), BlankNode("b"), X, Literal("a", language="en")]
)
def test_stand_ins_come_back_as_the_term(term: NamedNode | BlankNode | Literal) -> None:
    """`unwrap` undoes `wrap`."""
    assert unwrap(wrap(term)) == term
