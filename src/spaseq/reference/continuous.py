"""The answers of a query over windows of a finite input (semantics 3.3, 3.5, 4.4 and 4.5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import partial, reduce
from itertools import chain
from typing import Any, NamedTuple, assert_never

from pyoxigraph import Literal, NamedNode, Triple

from spaseq.algebra.event_patterns import Consumption, EventPattern
from spaseq.algebra.events import AskForm, ConstructForm, SelectForm
from spaseq.algebra.expressions import Call, Constant, FunctionCall, Term, Var
from spaseq.algebra.patterns import Distinct, EventMatch, Graph, Join, Pattern, Union, Values
from spaseq.algebra.scope import visible
from spaseq.algebra.visibility import every_pattern
from spaseq.algebra.windows import Emission, WindowQuery
from spaseq.errors import InvalidArgument, Span, listed
from spaseq.model.events import GraphEvent
from spaseq.model.matches import Match, MatchedEvent, Numbering, match_identity, match_key
from spaseq.reference.answers import constructed
from spaseq.reference.contents import Held
from spaseq.reference.evaluations import Evaluation, evaluations
from spaseq.reference.event_patterns import Found, Used, WindowContents, matched
from spaseq.reference.lexical import TIMESTAMP
from spaseq.reference.provenance import ORIGIN, with_origin
from spaseq.reference.sparql import EMPTY, Function, Knowledge, Solution, bag, unwrap
from spaseq.temporal.instants import XSD, format_instant

WINDOW = "urn:spaseq:window:"
"""Begins the names of windows in the dataset, so that they are not taken for background graphs of the same name."""
DEFAULT, BACKGROUND = "default", "background"
"""The active graph outside of GRAPH and WINDOW, and inside a background graph."""


class Answer(NamedTuple):
    """A solution, and the events that the solution of MATCH is made of that it comes from, if that is defined."""

    solution: Solution
    events: tuple[MatchedEvent, ...] = ()


def window_answers(
    query: WindowQuery, events: Iterable[GraphEvent], knowledge: Knowledge = EMPTY, normal_text: str = ""
) -> list[Match]:
    """All that is reported, in order. Blank nodes of different events must be different already."""
    known = {name: frozenset(graph) for name, graph in knowledge.items()}
    _require(query, known)
    known_events = list(events)
    matching = Matching(query, known_events, known)
    lines = _Lines(query, normal_text)
    before: list[Answer] = []
    for evaluation in evaluations(query, known_events):
        answer = answer_at(query, evaluation, known, matching)
        lines.report(evaluation, answer, before)
        before = answer
    return lines.found


class Matching:
    """The solutions of every MATCH, evaluation by evaluation; what one used is gone for it at all later ones (4.5)."""

    def __init__(self, query: WindowQuery, events: list[GraphEvent], knowledge: Knowledge) -> None:
        self._query, self._knowledge = query, knowledge
        patterns = (part.events for part in every_pattern(query.pattern) if isinstance(part, EventMatch))
        self._gone: dict[EventPattern, frozenset[Used]] = dict.fromkeys(patterns, frozenset())
        self._events = events
        self._numbers = {id(event): number for number, event in enumerate(events)}

    def at(self, evaluation: Evaluation) -> dict[EventPattern, Found]:
        """The solutions at the next evaluation."""
        query = self._query
        held = dict(zip((window.name for window in query.windows), evaluation.held, strict=True))
        named, now = _named(query, self._knowledge), _now(evaluation)
        found = {}
        for pattern, gone in self._gone.items():
            contents = WindowContents(
                held,
                self._knowledge,
                self._numbers,
                gone,
                lambda inner: _grounded(inner, BACKGROUND, frozenset(held), named, now, {}),
            )
            found[pattern] = matched(pattern, contents)
            if query.consumption is not Consumption.NONE:
                self._gone[pattern] = gone.union(*(made.used for made in found[pattern].values()))
        return found

    def origins(self, found: Found) -> list[tuple[MatchedEvent, ...]]:
        """The events of each solution, in the order written."""
        return [
            tuple(
                MatchedEvent(part.name, event.stream, event.time, event.name)
                for part in made.parts
                for event in (self._events[part.number],)
            )
            for made in found.values()
        ]


def _named(query: WindowQuery, knowledge: Knowledge) -> Iterable[str]:
    return sorted(knowledge) if query.named_graphs is None else query.named_graphs


def _now(evaluation: Evaluation) -> Literal:
    return Literal(format_instant(evaluation.instant), datatype=NamedNode(XSD + "dateTime"))


def answer_at(
    query: WindowQuery, evaluation: Evaluation, knowledge: Knowledge, matching: Matching
) -> list[Answer]:
    """What SPARQL gives over the contents of one evaluation, as a bag in its order."""
    held = dict(zip((window.name for window in query.windows), evaluation.held, strict=True))
    matches = matching.at(evaluation)
    default = [event for name in query.default_windows for event in held[name]]
    triples = _merged(default).union(*(knowledge[name] for name in query.default_graphs))
    graphs = {**knowledge, **{WINDOW + name: _merged(own) for name, own in held.items()}}
    events = {DEFAULT: default, BACKGROUND: [], **held}
    times: dict[str, Function] = {TIMESTAMP + name: partial(_latest, own) for name, own in events.items()}
    marked = with_origin(query.pattern) if isinstance(query.form, SelectForm) else None
    named, now = _named(query, knowledge), _now(evaluation)
    tables = {each: _table(each, found, origin=marked is not None) for each, found in matches.items()}
    pattern: Pattern = _grounded(marked or query.pattern, DEFAULT, frozenset(held), named, now, tables)
    answer = bag(pattern, triples, graphs, times)
    if marked is None:
        return [Answer(solution) for solution in answer]
    (found,) = matches.values()
    origins = matching.origins(found)
    return [Answer(solution, origins[int(solution.pop(ORIGIN).value)]) for solution in answer]


def _table(pattern: EventPattern, found: Found, *, origin: bool) -> Values:
    """The bag of solutions of a MATCH, with the number of each if that is asked for."""
    variables = (*visible(EventMatch(pattern)), *((Var(ORIGIN),) if origin else ()))
    rows = [{**dict(timed.mapping), ORIGIN: Literal(number)} for number, timed in enumerate(found)]
    return Values(variables, tuple(tuple(row.get(each.name) for each in variables) for row in rows))


def _merged(held: Held) -> frozenset[Triple]:
    """The graph of a window: a triple that several events carry is there once."""
    return frozenset(chain.from_iterable(event.triples for event in held))


def _latest(held: Held, *triple: Term) -> Term | None:
    """The latest time of a triple among some events; None, an error, if none of them has it."""
    wanted = tuple(unwrap(term) for term in triple)
    times = [event.time for event in held if any(tuple(found) == wanted for found in event.triples)]
    return Literal(format_instant(max(times)), datatype=NamedNode(XSD + "dateTime")) if times else None


def _grounded(
    node: Any,
    active: str,
    windows: frozenset[str],
    named: Iterable[str],
    now: Literal,
    matches: Mapping[EventPattern, Values],
) -> Any:
    """The pattern as one of plain SPARQL: with the names of the dataset, the instant, the solutions of MATCH, and `timestamp`
    by active graph.
    """

    def within(part: Any, active: str = active) -> Any:
        return _grounded(part, active, windows, named, now, matches)

    match node:
        case Graph(Constant(NamedNode(value=name)), inner) if name in windows:
            return Graph(Constant(NamedNode(WINDOW + name)), within(inner, name))
        case Graph(Constant() as name, inner):
            return Graph(name, within(inner, BACKGROUND))
        case Graph(Var() as variable, inner):
            inner = within(inner, BACKGROUND)
            choices: list[Pattern] = [
                Join(Values((variable,), ((NamedNode(name),),)), Graph(Constant(NamedNode(name)), inner))
                for name in named
            ]
            return reduce(Union, choices) if choices else Join(Values((variable,), ()), inner)
        case EventMatch(events):
            return matches[events]
        case Distinct(inner):
            return Distinct(within(inner))  # REDUCED, too: which duplicates it may keep is left open
        case Call("NOW"):
            return Constant(now)
        case Call("TIMESTAMP", arguments):
            return FunctionCall(Constant(NamedNode(TIMESTAMP + active)), within(arguments))
        case tuple():
            return tuple(within(part) for part in node)
        case Var() | Constant() | Span():
            return node
        case _ if is_dataclass(node) and not isinstance(node, type):
            return replace(node, **{item.name: within(getattr(node, item.name)) for item in fields(node)})
        case _:
            return node


def _require(query: WindowQuery, knowledge: Mapping[str, object]) -> None:
    """An unregistered background graph is an error at start, not an empty result (semantics 1.7)."""
    windows = {window.name for window in query.windows}
    for name in (*query.default_graphs, *(query.named_graphs or ()), *_graphs(query.pattern)):
        if name not in knowledge and name not in windows:
            registered = listed(knowledge)
            raise InvalidArgument(f"no background graph is registered as <{name}>; registered: {registered}")


def _graphs(node: Any) -> Iterable[str]:
    """The names after GRAPH and WINDOW."""
    if isinstance(node, tuple):
        for part in node:
            yield from _graphs(part)
    elif is_dataclass(node) and not isinstance(node, Span):
        if isinstance(node, Graph) and isinstance(node.name, Constant):
            yield node.name.term.value
        for item in fields(node):
            yield from _graphs(getattr(node, item.name))


# --- what is reported (3.5) ---------------------------------------------------------------------


def without(answers: list[Answer], other: list[Answer]) -> list[Answer]:
    """The difference of two bags, in the order of the first; of equal solutions those go that are made of the same events."""
    kept = _cancelled(answers, other, lambda each: (_key(each), each.events))
    gone = _cancelled(other, answers, lambda each: (_key(each), each.events))
    return _cancelled(kept, gone, _key)


def _key(answer: Answer) -> object:
    return frozenset(answer.solution.items())


def _cancelled(answers: list[Answer], other: list[Answer], key: Callable[[Answer], object]) -> list[Answer]:
    left = Counter(map(key, other))
    found = []
    for each in answers:
        if left[key(each)] > 0:
            left[key(each)] -= 1
        else:
            found.append(each)
    return found


class _Lines:
    """Collects the lines of one query."""

    def __init__(self, query: WindowQuery, normal_text: str) -> None:
        self.found: list[Match] = []
        self._query = query
        self._text = normal_text
        self._numbering = Numbering()

    def report(self, evaluation: Evaluation, answer: list[Answer], before: list[Answer]) -> None:
        """What the query's operator takes of this answer and the one before."""
        match self._query.form:
            case SelectForm(items):
                names = [item.variable.name for item in items]
                for solution, events in self._taken(answer, before):
                    bindings = {name: solution[name] for name in names if name in solution}
                    self._add(evaluation, bindings, events)
            case ConstructForm(template):
                label = f"{evaluation.instant}-{evaluation.number}"
                taken = enumerate(self._taken(answer, before))
                graphs = [constructed(template, each.solution, f"{label}-{n}") for n, each in taken]
                if triples := frozenset(chain.from_iterable(graphs)):
                    self._add(evaluation, {}, triples=triples)
            case AskForm():
                truth, known = bool(answer), bool(before)
                match self._query.emission:
                    case Emission.RSTREAM:
                        self._add(evaluation, {}, boolean=truth)
                    case Emission.ISTREAM if truth and not known:
                        self._add(evaluation, {}, boolean=True)
                    case Emission.DSTREAM if known and not truth:
                        self._add(evaluation, {}, boolean=False)
            case _:
                assert_never(self._query.form)

    def _taken(self, answer: list[Answer], before: list[Answer]) -> list[Answer]:
        match self._query.emission:
            case Emission.RSTREAM:
                return answer
            case Emission.ISTREAM:
                return without(answer, before)
            case Emission.DSTREAM:
                return without(before, answer)
            case _:
                assert_never(self._query.emission)

    def _add(
        self,
        evaluation: Evaluation,
        bindings: Solution,
        events: tuple[MatchedEvent, ...] = (),
        triples: frozenset[Triple] | None = None,
        boolean: bool | None = None,
    ) -> None:
        identity = self._identity(evaluation, bindings)
        self.found.append(
            Match(evaluation.instant, evaluation.start, bindings, events, triples, identity, boolean=boolean)
        )

    def _identity(self, evaluation: Evaluation, bindings: Solution) -> str:
        """Of the query, the evaluation's instant and number there, the bindings, and the number among equals."""
        which = f"{evaluation.instant} {evaluation.number}".encode()
        terms = ((name, str(term)) for name, term in bindings.items())
        key = match_key(self._text, [("evaluation", which)], terms)
        return match_identity(key, self._numbering.next(evaluation.instant, key))
