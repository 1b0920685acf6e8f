"""From the pattern of a continuous query to its views; what no view can follow is evaluated anew, with the reason."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import assert_never

import numpy as np
from pyoxigraph import Literal, NamedNode

from spaseq.algebra.by_place import by_place
from spaseq.algebra.event_patterns import EventPattern
from spaseq.algebra.expressions import (
    Aggregate,
    Call,
    Constant,
    Exists,
    Expression,
    Term,
    Unary,
    Var,
    conjuncts,
    rebuild,
)
from spaseq.algebra.format import format_expression, format_path, format_triple
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
    Join,
    LeftJoin,
    Minus,
    Node,
    OrderBy,
    Pattern,
    Project,
    Slice,
    TriplePattern,
    Union,
    Values,
)
from spaseq.algebra.scope import certainly_bound, expression_variables, in_scope, lowered, pattern_expressions
from spaseq.algebra.substitution import is_join
from spaseq.algebra.visibility import every_pattern
from spaseq.algebra.windows import WindowQuery
from spaseq.columnar.knowledge import Knowledge
from spaseq.columnar.rows import RowEvaluator
from spaseq.columnar.table import AtHome, Table
from spaseq.model.dictionary import TermDictionary
from spaseq.windowed.conjunction import ConjunctionView
from spaseq.windowed.contents import WindowContents
from spaseq.windowed.evaluations import Period
from spaseq.windowed.event_traces import TRACE
from spaseq.windowed.event_views import Told, match_view
from spaseq.windowed.groups import GroupView
from spaseq.windowed.inputs import Input, window_triples
from spaseq.windowed.named_graphs import outside_graphs, with_listed_graphs
from spaseq.windowed.paths import Apart, Either, Joined, Others, Piece, Repeated, Same, pieces
from spaseq.windowed.reevaluated import EvaluationScope, LiveTriples, ReevaluatedView
from spaseq.windowed.report import outer_operators
from spaseq.windowed.timed import TimedRows
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
    """A part of a query, as a pattern or as it is written, that is made anew at every evaluation, and why."""

    part: Pattern | str
    reason: str


def parts_anew(query: WindowQuery, *, incremental: bool = True) -> tuple[Anew, ...]:
    """The parts of a query that no view follows."""
    builder = ViewBuilder(query, TermDictionary(), Knowledge(), incremental=incremental)
    inner, operators = outer_operators(query.form, query.pattern)
    builder.build(inner)
    if any(isinstance(each, OrderBy) for each in operators):
        builder.anew.append(Anew("ORDER BY", "all solutions of an evaluation are sorted"))
    elif operators:
        builder.anew.append(Anew("LIMIT, OFFSET", "all solutions of an evaluation are counted"))
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
        at_home: AtHome | None = None,
    ) -> None:
        self._tells_events, self._at_home = tells_events, at_home
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

    def build(self, pattern: Pattern, read: Collection[str] = ()) -> View:
        """The view of a whole pattern; ``read`` are the variables that are needed of its rows though no solution has them."""
        if self._query.named_graphs is not None:
            pattern = with_listed_graphs(pattern, self._query.named_graphs)
        found = self._view(outside_graphs(pattern, self._knowledge.names, self._windows), self._default)
        # SELECT leaves out the blank nodes of WHERE by itself; without it they would tell equal solutions apart.
        return _hiding(found, [name for name in found.names if Var(name).hidden and name not in read])

    def surroundings(self, source: ActiveGraph) -> EvaluationScope:
        """What a pattern over an active graph is evaluated in."""
        return EvaluationScope(
            self._dictionary,
            self._knowledge,
            {name: self._live[number] for name, number in self._windows.items()},
            tuple(self._live[number] for number in source.windows),
            source.graphs,
            key=None if self._at_home is None else self._query.key,
            at_home=self._at_home,
        )

    def _view(self, pattern: Pattern, source: ActiveGraph) -> View:
        """The view of a pattern, evaluated anew if nothing else is left."""
        before = (len(self.contents), len(self.live), len(self.matches), len(self.anew))
        try:
            return self._followed(pattern, source)
        except _NotFollowed as reason:
            self._drop_since(*before)
            return self._made_anew(pattern, source, Anew(pattern, str(reason)))

    def _made_anew(self, pattern: Pattern, source: ActiveGraph, told: Anew) -> View:
        """The view of a pattern that is evaluated anew."""
        self.anew.append(told)
        self._hold(pattern, source)
        clock = any(
            is_volatile(each) for part in every_pattern(pattern) for each in pattern_expressions(part)
        )
        matches: dict[Pattern, View] = {
            part: self._match(part.events) for part in every_pattern(pattern) if isinstance(part, EventMatch)
        }
        always = not self._incremental  # what is compared with following pays for every evaluation
        return ReevaluatedView(
            pattern, self.surroundings(source), self._count, matches, reads_clock=clock, always=always
        )

    def _followed(self, pattern: Pattern, source: ActiveGraph) -> View:
        if isinstance(pattern, EventMatch):
            return self._match(pattern.events)
        if not self._incremental:
            raise _NotFollowed("incremental evaluation is switched off")
        match pattern:
            case Bgp((triple,)):
                return self._shown(self._triple(triple, source))
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
                return self._extended(self._view(inner, source), variable, expression, source)
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

    def _drop_since(self, contents: int, live: int, matches: int, anew: int) -> None:
        """Forget what was asked for by views that are not used after all, given how much there was before them."""
        for key in list(self.contents)[contents:]:
            del self.contents[key]
        for key in list(self.live)[live:]:
            del self.live[key]
        del self.matches[matches:]
        del self.anew[anew:]

    def _contents_of(self, window: int, source: Input) -> WindowContents:
        key = (window, source)
        if key not in self.contents:
            self.contents[key] = WindowContents(window, len(source.names))
        return self.contents[key]

    def _check(self, expression: Expression) -> None:
        """A row alone must decide an expression; what EXISTS in it asks for is another matter."""
        if is_volatile(expression):
            raise _NotFollowed("a function that differs between evaluations, such as NOW()")
        if reads_times(expression):
            raise _NotFollowed("timestamp() depends on every event that carries a triple")

    # --- triples --------------------------------------------------------------------------------

    def _joined(self, patterns: Sequence[Pattern], filters: list[Expression], source: ActiveGraph) -> View:
        """The join of some patterns, triple by triple; filters run as soon as their variables are there."""
        operands = [view for pattern in patterns for view in self._operands(pattern, source)]
        return self._shown(self._conjunction(operands, filters))

    def _shown(self, found: View) -> View:
        """The rows without what stands between the steps of paths."""
        return _hiding(found, [name for name in found.names if name.startswith(_HIDDEN) and name != TRACE])

    def _operands(self, pattern: Pattern, source: ActiveGraph) -> list[View]:
        """The views that a pattern joins: those of its triple patterns, or else its own."""
        match pattern:
            case Bgp(triples):
                # A path of unbounded length is evaluated anew by itself; what it joins with is followed.
                return [
                    self._view(Bgp((triple,)), source) if triple.is_path else self._triple(triple, source)
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
            return self._path(triple, source)
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

        def solutions() -> Table:
            return self._evaluator.over_knowledge(pattern, self._knowledge)

        names, certain = in_scope(pattern), certainly_bound(pattern)
        return BackgroundView(names, certain, solutions, self._knowledge, self._count)

    def _path(self, triple: TriplePattern, source: ActiveGraph) -> View:
        """A path by its pieces."""
        fresh = (Var(f"{_HIDDEN}{next(self._number)}") for _ in count())
        found = pieces(triple.subject, triple.predicate, triple.object, fresh)
        if found is None:
            raise _NotFollowed("a path that may have no length")
        return self._piece(found, triple, source, {})

    def _piece(self, piece: Piece, whole: TriplePattern, source: ActiveGraph, made: dict[int, View]) -> View:
        """A piece of a path, with the nodes between its parts; ``made`` are those that several pieces share."""
        if id(piece) not in made:
            made[id(piece)] = self._new_piece(piece, whole, source, made)
        return made[id(piece)]

    def _new_piece(
        self, piece: Piece, whole: TriplePattern, source: ActiveGraph, made: dict[int, View]
    ) -> View:
        match piece:
            case TriplePattern():
                return self._triple(piece, source)
            case Others(triple, excluded):
                assert isinstance(triple.predicate, Var)
                terms = [item.term for item in excluded]
                view = self._triple(triple, source)
                return _OtherPredicates(view, triple.predicate.name, terms, self._evaluator)
            case Repeated(triple, written):
                part = "" if written == whole.predicate else f"{format_path(written)} in "
                told = Anew(part + format_triple(whole), "a path of unbounded length")
                return self._made_anew(Bgp((triple,)), source, told)
            case Either(several):
                views = [self._piece(each, whole, source, made) for each in several]
                return views[0] if len(views) == 1 else UnionView(views)
            case Joined(left, right):
                before = self._piece(left, whole, source, made)
                return JoinView(before, self._piece(right, whole, source, made), self._count)
            case Same(inner, bound, node):
                view = self._piece(inner, whole, source, made)
                if isinstance(node, Var) and node.name not in view.names:
                    return ProjectView(view, {**{name: name for name in view.names}, node.name: bound.name})
                return FilterView(view, Call("SAMETERM", (bound, node)), self._evaluator)
            case Apart(inner, start, end):
                ends = [node.name for node in (start, end) if isinstance(node, Var)]
                view = self._only(self._piece(inner, whole, source, made), tuple(dict.fromkeys(ends)))
                different = Unary("!", Call("SAMETERM", (start, end)))
                return FilterView(DistinctView(view, self._count), different, self._evaluator)
            case _:
                assert_never(piece)

    # --- filters --------------------------------------------------------------------------------

    def _filter(self, inner: Pattern, conditions: tuple[Expression, ...], source: ActiveGraph) -> View:
        plain = [each for each in conditions if not has_exists(each)]
        for condition in plain:
            self._check(condition)
        view = self._joined([inner], plain, source)
        return self._where(view, [*plain, *filter(has_exists, conditions)], source)

    def _where(self, view: View, conditions: Iterable[Expression], source: ActiveGraph) -> View:
        """The rows on which conditions hold."""
        for condition in conditions:
            match condition:
                case Exists(pattern, negated) | Unary("!", Exists(pattern, negated)):
                    partnered = negated == isinstance(condition, Unary)
                    view = self._existing(view, lowered(pattern), source, partnered=partnered)
                case _:
                    marked, condition = self._marked(view, condition, source)
                    found = FilterView(marked, condition, self._evaluator)
                    view = self._only(found, view.names)
        return view

    def _extended(self, view: View, variable: Var, expression: Expression, source: ActiveGraph) -> View:
        marked, expression = self._marked(view, expression, source)
        found = ExtendView(marked, variable.name, expression, self._evaluator)
        return self._only(found, (*view.names, variable.name))

    def _only(self, view: View, names: Sequence[str]) -> View:
        return view if view.names == tuple(names) else ProjectView(view, dict(zip(names, names, strict=True)))

    # --- EXISTS ---------------------------------------------------------------------------------

    def _marked(self, view: View, expression: Expression, source: ActiveGraph) -> tuple[View, Expression]:
        """The rows with a column for every EXISTS of an expression, and the expression over these columns."""
        marks: dict[Pattern, Var] = {}

        def marked(part: Expression) -> Expression:
            if not isinstance(part, Exists):
                return rebuild(part, marked)
            fresh = Var(f"{_HIDDEN}{next(self._number)}")
            mark = marks.setdefault(lowered(part.pattern), fresh)
            return Unary("!", mark) if part.negated else mark

        self._check(expression)
        changed = marked(expression)
        for pattern, mark in marks.items():
            carried, copies = self._carried(view)
            pairs = self._correlated(carried, pattern, source)
            view = UnionView(
                [
                    ExtendView(
                        PartnerView(view, pairs, copies, self._count, partnered=partnered),
                        mark.name,
                        Constant(Literal(partnered)),
                        self._evaluator,
                    )
                    for partnered in (True, False)
                ]
            )
        return view, changed

    def _existing(self, rows: View, pattern: Pattern, source: ActiveGraph, *, partnered: bool) -> View:
        """The rows for which a pattern has a solution, or has none."""
        carried, copies = self._carried(rows)
        pairs = self._correlated(carried, pattern, source)
        return PartnerView(rows, pairs, copies, self._count, partnered=partnered)

    def _correlated(self, rows: View, pattern: Pattern, source: ActiveGraph) -> View:
        """Every row with every solution of a pattern in which its values are put (SPARQL 1.1, 18.6).

        What does not see them otherwise than by a join is followed once for all rows. The rest is asked of the pairs.
        """
        outer = frozenset(rows.names)
        if is_join(pattern, outer):
            return JoinView(rows, self._view(pattern, source), self._count)
        match pattern:
            case Filter(inner, condition):
                return self._where(self._correlated(rows, inner, source), conjuncts(condition), source)
            case Extend(inner, variable, expression) if variable.name not in outer:
                return self._extended(self._correlated(rows, inner, source), variable, expression, source)
            case Union(left, right):
                return UnionView([self._correlated(rows, each, source) for each in (left, right)])
            case Join(left, right) if is_join(right, outer):
                pairs = self._correlated(rows, left, source)
                return JoinView(pairs, self._view(right, source), self._count)
            case Join(left, right) if is_join(left, outer):
                return self._correlated(rows, Join(right, left), source)
            case LeftJoin(left, right, condition) if is_join(right, outer):
                pairs = self._correlated(rows, left, source)
                return self._with_optional(pairs, self._view(right, source), condition, source)
            case Minus(left, right) if is_join(right, outer) and (
                outer.intersection(in_scope(right)) <= certainly_bound(left)
            ):
                return self._without(self._correlated(rows, left, source), self._view(right, source))
            case Graph(Constant(term), inner) if term in self._windows:
                return self._correlated(rows, inner, ActiveGraph((self._windows[term],)))
            case _:
                raise _NotFollowed(
                    "EXISTS with a pattern that sees the outer solution otherwise than by a join"
                )

    # --- partners -------------------------------------------------------------------------------

    def _carried(self, rows: View) -> tuple[View, list[str]]:
        """Rows with a copy of every column, which keeps its value when they are joined, and the names of the copies."""
        number = next(self._number)
        copies = {name: f"{_HIDDEN}{number}.{name}" for name in rows.names}
        sources = {name: name for name in rows.names} | {copy: name for name, copy in copies.items()}
        return ProjectView(rows, sources), list(copies.values())

    def _optional(
        self, left: Pattern, right: Pattern, condition: Expression | None, source: ActiveGraph
    ) -> View:
        if condition is not None:
            self._check(condition)
        return self._with_optional(self._view(left, source), self._view(right, source), condition, source)

    def _with_optional(
        self, rows: View, others: View, condition: Expression | None, source: ActiveGraph
    ) -> View:
        carried, copies = self._carried(rows)
        pairs: View = JoinView(carried, others, self._count)
        kept = [name for name in pairs.names if name not in copies]
        if condition is not None:
            pairs = self._where(pairs, conjuncts(condition), source)
        alone = PartnerView(rows, pairs, copies, self._count, partnered=False)
        return UnionView([self._only(pairs, kept), alone])

    def _minus(self, left: Pattern, right: Pattern, source: ActiveGraph) -> View:
        return self._without(self._view(left, source), self._view(right, source))

    def _without(self, rows: View, others: View) -> View:
        if set(rows.names).isdisjoint(others.names):
            return rows
        carried, copies = self._carried(rows)
        pairs = JoinView(carried, others, self._count, overlapping=True)
        return PartnerView(rows, pairs, copies, self._count, partnered=False)

    # --- groups ---------------------------------------------------------------------------------

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
                view = self._extended(view, variable, expression, source)
        names = [variable.name for variable, _ in keys]
        missing = [name for name in names if name not in view.names]
        if missing:
            view = ProjectView(view, {name: name for name in (*view.names, *missing)})
        if members := [item for _, item in aggregates if _reads_members(item)]:
            written = ", ".join(map(format_expression, members))
            self.anew.append(Anew(written, "a group that changes is made anew from all its rows"))
        operands: list[tuple[Var, Aggregate]] = []
        for variable, item in aggregates:
            assert isinstance(item, Aggregate)
            if item.operand is not None and not isinstance(item.operand, Var):
                column = Var(f"{_HIDDEN}{next(self._number)}")
                view = self._extended(view, column, item.operand, source)
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
        if any(isinstance(part, Graph) for part in every_pattern(inner)):
            raise _NotFollowed("a window inside a background graph")
        return self._background(pattern)


def _hiding(found: View, hidden: Sequence[str]) -> View:
    """The rows of a view without some columns."""
    kept = [name for name in found.names if name not in hidden]
    return ProjectView(found, dict(zip(kept, kept, strict=True))) if hidden else found


_HIDDEN = "#"
"""How the names of columns begin that are no variables."""


def _reads_members(item: Expression) -> bool:
    """Whether all rows of a group decide an aggregate, not totals or extremes that follow them."""
    assert isinstance(item, Aggregate)
    return item.name == "GROUP_CONCAT" or (item.operand is None and item.distinct)


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
