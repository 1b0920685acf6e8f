"""Property paths as pyoxigraph must be asked for them to have the solutions of SPARQL 1.1 (sections 18.2.2 and 18.4).

Its alternatives `p|q` and `!(p|^q)` give a pair of terms once where SPARQL gives it once for each side, and a path of length
zero starts and ends at terms of the graph only. Both are written out as UNION; nothing else changes.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from functools import reduce
from itertools import product
from typing import Any

from spaseq.algebra.expressions import Constant, Var
from spaseq.algebra.patterns import (
    Bgp,
    Distinct,
    Inverse,
    Join,
    NegatedSet,
    Path,
    PathAlternative,
    PathRepeat,
    PathSequence,
    Pattern,
    Project,
    TriplePattern,
    Union,
    Values,
    may_be_empty,
)
from spaseq.algebra.scope import in_scope, visible
from spaseq.errors import Span

_SHOWN = "spaseqBlank"
"""Begins the variables that stand for blank nodes of a pattern: a label of those may stand in one group only."""


def written_out(node: Any) -> Any:
    """A pattern, or any part of one, with its paths written out."""
    match node:
        case Bgp(triples):
            return node if all(map(_as_it_is, triples)) else _joined(node)
        case tuple():
            return tuple(map(written_out, node))
        case Var() | Constant() | Span():
            return node
        case _ if is_dataclass(node) and not isinstance(node, type):
            return replace(
                node, **{item.name: written_out(getattr(node, item.name)) for item in fields(node)}
            )
        case _:
            return node


def _as_it_is(triple: TriplePattern) -> bool:
    return not triple.is_path or _spread(triple) == Bgp((triple,))


def _joined(bgp: Bgp) -> Pattern:
    shown = {name: Var(_SHOWN + name.removeprefix("_:")) for name in in_scope(bgp) if Var(name).hidden}

    def own(node: Any) -> Any:
        return shown.get(node.name, node) if isinstance(node, Var) else node

    triples = [
        replace(each, subject=own(each.subject), predicate=own(each.predicate), object=own(each.object))
        for each in bgp.triples
    ]
    plain = tuple(each for each in triples if _as_it_is(each))
    parts: list[Pattern] = [Bgp(plain)] if plain else []
    parts += [_spread(each) for each in triples if not _as_it_is(each)]
    found = reduce(Join, parts)
    return Project(found, visible(bgp)) if shown else found


def _spread(triple: TriplePattern) -> Pattern:
    """The UNION of what a path means, each side with one way to go."""
    ways = [replace(triple, predicate=way) for way in _ways(triple.predicate)]  # type: ignore[arg-type]
    return reduce(Union, map(_from_anywhere, ways))


def _ways(path: Path) -> list[Path]:
    """The alternatives of a path that has none."""
    match path:
        case PathAlternative(parts):
            return [way for part in parts for way in _ways(part)]
        case NegatedSet(forward, backward) if forward and backward:
            return [NegatedSet(forward, ()), NegatedSet((), backward)]
        case Inverse(inner):
            return [Inverse(way) for way in _ways(inner)]
        case PathSequence(parts):
            return [PathSequence(chosen) for chosen in product(*map(_ways, parts))]
        case _:
            return [path]


def _from_anywhere(triple: TriplePattern) -> Pattern:
    """A path that may be empty relates each of its ends to itself, whether the graph has that term or not."""
    path, ends = triple.predicate, (triple.subject, triple.object)
    while isinstance(path, Inverse):
        path, ends = path.path, ends[::-1]
    found = Bgp((triple,))
    if not isinstance(path, PathRepeat) or not may_be_empty(path):
        return found
    match ends:
        case (Constant(term), Var() as other) | (Var() as other, Constant(term)):
            return Distinct(Union(Values((other,), ((term,),)), found))
        case (Constant(first), Constant(second)) if first == second:
            return Values((), ((),))
        case _:
            return found
