"""From the pattern of a continuous query to its views; what no view can follow is evaluated anew, with the reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import assert_never

import numpy as np
from pyoxigraph import NamedNode

from spaseq.algebra.by_place import by_place
from spaseq.algebra.event_patterns import EventPattern
from spaseq.algebra.expressions import Aggregate, Constant, Exists, Expression, Term, Var, conjuncts
from spaseq.algebra.functions import has_exists, is_volatile, reads_times
from spaseq.algebra.patterns import (
    Bgp,
    Distinct,
    EventMatch,
    Extend,
    Filter,
    Graph,
    Group,
    IntervalJoin,
    Inverse,
    Join,
    LeftJoin,
    Link,
    Minus,
    NegatedSet,
    Node,
    OrderBy,
    Path,
    PathAlternative,
    PathRepeat,
    PathSequence,
    Pattern,
    Project,
    Slice,
    TriplePattern,
    Union,
    Values,
)
from spaseq.algebra.scope import certainly_bound, expression_variables, in_scope, lowered, pattern_expressions
from spaseq.algebra.windows import WindowQuery
from spaseq.columnar.knowledge import Knowledge
from spaseq.columnar.needs import parts
from spaseq.columnar.rows import RowEvaluator
from spaseq.model.dictionary import TermDictionary
from spaseq.windowed.conjunction import ConjunctionView
from spaseq.windowed.contents import WindowContents
from spaseq.windowed.evaluations import Period
from spaseq.windowed.event_traces import TRACE
from spaseq.windowed.event_views import Told, match_view
from spaseq.windowed.groups import GroupView
from spaseq.windowed.inputs import Input, window_triples
from spaseq.windowed.named_graphs import outside_graphs, with_listed_graphs
from spaseq.windowed.reevaluated import EvaluationScope, LiveTriples, ReevaluatedView
from spaseq.windowed.report import outer_operators
from spaseq.windowed.timed import Ids, TimedRows
from spaseq.windowed.views import (
    BackgroundView,
    ConstantView,
    DistinctView,
    ExtendView,
    FilterView,
    JoinView,
    PartnerView,
    ProjectView,
    TripleView,
    UnionView,
    View,
)


@dataclass(frozen=True, slots=True)
class ActiveGraph:
    """The active graph: the union of some windows and of some background graphs."""

    windows: tuple[int, ...]
    graphs: tuple[NamedNode, ...] = ()


@dataclass(frozen=True, slots=True)
class Anew:
    """A part of a query that is evaluated anew at every evaluation, and why."""

    part: Pattern
    reason: str


def parts_anew(query: WindowQuery, *, incremental: bool = True) -> tuple[Anew, ...]:
    """The parts of a query that no view follows."""
    builder = ViewBuilder(query, TermDictionary(), Knowledge(), incremental=incremental)
    builder.build(outer_operators(query.pattern)[0])
    return tuple(builder.anew)


class _NotFollowed(Exception):
    """No view follows this pattern."""


class ViewBuilder:
    """Makes the views of one continuous query; one that is not ``incremental`` is evaluated anew as a whole."""

    def __init__(
        self,
        query: WindowQuery,
        dictionary: TermDictionary,
        knowledge: Knowledge,
        *,
        incremental: bool = True,
        tells_events: bool = False,
    ) -> None:
        self._tells_events = tells_events
        self._incremental = incremental
        self._evaluator = RowEvaluator(dictionary)
        self._dictionary, self._knowledge = dictionary, knowledge
        self.contents: dict[tuple[int, Input], WindowContents] = {}
        """What each window holds of each input."""
        self._query = query
        self._windows: dict[Term, int] = {
            NamedNode(window.name): number for number, window in enumerate(query.windows)
        }
        self._live = [LiveTriples(number, dictionary) for number in range(len(query.windows))]
        default = tuple(self._windows[NamedNode(name)] for name in query.default_windows)
        self._default = ActiveGraph(default, tuple(map(NamedNode, query.default_graphs)))
        self.live: dict[tuple[int, Input], LiveTriples] = {}
        """Which triples are kept for what is evaluated anew."""
        self.matches: list[Told] = []
        """The views that take what single events match."""
        self._number = count()
        self.anew: list[Anew] = []
        """What is not followed."""

    @property
    def _count(self) -> int:
        return len(self._query.windows)

    def build(self, pattern: Pattern) -> View:
        """The view of a whole pattern."""
        if self._query.named_graphs is not None:
            pattern = with_listed_graphs(pattern, self._query.named_graphs)
        return self._view(outside_graphs(pattern, self._knowledge.names, self._windows), self._default)

    def surroundings(self, source: ActiveGraph) -> EvaluationScope:
        """What a pattern over an active graph is evaluated in."""
        return EvaluationScope(
            self._dictionary,
            self._knowledge,
            {name: self._live[number] for name, number in self._windows.items()},
            tuple(self._live[number] for number in source.windows),
            source.graphs,
        )

    def _view(self, pattern: Pattern, source: ActiveGraph) -> View:
        """The view of a pattern, evaluated anew if nothing else is left."""
        try:
            return self._followed(pattern, source)
        except _NotFollowed as reason:
            self.anew.append(Anew(pattern, str(reason)))
            self._hold(pattern, source)
            clock = any(is_volatile(each) for part in parts(pattern) for each in pattern_expressions(part))
            matches: dict[Pattern, View] = {
                part: self._match(part.events) for part in parts(pattern) if isinstance(part, EventMatch)
            }
            return ReevaluatedView(
                pattern, self.surroundings(source), self._count, matches, reads_clock=clock
            )

    def _followed(self, pattern: Pattern, source: ActiveGraph) -> View:
        if isinstance(pattern, EventMatch):
            return self._match(pattern.events)
        if not self._incremental:
            raise _NotFollowed("incremental evaluation is switched off")
        match pattern:
            case Bgp():
                return self._joined([pattern], [], source)
            case Filter(inner, condition):
                return self._filter(inner, conjuncts(condition), source)
            case Join(left, right):
                return self._joined([left, right], [], source)
            case LeftJoin(left, right, condition):
                return self._optional(left, right, condition, source)
            case Union(left, right):
                return UnionView([self._view(left, source), self._view(right, source)])
            case Minus(left, right):
                return self._minus(left, right, source)
            case Extend(inner, variable, expression):
                self._check(expression)
                return ExtendView(self._view(inner, source), variable.name, expression, self._evaluator)
            case Values(variables, rows):
                columns = {
                    variable.name: np.array(
                        [0 if (term := row[at]) is None else self._dictionary.encode(term) for row in rows],
                        np.int32,
                    )
                    for at, variable in enumerate(variables)
                }
                return ConstantView(columns, len(rows), self._count)
            case Graph(name, inner):
                return self._graph(pattern, name, inner)
            case Group(inner, keys, aggregates):
                return self._group(inner, keys, aggregates, source)
            case OrderBy(inner):  # without LIMIT, the order inside a query has no meaning
                return self._view(inner, source)
            case Project(inner, chosen):
                names = [variable.name for variable in chosen]
                return ProjectView(self._view(inner, source), dict(zip(names, names, strict=True)))
            case Distinct(inner):
                return DistinctView(self._view(inner, source), self._count)
            case Slice():
                raise _NotFollowed("LIMIT and OFFSET choose among all solutions")
            case IntervalJoin():
                raise AssertionError("the solutions of windows have no interval")
            case _:
                assert_never(pattern)

    def _match(self, events: EventPattern) -> View:
        view, told = match_view(
            events, self._query, self._dictionary, self._knowledge, self._evaluator,
            tells_events=self._tells_events,
        )  # fmt: skip
        self.matches += told
        return view

    def _hold(self, pattern: Pattern, source: ActiveGraph) -> None:
        """Let the windows keep the triples that a pattern reads."""
        names = tuple(self._query.windows[number].name for number in source.windows)
        for window, each in window_triples(pattern, names, self._query):
            number = self._windows[NamedNode(window.name)]
            self.live[number, each] = self._live[number]

    def _contents_of(self, window: int, source: Input) -> WindowContents:
        key = (window, source)
        if key not in self.contents:
            self.contents[key] = WindowContents(window, len(source.names))
        return self.contents[key]

    def _check(self, expression: Expression) -> None:
        if is_volatile(expression):
            raise _NotFollowed("a function that differs between evaluations, such as NOW()")
        if reads_times(expression):
            raise _NotFollowed("timestamp() depends on every event that carries a triple")
        if has_exists(expression):
            raise _NotFollowed("EXISTS inside an expression")

    # --- triples --------------------------------------------------------------------------------

    def _joined(self, patterns: Sequence[Pattern], filters: list[Expression], source: ActiveGraph) -> View:
        """The join of some patterns, triple by triple; filters run as soon as their variables are there."""
        operands = [view for pattern in patterns for view in self._operands(pattern, source)]
        found = self._conjunction(operands, filters)
        hidden = [name for name in found.names if name.startswith(_HIDDEN) and name != TRACE]
        if hidden:
            kept = [name for name in found.names if name not in hidden]
            found = ProjectView(found, dict(zip(kept, kept, strict=True)))
        return found

    def _operands(self, pattern: Pattern, source: ActiveGraph) -> list[View]:
        """The views that a pattern joins: those of its triple patterns, or else its own."""
        match pattern:
            case Bgp(triples):
                # A path of unbounded length is evaluated anew by itself; what it joins with is followed.
                return [
                    self._view(Bgp((triple,)), source)
                    if len(triples) > 1 and triple.is_path
                    else self._triple(triple, source)
                    for triple in triples
                ]
            case Join(left, right):
                return [*self._operands(left, source), *self._operands(right, source)]
            case Graph(Constant(term), inner) if term in self._windows and isinstance(inner, (Bgp, Join)):
                return self._operands(inner, ActiveGraph((self._windows[term],)))
            case _:
                return [self._view(pattern, source)]

    def _conjunction(self, parts: Sequence[View], filters: list[Expression]) -> View:
        """The join of several views; filters that it checks are taken out."""
        parts = [self._filtered(part, filters) for part in parts]
        if not parts:
            return ConstantView({}, 1, self._count)
        if len(parts) == 1:
            return parts[0]
        if len(parts) == 2:
            return self._filtered(JoinView(parts[0], parts[1], self._count), filters)
        certain = frozenset[str]().union(*(part.certain for part in parts))
        checked = [each for each in filters if expression_variables(each) <= certain]
        for condition in checked:
            filters.remove(condition)
        return ConjunctionView(parts, checked, self._evaluator, self._count)

    def _filtered(self, view: View, filters: list[Expression]) -> View:
        for condition in list(filters):
            # A variable that a row leaves unbound may be bound by what it is joined with.
            if expression_variables(condition) <= view.certain:
                filters.remove(condition)
                view = FilterView(view, condition, self._evaluator)
        return view

    def _triple(self, triple: TriplePattern, source: ActiveGraph) -> View:
        if triple.is_path:
            return self._path(triple.subject, triple.predicate, triple.object, source)
        names = list(in_scope(Bgp((triple,))))
        views: list[View] = [
            TripleView(names, self._contents_of(window, each), self._count)
            for window in source.windows
            for each in (Input(self._query.windows[window].stream, by_place(triple, self._query.key)),)
        ]
        views += [self._known_triples(triple, name) for name in source.graphs]
        if not views:
            return ConstantView({name: np.zeros(0, np.int32) for name in names}, 0, self._count)
        # A triple that several graphs have is one triple of their union.
        return views[0] if len(views) == 1 else DistinctView(UnionView(views), self._count)

    def _known_triples(self, triple: TriplePattern, name: NamedNode) -> View:
        return self._background(Graph(Constant(name), Bgp((triple,))))

    def _background(self, pattern: Graph) -> View:
        """The solutions over background graphs."""

        def solutions() -> Mapping[str, Ids]:
            table = self._evaluator.over_knowledge(pattern, self._knowledge)
            unbound = np.zeros(table.size, np.int32)
            return {name: table.columns.get(name, unbound) for name in names}

        names = in_scope(pattern)
        return BackgroundView(names, certainly_bound(pattern), solutions, self._knowledge, self._count)

    def _path(self, subject: Node, path: object, obj: Node, source: ActiveGraph) -> View:
        """A path of bounded length as joins and unions of its links, each solution as often as SPARQL has it."""
        match path:
            case Link(iri):
                return self._triple(TriplePattern(subject, iri, obj), source)
            case Inverse(inner):
                return self._path(obj, inner, subject, source)
            case PathAlternative(several):
                return UnionView([self._path(subject, part, obj, source) for part in several])
            case PathSequence(several):
                return self._steps(subject, several, obj, source)
            case NegatedSet(forward, backward):
                return self._negated(subject, forward, backward, obj, source)
            case PathRepeat():
                raise _NotFollowed("a path of unbounded length")
            case _:
                raise AssertionError(path)

    def _steps(self, subject: Node, several: tuple[Path, ...], obj: Node, source: ActiveGraph) -> View:
        between: list[Node] = [Var(f"{_HIDDEN}{next(self._number)}") for _ in several[1:]]
        nodes: list[Node] = [subject, *between, obj]
        views = [self._path(nodes[at], part, nodes[at + 1], source) for at, part in enumerate(several)]
        found = views[0]
        for view in views[1:]:
            found = JoinView(found, view, self._count)
        return found

    def _negated(
        self,
        subject: Node,
        forward: tuple[Constant, ...],
        backward: tuple[Constant, ...],
        obj: Node,
        source: ActiveGraph,
    ) -> View:
        views = []
        for excluded, start, end in ((forward, subject, obj), (backward, obj, subject)):
            if not excluded:
                continue
            predicate = f"{_HIDDEN}{next(self._number)}"
            view = self._triple(TriplePattern(start, Var(predicate), end), source)
            terms = [item.term for item in excluded]
            views.append(_OtherPredicates(view, predicate, terms, self._evaluator))
        return views[0] if len(views) == 1 else UnionView(views)

    # --- groups ---------------------------------------------------------------------------------

    def _filter(self, inner: Pattern, conditions: tuple[Expression, ...], source: ActiveGraph) -> View:
        plain = [each for each in conditions if not has_exists(each)]
        for condition in plain:
            self._check(condition)
        exists = [each for each in conditions if has_exists(each)]
        for condition in exists:
            self._check_exists(condition)
        view = self._joined([inner], plain, source)
        for condition in plain:
            view = FilterView(view, condition, self._evaluator)
        for condition in exists:
            assert isinstance(condition, Exists)
            view = self._partners(
                view, self._view(lowered(condition.pattern), source), partnered=not condition.negated
            )
        return view

    def _check_exists(self, condition: Expression) -> None:
        """EXISTS is a join with its pattern where substitution of the outer solution changes nothing else in it."""
        if not isinstance(condition, Exists):
            raise _NotFollowed("EXISTS inside an expression")
        if not _plain(lowered(condition.pattern)):
            raise _NotFollowed("EXISTS with a pattern that sees the outer solution otherwise than by a join")

    def _partners(self, rows: View, others: View, *, partnered: bool, overlapping: bool = False) -> View:
        pairs, copies = self._pairs(rows, others, overlapping=overlapping)
        return PartnerView(rows, pairs, copies, self._count, partnered=partnered)

    def _pairs(self, rows: View, others: View, *, overlapping: bool = False) -> tuple[View, list[str]]:
        """The joined rows, and the columns in which they keep the values of the first side."""
        number = next(self._number)
        copies = {name: f"{_HIDDEN}{number}.{name}" for name in rows.names}
        sources = {name: name for name in rows.names} | {copy: name for name, copy in copies.items()}
        pairs = JoinView(ProjectView(rows, sources), others, self._count, overlapping=overlapping)
        return pairs, list(copies.values())

    def _optional(
        self, left: Pattern, right: Pattern, condition: Expression | None, source: ActiveGraph
    ) -> View:
        if condition is not None:
            self._check(condition)
        rows = self._view(left, source)
        pairs, copies = self._pairs(rows, self._view(right, source))
        if condition is not None:
            pairs = FilterView(pairs, condition, self._evaluator)
        alone = PartnerView(rows, pairs, copies, self._count, partnered=False)
        kept = [name for name in pairs.names if name not in copies]
        return UnionView([ProjectView(pairs, dict(zip(kept, kept, strict=True))), alone])

    def _minus(self, left: Pattern, right: Pattern, source: ActiveGraph) -> View:
        rows, others = self._view(left, source), self._view(right, source)
        if set(rows.names).isdisjoint(others.names):
            return rows
        return self._partners(rows, others, partnered=False, overlapping=True)

    def _group(
        self,
        inner: Pattern,
        keys: tuple[tuple[Var, Expression], ...],
        aggregates: tuple[tuple[Var, Expression], ...],
        source: ActiveGraph,
    ) -> View:
        for _, expression in (*keys, *aggregates):
            self._check(expression)
        view = self._view(inner, source)
        for variable, expression in keys:
            if expression != variable:
                view = ExtendView(view, variable.name, expression, self._evaluator)
        names = [variable.name for variable, _ in keys]
        missing = [name for name in names if name not in view.names]
        if missing:
            view = ProjectView(view, {name: name for name in (*view.names, *missing)})
        operands: list[tuple[Var, Aggregate]] = []
        for variable, item in aggregates:
            assert isinstance(item, Aggregate)
            if item.operand is not None and not isinstance(item.operand, Var):
                column = Var(f"{_HIDDEN}{next(self._number)}")
                view = ExtendView(view, column.name, item.operand, self._evaluator)
                item = replace(item, operand=column)
            operands.append((variable, item))
        read = {item.operand.name for _, item in operands if isinstance(item.operand, Var)}
        if not any(item.operand is None and item.distinct for _, item in operands):
            # Rows that are equal in what the groups read are one row that is there several times.
            kept = [name for name in view.names if name in names or name in read]
            view = ProjectView(view, dict(zip(kept, kept, strict=True)))
        return GroupView(view, names, tuple(operands), self._evaluator, self._count)

    def _graph(self, pattern: Graph, name: Node, inner: Pattern) -> View:
        if isinstance(name, Constant) and name.term in self._windows:
            return self._view(inner, ActiveGraph((self._windows[name.term],)))
        if any(isinstance(part, Graph) for part in parts(inner)):
            raise _NotFollowed("a window inside a background graph")
        return self._background(pattern)


_HIDDEN = "#"
"""How the names of columns begin that are no variables."""


class _OtherPredicates(View):
    """The triples whose predicate is none of some, without it."""

    def __init__(self, inner: View, predicate: str, terms: Sequence[Term], evaluator: RowEvaluator) -> None:
        self._inner, self._predicate, self._terms, self._evaluator = inner, predicate, terms, evaluator
        self.names = tuple(name for name in inner.names if name != predicate)
        self.certain = inner.certain - {predicate}

    def parts(self) -> tuple[View, ...]:
        return (self._inner,)

    def _step(self, period: Period) -> TimedRows:
        rows = self._inner.step(period)
        excluded = np.array([self._evaluator.constant(term) for term in self._terms], np.int32)
        rows = rows.take(~np.isin(rows.columns[self._predicate], excluded))
        return rows.with_columns({name: rows.columns[name] for name in self.names})


def _plain(pattern: Pattern) -> bool:
    """True for triple patterns without unbounded paths, joins of them, and filters on what they bind."""
    match pattern:
        case Bgp():
            return True
        case Join(left, right):
            return _plain(left) and _plain(right)
        case Graph(name, inner):
            return isinstance(name, Constant) and _plain(inner)
        case Filter(inner, condition):
            return (
                _plain(inner)
                and not has_exists(condition)
                and expression_variables(condition) <= frozenset(in_scope(inner))
            )
        case _:
            return False
