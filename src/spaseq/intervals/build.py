"""From a pattern to the views that evaluate it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import assert_never

import numpy as np
from pyoxigraph import NamedNode

from spaseq.algebra.expressions import (
    Aggregate,
    Constant,
    Expression,
    Term,
    Var,
    conjuncts,
    rebuild,
)
from spaseq.algebra.functions import has_exists
from spaseq.algebra.intervals import Policy
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
    OrderKey,
    Pattern,
    Project,
    Relation,
    Slice,
    Union,
    Values,
)
from spaseq.algebra.scope import certainly_bound, expression_variables, in_scope
from spaseq.algebra.substitution import is_join
from spaseq.algebra.total_order import with_bound_keys
from spaseq.intervals.bounds import is_bound, longest_in, longest_of, over_columns, reads_time
from spaseq.intervals.interval_joins import MinusView, OptionalSolutions, Partners, RowColumns
from spaseq.intervals.interval_rows import Ids, IntervalRows
from spaseq.intervals.limits import SliceView
from spaseq.intervals.running_groups import GroupedSolutions
from spaseq.intervals.schema import selected
from spaseq.intervals.solution_views import (
    BoundView,
    ExtendedSolutions,
    FilteredSolutions,
    ProjectedSolutions,
    SolutionView,
    TimelessView,
    TimeStep,
    UnitedSolutions,
)
from spaseq.intervals.substituted import Evaluate, SubstitutedPartners
from spaseq.intervals.timed_expressions import TIMES, Test
from spaseq.intervals.triple_views import TripleBuilder


class IntervalBuilder(TripleBuilder):
    """Builds the views of patterns."""

    def build(self, pattern: Pattern) -> SolutionView:
        """The solutions of a pattern."""
        return self._view(pattern, None, [], late=False)

    # --- patterns -------------------------------------------------------------------------------

    def _view(
        self, pattern: Pattern, longest: int | None, conditions: list[Expression], *, late: bool
    ) -> SolutionView:
        """The solutions of a pattern on which some conditions hold, which say nothing of time.

        Solutions that last longer than ``longest`` are of no use, and may be there or not. ``late`` is the left side of a sequence of
        rules that feed themselves.
        """
        view = self._node(pattern, longest, conditions, late=late)
        for condition in conditions:
            view = FilteredSolutions(view, self._test(condition))
        conditions.clear()
        return view

    def _node(
        self, pattern: Pattern, longest: int | None, conditions: list[Expression], *, late: bool
    ) -> SolutionView:
        match pattern:
            case Bgp(triples):
                return self._bgp(triples, longest, conditions, late=late)
            case Join():
                return self._join(list(_operands(pattern, None)), None, longest, conditions, late=late)
            case IntervalJoin(left, right, relation, condition) if conditions and self._chooses(relation):
                return self._node(
                    pattern, None, [], late=late
                )  # filters outside the operands act after the choice
            case IntervalJoin(left, right, Relation.SEQ | Relation.EQUALS as relation):
                if self._chooses(relation):
                    return self._join([left, right], relation, None, conditions, late=late)
                return self._join(
                    list(_operands(pattern, relation)), relation, longest, conditions, late=late
                )
            case IntervalJoin(left, right, Relation.OPTIONALSEQ, condition):
                later = late or self._lagging
                partners = self._view(left, self._own_bound(condition), [], late=later)
                limit = None if self._chooses(Relation.OPTIONALSEQ) else longest
                rows = self._side(right, limit, conditions, late=late)
                return self._optional(rows, partners, Relation.OPTIONALSEQ, condition, limit, late=late)
            case IntervalJoin(left, right, Relation.EQUALSOPTIONAL as relation, condition):
                rows = self._side(left, longest, conditions, late=late)
                # Partners last as long as their rows.
                limit = _least(longest, longest_in(left), self._own_bound(condition))
                partners = self._view(right, limit, [], late=late)
                return self._optional(rows, partners, relation, condition, longest, late=late)
            case LeftJoin(left, right, condition):
                rows = self._side(left, longest, conditions, late=late)
                partners = self._view(right, self._own_bound(condition), [], late=late)
                return self._optional(rows, partners, None, condition, longest, late=late)
            case Union(left, right):
                sides = [self._view(side, longest, list(conditions), late=late) for side in (left, right)]
                conditions.clear()
                return UnitedSolutions(sides)
            case Minus(left, right):
                rows = self._side(left, longest, conditions, late=late)
                if set(in_scope(left)).isdisjoint(in_scope(right)):
                    return rows
                others = self._view(right, None, [], late=late)
                return MinusView(rows, others)
            case Filter(inner, condition):
                return self._filter(inner, condition, longest, conditions, late=late)
            case Extend(inner, variable, expression):
                view = self._side(inner, longest, conditions, late=late)
                return self._extended(view, variable.name, expression, late=late)
            case Values(variables, rows):
                return self._values(variables, rows, late=late)
            case Graph(name, inner):
                return self._graph(name, inner, late=late)
            case Group(inner, keys, aggregates):
                return self._group(inner, keys, aggregates, late=late)
            case OrderBy(inner):  # without LIMIT, the order inside a query has no meaning
                return self._view(inner, longest, conditions, late=late)
            case Project(inner, chosen):
                names = [variable.name for variable in chosen]
                # What is projected away is another variable outside.
                seen = [each for each in conditions if expression_variables(each) <= set(names)]
                conditions[:] = [each for each in conditions if each not in seen]
                view = self._side(inner, longest, seen, late=late)
                conditions += seen
                return ProjectedSolutions(view, names)
            case Distinct(inner):  # solutions are a set anyway
                return self._view(inner, longest, conditions, late=late)
            case Slice(inner, offset, limit):
                return self._slice(inner, offset, limit, late=late)
            case IntervalJoin():
                raise AssertionError(pattern.relation)
            case EventMatch():
                raise AssertionError("MATCH is over windows")
            case _:
                assert_never(pattern)

    def _chooses(self, relation: Relation) -> bool:
        """True if a policy chooses among the partners of a join."""
        return self._policy is not Policy.UNRESTRICTED and relation in (Relation.SEQ, Relation.OPTIONALSEQ)

    def _side(
        self, pattern: Pattern, longest: int | None, conditions: list[Expression], *, late: bool
    ) -> SolutionView:
        """One side of a pattern, with those conditions that it alone decides."""
        bound = certainly_bound(pattern)
        own = [each for each in conditions if expression_variables(each) <= bound]
        conditions[:] = [each for each in conditions if each not in own]
        return self._view(pattern, longest, own, late=late)

    def _join(
        self,
        parts: Sequence[Pattern],
        relation: Relation | None,
        longest: int | None,
        conditions: list[Expression],
        *,
        late: bool,
    ) -> SolutionView:
        """All parts together; in a sequence, all but the last one are its left side."""
        later = late or (self._lagging and relation is Relation.SEQ)
        if relation is Relation.EQUALS:  # all last as long
            longest = _least(longest, *map(longest_in, parts))
        views = [self._side(part, longest, conditions, late=later) for part in parts[:-1]]
        views.append(self._side(parts[-1], longest, conditions, late=late))
        return self._joined(views, relation, longest, conditions)

    def _optional(
        self,
        rows: SolutionView,
        partners: SolutionView,
        relation: Relation | None,
        condition: Expression | None,
        longest: int | None,
        *,
        late: bool,
    ) -> SolutionView:
        """A condition of the optional side reads both mappings and the interval of both."""
        both = RowColumns(
            tuple(dict.fromkeys((*rows.names, *partners.names))), rows.certain | partners.certain
        )
        own = () if condition is None else conjuncts(condition)
        tests = [self._test(each, both, late=late) for each in own if not is_bound(each)]
        return OptionalSolutions(
            rows,
            partners,
            relation=relation,
            tests=tests,
            longest=longest,
            longest_pair=self._own_bound(condition),
            policy=self._policy if relation is Relation.OPTIONALSEQ else Policy.UNRESTRICTED,
        )

    def _own_bound(self, condition: Expression | None) -> int | None:
        return None if condition is None else _least(*map(longest_of, conjuncts(condition)))

    # --- filters --------------------------------------------------------------------------------

    def _filter(
        self,
        inner: Pattern,
        condition: Expression,
        longest: int | None,
        conditions: list[Expression],
        *,
        late: bool,
    ) -> SolutionView:
        bound: int | None = None
        plain, others = list(conditions), []
        conditions.clear()
        for each in conjuncts(condition):
            bound = _least(bound, longest_of(each))
            if is_bound(each):
                continue
            if has_exists(each) or reads_time(each):
                others.append(each)
            else:
                plain.append(each)
        view = self._view(inner, _least(longest, bound), plain, late=late)
        if bound is not None:
            view = BoundView(view, bound, timed=True)
        for each in others:
            view = FilteredSolutions(view, self._test(each, RowColumns(view.names, view.certain), late=late))
        return view

    # --- EXISTS ---------------------------------------------------------------------------------

    def _partners(self, rows: RowColumns, pattern: Pattern, *, late: bool) -> Partners | SubstitutedPartners:
        """The solutions that EXISTS looks for; filters on top of it that read the outer solution are asked of pairs."""
        inner, correlated, own = pattern, list[Expression](), list[Expression]()
        while isinstance(inner, Filter):
            bound = certainly_bound(inner.pattern)
            for each in conjuncts(inner.condition):
                (own if expression_variables(each) <= bound else correlated).append(each)
            inner = inner.pattern
        for each in own:
            inner = Filter(inner, each)
        if not is_join(inner, frozenset(rows.names)) or any(map(has_exists, correlated)):
            return self._substituted(rows, pattern, late=late)
        others = self.build_side(inner, late=late)
        copies: dict[str, Expression] = {}
        changed = [over_columns(each) for each in correlated]
        for name in TIMES:  # a time that the inner solution has, not the pair
            if any(name in expression_variables(each) for each in changed):
                copy = f"{name}{next(self._number)}"
                copies[name] = Var(copy)
                others = ExtendedSolutions(others, copy, Test(Var(name), self._evaluator))
        return Partners(rows, others, tests=[self._test(_replaced(each, copies)) for each in changed])

    def _substituted(self, rows: RowColumns, pattern: Pattern, *, late: bool) -> SubstitutedPartners:
        """EXISTS that sees the outer solution otherwise than by a join."""
        graph = self._graph_name

        def made(each: Pattern) -> tuple[IntervalBuilder, SolutionView]:
            builder = IntervalBuilder(
                self._dictionary, self._knowledge, self._evaluator, tracer=self._tracer, policy=self._policy
            )
            return builder, builder.build(each if graph is None else Graph(graph, each))

        def evaluation(each: Pattern) -> Evaluate:
            builder, view = made(each)

            def evaluate(new: IntervalRows, horizon: int) -> IntervalRows:
                for triple, source in builder.occurrences.items():
                    source.new = selected(new, triple, self._evaluator)
                return view.step(TimeStep(horizon))

            return evaluate

        needed = made(pattern)[0].occurrences  # whatever is put in place of variables reads no more than this
        read = {triple: self.occurrences.setdefault(triple, source) for triple, source in needed.items()}
        return SubstitutedPartners(
            rows.names, pattern, read, evaluation, self._dictionary, self._evaluator, late=late
        )

    def build_side(self, pattern: Pattern, *, late: bool) -> SolutionView:
        """The solutions of a pattern that stands apart."""
        return self._view(pattern, None, [], late=late)

    def _extended(self, view: SolutionView, name: str, expression: Expression, *, late: bool) -> SolutionView:
        return ExtendedSolutions(
            view, name, self._test(expression, RowColumns(view.names, view.certain), late=late)
        )

    # --- the rest -------------------------------------------------------------------------------

    def _values(
        self, variables: Sequence[Var], rows: Sequence[Sequence[Term | None]], *, late: bool
    ) -> SolutionView:
        def solutions() -> tuple[Mapping[str, Ids], int]:
            encode = self._dictionary.encode
            return {
                variable.name: np.array(
                    [0 if (term := row[at]) is None else encode(term) for row in rows], np.int32
                )
                for at, variable in enumerate(variables)
            }, len(rows)

        names = [variable.name for variable in variables]
        certain = certainly_bound(Values(tuple(variables), tuple(map(tuple, rows))))
        return ProjectedSolutions(TimelessView(names, certain, solutions, late=late), names)

    def _graph(self, name: Node, inner: Pattern, *, late: bool) -> SolutionView:
        """A pattern over background graphs: its solutions are timeless, so that joins over time find none."""
        graphs = (
            [name] if isinstance(name, Constant) else [Constant(NamedNode(n)) for n in self._knowledge.names]
        )
        before, found = self._graph_name, []
        for graph in graphs:
            self._graph_name = graph
            view = self.build_side(inner, late=late)
            if isinstance(name, Var):
                named = self._values((name,), ((graph.term,),), late=late)
                view = self._joined([view, named], None, None, [])
            found.append(view)
        self._graph_name = before
        if not found:
            names = in_scope(Graph(name, inner))
            return TimelessView(names, frozenset(names), lambda: ({}, 0))
        return found[0] if len(found) == 1 else UnitedSolutions(found)

    def _group(
        self,
        inner: Pattern,
        keys: tuple[tuple[Var, Expression], ...],
        aggregates: tuple[tuple[Var, Expression], ...],
        *,
        late: bool,
    ) -> SolutionView:
        view = self.build_side(inner, late=late)
        for variable, expression in keys:
            if expression != variable:
                view = self._extended(view, variable.name, expression, late=late)
        names = [variable.name for variable, _ in keys]
        missing = [name for name in names if name not in view.names]
        if missing:
            view = ProjectedSolutions(view, (*view.names, *missing))
        operands: list[tuple[Var, Expression]] = []
        for variable, item in aggregates:
            assert isinstance(item, Aggregate)
            if item.operand is not None and not isinstance(item.operand, Var):
                column = Var(f"#{next(self._number)}")
                view = self._extended(view, column.name, item.operand, late=late)
                item = replace(item, operand=column)
            operands.append((variable, item))
        return GroupedSolutions(view, names, tuple(operands), self._evaluator.rows)

    def _slice(self, inner: Pattern, offset: int, limit: int | None, *, late: bool) -> SolutionView:
        """LIMIT and OFFSET count the solutions in order of time, those of one instant as ORDER BY says."""
        keys: tuple[OrderKey, ...] = ()
        names: Sequence[str] | None = None
        while isinstance(inner, (Distinct, Project, OrderBy)):
            if isinstance(inner, Project) and names is None:
                names = [variable.name for variable in inner.variables]
            if isinstance(inner, OrderBy):
                keys = inner.keys
            inner = inner.pattern
        chosen = in_scope(inner) if names is None else names
        inner, ordered = ordered_by(inner, keys)
        return SliceView(self.build_side(inner, late=late), chosen, ordered, offset, limit, self._evaluator)


def ordered_by(pattern: Pattern, keys: Sequence[OrderKey]) -> tuple[Pattern, tuple[OrderKey, ...]]:
    """A pattern and the keys of ORDER BY, over columns: a key with EXISTS becomes a value of the pattern's solutions."""
    pattern, found = with_bound_keys(pattern, keys, lambda key: has_exists(key.expression))
    return pattern, tuple(replace(key, expression=over_columns(key.expression)) for key in found)


def _least(*bounds: int | None) -> int | None:
    """The least of some bounds; None if there is none."""
    return min((each for each in bounds if each is not None), default=None)


def _operands(pattern: Pattern, relation: Relation | None) -> Iterator[Pattern]:
    """What one operator joins; what is in braces of its own stays together."""
    match pattern:
        case Join(left, right) if relation is None:
            yield from (*_operands(left, relation), right)
        case IntervalJoin(left, right, own) if own is relation:
            yield from (*_operands(left, relation), right)
        case _:
            yield pattern


def _replaced(expression: Expression, by: Mapping[str, Expression]) -> Expression:
    """An expression with others in the place of some variables."""
    if isinstance(expression, Var):
        return by.get(expression.name, expression)
    return rebuild(expression, lambda part: _replaced(part, by)) if by else expression
