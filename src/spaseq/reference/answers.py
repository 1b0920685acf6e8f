"""The answers of a query over a finite streamset (SEMANTICS 1.10)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import assert_never

from pyoxigraph import BlankNode, Triple

from spaseq.algebra.events import AskForm, ConstructForm, EventQuery, SelectForm
from spaseq.algebra.expressions import Constant, Term, Var
from spaseq.algebra.patterns import TriplePattern
from spaseq.algebra.rules.classify_variables import classify_variables
from spaseq.algebra.rules.keep_filters import keep_filters
from spaseq.algebra.visibility import knowledge_graphs
from spaseq.errors import InvalidArgument, listed
from spaseq.model.events import GraphEvent
from spaseq.model.matches import Match, MatchedEvent, event_digest, match_identity
from spaseq.reference.iterations import with_values
from spaseq.reference.partitions import partitions
from spaseq.reference.runs import Numbered, Run, Taken
from spaseq.reference.sequence import Scene, runs
from spaseq.reference.sparql import EMPTY, Knowledge, Solution, solutions, value_of
from spaseq.reference.windows import frames


def answers(
    query: EventQuery, events: Iterable[GraphEvent], knowledge: Knowledge = EMPTY, normal_text: str = ""
) -> list[Match]:
    """All matches in order of their instant; for ASK the first one, if there is any.

    ``query`` may come straight from lowering or have gone through any rules: that is how the rules are
    judged. Blank nodes of different events must be different already.
    """
    query = keep_filters(classify_variables(query))
    _require(query, knowledge)
    known = _in_order(query, events)
    rows = {event: _rows(query, event, knowledge) for event in known}
    found: dict[object, Run] = {}
    for key, own in partitions(query, known):
        numbered = tuple(Numbered(event, position) for position, event in enumerate(own))
        for frame in frames(query.window, numbered):
            taken = [Taken(name, e, m) for e in frame.events for name, m in rows[e.event]]
            by_gpm = {name: [row for row in taken if row.gpm == name] for name in query.names}
            for run in runs(Scene(query, frame.events, by_gpm, key, frame.end)):
                found.setdefault(_choice(run, key), run)
    ordered = sorted(found.values(), key=lambda run: (run.last, run.start, _in_words(query, run)))
    return _formed(query, ordered, normal_text)


def _require(query: EventQuery, knowledge: Knowledge) -> None:
    """An unregistered graph is an error at start, not an empty result (SEMANTICS 1.7)."""
    for name in knowledge_graphs(query)[0]:
        if name not in knowledge:
            registered = listed(knowledge)
            raise InvalidArgument(f"no background graph is registered as <{name}>; registered: {registered}")


def _in_order(query: EventQuery, events: Iterable[GraphEvent]) -> tuple[GraphEvent, ...]:
    """By time, then by the order of the stream declarations, then by arrival (SEMANTICS 1.8)."""
    order = {stream.iri: index for index, stream in enumerate(query.streams)}
    known = [replace(event) for event in events if event.stream in order]  # equal events stay two
    return tuple(sorted(known, key=lambda event: (event.time, order[event.stream])))


def _rows(query: EventQuery, event: GraphEvent, knowledge: Knowledge) -> list[tuple[str, Solution]]:
    return [
        (gpm.name, mapping)
        for gpm in query.gpms
        if gpm.stream == event.stream
        for mapping in solutions(gpm.pattern, event.triples, knowledge)
    ]


def _choice(run: Run, key: Solution) -> object:
    """What makes two matches different: their events, GPMs and mappings (and, for negation, their end)."""
    taken = tuple((t.gpm, id(t.event.event), frozenset(t.mapping.items())) for t in run.taken)
    return taken, run.last, frozenset(key.items())


def _in_words(query: EventQuery, run: Run) -> list[str]:
    """Orders matches of one instant and start, so that DISTINCT and ASK choose the same one every time."""
    taken = sorted(
        (query.names.index(t.gpm), t.event.position, sorted(map(str, t.mapping.items()))) for t in run.taken
    )
    return [str(part) for part in taken] + sorted(map(str, run.mapping.items()))


# --- forms --------------------------------------------------------------------------------------


def _formed(query: EventQuery, found: list[Run], normal_text: str) -> list[Match]:
    match query.form:
        case AskForm():
            return [_match(query, run, {}, normal_text) for run in found[:1]]
        case SelectForm(distinct=distinct):
            matches = [_match(query, run, _selected(query, run), normal_text) for run in found]
            return _distinct(matches) if distinct else matches
        case ConstructForm(template):
            return [
                _match(query, run, {}, normal_text, _constructed(template, run.mapping, number))
                for number, run in enumerate(found)
            ]
        case _:
            assert_never(query.form)


def _match(
    query: EventQuery, run: Run, bindings: Solution, text: str, triples: frozenset[Triple] | None = None
) -> Match:
    order = {name: index for index, name in enumerate(query.names)}
    taken = sorted(run.taken, key=lambda t: (query.step_of(t.gpm), t.event.time, order[t.gpm]))
    events = tuple(MatchedEvent(t.gpm, t.event.event.stream, t.event.time, t.event.event.name) for t in taken)
    identity = match_identity(text, ((t.gpm, _digest(t.event.event)) for t in taken))
    return Match(run.last, run.start, bindings, events, triples, identity)


def _digest(event: GraphEvent) -> bytes:
    return event_digest(event.stream, event.time, event.name, (str(triple) for triple in event.triples))


def _selected(query: EventQuery, run: Run) -> Solution:
    assert isinstance(query.form, SelectForm)
    scope: Solution = dict(run.mapping)
    selected: Solution = {}
    for item in query.form.items:
        name = item.variable.name
        if item.expression is not None:
            term = value_of(with_values(item.expression, run.iterations, None), scope)
            scope.update({} if term is None else {name: term})
        if name in scope:
            selected[name] = scope[name]
    return selected


def _distinct(matches: list[Match]) -> list[Match]:
    """One of equal ``(t₂, μ)``, the one with the earliest start; matches are ordered by both."""
    kept: dict[object, Match] = {}
    for match in matches:
        kept.setdefault((match.instant, frozenset(match.bindings.items())), match)
    return list(kept.values())


def _constructed(template: tuple[TriplePattern, ...], mapping: Solution, number: int) -> frozenset[Triple]:
    """The template under the mapping; triples that are unbound or ill-formed are left out."""
    triples = set()
    for pattern in template:
        terms = [_node(n, mapping, number) for n in (pattern.subject, pattern.predicate, pattern.object)]
        try:
            triples.add(Triple(*terms))  # type: ignore[arg-type]
        except TypeError:
            continue
    return frozenset(triples)


def _node(node: object, mapping: Solution, number: int) -> Term | None:
    match node:
        case Constant(term):
            return term
        case Var(name) if name.startswith("_:"):
            return BlankNode(f"{name[2:]}-m{number}")
        case Var(name):
            return mapping.get(name)
        case _:
            return None
