"""How a property path is followed: as joins and unions of triple patterns, each solution as often as SPARQL has it.

The views of a path and what they ask of events both come from here, so that neither can know a triple pattern that the other does not.

What repeats a path is a set of pairs (SPARQL 1.1, 18.4): a part without bound, `+`, is evaluated anew, but only it and not what
comes before and behind it. A part that may be empty, such as `*` or `?`, relates a term to itself and to others. Behind a part that is not
empty the first means: the rows there already, with one more name for their last term; so only the pairs of different terms are
asked for, not all terms of the window.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from typing import TypeAlias, assert_never

from spaseq.algebra.by_place import EVERYTHING, by_place
from spaseq.algebra.expressions import Constant, Var
from spaseq.algebra.path_lengths import may_be_empty, proper_walks
from spaseq.algebra.patterns import (
    Bgp,
    Inverse,
    Link,
    NegatedSet,
    Node,
    Path,
    PathAlternative,
    PathRepeat,
    PathSequence,
    TriplePattern,
)
from spaseq.columnar.needs import needed_predicates


@dataclass(frozen=True, slots=True)
class Others:
    """The triples whose predicate, a variable, is none of some."""

    triple: TriplePattern
    excluded: tuple[Constant, ...]


@dataclass(frozen=True, slots=True)
class Repeated:
    """A path of one or more repetitions: evaluated anew."""

    triple: TriplePattern
    written: Path
    """The part of the query's path that asks for it."""


@dataclass(frozen=True, slots=True)
class Either:
    """The solutions of all parts."""

    parts: tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Joined:
    """The solutions of one part together with those of the next."""

    left: Piece
    right: Piece


@dataclass(frozen=True, slots=True)
class Same:
    """The solutions of a part, in which a node is the same as a variable that is bound."""

    part: Piece
    bound: Var
    node: Node


@dataclass(frozen=True, slots=True)
class Apart:
    """The pairs of different ends that a part has, each once."""

    part: Piece
    start: Node
    end: Node


Piece: TypeAlias = TriplePattern | Others | Repeated | Either | Joined | Same | Apart


def pieces(subject: Node, path: object, obj: Node, fresh: Iterator[Var]) -> Piece | None:
    """What a path between two nodes is made of; None if it may be empty as a whole. ``fresh`` gives variables for the nodes between."""
    if may_be_empty(path):
        return None
    match path:
        case Link(iri):
            return TriplePattern(subject, iri, obj)
        case Inverse(inner):
            return pieces(obj, inner, subject, fresh)
        case PathAlternative(several):
            return Either(tuple(_known(subject, part, obj, fresh) for part in several))
        case PathSequence(several):
            return _steps(subject, several, obj, fresh)
        case NegatedSet(forward, backward):
            ends = [(forward, subject, obj)] * bool(forward) + [(backward, obj, subject)] * bool(backward)
            return Either(
                tuple(
                    Others(TriplePattern(start, next(fresh), end), excluded) for excluded, start, end in ends
                )
            )
        case PathRepeat():
            return Repeated(TriplePattern(subject, path, obj), path)
        case _:
            raise AssertionError(path)


def _known(subject: Node, path: Path, obj: Node, fresh: Iterator[Var]) -> Piece:
    found = pieces(subject, path, obj, fresh)
    assert found is not None
    return found


def _steps(subject: Node, several: tuple[Path, ...], obj: Node, fresh: Iterator[Var]) -> Piece:
    """From the first part that is not empty to the end, then back to the start."""
    between = [next(fresh) for _ in several[1:]]
    nodes: list[Node] = [subject, *between, obj]
    first = next(at for at, part in enumerate(several) if not may_be_empty(part))
    found = _known(nodes[first], several[first], nodes[first + 1], fresh)
    for at in range(first + 1, len(several)):
        found = _further(found, between[at - 1], several[at], nodes[at + 1], fresh)
    for at in range(first - 1, -1, -1):
        found = _further(found, between[at], several[at], nodes[at], fresh, back=True)
    return found


def _further(
    rows: Piece, start: Var, path: Path, end: Node, fresh: Iterator[Var], *, back: bool = False
) -> Piece:
    """Rows with one more path, from a variable that they bind; ``back`` against the path's direction."""
    subject, obj = (end, start) if back else (start, end)
    if not may_be_empty(path):
        return Joined(rows, _known(subject, path, obj, fresh))
    match path:
        case PathRepeat(inner, op):
            proper = proper_walks(inner)
            assert proper is not None
            walks: Piece = Repeated(TriplePattern(subject, PathRepeat(proper, "+"), obj), path)
            if op == "?":
                walks = _known(subject, proper, obj, fresh)
            return Either((Same(rows, start, end), Joined(rows, Apart(walks, start, end))))
        case PathAlternative(several):
            return Either(tuple(_further(rows, start, part, end, fresh, back=back) for part in several))
        case PathSequence(several):
            between = [next(fresh) for _ in several[1:]]
            walked = several[::-1] if back else several
            for at, part, node in zip([start, *between], walked, [*between, end], strict=True):
                rows = _further(rows, at, part, node, fresh, back=back)
            return rows
        case Inverse(inner):
            return _further(rows, start, inner, end, fresh, back=not back)
        case _:
            raise AssertionError(path)


def triples_for(triple: TriplePattern, key: str | None = None) -> tuple[TriplePattern, ...]:
    """The triple patterns, by place, whose triples decide a triple pattern or path; a key keeps its name."""
    if not triple.is_path:
        return (by_place(triple, key),)
    fresh = (Var(f"_:{number}") for number in count())
    found = pieces(triple.subject, triple.predicate, triple.object, fresh)
    asked = _by_predicate(triple) if found is None else _triples(found, set())
    return tuple(sorted({by_place(each, key) for each in asked}, key=str))


def _triples(piece: Piece, seen: set[int]) -> Iterator[TriplePattern]:
    """The triple patterns that a piece asks for; ``seen`` are those that several pieces share."""
    if id(piece) in seen:
        return
    seen.add(id(piece))
    match piece:
        case TriplePattern():
            yield piece
        case Others(triple):
            yield triple
        case Repeated(triple):
            yield from _by_predicate(triple)
        case Either(parts):
            for part in parts:
                yield from _triples(part, seen)
        case Joined(left, right):
            yield from (*_triples(left, seen), *_triples(right, seen))
        case Same(part) | Apart(part):
            yield from _triples(part, seen)
        case _:
            assert_never(piece)


def _by_predicate(triple: TriplePattern) -> Iterator[TriplePattern]:
    """The triples that decide a path, whatever its ends: those with its predicates."""
    needed = needed_predicates(Bgp((triple,)))
    if needed is None:
        yield EVERYTHING
        return
    yield from (TriplePattern(Var("_:s"), Constant(link), Var("_:o")) for link in needed)
