"""Triples and property paths: every shorthand of Turtle's kind becomes plain triple patterns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from pyoxigraph import NamedNode

from spaseq.algebra.expressions import Constant, Var
from spaseq.algebra.patterns import (
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
from spaseq.errors import Span
from spaseq.syntax.builder.terms import RDF, RDF_NIL, TermActions
from spaseq.syntax.lexer import Token

_FIRST, _REST = NamedNode(RDF + "first"), NamedNode(RDF + "rest")


class Compound(NamedTuple):
    """A node written as ``( … )`` or ``[ … ]``, with the triples that say what it is."""

    node: Node
    triples: list[TriplePattern]


class PathVerb(NamedTuple):
    """A property path in predicate position."""

    path: Path
    span: Span


class SetStep(NamedTuple):
    """One member of a negated property set."""

    iri: Constant
    backward: bool


@dataclass(slots=True)
class TripleList:
    """Triples as they are collected; one list grows while its rule is read."""

    triples: list[TriplePattern]
    span: Span


Verb: TypeAlias = Var | Constant | PathVerb
PredicateList: TypeAlias = list[tuple[Verb, "tuple[Node | Compound, ...]"]]


class TripleActions(TermActions):
    """Builds triple patterns and property paths."""

    # --- triples ---

    def triples_first(self, span: Span, triples: list[TriplePattern]) -> TripleList:
        return TripleList(triples, span)

    def triples_next(self, span: Span, block: TripleList, triples: list[TriplePattern]) -> TripleList:
        block.triples.extend(triples)
        block.span = span
        return block

    def subject_triples(
        self, _span: Span, subject: Node | Compound, predicates: PredicateList | None = None
    ) -> list[TriplePattern]:
        if isinstance(subject, Compound):
            return [*subject.triples, *_spelled_out(subject.node, predicates or [])]
        return list(_spelled_out(subject, predicates or []))

    def predicates_first(
        self, _span: Span, verb: Verb, objects: tuple[Node | Compound, ...]
    ) -> PredicateList:
        return [(verb, objects)]

    def predicates_same(self, _span: Span, predicates: PredicateList) -> PredicateList:
        return predicates

    def predicates_next(
        self, _span: Span, predicates: PredicateList, verb: Verb, objects: tuple[Node | Compound, ...]
    ) -> PredicateList:
        predicates.append((verb, objects))
        return predicates

    def objects(self, _span: Span, *nodes: Node | Compound) -> tuple[Node | Compound, ...]:
        return nodes

    def blank_node_properties(self, span: Span, predicates: PredicateList) -> Compound:
        node = Var("_:" + self.fresh_label(), span)
        return Compound(node, list(_spelled_out(node, predicates)))

    def collection(self, span: Span, *items: Node | Compound) -> Compound:
        """``(a b)`` as rdf:first and rdf:rest triples (SPARQL 1.1, 4.2.3)."""
        cells: list[Node] = [Var("_:" + self.fresh_label(), span) for _ in items]
        cells.append(Constant(RDF_NIL, "()", span))
        triples: list[TriplePattern] = []
        for index, item in enumerate(items):
            node, more = item if isinstance(item, Compound) else (item, [])
            triples.append(TriplePattern(cells[index], Constant(_FIRST, "", span), node, span))
            triples.append(TriplePattern(cells[index], Constant(_REST, "", span), cells[index + 1], span))
            triples.extend(more)
        return Compound(cells[0], triples)

    # --- property paths (SPARQL 1.1, 9.1) ---

    def path_verb(self, span: Span, path: Path) -> Constant | PathVerb:
        return path.iri if isinstance(path, Link) else PathVerb(path, span)

    def path_link(self, _span: Span, iri: Constant) -> Link:
        return Link(iri)

    def path_alternative(self, _span: Span, *parts: Path) -> PathAlternative:
        return PathAlternative(parts)

    def path_sequence(self, _span: Span, *parts: Path) -> PathSequence:
        return PathSequence(parts)

    def path_inverse(self, _span: Span, path: Path) -> Inverse:
        return Inverse(path)

    def path_repeat(self, _span: Span, path: Path, op: str) -> PathRepeat:
        return PathRepeat(path, op)

    def path_mark(self, _span: Span, token: Token) -> str:
        return token.text

    def negated_set(self, _span: Span, *steps: SetStep | Token) -> NegatedSet:
        members = [step for step in steps if isinstance(step, SetStep)]
        return NegatedSet(
            tuple(step.iri for step in members if not step.backward),
            tuple(step.iri for step in members if step.backward),
        )

    def forward_step(self, _span: Span, iri: Constant) -> SetStep:
        return SetStep(iri, backward=False)

    def backward_step(self, _span: Span, iri: Constant) -> SetStep:
        return SetStep(iri, backward=True)


def _spelled_out(subject: Node, predicates: PredicateList) -> Iterator[TriplePattern]:
    """One triple for each object; what an object is made of follows its triple."""
    start = subject.span.start
    for verb, objects in predicates:
        for item in objects:
            node, more = item if isinstance(item, Compound) else (item, [])
            predicate = verb.path if isinstance(verb, PathVerb) else verb
            yield TriplePattern(subject, predicate, node, Span(start, max(node.span.end, verb.span.end)))
            yield from more
        start = objects[-1].node.span.start if isinstance(objects[-1], Compound) else objects[-1].span.start
