"""EXISTS: a pattern as the solution sees it that it is tested for (SPARQL 1.1, 18.6).

Substituting what a solution binds is often no more than a join with the pattern's own solutions; `is_join` says when.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

from pyoxigraph import Literal

from spaseq.algebra.expressions import Call, Constant, Exists, Expression, Or, Term, Unary, Var
from spaseq.algebra.path_lengths import may_be_empty
from spaseq.algebra.patterns import (
    Bgp,
    Distinct,
    EventMatch,
    Extend,
    Filter,
    Graph,
    Group,
    IntervalJoin,
    Join,
    LeftJoin,
    Minus,
    OrderBy,
    Pattern,
    Project,
    Relation,
    Slice,
    TriplePattern,
    Union,
    Values,
)
from spaseq.algebra.scope import certainly_bound, expression_variables, lowered, mentioned, triple_variables
from spaseq.errors import Span

Solution = Mapping[str, Term]


def substituted(pattern: Pattern, solution: Solution) -> Pattern:
    """A pattern in which the variables of a solution have their values; a sub-SELECT sees those that it selects."""
    match pattern:
        case Bgp(triples):
            found: Pattern = Bgp(tuple(_triple(each, solution) for each in triples))
            for name in dict.fromkeys(name for each in triples for name in triple_variables(each)):
                if name in solution:  # it is still bound, for what compares solutions by their variables
                    found = Extend(found, Var(name), Constant(solution[name]))
            return found
        case Extend(inner, variable, expression):
            changed: Pattern = Extend(
                substituted(inner, solution), variable, with_values(expression, solution)
            )
            return _agreeing(changed, (variable,), solution)
        case Values(variables, rows):
            known = [solution.get(variable.name) for variable in variables]
            fitting = (
                row
                for row in rows
                if all(
                    term is None or value is None or term == value
                    for term, value in zip(row, known, strict=True)
                )
            )
            return Values(variables, tuple(fitting))
        case Graph(Var(name), inner) if name in solution:
            graph = Graph(Constant(solution[name]), substituted(inner, solution))
            return Extend(graph, Var(name), Constant(solution[name]))
        case Project(inner, variables):
            names = {variable.name for variable in variables}
            seen = {name: term for name, term in solution.items() if name in names}
            return Project(substituted(inner, seen), variables)
        case Group(inner, keys, aggregates):
            grouped = Group(
                substituted(inner, solution),
                tuple((variable, with_values(key, solution)) for variable, key in keys),
                tuple((variable, with_values(each, solution)) for variable, each in aggregates),
            )
            return _agreeing(grouped, (variable for variable, _ in keys), solution)
        case _:
            return _parts(pattern, solution)  # type: ignore[no-any-return]


def _agreeing(pattern: Pattern, computed: Iterable[Var], solution: Solution) -> Pattern:
    """The solutions of a pattern that compute for some variables what a solution binds, or nothing."""
    for variable in computed:
        if variable.name in solution:
            same = Call("SAMETERM", (variable, Constant(solution[variable.name])))
            pattern = Filter(pattern, Or(Unary("!", Call("BOUND", (variable,))), same))
    return pattern


def _triple(triple: TriplePattern, solution: Solution) -> TriplePattern:
    nodes = {
        place: Constant(solution[node.name])
        for place in ("subject", "predicate", "object")
        if isinstance(node := getattr(triple, place), Var) and node.name in solution
    }
    return replace(triple, **nodes)  # type: ignore[arg-type]


def with_values(expression: Expression, solution: Solution) -> Expression:
    """An expression in which the variables of a solution have their values."""
    return _parts(expression, solution)  # type: ignore[no-any-return]


def _parts(node: Any, solution: Solution) -> Any:
    """Any other pattern or expression: the same over its parts."""
    match node:
        case Bgp() | Extend() | Values() | Project() | Group():
            return substituted(node, solution)
        case Graph(Var(name)) if name in solution:
            return substituted(node, solution)
        case Call("BOUND", (Var(name),)) if name in solution:
            return Constant(Literal(True))
        case Var(name):
            return Constant(solution[name]) if name in solution else node
        case Exists(inner):
            return replace(node, pattern=substituted(lowered(inner), solution))
        case Constant() | Span():
            return node
        case tuple():
            return tuple(_parts(part, solution) for part in node)
        case _ if is_dataclass(node) and not isinstance(node, type):
            changed = {item.name: _parts(getattr(node, item.name), solution) for item in fields(node)}
            return replace(node, **changed)
        case _:
            return node


def is_join(pattern: Pattern, outer: frozenset[str]) -> bool:
    """True if the substituted pattern has solutions exactly where the pattern has one that is compatible."""

    def reads(expression: Expression, inner: Pattern) -> bool:
        """Whether an expression reads more of the outer solution than the inner pattern binds anyway."""
        return not expression_variables(expression) & outer <= certainly_bound(inner)

    match pattern:
        case Bgp(triples):
            free = (each for each in triples if each.is_path and may_be_empty(each.predicate))
            return not any(outer.intersection(triple_variables(each)) for each in free)
        case (
            Values() | EventMatch()
        ):  # nothing is put into MATCH: its solutions are joined like those of a sub-SELECT
            return True
        case Join(left, right) | Union(left, right):
            return is_join(left, outer) and is_join(right, outer)
        case IntervalJoin(left, right, Relation.SEQ | Relation.EQUALS):
            return is_join(left, outer) and is_join(right, outer)
        case IntervalJoin(left, right, relation):
            mandatory = right if relation is Relation.OPTIONALSEQ else left
            return is_join(mandatory, outer) and mentioned(pattern) & outer <= certainly_bound(mandatory)
        case LeftJoin(left) | Minus(left):
            return is_join(left, outer) and mentioned(pattern) & outer <= certainly_bound(left)
        case Filter(inner, condition):
            return is_join(inner, outer) and not reads(condition, inner)
        case Extend(inner, variable, expression):
            return is_join(inner, outer) and variable.name not in outer and not reads(expression, inner)
        case Graph(_, inner) | OrderBy(inner) | Distinct(inner):
            return is_join(inner, outer)
        case Project(inner, variables):
            seen = outer.intersection(variable.name for variable in variables)
            return is_join(inner, seen - _computed(inner))
        case Group(inner, keys):
            named = {variable.name for variable, key in keys if key == variable}
            return is_join(inner, outer) and mentioned(pattern) & outer <= named & certainly_bound(inner)
        case Slice(inner):
            return not mentioned(inner) & outer


def _computed(pattern: Pattern) -> frozenset[str]:
    """What SELECT computes and nothing else in it mentions: it is compared with the outer solution, and seen nowhere."""
    computed, read = set[str](), set[str]()
    while isinstance(pattern, Extend):
        computed.add(pattern.variable.name)
        read |= expression_variables(pattern.expression)
        pattern = pattern.pattern
    return frozenset(computed - read - mentioned(pattern))
