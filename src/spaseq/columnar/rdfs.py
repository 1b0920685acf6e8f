"""The RDFS closure of a background graph: subclass, subproperty, domain and range (semantics 1.7).

The rules are rdfs2, rdfs3, rdfs5, rdfs7, rdfs9 and rdfs11 of RDF 1.1 Semantics; the axiomatic triples and
those that only say that everything is a resource are left out.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from pyoxigraph import BlankNode, NamedNode, Triple

Node = NamedNode | BlankNode

TYPE = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
SUB_CLASS = NamedNode(_RDFS + "subClassOf")
SUB_PROPERTY = NamedNode(_RDFS + "subPropertyOf")
DOMAIN = NamedNode(_RDFS + "domain")
RANGE = NamedNode(_RDFS + "range")
SCHEMA: Final = (SUB_CLASS, SUB_PROPERTY, DOMAIN, RANGE)
SchemaRelations = dict[NamedNode, dict[Node, set[Node]]]
"""By predicate of the schema, in this order, the nodes that it relates a node to."""


def rdfs_closure(triples: Iterable[Triple]) -> frozenset[Triple]:
    """The triples and what RDFS entails from them."""
    given = set(triples)
    while True:
        schema = schema_relations(given)
        grown = _entailed(given, schema)
        if not _about_itself(schema) or grown <= given:
            return frozenset(grown)
        given |= grown


def _about_itself(schema: SchemaRelations) -> bool:
    """True if the schema says something of its own predicates: then a rule may produce what starts it all again."""
    _, properties, domains, ranges = schema.values()
    said = {*properties, *domains, *ranges}.union(*properties.values())
    return not said.isdisjoint((TYPE, *SCHEMA))


def _entailed(triples: set[Triple], schema: SchemaRelations) -> set[Triple]:
    classes, properties = transitive(schema[SUB_CLASS]), transitive(schema[SUB_PROPERTY])
    domains, ranges = schema[DOMAIN], schema[RANGE]
    found = {Triple(low, SUB_CLASS, high) for low, highs in classes.items() for high in highs}
    found |= {Triple(low, SUB_PROPERTY, high) for low, highs in properties.items() for high in highs}
    facts = set(triples)
    for triple in triples if properties else ():
        for wider in properties.get(triple.predicate, ()):
            if isinstance(wider, NamedNode):
                facts.add(Triple(triple.subject, wider, triple.object))
    for triple in facts if domains or ranges else ():
        for kind in domains.get(triple.predicate, ()):
            found.add(Triple(triple.subject, TYPE, kind))
        if isinstance(triple.object, Node):
            for kind in ranges.get(triple.predicate, ()):
                found.add(Triple(triple.object, TYPE, kind))
    found |= facts
    for triple in [each for each in (found if domains or ranges else facts) if each.predicate == TYPE]:
        if isinstance(triple.object, Node):
            for wider in classes.get(triple.object, ()):
                found.add(Triple(triple.subject, TYPE, wider))
    return found


def schema_relations(triples: Iterable[Triple]) -> SchemaRelations:
    """The pairs of nodes that each predicate of the schema relates; a node is one object, however often it comes."""
    found: SchemaRelations = {predicate: defaultdict(set) for predicate in SCHEMA}
    nodes: dict[Node, Node] = {}
    for triple in triples:
        pairs = found.get(triple.predicate)
        if pairs is not None:
            subject, wider = triple.subject, triple.object
            if isinstance(subject, Node) and isinstance(wider, Node):
                pairs[nodes.setdefault(subject, subject)].add(nodes.setdefault(wider, wider))
    return found


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
