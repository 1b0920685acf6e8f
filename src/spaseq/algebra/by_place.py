"""Triple patterns whose variables are named by their place, so that equal ones are one."""

from __future__ import annotations

from typing import Final

from spaseq.algebra.expressions import Constant, Var
from spaseq.algebra.patterns import Node, TriplePattern

PLACES: Final = ("s", "p", "o")

EVERYTHING: Final = TriplePattern(Var("s"), Var("p"), Var("o"))


def by_place(triple: TriplePattern, key: str | None = None) -> TriplePattern:
    """A triple pattern without path with names by place for its variables, so that equal ones are one.

    The variable ``key`` keeps its name, so that patterns that have it in different places are two.
    """
    names: dict[str, Var] = {} if key is None else {key: Var(key)}
    mark = "_" if key in PLACES else ""
    nodes: list[Node] = []
    for place, node in zip(PLACES, (triple.subject, triple.predicate, triple.object), strict=True):
        assert isinstance(node, (Var, Constant))
        nodes.append(names.setdefault(node.name, Var(place + mark)) if isinstance(node, Var) else node)
    subject, predicate, obj = nodes
    return TriplePattern(subject, predicate, obj)
