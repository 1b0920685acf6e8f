"""The answers of an EP-SPARQL query over a finite stream (semantics 2.6 and 2.9)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

from pyoxigraph import Triple

from spaseq.algebra.events import AskForm, SelectForm
from spaseq.algebra.expressions import Constant
from spaseq.algebra.intervals import Asked, IntervalQuery, Policy
from spaseq.algebra.patterns import Graph
from spaseq.errors import InvalidArgument, Span, listed
from spaseq.model.events import GraphEvent
from spaseq.model.matches import Match, Numbering, match_identity, match_key
from spaseq.reference.closure import Closure, closed
from spaseq.reference.intervals import evaluate, in_order, projected
from spaseq.reference.sparql import EMPTY, Knowledge
from spaseq.reference.timed_solutions import Occurrence, Timed, TimedData


def interval_answers(
    query: IntervalQuery,
    events: Iterable[GraphEvent],
    knowledge: Knowledge = EMPTY,
    normal_text: str = "",
    *,
    policy: Policy = Policy.UNRESTRICTED,
    rdfs: bool = False,
    rule_limit: int = 100_000,
) -> list[Match]:
    """All answers in order of time; for ASK the first one, if there is any; without a query what the rules produce.

    Blank nodes of different events must be different already.
    """
    known = {name: frozenset(graph) for name, graph in knowledge.items()}
    _require(query, known)
    closure = closed(query.rules, occurrences(events), known, rdfs=rdfs, limit=rule_limit)
    if query.asked is None:
        return _produced(closure, normal_text)
    if policy is Policy.UNRESTRICTED:
        found = [each for each in evaluate(query.asked.pattern, closure.scene) if each.interval is not None]
        found = in_order(found, query.asked.order, closure.scene)
    else:
        found = _with_policy(query.asked, closure.scene, policy)
    return _matches(query.asked, _answers(query.asked, found), normal_text)


def occurrences(events: Iterable[GraphEvent]) -> frozenset[Occurrence]:
    """What events contribute: every triple, from the event's start to its time (2.2)."""
    return frozenset(
        Occurrence(triple, event.time if event.start is None else event.start, event.time)
        for event in events
        for triple in event.triples
    )


def _with_policy(asked: Asked, scene: TimedData, policy: Policy) -> list[Timed]:
    """At each instant the answers that end there, which consume all occurrences that take part in them (2.9)."""
    found: list[Timed] = []
    consumed: set[Occurrence] = set()
    for instant in sorted({each.end for each in scene.occurrences}):
        left = frozenset(each for each in scene.occurrences if each.end <= instant and each not in consumed)
        seen = replace(scene, occurrences=left, policy=policy)
        solutions = {
            each: used for each, used in evaluate(asked.pattern, seen).items() if each.end == instant
        }
        found += in_order(list(solutions), asked.order, seen)
        consumed = consumed.union(*solutions.values())
    return found


def _answers(asked: Asked, ordered: list[Timed]) -> list[Timed]:
    """Of solutions in the order of time and ORDER BY what DISTINCT, OFFSET and LIMIT leave."""
    if asked.distinct:
        names = _names(asked)
        first: dict[object, Timed] = {}
        for each in sorted(ordered, key=lambda each: each.interval[0] if each.interval else 0):
            first.setdefault((each.end, projected(each, names).mapping), each)
        kept = set(first.values())
        ordered = [each for each in ordered if each in kept]
    if isinstance(asked.form, AskForm):
        ordered.sort(key=lambda each: (each.end, each.interval))
    ordered = ordered[asked.offset :] if asked.limit is None else ordered[asked.offset :][: asked.limit]
    return ordered[:1] if isinstance(asked.form, AskForm) else ordered


def _names(asked: Asked) -> list[str]:
    return [item.variable.name for item in asked.form.items] if isinstance(asked.form, SelectForm) else []


def _matches(asked: Asked, found: list[Timed], normal_text: str) -> list[Match]:
    numbering = Numbering()
    matches = []
    for solution in found:
        mapping = dict(solution.mapping)
        bindings = {name: mapping[name] for name in _names(asked) if name in mapping}
        truth = True if isinstance(asked.form, AskForm) else None
        assert solution.interval is not None
        begin, end = solution.interval
        terms = ((name, str(term)) for name, term in bindings.items())
        key = match_key(normal_text, [("interval", f"{begin} {end}".encode())], terms)
        identity = match_identity(key, numbering.next(end, key))
        matches.append(Match(end, begin, bindings, (), None, identity, boolean=truth))
    return matches


def _produced(closure: Closure, normal_text: str) -> list[Match]:
    """A graph for each interval of what the rules produce."""
    graphs: dict[tuple[int, int], set[Triple]] = {}
    for each in closure.produced:
        graphs.setdefault((each.end, each.start), set()).add(each.triple)
    found = []
    for (end, begin), triples in sorted(graphs.items()):
        key = match_key(normal_text, [("interval", f"{begin} {end}".encode())], ())
        found.append(Match(end, begin, {}, (), frozenset(triples), match_identity(key, 0)))
    return found


def _require(query: IntervalQuery, knowledge: Knowledge) -> None:
    """An unregistered background graph is an error at start, not an empty result (semantics 1.7)."""
    for name in _graphs(query):
        if name not in knowledge:
            registered = listed(knowledge)
            raise InvalidArgument(f"no background graph is registered as <{name}>; registered: {registered}")


def _graphs(node: Any) -> Iterator[str]:
    """The names after GRAPH."""
    if isinstance(node, tuple):
        for part in node:
            yield from _graphs(part)
    elif is_dataclass(node) and not isinstance(node, (Span, type)):
        if isinstance(node, Graph) and isinstance(node.name, Constant):
            yield node.name.term.value
        for item in fields(node):
            yield from _graphs(getattr(node, item.name))
