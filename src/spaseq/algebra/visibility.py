"""Who sees which variable: across steps, inside one conjunction, and after the whole sequence.

SEMANTICS 1.4 (stateful parts read earlier steps and their own conjunction) and 1.6 (the variables of a
negated GPM are not visible outside).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from spaseq.algebra.events import (
    AskForm,
    Assignment,
    ConstructForm,
    EventQuery,
    Gpm,
    Permute,
    Repeat,
    SelectForm,
    Sequence,
    around,
    choices,
    gpms,
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


def partners(sequence: Sequence, name: str) -> frozenset[str]:
    """The names of the GPMs that stand in a conjunction with this one."""
    return frozenset(
        other.name
        for step in leaves(sequence)
        for choice in choices(step.element)
        if any(gpm.name == name for gpm in choice)
        for other in choice
        if other.name != name
    )


def seen_by(sequence: Sequence, name: str) -> frozenset[str]:
    """The variables that stateful parts of a GPM may read beyond its own.

    Those that steps earlier in the text may bind, negated ones excepted, those of its own conjunction, and those of the
    other items of its permutation, which may come before it.
    """
    seen: set[str] = set()
    for step in leaves(sequence):
        here = {gpm.name: gpm for gpm in gpms(step.body)}
        if name in here:
            for partner in partners(sequence, name):
                seen.update(bindable(here[partner]))
            break
        if not step.negated:
            for gpm in here.values():
                seen.update(bindable(gpm))
    for step in around(sequence, name):
        if isinstance(step.body, Permute):
            seen.update(
                variable
                for item in step.body.items
                for gpm in gpms(item.body)
                if all(other.name != name for other in gpms(item.body))
                for variable in bindable(gpm)
            )
    return frozenset(seen)


def decided_outside(sequence: Sequence, partition: tuple[str, ...], name: str) -> frozenset[str]:
    """The variables of a GPM's stateful parts that may have a value before its event binds them.

    What earlier steps and the conjunction bind, what the partition binds (SEMANTICS 1.9), and inside a
    repetition what it shares with other GPMs: earlier iterations bind that (1.5).
    """
    every = list(gpms(sequence))
    own = frozenset(n for gpm in repeated_gpms(sequence) if gpm.name == name for n in bindable(gpm))
    others = frozenset(n for gpm in every if gpm.name != name for n in bindable(gpm))
    return seen_by(sequence, name) | frozenset(partition) | (own & others)


def result_variables(sequence: Sequence) -> tuple[str, ...]:
    """The variables a match may bind, in the order of the steps; what ``SELECT *`` selects."""
    return ordered(
        name
        for step in leaves(sequence)
        if not step.negated
        for gpm in gpms(step.body)
        for name in bindable(gpm)
    )


def repeated_gpms(sequence: Sequence) -> tuple[Gpm, ...]:
    """The GPMs in a repetition: under a Kleene plus, a star or bounds, or in a group that is."""
    return tuple(gpm for gpm in gpms(sequence) if repetitions(sequence, gpm.name))


def repetitions(sequence: Sequence, name: str) -> tuple[int, ...]:
    """The repetitions that a GPM stands in, from the outermost to the innermost, by the numbers of their steps."""
    return tuple(step.number for step in around(sequence, name) if isinstance(step.quantifier, Repeat))


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
    """The triple patterns of a GPM from which a partition key is read (SEMANTICS 1.9)."""
    if variable not in in_scope(gpm.pattern):
        return ()
    patterns = (gpm.pattern, *(part for condition in gpm.filters for part in _exists_in(condition)))
    return tuple(t for part in patterns for t in event_triples(part) if variable in triple_variables(t))


def every_pattern(pattern: Pattern) -> Iterator[Pattern]:
    """The pattern and all patterns below it, those inside EXISTS included."""
    yield pattern
    for expression in pattern_expressions(pattern):
        yield from patterns_in(expression)
    for part in sub_patterns(pattern):
        yield from every_pattern(part)


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
    names = [
        pattern.name for gpm in query.gpms for pattern in gpm_patterns(gpm) if isinstance(pattern, Graph)
    ]
    iris = ordered(name.term.value for name in names if isinstance(name, Constant))
    return iris, any(isinstance(name, Var) for name in names)
