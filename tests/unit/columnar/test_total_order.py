"""What SPARQL leaves open is decided by the terms: those of equal value come in the order of their texts."""

from __future__ import annotations

from itertools import permutations

import pytest

from spaseq import evaluate

VALUES = ("1", "01", "2", "2.0", '"two"', "<http://e/a>")


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("SELECT (GROUP_CONCAT(?v) AS ?r) { VALUES }", '"http://e/a 01 1 2 2.0 two"'),
        ("SELECT (SAMPLE(?v) AS ?r) { VALUES }", "<http://e/a>"),
        ("SELECT (MIN(?v) AS ?r) { VALUES FILTER(isNumeric(?v)) }", '"01"^^<http://www.w3.org/2001/XMLSchema#integer>'),
        ("SELECT (MAX(?v) AS ?r) { VALUES FILTER(isNumeric(?v)) }", '"2.0"^^<http://www.w3.org/2001/XMLSchema#decimal>'),
        ("SELECT (?v AS ?r) { VALUES } LIMIT 1", "<http://e/a>"),
        ("SELECT (?v AS ?r) { VALUES } ORDER BY isIRI(?v) LIMIT 1", '"01"^^<http://www.w3.org/2001/XMLSchema#integer>'),
    ],
)  # fmt: skip
def test_the_order_of_rows_does_not_matter(query: str, wanted: str) -> None:
    """The same members give the same answer."""
    found = set()
    for order in list(permutations(VALUES))[::37]:
        (row,) = evaluate(query.replace("VALUES", f"VALUES ?v {{ {' '.join(order)} }}"), [])
        found.add(str(row["r"]))
    assert found == {wanted}


def test_group_concat_follows_the_order_of_a_sub_select() -> None:
    """Ties of that order are broken by the terms; without ORDER BY all are in the order of terms."""
    graph = [(f"<http://e/{name}>", value) for name, value in (("b", 1), ("c", 2), ("a", 1))]
    text = "".join(f"{subject} <http://e/p> {value} .\n" for subject, value in graph)
    for order, expected in (("ORDER BY DESC(?v)", "cab"), ("ORDER BY ?v LIMIT 2", "ab"), ("", "abc")):
        inner = f"SELECT ?x ?v {{ ?x <http://e/p> ?v }} {order}"
        query = f"SELECT (GROUP_CONCAT(STRAFTER(STR(?x), 'e/'); SEPARATOR='') AS ?all) {{ {{ {inner} }} }}"
        (found,) = evaluate(query, text, format="turtle")
        assert found["all"].value == expected
