"""Which rule depends on which, and the order in which they are applied (semantics 2.7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from spaseq.algebra.expressions import Constant, Exists, Var, walk
from spaseq.algebra.intervals import Rule
from spaseq.algebra.patterns import (
    Bgp,
    Graph,
    Group,
    IntervalJoin,
    Inverse,
    LeftJoin,
    Link,
    Minus,
    NegatedSet,
    Node,
    PathAlternative,
    PathRepeat,
    PathSequence,
    Pattern,
    Relation,
    Slice,
    TriplePattern,
)
from spaseq.algebra.scope import lowered, pattern_expressions, sub_patterns

Entailed = Callable[[TriplePattern], Iterable[TriplePattern]]
"""What may follow from a triple of a template, itself included."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A triple pattern of a rule: ``negative`` if more triples can mean fewer solutions at the same instant."""

    triple: TriplePattern
    negative: bool
    earlier: bool
    """Whether what it matches ended before the solution does: it stands on the left of a sequence."""


@dataclass(frozen=True, slots=True)
class Stratum:
    """Rules, by number, that are applied together; ``recursive`` if they feed themselves."""

    rules: tuple[int, ...]
    recursive: bool


class NegativeCycle(Exception):
    """Some rules depend on each other, and one of them on the absence of what the others produce."""

    def __init__(self, rules: tuple[int, ...]) -> None:
        super().__init__(rules)
        self.rules = rules


def readings(pattern: Pattern) -> Iterator[Reading]:
    """The triple patterns that may match occurrences."""
    yield from _readings(pattern, negative=False, earlier=False)


def _readings(pattern: Pattern, *, negative: bool, earlier: bool) -> Iterator[Reading]:
    match pattern:
        case Graph():
            return
        case Bgp(triples):
            yield from (Reading(triple, negative and not earlier, earlier) for triple in triples)
        case LeftJoin(left, right) | Minus(left, right):
            yield from _readings(left, negative=negative, earlier=earlier)
            yield from _readings(right, negative=True, earlier=earlier)
        case IntervalJoin(left, right, relation):
            before = relation in (Relation.SEQ, Relation.OPTIONALSEQ)
            yield from _readings(left, negative=negative, earlier=earlier or before)
            absent = negative or relation is Relation.EQUALSOPTIONAL
            yield from _readings(right, negative=absent, earlier=earlier)
        case _:
            counted = negative or isinstance(pattern, (Group, Slice))
            for part in sub_patterns(pattern):
                yield from _readings(part, negative=counted, earlier=earlier)
    for expression in pattern_expressions(pattern):
        for node in walk(expression):
            if isinstance(node, Exists):
                yield from _readings(lowered(node.pattern), negative=True, earlier=earlier)


def strata(rules: Sequence[Rule], entailed: Entailed = lambda triple: (triple,)) -> tuple[Stratum, ...]:
    """The rules in an order in which each comes behind those it depends on; `NegativeCycle` if there is none."""
    made = [[each for triple in rule.template for each in entailed(triple)] for rule in rules]
    needs: list[dict[int, bool]] = []
    for rule in rules:
        own: dict[int, bool] = {}
        for reading in readings(rule.pattern):
            for number, templates in enumerate(made):
                if any(unify(reading.triple, template) for template in templates):
                    own[number] = own.get(number, False) or reading.negative
        needs.append(own)
    found = []
    for component in _components([tuple(own) for own in needs]):
        for number in component:
            if any(negative and other in component for other, negative in needs[number].items()):
                raise NegativeCycle(tuple(sorted(component)))
        recursive = len(component) > 1 or component[0] in needs[component[0]]
        found.append(Stratum(tuple(sorted(component)), recursive))
    return tuple(found)


def unify(pattern: TriplePattern, template: TriplePattern) -> bool:
    """True if some triple may be both; a path reaches for any predicate in it."""
    if pattern.is_path:  # the nodes between its ends may be anything
        return any(_same(predicate, template.predicate) for predicate in _links(pattern.predicate))
    ends = [(pattern.subject, template.subject), (pattern.object, template.object)]
    return _same(pattern.predicate, template.predicate) and all(_same(own, other) for own, other in ends)


def _same(left: object, right: object) -> bool:
    return not (isinstance(left, Constant) and isinstance(right, Constant)) or left.term == right.term


def _links(path: object) -> Iterator[Node]:
    match path:
        case Link(iri):
            yield iri
        case Inverse(inner) | PathRepeat(inner):
            yield from _links(inner)
        case PathSequence(several) | PathAlternative(several):
            for part in several:
                yield from _links(part)
        case NegatedSet():
            yield Var("any")
        case _:
            raise AssertionError(path)


def _components(needs: Sequence[Sequence[int]]) -> list[tuple[int, ...]]:
    """The strongly connected components, each behind those it needs (Tarjan, without recursion: rules may be many)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    open_: dict[int, None] = {}
    found: list[tuple[int, ...]] = []
    for first in range(len(needs)):
        path = [] if first in index else [(first, iter(needs[first]))]
        while path:
            node, others = path[-1]
            if node not in index:
                index[node] = low[node] = len(index)
                open_[node] = None
            for other in others:
                if other not in index:
                    path.append((other, iter(needs[other])))
                    break
                if other in open_:
                    low[node] = min(low[node], index[other])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == index[node]:
                    component = [open_.popitem()[0]]
                    while component[-1] != node:
                        component.append(open_.popitem()[0])
                    found.append(tuple(reversed(component)))
    return found
