"""What RDFS may make of a template, as patterns: the reference and the engine find the same dependencies (semantics 2.7)."""

from __future__ import annotations

from itertools import product

import pytest
from pyoxigraph import Literal, NamedNode, Triple

from spaseq.algebra.expressions import Constant, Var
from spaseq.algebra.patterns import Node, TriplePattern
from spaseq.algebra.strata import unify
from spaseq.columnar.rdfs import DOMAIN, RANGE, SUB_CLASS, SUB_PROPERTY, TYPE, rdfs_closure
from spaseq.intervals.schema import Schema
from spaseq.reference.closure import entailed_patterns


def name(text: str) -> NamedNode:
    """A resource."""
    return TYPE if text == "a" else NamedNode(f"http://ex.org/{text}")


def node(text: str) -> Node:
    """A variable, a number or a resource."""
    if text.startswith("?"):
        return Var(text[1:])
    return Constant(Literal(int(text)) if text.isdecimal() else name(text))


def pattern(text: str) -> TriplePattern:
    """Three nodes."""
    return TriplePattern(*map(node, text.split()))


RELATIONS = {"sub": SUB_CLASS, "under": SUB_PROPERTY, "domain": DOMAIN, "range": RANGE}
SCHEMAS = {
    "classes": "E sub D, D sub C, p domain E, p under q, q range D",
    "types as predicates": "p under a, a domain K, K sub D, q under p",
    "a predicate of types": "a under p, p range C, C sub E, E sub C",
    "nothing": "",
}
TEMPLATES = (
    "?s a E",
    "?s a C",
    "?s a ?c",
    "?s p ?o",
    "?s q 5",
    "x ?p C",
    "?s ?p ?o",
    "?s p D",
    "?s other ?o",
    "x q y",
)
READ = (
    "?x a C",
    "?x a D",
    "?x a E",
    "?x a ?t",
    "?x q ?y",
    "?x p ?y",
    "x a D",
    "y a D",
    "?x other z",
    "?x a K",
    "?x ?y ?z",
)


@pytest.mark.parametrize("schema", SCHEMAS)
def test_the_reference_and_the_engine_find_the_same_dependencies(schema: str) -> None:
    """Whatever the schema says."""
    given = [each.split() for each in filter(None, SCHEMAS[schema].split(", "))]
    triples = rdfs_closure({Triple(name(low), RELATIONS[word], name(high)) for low, word, high in given})
    engine = Schema(triples)
    for template, read in product(map(pattern, TEMPLATES), map(pattern, READ)):
        found = [
            any(unify(read, each) for each in entailed)
            for entailed in (engine.entailed_templates(template), entailed_patterns(template, triples))
        ]
        assert found[0] == found[1], (template, read)


@pytest.mark.parametrize(
    ("template", "read", "depends"),
    [
        ("?s a E", "?x a C", True),
        ("?s a C", "?x a D", False),
        ("?s p ?o", "?x a C", True),
        ("?s q 5", "?x a D", False),
        ("x q y", "y a D", True),
        ("x q y", "x a D", False),
        ("?s other ?o", "?x a ?t", False),
        ("x ?p C", "?x a E", True),
    ],
)
def test_a_type_depends_on_what_may_be_of_it(template: str, read: str, depends: bool) -> None:
    """By classes below it, by domains and ranges, by properties with them."""
    triples = [
        Triple(name(a), RELATIONS[w], name(b))
        for a, w, b in (each.split() for each in SCHEMAS["classes"].split(", "))
    ]
    found = entailed_patterns(pattern(template), rdfs_closure(triples))
    assert any(unify(pattern(read), each) for each in found) == depends
