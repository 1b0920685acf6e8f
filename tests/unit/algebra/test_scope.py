"""In scope and certainly bound (SPARQL 1.1, section 18.2.1)."""

from __future__ import annotations

import pytest

from spaseq.algebra.patterns import Pattern, Project
from spaseq.algebra.scope import certainly_bound, in_scope, mentioned
from spaseq.languages.sparql import lower_query
from spaseq.syntax import parse_sparql


def where(body: str) -> Pattern:
    """The algebra of a group."""
    pattern = lower_query(parse_sparql(f"PREFIX : <http://e/> SELECT * WHERE {{ {body} }}"))
    assert isinstance(pattern, Project)
    return pattern.pattern


@pytest.mark.parametrize(
    ("body", "may", "must"),
    [
        ("?s :p ?o", "s o", "s o"),
        ("?s :p ?o OPTIONAL { ?s :q ?z }", "s o z", "s o"),
        ("{ ?s :p ?o } UNION { ?s :q ?z }", "s o z", "s"),
        ("?s :p ?o MINUS { ?s :q ?z }", "s o", "s o"),
        ("?s :p ?o FILTER(?z > 1)", "s o", "s o"),
        ("?s :p ?o BIND(?o AS ?b)", "s o b", "s o b"),
        ("?s :p ?o BIND(?o + 1 AS ?b)", "s o b", "s o"),
        ("?s :p ?o BIND(?z AS ?b)", "s o b", "s o"),
        ("VALUES (?x ?y) { (1 2) (UNDEF 3) }", "x y", "y"),
        ("GRAPH ?g { ?s :p ?o }", "g s o", "g s o"),
        ("{ SELECT ?s (COUNT(*) AS ?n) { ?s :p ?o } GROUP BY ?s }", "s n", "s n"),
        ("?s :p+ ?o", "s o", "s o"),
    ],
)
def test_scope(body: str, may: str, must: str) -> None:
    """What a solution may bind, and what it must."""
    assert in_scope(where(body)) == tuple(may.split())
    assert certainly_bound(where(body)) == set(must.split())


def test_mentioned_looks_everywhere() -> None:
    """Filters, EXISTS, the right side of MINUS, the inside of a sub-SELECT."""
    body = "?a :p ?b FILTER(?c > 1 && EXISTS { ?d :p ?e }) MINUS { ?f :p ?g } { SELECT ?h { ?h :p ?i } }"
    assert mentioned(where(body)) == set("abcdefghi")
