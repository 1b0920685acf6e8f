"""EXISTS: what the outer solution changes in a pattern otherwise than by a join (semantics 2.3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from spaseq.algebra.expressions import Call, Expression, Var, rebuild
from spaseq.algebra.path_lengths import may_be_empty, proper_walks
from spaseq.algebra.patterns import Bgp, Filter, Pattern, TriplePattern

Names = dict[str, str]
"""What variables are called instead."""


def seen_from(pattern: Pattern, outer: frozenset[str]) -> Iterator[Pattern]:
    """A pattern as alternatives: a path that may have no length has none at a term that the outer solution binds."""
    for each, _ in _alternatives(pattern, outer):
        yield each


def _alternatives(pattern: Pattern, outer: frozenset[str]) -> Iterator[tuple[Pattern, Names]]:
    if isinstance(pattern, Filter):
        for inner, names in _alternatives(pattern.pattern, outer):
            yield Filter(inner, renamed(pattern.condition, names)), names
    elif isinstance(pattern, Bgp):
        yield from _of_triples(pattern.triples, outer, {})
    else:
        yield pattern, {}


def _of_triples(
    triples: tuple[TriplePattern, ...], outer: frozenset[str], names: Names
) -> Iterator[tuple[Pattern, Names]]:
    for triple in triples:
        ends = [node for node in (triple.subject, triple.object) if isinstance(node, Var)]
        if not (triple.is_path and may_be_empty(triple.predicate) and any(end.name in outer for end in ends)):
            continue
        others = tuple(each for each in triples if each is not triple)
        if (walks := proper_walks(triple.predicate)) is not None:
            yield from _of_triples((replace(triple, predicate=walks), *others), outer, names)
        # Without length, its two ends are one.
        own = [end for end in ends if end.name not in outer]
        if own:
            (kept,) = (end for end in ends if end.name in outer)
            moved = tuple(_moved(each, own[0], kept) for each in others)
            yield from _of_triples(moved, outer, {**names, own[0].name: kept.name})
        else:
            same = Call("SAMETERM", (triple.subject, triple.object))
            for inner, more in _of_triples(others, outer, names):
                yield Filter(inner, same), more
        return
    yield Bgp(triples), names


def _moved(triple: TriplePattern, own: Var, kept: Var) -> TriplePattern:
    """A triple pattern with one variable for another."""
    subject = kept if triple.subject == own else triple.subject
    return replace(triple, subject=subject, object=kept if triple.object == own else triple.object)


def renamed(expression: Expression, names: Mapping[str, str]) -> Expression:
    """An expression over variables of other names."""
    if isinstance(expression, Var):
        return Var(names.get(expression.name, expression.name))
    return rebuild(expression, lambda part: renamed(part, names)) if names else expression
