"""Functions over iterations (SEMANTICS 1.5): FIRST, LAST, PREV, COUNT, SUM, AVG, MIN, MAX, GROUP_CONCAT."""

from __future__ import annotations

from pyoxigraph import Literal

from spaseq.algebra.expressions import (
    Aggregate,
    Call,
    Constant,
    Expression,
    Iterated,
    IterationCount,
    Term,
    Var,
    rebuild,
)
from spaseq.algebra.patterns import Group, Values
from spaseq.reference.runs import Iteration
from spaseq.reference.sparql import solutions


def with_values(expression: Expression, iterations: tuple[Iteration, ...], step: int | None) -> Expression:
    """The expression with every function over iterations replaced by its value.

    ``step`` is the repetition whose current iteration is the last one, for PREV. A function without a
    value becomes an error, as an unbound variable would be.
    """
    match expression:
        case Iterated():
            term = _value(expression, iterations, step)
            return Call("COALESCE", ()) if term is None else Constant(term)
        case IterationCount(gpm):
            return Constant(Literal(sum(gpm in iteration.gpms for iteration in iterations)))
        case _:
            return rebuild(expression, lambda part: with_values(part, iterations, step))


def _value(call: Iterated, iterations: tuple[Iteration, ...], step: int | None) -> Term | None:
    name = call.variable.name
    values = [iteration.mapping[name] for iteration in iterations if name in iteration.mapping]
    match call.name:
        case "PREV":
            own = [iteration for iteration in iterations if iteration.step == step]
            return own[-2].mapping.get(name) if len(own) > 1 else None
        case "FIRST":
            return values[0] if values else None
        case "LAST":
            return values[-1] if values else None
        case _:
            bag = Values((Var("v"),), tuple((term,) for term in values))
            aggregate = Aggregate(call.name, Var("v"), separator=call.separator)
            found = solutions(Group(bag, (), ((Var("result"), aggregate),)))
            return found[0].get("result") if found else None
