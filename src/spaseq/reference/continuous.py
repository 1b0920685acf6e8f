"""The answers of a query over windows of a finite input (semantics 3.3 and 3.5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import partial, reduce
from itertools import chain
from typing import Any, assert_never

from pyoxigraph import Literal, NamedNode, Triple

from spaseq.algebra.events import AskForm, ConstructForm, SelectForm
from spaseq.algebra.expressions import Call, Constant, FunctionCall, Term, Var
from spaseq.algebra.patterns import Distinct, Graph, Join, Pattern, Union, Values
from spaseq.algebra.windows import Emission, WindowQuery
from spaseq.errors import InvalidArgument, Span, listed
from spaseq.model.events import GraphEvent
from spaseq.model.matches import Match, Numbering, match_identity, match_key
from spaseq.reference.answers import constructed
from spaseq.reference.contents import Held
from spaseq.reference.evaluations import Evaluation, evaluations
from spaseq.reference.lexical import TIMESTAMP
from spaseq.reference.sparql import EMPTY, Function, Knowledge, Solution, bag, unwrap
from spaseq.temporal.instants import XSD, format_instant

WINDOW = "urn:spaseq:window:"
"""Begins the names of windows in the dataset, so that they are not taken for background graphs of the same name."""
DEFAULT, BACKGROUND = "default", "background"
"""The active graph outside of GRAPH and WINDOW, and inside a background graph."""


def window_answers(
    query: WindowQuery, events: Iterable[GraphEvent], knowledge: Knowledge = EMPTY, normal_text: str = ""
) -> list[Match]:
    """All that is reported, in order. Blank nodes of different events must be different already."""
    known = {name: frozenset(graph) for name, graph in knowledge.items()}
    _require(query, known)
    lines = _Lines(query, normal_text)
    before: list[Solution] = []
    for evaluation in evaluations(query, events):
        answer = answer_at(query, evaluation, known)
        lines.report(evaluation, answer, before)
        before = answer
    return lines.found


def answer_at(query: WindowQuery, evaluation: Evaluation, knowledge: Knowledge) -> list[Solution]:
    """What SPARQL gives over the contents of one evaluation, as a bag in its order."""
    held = dict(zip((window.name for window in query.windows), evaluation.held, strict=True))
    default = [event for name in query.default_windows for event in held[name]]
    triples = _merged(default).union(*(knowledge[name] for name in query.default_graphs))
    graphs = {**knowledge, **{WINDOW + name: _merged(own) for name, own in held.items()}}
    events = {DEFAULT: default, BACKGROUND: [], **held}
    times: dict[str, Function] = {TIMESTAMP + name: partial(_latest, own) for name, own in events.items()}
    named = sorted(knowledge) if query.named_graphs is None else query.named_graphs
    now = Literal(format_instant(evaluation.instant), datatype=NamedNode(XSD + "dateTime"))
    pattern: Pattern = _grounded(query.pattern, DEFAULT, frozenset(held), named, now)
    return bag(pattern, triples, graphs, times)


def _merged(held: Held) -> frozenset[Triple]:
    """The graph of a window: a triple that several events carry is there once."""
    return frozenset(chain.from_iterable(event.triples for event in held))


def _latest(held: Held, *triple: Term) -> Term | None:
    """The latest time of a triple among some events; None, an error, if none of them has it."""
    wanted = tuple(unwrap(term) for term in triple)
    times = [event.time for event in held if any(tuple(found) == wanted for found in event.triples)]
    return Literal(format_instant(max(times)), datatype=NamedNode(XSD + "dateTime")) if times else None


def _grounded(node: Any, active: str, windows: frozenset[str], named: Iterable[str], now: Literal) -> Any:
    """The pattern as one of plain SPARQL: with the names of the dataset, the instant, and `timestamp` by active graph."""

    def within(part: Any, active: str = active) -> Any:
        return _grounded(part, active, windows, named, now)

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


def without(bag: list[Solution], other: list[Solution]) -> list[Solution]:
    """The difference of two bags, in the order of the first."""
    left = Counter(frozenset(solution.items()) for solution in other)
    found = []
    for solution in bag:
        key = frozenset(solution.items())
        if left[key] > 0:
            left[key] -= 1
        else:
            found.append(solution)
    return found


class _Lines:
    """Collects the lines of one query."""

    def __init__(self, query: WindowQuery, normal_text: str) -> None:
        self.found: list[Match] = []
        self._query = query
        self._text = normal_text
        self._numbering = Numbering()

    def report(self, evaluation: Evaluation, answer: list[Solution], before: list[Solution]) -> None:
        """What the query's operator takes of this answer and the one before."""
        match self._query.form:
            case SelectForm(items):
                names = [item.variable.name for item in items]
                for solution in self._taken(answer, before):
                    bindings = {name: solution[name] for name in names if name in solution}
                    self._add(evaluation, bindings)
            case ConstructForm(template):
                label = f"{evaluation.instant}-{evaluation.number}"
                taken = enumerate(self._taken(answer, before))
                graphs = [constructed(template, solution, f"{label}-{n}") for n, solution in taken]
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

    def _taken(self, answer: list[Solution], before: list[Solution]) -> list[Solution]:
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
        triples: frozenset[Triple] | None = None,
        boolean: bool | None = None,
    ) -> None:
        identity = self._identity(evaluation, bindings)
        self.found.append(
            Match(evaluation.instant, evaluation.start, bindings, (), triples, identity, boolean=boolean)
        )

    def _identity(self, evaluation: Evaluation, bindings: Solution) -> str:
        """Of the query, the evaluation's instant and number there, the bindings, and the number among equals."""
        which = f"{evaluation.instant} {evaluation.number}".encode()
        terms = ((name, str(term)) for name, term in bindings.items())
        key = match_key(self._text, [("evaluation", which)], terms)
        return match_identity(key, self._numbering.next(evaluation.instant, key))
