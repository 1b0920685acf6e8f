"""Graph patterns as operators on tables (SPARQL 1.1, section 18.5), for all events of a batch at once."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

import numpy as np

from spaseq.algebra.expressions import Constant, Expression, Var, conjuncts
from spaseq.algebra.functions import is_volatile
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
    OrderBy,
    Pattern,
    Project,
    Slice,
    Union,
    Values,
)
from spaseq.algebra.scope import mentioned, pattern_expressions, sub_patterns
from spaseq.algebra.total_order import ordered, settled
from spaseq.columnar.aggregation import solve_group
from spaseq.columnar.bgp import solve_bgp
from spaseq.columnar.expressions import holds, ids, needs_events
from spaseq.columnar.frame import VIRTUAL, Frame
from spaseq.columnar.joins import compatible_rows, join, merged, without
from spaseq.columnar.order import sliced, sorted_rows
from spaseq.columnar.table import Ids, Table, distinct, stacked


def solve(pattern: Pattern, frame: Frame) -> Table:
    """The solutions of a pattern, with multiplicity, per event and in event order."""
    match pattern:
        case Bgp(triples):
            return solve_bgp(triples, (), frame)[0]
        case Filter(inner, condition):
            return _filter(inner, conjuncts(condition), frame)
        case Join(left, right):
            return join(solve(left, frame), solve(right, frame)).in_event_order()
        case LeftJoin(left, right, condition):
            return _left_join(solve(left, frame), solve(right, frame), condition, frame)
        case Union(left, right):
            return _stacked(solve(left, frame), solve(right, frame), frame)
        case Minus(left, right):
            return _minus(solve(left, frame), solve(right, frame), frame)
        case Extend(inner, variable, expression):
            table = _ready(solve(inner, frame), expression, frame)
            return table.bind(variable.name, ids(expression, table, frame))
        case Values(variables, rows):
            return _with_outer(_values(variables, rows, frame), frame)
        case Graph(name, inner):
            return _graph(pattern, name, inner, frame)
        case Group(inner, keys, aggregates):
            followed = ordered(inner)
            members = solve(inner if followed is None else followed, frame)
            return solve_group(members, keys, aggregates, frame, in_order=followed is not None)
        case OrderBy(inner, order):
            return sorted_rows(solve(inner, frame), order, frame)
        case Project(inner, chosen):
            return _project(inner, chosen, frame)
        case Distinct(inner):
            return distinct(solve(inner, frame))
        case Slice(_, offset, limit):
            sorted_ = settled(pattern)
            assert isinstance(sorted_, Slice)
            return sliced(solve(sorted_.pattern, frame), offset, limit)
        case IntervalJoin():
            raise AssertionError("the solutions of one graph have no interval")
        case EventMatch():
            return _match(frame.matches[pattern], frame)
        case _:
            assert_never(pattern)


def _ready(table: Table, expression: Expression, frame: Frame) -> Table:
    return frame.spread(table) if needs_events(expression, table, frame) else table


def _filter(inner: Pattern, conditions: tuple[Expression, ...], frame: Frame) -> Table:
    rest = list(conditions)
    if isinstance(inner, Bgp):
        table, rest = solve_bgp(inner.triples, conditions, frame)
    else:
        table = solve(inner, frame)
    for condition in rest:
        table = _ready(table, condition, frame)
        table = table.where(holds(condition, table, frame))
    return table


def _left_join(left: Table, right: Table, condition: Expression | None, frame: Frame) -> Table:
    """OPTIONAL: joined rows that meet the condition, and left rows that found no such partner."""
    if left.static and (not right.static or (condition is not None and needs_events(condition, left, frame))):
        left = frame.spread(left)
    left_rows, right_rows = compatible_rows(left, right)
    pairs = merged(left, right, left_rows, right_rows)
    if condition is not None:
        passed = holds(condition, pairs, frame)
        pairs, left_rows = pairs.where(passed), left_rows[passed]
    lonely = np.ones(left.size, dtype=np.bool_)
    lonely[left_rows] = False
    if not lonely.any():
        return pairs
    alone = left.take(np.flatnonzero(lonely))
    return stacked([pairs, alone])


def _stacked(left: Table, right: Table, frame: Frame) -> Table:
    if left.static != right.static:
        left, right = frame.spread(left), frame.spread(right)
    return stacked([left, right])


def _minus(left: Table, right: Table, frame: Frame) -> Table:
    if left.static and not right.static:
        left = frame.spread(left)
    return without(left, right)


def _values(variables: tuple[Var, ...], rows: tuple[tuple[object, ...], ...], frame: Frame) -> Table:
    encode = frame.dictionary.encode
    columns = {
        variable.name: np.array(
            [0 if row[position] is None else encode(row[position]) for row in rows],  # type: ignore[arg-type]
            dtype=np.int32,
        )
        for position, variable in enumerate(variables)
    }
    return Table(None, columns, len(rows))


def _with_outer(table: Table, frame: Frame) -> Table:
    """Inside EXISTS, the rows of a table that are compatible with each outer solution."""
    outer = frame.outer_table(table.columns)
    return table if outer is None else join(outer, table)


def _match(table: Table, frame: Frame) -> Table:
    """Inside EXISTS, the rows that are compatible with each outer solution."""
    seed = frame.seed(table.columns)
    if seed is None:
        return table
    found = join(seed, table)
    columns = {name: column for name, column in found.columns.items() if name != VIRTUAL}
    return Table(found.columns[VIRTUAL], columns, found.size).in_event_order()


def _project(inner: Pattern, chosen: tuple[Var, ...], frame: Frame) -> Table:
    names = [variable.name for variable in chosen]
    table = solve(inner, frame.seeing(names))
    columns = {name: table.columns.get(name, np.zeros(table.size, dtype=np.int32)) for name in names}
    # Inside EXISTS, what SELECT or GROUP BY computes is compared with the outer solution only here.
    return _with_outer(Table(table.events, columns, table.size), frame)


# --- background knowledge -----------------------------------------------------------------------


def _graph(pattern: Graph, name: Var | Constant, inner: Pattern, frame: Frame) -> Table:
    """GRAPH: over a window, or over the background graphs, evaluated once per version of the knowledge (Def 15)."""
    if isinstance(name, Constant) and name.term in frame.windows:
        return solve(inner, replace(frame, views=frame.windows[name.term]))
    if _sees_outer(inner, frame):
        return _correlated_graph(name, inner, frame)
    kept = frame.knowledge.tables(frame.dictionary)
    table = kept.get(pattern)
    if table is None:
        table = _graph_table(name, inner, frame)
        if not _is_volatile(inner):
            kept[pattern] = table
    return _with_outer(table, frame)


def _graph_table(name: Var | Constant, inner: Pattern, frame: Frame) -> Table:
    names = frame.knowledge.name_ids(frame.dictionary)
    views = frame.knowledge.views(frame.dictionary)
    found = solve(inner, replace(frame, views=views, origin=None, outer={}))
    here = replace(frame, views=views, origin=None, outer={}).spread(found)
    assert here.events is not None
    return _named(Table(None, here.columns, here.size), name, names[here.events], frame)


def _named(table: Table, name: Var | Constant, graphs: Ids, frame: Frame) -> Table:
    """The rows of the named graph, or of every graph with its name as one more binding."""
    if isinstance(name, Constant):
        return table.where(graphs == frame.constant(name.term))
    mine = table.columns.get(name.name)
    if mine is not None:
        table, graphs = table.where((mine == 0) | (mine == graphs)), graphs[(mine == 0) | (mine == graphs)]
    return table.bind(name.name, graphs)


def _correlated_graph(name: Var | Constant, inner: Pattern, frame: Frame) -> Table:
    """GRAPH inside EXISTS whose pattern reads outer variables: every outer solution looks at every graph."""
    names = frame.knowledge.name_ids(frame.dictionary)
    events, graphs = np.repeat(frame.all_events(), len(names)), np.tile(names, frame.count)
    places = np.tile(np.arange(len(names), dtype=np.int32), frame.count)
    outer = {variable: column[events] for variable, column in frame.outer.items()}
    views = frame.knowledge.views(frame.dictionary)
    nested = replace(frame, views=views, origin=places, outer=outer)
    found = nested.spread(solve(inner, nested))
    assert found.events is not None
    table = Table(events[found.events], found.columns, found.size)
    return _with_outer(_named(table, name, graphs[found.events], frame), frame)


def _sees_outer(pattern: Pattern, frame: Frame) -> bool:
    return not frame.outer.keys().isdisjoint(mentioned(pattern))


def _is_volatile(pattern: Pattern) -> bool:
    return any(is_volatile(expression) for expression in pattern_expressions(pattern)) or any(
        _is_volatile(part) for part in sub_patterns(pattern)
    )
