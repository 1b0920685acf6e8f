"""Who sees which variable: across steps, inside one conjunction, and after the whole sequence.

semantics 1.4 (stateful parts read earlier steps and their own conjunction) and 1.6 (the variables of a
negated GPM are not visible outside).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from spaseq.algebra.events import (
    AskForm,
    Assignment,
    Body,
    Both,
    ConstructForm,
    Either,
    Element,
    EventQuery,
    Gpm,
    Permute,
    Repeat,
    SelectForm,
    Sequence,
    Step,
    gpms,
    inner_steps,
    leaves,
)
from spaseq.algebra.expressions import Constant, Exists, Expression, Var, walk
from spaseq.algebra.patterns import Bgp, Graph, Pattern, TriplePattern
from spaseq.algebra.scope import (
    certainly_bound,
    expression_variables,
    in_scope,
    lowered,
    ordered,
    pattern_expressions,
    sub_patterns,
    triple_variables,
)


def bindable(gpm: Gpm) -> tuple[str, ...]:
    """The variables a GPM may bind, its stateful BINDs included, in order of first occurrence."""
    assigned = (part.variable.name for part in gpm.stateful if isinstance(part, Assignment))
    return tuple(name for name in ordered((*in_scope(gpm.pattern), *assigned)) if not name.startswith("_:"))


def certain(gpm: Gpm) -> frozenset[str]:
    """The variables that every mapping of the GPM binds by itself."""
    return frozenset(name for name in certainly_bound(gpm.pattern) if not name.startswith("_:"))


def needed_variables(query: EventQuery) -> frozenset[str]:
    """The variables whose values matter behind the GPM stage: those that join, are asked about, or are answered.

    The others still make mappings different from each other, which is what rows are for; their values stay behind.
    """
    read = {part.expression for gpm in query.gpms for part in gpm.stateful}
    named = set(query.shared) | set(query.partition)
    named |= {
        part.variable.name for gpm in query.gpms for part in gpm.stateful if isinstance(part, Assignment)
    }
    uses = Counter(name for gpm in query.gpms for name in bindable(gpm))
    named |= {name for name, count in uses.items() if count > 1}
    match query.form:
        case SelectForm(items):
            named |= {item.variable.name for item in items}
            read |= {item.expression for item in items if item.expression is not None}
        case ConstructForm(template):
            nodes = (
                node for triple in template for node in (triple.subject, triple.predicate, triple.object)
            )
            named |= {node.name for node in nodes if isinstance(node, Var)}
        case AskForm():
            pass
    return frozenset(named).union(*(expression_variables(expression) for expression in read))


class Visibility:
    """Where the GPMs of a sequence stand and who sees which variable, worked out once: a query may have thousands."""

    def __init__(self, sequence: Sequence, partition: tuple[str, ...] = ()) -> None:
        self.gpms: dict[str, Gpm] = {}
        """The GPMs by name, in the order of the text."""
        self._partition = frozenset(partition)
        self._around: dict[str, tuple[Step, ...]] = {}
        self._way: dict[str, Way] = {}
        self._leaf: dict[str, int] = {}
        self._order: dict[str, int] = {}
        self._binders: dict[str, list[str]] = {}
        self._first: dict[str, int] = {}
        for index, (step, outer) in enumerate(_leaves(sequence, ())):
            for gpm, way in _ways(step.element):
                if gpm.name not in self.gpms:  # a name that stands twice is an error of its own
                    self._add(gpm, way, index, (*outer, step))

    def _add(self, gpm: Gpm, way: Way, leaf: int, around: tuple[Step, ...]) -> None:
        self._order[gpm.name] = len(self.gpms)
        self.gpms[gpm.name], self._way[gpm.name] = gpm, way
        self._leaf[gpm.name], self._around[gpm.name] = leaf, around
        for name in bindable(gpm):
            self._binders.setdefault(name, []).append(gpm.name)
            if not around[-1].negated:
                self._first.setdefault(name, leaf)

    def around(self, gpm: str) -> tuple[Step, ...]:
        """The steps that a GPM stands in, from the outermost to its own."""
        return self._around.get(gpm, ())

    def order(self, gpm: str) -> int:
        """The place of a GPM in the text."""
        return self._order[gpm]

    def negated(self, gpm: str) -> bool:
        """True if a GPM must not occur."""
        return any(step.negated for step in self.around(gpm))

    def repetitions(self, gpm: str) -> tuple[int, ...]:
        """The repetitions that a GPM stands in, from the outermost to the innermost, by the numbers of their steps."""
        return tuple(step.number for step in self.around(gpm) if isinstance(step.quantifier, Repeat))

    def repeated(self) -> tuple[str, ...]:
        """The GPMs in a repetition: under a Kleene plus, a star or bounds, or in a group that is."""
        return tuple(name for name in self.gpms if self.repetitions(name))

    @property
    def variables(self) -> tuple[str, ...]:
        """All variables that some GPM may bind, in the order of the text."""
        return tuple(self._binders)

    def binders(self, variable: str) -> tuple[str, ...]:
        """The GPMs that may bind a variable, in the order of the text."""
        return tuple(self._binders.get(variable, ()))

    def together(self, one: str, other: str) -> bool:
        """True if two GPMs stand in a conjunction: that is where their ways part."""
        if self._leaf.get(one, -1) != self._leaf.get(other, -2):
            return False
        parting = (a for a, b in zip(self._way[one], self._way[other], strict=False) if a != b)
        return next(parting, ("", 0))[0] == "&"

    def in_any_order(self, one: str, other: str) -> bool:
        """True if two GPMs are in different items of a permutation."""
        shared = [
            a for a, b in zip(self.around(one), self.around(other), strict=False) if a.number == b.number
        ]
        return bool(shared) and isinstance(shared[-1].body, Permute)

    def sees(self, gpm: str, variable: str) -> bool:
        """True if stateful parts of a GPM may read a variable that is not its own.

        One that a step earlier in the text may bind, negated ones excepted, that its own conjunction may bind, or
        another item of its permutation, which may come before it.
        """
        here = self._leaf.get(gpm)
        if here is None:  # SEQ does not name it, which is an error of its own
            return variable in self._first
        return self._first.get(variable, here) < here or any(
            self.together(gpm, other) or self.in_any_order(gpm, other)
            for other in self._binders.get(variable, ())
        )

    def seen(self, gpm: str) -> frozenset[str]:
        """All variables that a GPM sees."""
        return frozenset(name for name in self._binders if self.sees(gpm, name))

    def decided_outside(self, gpm: str, variable: str) -> bool:
        """True if a variable may have a value before the GPM's event binds it.

        What it sees, what the partition binds (semantics 1.9), and inside a repetition what it shares with other GPMs:
        earlier iterations bind that (1.5).
        """
        if variable in self._partition or self.sees(gpm, variable):
            return True
        binders = self._binders.get(variable, ())
        return len(binders) > 1 and gpm in binders and bool(self.repetitions(gpm))


Way: TypeAlias = tuple[tuple[str, int], ...]
"""From a step to one of its GPMs: at every conjunction (``&``) and disjunction (``|``) which part."""


def _ways(element: Element, way: Way = ()) -> Iterator[tuple[Gpm, Way]]:
    match element:
        case Gpm():
            yield element, way
        case Both(parts) | Either(parts):
            kind = "&" if isinstance(element, Both) else "|"
            for number, part in enumerate(parts):
                yield from _ways(part, (*way, (kind, number)))


def _leaves(body: Body, outer: tuple[Step, ...]) -> Iterator[tuple[Step, tuple[Step, ...]]]:
    """The steps of one instant each, with the groups around them."""
    for step in inner_steps(body):
        if step.is_group:
            yield from _leaves(step.body, (*outer, step))
        else:
            yield step, outer


def result_variables(sequence: Sequence) -> tuple[str, ...]:
    """The variables a match may bind, in the order of the steps; what ``SELECT *`` selects."""
    return ordered(
        name
        for step in leaves(sequence)
        if not step.negated
        for gpm in gpms(step.body)
        for name in bindable(gpm)
    )


def event_triples(pattern: Pattern) -> tuple[TriplePattern, ...]:
    """The triple patterns over an event's own triples, those in EXISTS included; not GRAPH, not paths."""
    match pattern:
        case Bgp(triples):
            return tuple(triple for triple in triples if not triple.is_path)
        case Graph():
            return ()
        case _:
            inner = (part for e in pattern_expressions(pattern) for part in _exists_in(e))
            return tuple(t for part in (*sub_patterns(pattern), *inner) for t in event_triples(part))


def _exists_in(expression: Expression) -> Iterator[Pattern]:
    return (lowered(node.pattern) for node in walk(expression) if isinstance(node, Exists))


def key_triples(gpm: Gpm, variable: str) -> tuple[TriplePattern, ...]:
    """The triple patterns of a GPM from which a partition key is read (semantics 1.9)."""
    if variable not in in_scope(gpm.pattern):
        return ()
    patterns = (gpm.pattern, *(part for condition in gpm.filters for part in _exists_in(condition)))
    return tuple(t for part in patterns for t in event_triples(part) if variable in triple_variables(t))


def every_pattern(pattern: Pattern) -> Iterator[Pattern]:
    """The pattern and all patterns below it, those inside EXISTS included."""
    yield pattern
    for part in (*sub_patterns(pattern), *exists_patterns(pattern)):
        yield from every_pattern(part)


def exists_patterns(pattern: Pattern) -> Iterator[Pattern]:
    """The patterns of EXISTS in the expressions at the root of a pattern."""
    for expression in pattern_expressions(pattern):
        for node in walk(expression):
            if isinstance(node, Exists):
                yield lowered(node.pattern)


def patterns_in(expression: Expression) -> Iterator[Pattern]:
    """The patterns of the EXISTS in an expression, and all patterns below them."""
    for node in walk(expression):
        if isinstance(node, Exists):
            yield from every_pattern(lowered(node.pattern))


def gpm_patterns(gpm: Gpm) -> Iterator[Pattern]:
    """Every pattern of a GPM, wherever a rule may have moved it."""
    yield from every_pattern(gpm.pattern)
    for condition in gpm.filters:
        yield from patterns_in(condition)


def knowledge_graphs(query: EventQuery) -> tuple[tuple[str, ...], bool]:
    """The background graphs the query names, and whether some ``GRAPH ?g`` ranges over all of them."""
    return graphs_read(pattern for gpm in query.gpms for pattern in gpm_patterns(gpm))


def graphs_read(patterns: Iterable[Pattern]) -> tuple[tuple[str, ...], bool]:
    """The background graphs that these patterns are, and whether some ``GRAPH ?g`` is among them."""
    names = [pattern.name for pattern in patterns if isinstance(pattern, Graph)]
    iris = ordered(name.term.value for name in names if isinstance(name, Constant))
    return iris, any(isinstance(name, Var) for name in names)
