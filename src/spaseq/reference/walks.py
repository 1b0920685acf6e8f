"""Basic graph patterns and property paths over occurrences (semantics 2.3)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import TypeAlias

from spaseq.algebra.expressions import Constant, Term, Var
from spaseq.algebra.patterns import (
    Inverse,
    Link,
    NegatedSet,
    Path,
    PathAlternative,
    PathRepeat,
    PathSequence,
    TriplePattern,
    may_be_empty,
)
from spaseq.algebra.scope import triple_variables
from spaseq.reference.timed_solutions import (
    Found,
    Interval,
    Occurrence,
    Timed,
    TimedData,
    hull,
    joined,
    merged,
)

Walks: TypeAlias = dict[tuple[Term, Term, Interval], frozenset[Occurrence]]
"""From where, to where, when: what a path relates by at least one triple."""


def basic(triples: tuple[TriplePattern, ...], scene: TimedData) -> Found:
    """Every triple pattern at its own time; each path that may be empty once with and once without edges."""
    names = {name for triple in triples for name in triple_variables(triple)}
    begin = Timed(frozenset((n, t) for n, t in scene.seed.items() if n in names), None)
    matches = [_matches(triple, scene) for triple in triples]
    choices = [(False, True) if _optional(triple) else (False,) for triple in triples]
    items: list[tuple[Timed, frozenset[Occurrence]]] = []
    for choice in product(*choices):
        found: Found = {begin: frozenset()}
        for own, empty in zip(matches, choice, strict=True):
            found = found if empty else joined(found, own)
        found = _without_edges([t for t, empty in zip(triples, choice, strict=True) if empty], found, scene)
        items += found.items()
    return merged((Timed(_visible(s.mapping), s.interval), used) for s, used in items)


def _visible(mapping: frozenset[tuple[str, Term]]) -> frozenset[tuple[str, Term]]:
    """Blank nodes are dropped at the end of the basic graph pattern."""
    return frozenset((name, term) for name, term in mapping if not name.startswith("_:"))


def _optional(triple: TriplePattern) -> bool:
    return not isinstance(triple.predicate, (Var, Constant)) and may_be_empty(triple.predicate)


def _without_edges(paths: list[TriplePattern], found: Found, scene: TimedData) -> Found:
    """Each path relates a term to itself: one that something else binds, or else any of the background."""
    bound = {name for solution in found for name, _ in solution.mapping}
    left = list(paths)
    while left and found:
        known = [
            t for t in left if any(isinstance(n, Constant) or n.name in bound for n in (t.subject, t.object))
        ]
        path = (known or left)[0]
        left.remove(path)
        ends = (path.subject, path.object)
        able: Iterable[Term] = scene.terms
        if known:
            given = {n.term for n in ends if isinstance(n, Constant)}
            able = given | {term for s in found for name, term in s.mapping if Var(name) in ends}
        same: Found = {}
        for term in able:
            if all(isinstance(n, Var) or n.term == term for n in ends):
                same[Timed(frozenset((n.name, term) for n in ends if isinstance(n, Var)), None)] = frozenset()
        found = joined(found, same)
        bound |= {node.name for node in ends if isinstance(node, Var)}
    return found


def _matches(triple: TriplePattern, scene: TimedData) -> Found:
    """The solutions of one triple pattern that use a triple."""
    nodes: tuple[Var | Constant, ...]
    facts: Iterable[tuple[tuple[Term, ...], Interval, frozenset[Occurrence]]]
    if isinstance(triple.predicate, (Var, Constant)):
        nodes, facts = (triple.subject, triple.predicate, triple.object), scene.facts()
    else:
        nodes, walks = (triple.subject, triple.object), _walks(triple.predicate, scene)
        facts = (((start, end), when, used) for (start, end, when), used in walks.items())
    return merged(
        (Timed(mapping, when), used)
        for found, when, used in facts
        if (mapping := _bound(nodes, found)) is not None
    )


def _bound(nodes: tuple[Var | Constant, ...], terms: tuple[Term, ...]) -> frozenset[tuple[str, Term]] | None:
    mapping: dict[str, Term] = {}
    for node, term in zip(nodes, terms, strict=True):
        if (node.term if isinstance(node, Constant) else mapping.setdefault(node.name, term)) != term:
            return None
    return frozenset(mapping.items())


# --- paths --------------------------------------------------------------------------------------


def _walks(path: Path, scene: TimedData) -> Walks:
    """What a path relates by at least one triple, each edge at its own time."""
    found: Walks = {}
    match path:
        case Link() | NegatedSet():
            for (subject, predicate, object_), when, used in scene.facts():
                forward, backward = _directions(path, predicate)
                if forward:
                    _add(found, (subject, object_, when), used)
                if backward:
                    _add(found, (object_, subject, when), used)
        case Inverse(inner):
            for (start, end, when), used in _walks(inner, scene).items():
                _add(found, (end, start, when), used)
        case PathAlternative(parts):
            for part in parts:
                for walk, used in _walks(part, scene).items():
                    _add(found, walk, used)
        case PathSequence((first, *others)):
            found, empty = _walks(first, scene), may_be_empty(first)
            for part in others:
                found = _then(found, empty, _walks(part, scene), may_be_empty(part))
                empty = empty and may_be_empty(part)
        case PathRepeat(inner, op):
            edges = found = _walks(inner, scene)
            while op != "?" and (longer := _then(found, True, edges, True)) != found:
                found = longer
        case _:
            raise AssertionError(path)
    return found


def _directions(path: Link | NegatedSet, predicate: Term) -> tuple[bool, bool]:
    """Whether an edge of this predicate is taken forward, and whether backward."""
    if isinstance(path, Link):
        return predicate == path.iri.term, False
    forward = predicate not in [iri.term for iri in path.forward]
    backward = predicate not in [iri.term for iri in path.backward]
    return forward and bool(path.forward or not path.backward), backward and bool(path.backward)


def _then(first: Walks, first_empty: bool, second: Walks, second_empty: bool) -> Walks:
    """One walk after another; where one may be empty, the other alone."""
    found: Walks = {}
    for walk, used in (first if second_empty else {}).items():
        _add(found, walk, used)
    for walk, used in (second if first_empty else {}).items():
        _add(found, walk, used)
    for (start, middle, when), used in first.items():
        for (other, end, then), more in second.items():
            if middle == other:
                _add(found, (start, end, hull(when, then)), used | more)
    return found


def _add(found: Walks, walk: tuple[Term, Term, Interval], used: frozenset[Occurrence]) -> None:
    found[walk] = found.get(walk, frozenset()) | used
