"""The RDFS closure of a background graph: subclass, subproperty, domain and range (semantics 1.7).

The rules are rdfs2, rdfs3, rdfs5, rdfs7, rdfs9 and rdfs11 of RDF 1.1 Semantics; the axiomatic triples and
those that only say that everything is a resource are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from pyoxigraph import BlankNode, NamedNode, Triple

Node = NamedNode | BlankNode

TYPE = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
SUB_CLASS = NamedNode(_RDFS + "subClassOf")
SUB_PROPERTY = NamedNode(_RDFS + "subPropertyOf")
DOMAIN = NamedNode(_RDFS + "domain")
RANGE = NamedNode(_RDFS + "range")


def rdfs_closure(triples: Iterable[Triple]) -> frozenset[Triple]:
    """The triples and what RDFS entails from them."""
    given = set(triples)
    while True:
        grown = _entailed(given)
        if grown <= given:  # a rule may have produced schema triples, which start it all again
            return frozenset(given)
        given |= grown


def _entailed(triples: set[Triple]) -> set[Triple]:
    classes = transitive(schema_relation(triples, SUB_CLASS))
    properties = transitive(schema_relation(triples, SUB_PROPERTY))
    domains, ranges = schema_relation(triples, DOMAIN), schema_relation(triples, RANGE)
    found = {Triple(low, SUB_CLASS, high) for low, highs in classes.items() for high in highs}
    found |= {Triple(low, SUB_PROPERTY, high) for low, highs in properties.items() for high in highs}
    facts = set(triples)
    for triple in triples:
        for wider in properties.get(triple.predicate, ()):
            if isinstance(wider, NamedNode):
                facts.add(Triple(triple.subject, wider, triple.object))
    for triple in facts:
        for kind in domains.get(triple.predicate, ()):
            found.add(Triple(triple.subject, TYPE, kind))
        if isinstance(triple.object, Node):
            for kind in ranges.get(triple.predicate, ()):
                found.add(Triple(triple.object, TYPE, kind))
    found |= facts
    for triple in list(found):
        if triple.predicate == TYPE and isinstance(triple.object, Node):
            for wider in classes.get(triple.object, ()):
                found.add(Triple(triple.subject, TYPE, wider))
    return found


def schema_relation(triples: Iterable[Triple], predicate: NamedNode) -> dict[Node, set[Node]]:
    """The pairs of nodes that a predicate of the schema relates."""
    pairs: dict[Node, set[Node]] = defaultdict(set)
    for triple in triples:
        subject, wider = triple.subject, triple.object
        if triple.predicate == predicate and isinstance(subject, Node) and isinstance(wider, Node):
            pairs[subject].add(wider)
    return pairs


def transitive(pairs: Mapping[Node, set[Node]]) -> dict[Node, set[Node]]:
    """For every node, what it reaches in one or more steps."""
    closed: dict[Node, set[Node]] = {}
    for start in pairs:
        reached: set[Node] = set()
        frontier = list(pairs[start])
        while frontier:
            node = frontier.pop()
            if node not in reached:
                reached.add(node)
                frontier.extend(pairs.get(node, ()))
        closed[start] = reached
    return closed
