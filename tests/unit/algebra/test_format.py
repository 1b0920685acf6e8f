"""Algebra printed as SPARQL keeps its meaning; `tests/properties/test_columnar.py` has the law."""

from __future__ import annotations

import pytest
from pyoxigraph import Quad, QuerySolutions, Store

from spaseq.algebra.expressions import Constant, GpmFunction, Iterated, Var
from spaseq.algebra.format import format_expression, format_pattern
from spaseq.algebra.patterns import Pattern, Project
from spaseq.languages.sparql import lower_query
from spaseq.model.events import triples_from
from spaseq.syntax import parse_sparql

DATA = """
PREFIX : <http://e/>
:a :p :b, :c ; :v 1, 5 ; :w 7 .
:b :p :c ; :v 3 .
:c :q :a ; :v 9 .
"""


def where(body: str) -> Pattern:
    """The algebra of a group."""
    pattern = lower_query(parse_sparql(f"PREFIX : <http://e/> SELECT * WHERE {{ {body} }}"))
    assert isinstance(pattern, Project)
    return pattern.pattern


@pytest.mark.parametrize(
    "body",
    [
        "?s :p ?o . ?o :v ?v FILTER(?v > 2)",
        "?s :p ?o OPTIONAL { ?o :w ?w FILTER(?w > 3) }",
        "?s :p ?o OPTIONAL { { ?o :v ?v FILTER(?v > 3) } }",
        "?s :p ?o OPTIONAL { { ?o :v ?v FILTER(?s = :a) } }",
        "{ ?s :p ?o FILTER(?o = :b) } UNION { ?s :q ?o } ?s :v ?v",
        "{ ?s :v ?v FILTER(?v > 2) } MINUS { ?s :w 7 }",
        "?s :v ?v BIND(?v * 2 AS ?d) FILTER(?d IN (6, 10))",
        "VALUES (?s ?x) { (:a UNDEF) (UNDEF 4) } ?s :v ?v",
        "?s (:p|^:q)+ ?o . ?s !(:v|^:w) ?z",
        "?s :p/:v ?v . :a :p? ?x",
        "{ SELECT ?s (SUM(?v) AS ?n) (COUNT(*) AS ?c) { ?s :v ?v } GROUP BY ?s HAVING(COUNT(*) < 2) }",
        "{ SELECT (AVG(?v) AS ?m) { ?s :v ?v } }",
        "{ SELECT ?s { ?s :v ?v } ORDER BY DESC(?v) LIMIT 2 OFFSET 1 }",
        "{ SELECT DISTINCT ?s { ?s :p ?o } } ?s :v ?v",
        "?s :v ?v FILTER NOT EXISTS { ?s :p ?o MINUS { ?s :w ?w } }",
        "?s :p _:x . _:x :v ?v",
        "{ SELECT (?v - 1 AS ?m) { ?s :v ?v } }",
        "{ SELECT (STR(?s) AS ?k) (GROUP_CONCAT(STR(?v); SEPARATOR='|') AS ?g) { ?s :v ?v } GROUP BY ?s }",
        "?s :v ?v FILTER(!(?v = 1) && (?v < 4 || ?v > 8) && IF(?v = 3, true, BOUND(?s)))",
    ],
)
def test_text_of_the_algebra_has_the_solutions_of_the_query(body: str) -> None:
    """Through the algebra and back, pyoxigraph finds the same."""
    store = Store()
    for triple in triples_from(DATA, "turtle"):
        store.add(Quad(*triple))
    direct = store.query(f"PREFIX : <http://e/> SELECT * WHERE {{ {body} }}")
    printed = store.query(f"SELECT * WHERE {{ {format_pattern(where(body))} }}")
    assert rows(direct) == rows(printed)


def rows(solutions: QuerySolutions) -> list[list[str]]:
    """Solutions in a comparable form, without the variables that lowering makes."""
    names = [variable.value for variable in solutions.variables if not variable.value.startswith("__")]
    return sorted([f"{name}={row[name]}" for name in sorted(names)] for row in solutions)


def test_functions_over_iterations_are_readable() -> None:
    """`explain` shows stateful parts with them."""
    assert format_expression(Iterated("PREV", Var("v"))) == "PREV(?v)"
    assert format_expression(Iterated("GROUP_CONCAT", Var("v"), ", ")) == 'GROUP_CONCAT(?v; SEPARATOR=", ")'
    assert format_expression(GpmFunction("COUNT", "A")) == "COUNT(A)"


def test_constants_are_printed_with_their_spelling() -> None:
    """`05` stays `05`."""
    pattern = where("?s :v 05")
    assert '"05"^^<http://www.w3.org/2001/XMLSchema#integer>' in format_pattern(pattern)
    assert format_expression(Constant(pattern.triples[0].object.term)).startswith('"05"')
