"""Functions over iterations (semantics 1.5, 1.11): FIRST, LAST, PREV, SUM and the like, COUNT, TIME, EVENT."""

from __future__ import annotations

from collections.abc import Mapping

from pyoxigraph import Literal, NamedNode

from spaseq.algebra.expressions import (
    Aggregate,
    Call,
    Constant,
    Expression,
    GpmFunction,
    Iterated,
    Term,
    Var,
    rebuild,
)
from spaseq.algebra.patterns import Group, Values
from spaseq.reference.runs import Item, Path
from spaseq.reference.sparql import solutions
from spaseq.temporal.instants import XSD, format_instant

Homes = Mapping[str, int]


def with_values(
    expression: Expression, items: tuple[Item, ...], homes: Homes, path: Path | None = None
) -> Expression:
    """The expression with every function over iterations replaced by its value.

    ``path`` are the iterations of the step that the expression belongs to, for PREV. A function without a
    value becomes an error, as an unbound variable would be.
    """
    match expression:
        case Iterated() | GpmFunction():
            if isinstance(expression, Iterated):
                term = _iterated(expression, items, homes, path)
            else:
                term = _of_gpm(expression, items)
            return Call("COALESCE", ()) if term is None else Constant(term)
        case _:
            return rebuild(expression, lambda part: with_values(part, items, homes, path))


def _of_gpm(call: GpmFunction, items: tuple[Item, ...]) -> Term | None:
    taken = [taken for item in items for taken in item.taken if taken.gpm == call.gpm]
    match call.name:
        case "COUNT":
            return Literal(len(taken))
        case "TIME" if taken:
            return Literal(format_instant(taken[-1].event.time), datatype=NamedNode(XSD + "dateTime"))
        case "EVENT" if taken:
            name = taken[-1].event.event.name
            return name if isinstance(name, NamedNode) else None
        case _:
            return None


def _iterated(call: Iterated, items: tuple[Item, ...], homes: Homes, path: Path | None) -> Term | None:
    name = call.variable.name
    if call.name == "PREV":
        return _previous(name, items, path or ())
    values = list(_values(name, items, homes).values())
    match call.name:
        case "FIRST":
            return values[0] if values else None
        case "LAST":
            return values[-1] if values else None
        case _:
            bag = Values((Var("v"),), tuple((term,) for term in values))
            aggregate = Aggregate(call.name, Var("v"), separator=call.separator)
            found = solutions(Group(bag, (), ((Var("result"), aggregate),)))
            return found[0].get("result") if found else None


def _values(name: str, items: tuple[Item, ...], homes: Homes) -> dict[Path, Term]:
    """One value from each iteration of the variable's home that binds it; without a home, from each iteration that does."""
    found: dict[Path, Term] = {}
    for item in items:
        if item.path and name in item.own:
            depth = [number for number, _ in item.path].index(homes[name]) + 1 if name in homes else None
            found[item.path[:depth]] = item.own[name]
    return found


def _previous(name: str, items: tuple[Item, ...], path: Path) -> Term | None:
    """The value at the end of the previous iteration of the innermost repetition."""
    *outer, (number, iteration) = path
    before = (*outer, (number, iteration - 1))
    ended = [item for item in items if item.path[: len(before)] == before]
    return ended[-1].after.get(name) if ended else None
