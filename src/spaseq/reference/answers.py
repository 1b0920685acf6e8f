"""The answers of a query over a finite streamset (semantics 1.10)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby
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
from spaseq.model.matches import Match, MatchedEvent, Numbering, event_digest, match_identity, match_key
from spaseq.reference.iterations import with_values
from spaseq.reference.partitions import partitions
from spaseq.reference.runs import Numbered, Run, Taken
from spaseq.reference.sequence import Scene
from spaseq.reference.sparql import EMPTY, Knowledge, Solution, solutions, value_of
from spaseq.reference.unrolling import runs
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
    found: list[Run] = []
    for key, own in partitions(query, known):
        chosen: dict[object, Run] = {}
        numbered = tuple(Numbered(event, position) for position, event in enumerate(own))
        for frame in frames(query.window, numbered):
            taken = [Taken(name, e, m) for e in frame.events for name, m in rows[e.event]]
            by_gpm = {name: [row for row in taken if row.gpm == name] for name in query.names}
            for run in runs(Scene(query, frame.events, by_gpm, key, frame.end)):
                chosen.setdefault(_choice(run, key), run)
        found += _skipping(chosen.values()) if query.skip_past else chosen.values()
    return _formed(query, found, normal_text)


def _skipping(found: Iterable[Run]) -> list[Run]:
    """AFTER MATCH SKIP PAST LAST EVENT: a match must start behind the last event of every match kept before (1.11)."""
    ordered = sorted(found, key=_rank)
    kept: list[Run] = []
    for _, equal in groupby(ordered, key=_rank):
        last = max((taken.event.time for run in kept for taken in run.taken), default=None)
        kept += [run for run in equal if last is None or run.start > last]
    return kept


def _rank(run: Run) -> tuple[int, int, list[int]]:
    return run.last, run.start, sorted(taken.event.position for taken in run.taken)


def _require(query: EventQuery, knowledge: Knowledge) -> None:
    """An unregistered graph is an error at start, not an empty result (semantics 1.7)."""
    for name in knowledge_graphs(query)[0]:
        if name not in knowledge:
            registered = listed(knowledge)
            raise InvalidArgument(f"no background graph is registered as <{name}>; registered: {registered}")


def _in_order(query: EventQuery, events: Iterable[GraphEvent]) -> tuple[GraphEvent, ...]:
    """By time, then by the order of the stream declarations, then by arrival (semantics 1.8)."""
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


# --- forms --------------------------------------------------------------------------------------


def _formed(query: EventQuery, found: list[Run], normal_text: str) -> list[Match]:
    """The answers; DISTINCT and ASK keep the earliest start, and where starts are equal the least identity."""
    reports = {id(run): _reported(query, run) for run in found}
    keys = {id(run): _key(run, reports[id(run)], normal_text) for run in found}
    found = sorted(found, key=lambda run: (run.last, run.start, match_identity(keys[id(run)], 0)))
    match query.form:
        case AskForm():
            found = found[:1]
        case SelectForm(distinct=True):
            first: dict[object, Run] = {}
            for run in found:
                first.setdefault((run.last, frozenset(reports[id(run)].items())), run)
            found = list(first.values())
        case SelectForm() | ConstructForm():
            pass
        case _:
            assert_never(query.form)
    numbering = Numbering()
    matches = []
    for run in found:
        identity = match_identity(keys[id(run)], numbering.next(run.last, keys[id(run)]))
        matches.append(_match(query, run, reports[id(run)], identity))
    return matches


def _key(run: Run, report: Solution, text: str) -> bytes:
    events = ((t.gpm, _digest(t.event.event)) for t in run.taken)
    return match_key(text, events, ((name, str(term)) for name, term in report.items()))


def _match(query: EventQuery, run: Run, report: Solution, identity: str) -> Match:
    events = tuple(
        MatchedEvent(t.gpm, t.event.event.stream, t.event.time, t.event.event.name) for t in run.taken
    )
    if not isinstance(query.form, ConstructForm):
        truth = True if isinstance(query.form, AskForm) else None
        return Match(run.last, run.start, report, events, None, identity, boolean=truth)
    triples = constructed(query.form.template, run.mapping, identity[-16:])
    return Match(run.last, run.start, {}, events, triples, identity)


def _digest(event: GraphEvent) -> bytes:
    return event_digest(event.stream, event.time, event.name, (str(triple) for triple in event.triples))


def _reported(query: EventQuery, run: Run) -> Solution:
    """The bindings that a match reports: those of SELECT, or those of the template of CONSTRUCT."""
    match query.form:
        case SelectForm():
            return _selected(query, query.form, run)
        case ConstructForm(template):
            nodes = [node for t in template for node in (t.subject, t.predicate, t.object)]
            names = [node.name for node in nodes if isinstance(node, Var) and not node.hidden]
            return {name: run.mapping[name] for name in names if name in run.mapping}
        case AskForm():
            return {}
        case _:
            assert_never(query.form)


def _selected(query: EventQuery, form: SelectForm, run: Run) -> Solution:
    scope: Solution = dict(run.mapping)
    selected: Solution = {}
    for item in form.items:
        name = item.variable.name
        if item.expression is not None:
            expression = with_values(item.expression, run.items, dict(query.homes))
            term = value_of(expression, scope)
            scope.update({} if term is None else {name: term})
        if name in scope:
            selected[name] = scope[name]
    return selected


def constructed(template: tuple[TriplePattern, ...], mapping: Solution, label: str) -> frozenset[Triple]:
    """The template under the mapping, ``label`` in its blank nodes; triples that are unbound or ill-formed are left out."""
    triples = set()
    for pattern in template:
        terms = [_node(n, mapping, label) for n in (pattern.subject, pattern.predicate, pattern.object)]
        try:
            triples.add(Triple(*terms))  # type: ignore[arg-type]
        except TypeError:
            continue
    return frozenset(triples)


def _node(node: object, mapping: Solution, label: str) -> Term | None:
    match node:
        case Constant(term):
            return term
        case Var(name) if name.startswith("_:"):
            return BlankNode(f"{name[2:]}-m{label}")
        case Var(name):
            return mapping.get(name)
        case _:
            return None
