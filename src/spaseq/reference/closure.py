"""The stream completed by rules and RDFS, instant by instant (semantics 2.7 and 2.8)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from spaseq.algebra.expressions import Constant, Var
from spaseq.algebra.intervals import Rule
from spaseq.algebra.patterns import TriplePattern
from spaseq.algebra.strata import strata
from spaseq.errors import LimitReached
from spaseq.reference.answers import constructed
from spaseq.reference.intervals import evaluate
from spaseq.reference.sparql import Knowledge
from spaseq.reference.timed_solutions import Occurrence, Timed, TimedData, ends_of
from spaseq.temporal.instants import format_instant

RDF_TYPE = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
SUB_CLASS, SUB_PROPERTY = NamedNode(_RDFS + "subClassOf"), NamedNode(_RDFS + "subPropertyOf")
DOMAIN, RANGE = NamedNode(_RDFS + "domain"), NamedNode(_RDFS + "range")


@dataclass(frozen=True)
class Closure:
    """All that queries read, and which occurrences the rules produced."""

    scene: TimedData
    produced: frozenset[Occurrence]


def closed(
    rules: Sequence[Rule],
    given: Iterable[Occurrence],
    knowledge: Knowledge,
    *,
    rdfs: bool = False,
    limit: int = 100_000,
) -> Closure:
    """The background first, then instant by instant what ends there, completed by the rules stratum by stratum."""
    graphs = {name: frozenset(graph) for name, graph in knowledge.items()}
    background = frozenset[Triple]().union(*graphs.values())
    entailed: Callable[[Iterable[Triple]], frozenset[Triple]] = frozenset
    schema = frozenset[Triple]()
    if rdfs:
        background = rdfs_closure(background)
        schema = background
        graphs = {name: rdfs_closure(graph) for name, graph in graphs.items()}

        def entailed(triples: Iterable[Triple]) -> frozenset[Triple]:
            return rdfs_closure(triples, schema)

    order = [each.rules for each in strata(rules, lambda triple: entailed_patterns(triple, schema))]
    scene = TimedData(frozenset(), background, ends_of(background), graphs)
    for stratum in order:
        while True:
            timeless = {t for t, when in _produced(rules, stratum, scene) if when is None}
            more = scene.background | entailed(timeless)
            if more == scene.background:
                break
            _check(len(more - background), limit, "in the background", stratum)
            scene = replace(scene, background=more)
    produced: set[Occurrence] = set()
    occurrences = frozenset(given)
    for instant in sorted({occurrence.end for occurrence in occurrences}):
        now = {each for each in occurrences if each.end == instant}
        scene = _with(scene, now, entailed)
        made: set[Occurrence] = set()
        for stratum in order:
            while True:
                found = {
                    Occurrence(triple, *when)
                    for triple, when in _produced(rules, stratum, scene)
                    if when is not None and when[1] == instant
                }
                if found <= made:
                    break
                made |= found
                _check(len(made), limit, f"at {format_instant(instant)}", stratum)
                scene = _with(scene, found, entailed)
        produced |= made
    return Closure(scene, frozenset(produced))


def _with(
    scene: TimedData, new: Iterable[Occurrence], entailed: Callable[[Iterable[Triple]], frozenset[Triple]]
) -> TimedData:
    """More occurrences, and what they entail with their own intervals."""
    more = {Occurrence(t, each.start, each.end) for each in new for t in entailed((each.triple,))}
    return replace(scene, occurrences=scene.occurrences | more)


def _check(many: int, limit: int, when: str, stratum: tuple[int, ...]) -> None:
    if many > limit:
        names = ", ".join(str(number + 1) for number in stratum)
        raise LimitReached(f"the rules {names} produce more than {limit:,} occurrences {when}")


def _produced(
    rules: Sequence[Rule], stratum: tuple[int, ...], scene: TimedData
) -> Iterator[tuple[Triple, tuple[int, int] | None]]:
    """The templates of some rules under all solutions that bind their variables."""
    for number in stratum:
        rule = rules[number]
        nodes = [node for t in rule.template for node in (t.subject, t.predicate, t.object)]
        needed = {node.name for node in nodes if isinstance(node, Var) and not node.hidden}
        for solution in evaluate(rule.pattern, scene):
            mapping = dict(solution.mapping)
            if needed <= set(mapping):
                for triple in constructed(rule.template, mapping, _label(number, solution)):
                    yield triple, solution.interval


def _label(number: int, solution: Timed) -> str:
    """What makes a blank node of the template: the rule and the solution."""
    terms = sorted((name, str(term)) for name, term in solution.mapping)
    text = f"{number} {solution.interval} {terms}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


# --- RDFS (2.8) ---------------------------------------------------------------------------------


def rdfs_closure(triples: Iterable[Triple], schema: frozenset[Triple] | None = None) -> frozenset[Triple]:
    """What rdfs2, 3, 5, 7, 9 and 11 make of some triples: with their own schema, or with one that is given."""
    found = set(triples)
    while True:
        new = set(_steps(found, schema)) - found
        if not new:
            return frozenset(found)
        found |= new


def _steps(triples: Iterable[Triple], schema: frozenset[Triple] | None) -> Iterator[Triple]:
    """One step; beside a given schema triples are data only, those that it has, too."""
    by_predicate: dict[NamedNode, list[Triple]] = {}
    for each in triples if schema is None else schema:
        by_predicate.setdefault(each.predicate, []).append(each)
    for t in triples:
        s, p, o = t.subject, t.predicate, t.object
        for rule in by_predicate.get(DOMAIN, ()):
            if rule.subject == p and not isinstance(rule.object, Literal):
                yield Triple(s, RDF_TYPE, rule.object)
        for rule in by_predicate.get(RANGE, ()):
            if rule.subject == p and not isinstance(rule.object, Literal) and not isinstance(o, Literal):
                yield Triple(o, RDF_TYPE, rule.object)
        for rule in by_predicate.get(SUB_PROPERTY, ()):
            if rule.subject == p and isinstance(rule.object, NamedNode):
                yield Triple(s, rule.object, o)
            if p == SUB_PROPERTY and rule.subject == o and schema is None:
                yield Triple(s, SUB_PROPERTY, rule.object)
        for rule in by_predicate.get(SUB_CLASS, ()):
            if p == RDF_TYPE and rule.subject == o:
                yield Triple(s, RDF_TYPE, rule.object)
            if p == SUB_CLASS and rule.subject == o and schema is None:
                yield Triple(s, SUB_CLASS, rule.object)


def entailed_patterns(triple: TriplePattern, schema: Iterable[Triple]) -> Iterator[TriplePattern]:
    """What RDFS may make of a template's triple, itself included, as patterns; variables match anything."""
    found, last = {triple}, {triple}
    while last:
        last = {new for each in last for entry in schema for new in _entailed_by(each, entry)} - found
        found |= last
    yield from found


def _entailed_by(triple: TriplePattern, schema: Triple) -> Iterator[TriplePattern]:
    """What one triple of the schema makes of a pattern."""
    low, high = schema.subject, schema.object
    if not isinstance(high, (NamedNode, BlankNode)):
        return
    of_predicate = isinstance(low, NamedNode) and _may_be(triple.predicate, low)
    if schema.predicate == DOMAIN and of_predicate:
        yield TriplePattern(triple.subject, Constant(RDF_TYPE), Constant(high))
    if schema.predicate == RANGE and of_predicate and not _is_literal(triple.object):
        yield TriplePattern(triple.object, Constant(RDF_TYPE), Constant(high))
    if schema.predicate == SUB_PROPERTY and of_predicate and isinstance(high, NamedNode):
        yield TriplePattern(triple.subject, Constant(high), triple.object)
    if schema.predicate == SUB_CLASS and _may_be(triple.predicate, RDF_TYPE) and _may_be(triple.object, low):
        yield TriplePattern(triple.subject, Constant(RDF_TYPE), Constant(high))


def _may_be(node: object, term: object) -> bool:
    return not isinstance(node, Constant) or node.term == term


def _is_literal(node: object) -> bool:
    return isinstance(node, Constant) and isinstance(node.term, Literal)
