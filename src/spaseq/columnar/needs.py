"""What a pattern needs to see: predicates of the events, background graphs, and where it leaves the fast path."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from pyoxigraph import NamedNode

from spaseq.algebra.expressions import Aggregate, Call, Constant, Expression, FunctionCall, walk
from spaseq.algebra.patterns import (
    Bgp,
    Graph,
    Group,
    Inverse,
    Link,
    NegatedSet,
    Path,
    PathAlternative,
    PathRepeat,
    PathSequence,
    Pattern,
    TriplePattern,
)
from spaseq.algebra.scope import pattern_expressions, sub_patterns
from spaseq.algebra.visibility import every_pattern, exists_patterns
from spaseq.columnar.kernels.function_table import by_oracle
from spaseq.columnar.property_paths import nullable


@dataclass(frozen=True, slots=True)
class Fallback:
    """A part of a pattern that is not computed as columns, and why."""

    part: str
    reason: str


def needed_predicates(pattern: Pattern) -> frozenset[NamedNode] | None:
    """The predicates of event triples the pattern can see; None if it may need any triple.

    A reader may leave out every other triple of an event (SPECTRA's graph summary) without changing the
    solutions. GRAPH reads the background, so what is inside it needs nothing of the event.
    """
    needed: set[NamedNode] = set()
    waiting = [pattern]
    while waiting:
        current = waiting.pop()
        if isinstance(current, Graph):
            continue
        if isinstance(current, Bgp):
            for triple in current.triples:
                found = _of_triple(triple)
                if found is None:
                    return None
                needed |= found
        waiting += [*sub_patterns(current), *exists_patterns(current)]
    return frozenset(needed)


def named_predicates(pattern: Pattern) -> frozenset[NamedNode]:
    """The predicates that a pattern names for event triples, in paths as well; not those of background graphs."""
    found: set[NamedNode] = set()
    waiting = [pattern]
    while waiting:
        current = waiting.pop()
        if isinstance(current, Graph):
            continue
        for triple in current.triples if isinstance(current, Bgp) else ():
            predicate = triple.predicate
            if isinstance(predicate, Constant):
                found |= {predicate.term} if isinstance(predicate.term, NamedNode) else set()
            elif triple.is_path:
                found |= {link for link in _links(predicate) if link is not None}  # type: ignore[arg-type]
        waiting += [*sub_patterns(current), *exists_patterns(current)]
    return frozenset(found)


def _of_triple(triple: TriplePattern) -> set[NamedNode] | None:
    predicate = triple.predicate
    if isinstance(predicate, Constant):
        return {predicate.term} if isinstance(predicate.term, NamedNode) else set()
    if not triple.is_path:
        return None
    path: Path = predicate  # type: ignore[assignment]
    anchored = isinstance(triple.subject, Constant) or isinstance(triple.object, Constant)
    if nullable(path) and not anchored:  # relates every node of the graph to itself
        return None
    links = list(_links(path))
    return None if None in links else {link for link in links if link is not None}


def _links(path: Path) -> Iterator[NamedNode | None]:
    """The predicates of a path; None stands for any."""
    match path:
        case Link(iri):
            yield iri.term if isinstance(iri.term, NamedNode) else None
        case Inverse(inner) | PathRepeat(inner):
            yield from _links(inner)
        case PathSequence(members) | PathAlternative(members):
            for member in members:
                yield from _links(member)
        case NegatedSet():
            yield None
        case _:
            assert_never(path)


def graph_names(pattern: Pattern) -> frozenset[str]:
    """The IRIs of the background graphs that the pattern names."""
    return frozenset(
        part.name.term.value
        for part in every_pattern(pattern)
        if isinstance(part, Graph)
        and isinstance(part.name, Constant)
        and isinstance(part.name.term, NamedNode)
    )


def fallbacks(pattern: Pattern) -> tuple[Fallback, ...]:
    """The parts that pyoxigraph computes, once per distinct combination of arguments."""
    found: dict[str, Fallback] = {}
    for part in every_pattern(pattern):
        for expression in pattern_expressions(part):
            for name in _asked(expression):
                found.setdefault(name, Fallback(name, "pyoxigraph computes it once per distinct argument"))
        if isinstance(part, Group):
            for _, item in part.aggregates:
                if isinstance(item, Aggregate) and item.name in ("SUM", "AVG", "GROUP_CONCAT"):
                    reason = "pyoxigraph computes it once per group"
                    found.setdefault(item.name, Fallback(item.name, reason))
    return tuple(found.values())


def _asked(expression: Expression) -> Iterator[str]:
    for node in walk(expression):
        if isinstance(node, Call) and by_oracle(node.name):
            yield node.name
        if isinstance(node, FunctionCall):
            yield str(node.function.term)
