"""Basic graph patterns over a batch: one view per triple pattern, joined smallest first.

Every join is on the event and on the shared variables. Filters run as soon as their variables are there,
on a single view if one view has them all. Over a few triples, as of a single pushed event, nested loops are cheaper than
columns: a join of two views is a dozen calls for one row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from spaseq.algebra.expressions import Constant, Expression, Var
from spaseq.algebra.functions import has_exists, is_volatile
from spaseq.algebra.patterns import Node, TriplePattern
from spaseq.algebra.scope import expression_variables, ordered, triple_variables
from spaseq.columnar.expressions import holds
from spaseq.columnar.frame import VIRTUAL, Frame
from spaseq.columnar.joins import join
from spaseq.columnar.property_paths import Ends, path_table
from spaseq.columnar.table import UNIT, Ids, Mask, Table, empty_table
from spaseq.columnar.views import Edges
from spaseq.settings import settings


def solve_bgp(
    triples: Sequence[TriplePattern], filters: Sequence[Expression], frame: Frame
) -> tuple[Table, list[Expression]]:
    """The solutions, and the filters that are still to be applied."""
    if not triples:
        return UNIT, list(filters)
    names = ordered(name for triple in triples for name in triple_variables(triple))
    few = solve_few(triples, names, frame)
    if few is not None:
        return few, list(filters)
    tables = []
    for triple in triples:
        tables.append(triple_table(triple, frame))
        if not tables[-1].size:
            return empty_table(names), []
    seed = frame.seed(names)
    # A filter that sees an outer solution, or looks into a graph, waits until all is joined.
    early = [] if seed is not None else [part for part in filters if _plain(part)]
    late = [part for part in filters if part not in early]
    if early:
        tables = [_filtered(table, early, frame) for table in tables]
    if seed is not None:
        tables.append(seed)
    solutions = _joined(tables, early, frame)
    solutions = Table(
        solutions.events,
        {name: solutions.columns[name] for name in (*names, VIRTUAL) if name in solutions.columns},
        solutions.size,
    )
    return (_by_virtual_event(solutions) if seed is not None else solutions), early + late


def _plain(condition: Expression) -> bool:
    return not has_exists(condition) and not is_volatile(condition)


def _joined(tables: list[Table], filters: list[Expression], frame: Frame) -> Table:
    """The join of all tables, smallest first, connected ones preferred."""
    waiting = sorted(tables, key=lambda table: table.size)
    solutions = waiting.pop(0)
    while waiting:
        connected = [table for table in waiting if not table.columns.keys().isdisjoint(solutions.columns)]
        following = (connected or waiting)[0]
        waiting = [table for table in waiting if table is not following]
        solutions = _filtered(join(solutions, following), filters, frame)
    return solutions


def _filtered(table: Table, filters: list[Expression], frame: Frame) -> Table:
    """The rows that pass the filters whose variables the table has; those filters are done with."""
    for condition in list(filters):
        if expression_variables(condition) <= table.columns.keys():
            filters.remove(condition)
            table = table.where(holds(condition, table, frame))
    return table


def _by_virtual_event(table: Table) -> Table:
    """Solutions by event of the batch as solutions by outer solution."""
    columns = dict(table.columns)
    virtual = columns.pop(VIRTUAL)
    return Table(virtual, columns, table.size).in_event_order()


def triple_table(triple: TriplePattern, frame: Frame) -> Table:
    """The solutions of one triple pattern, in event order."""
    subject, predicate, obj = triple.subject, triple.predicate, triple.object
    match predicate:
        case Constant(term):
            edges = frame.views.predicate(frame.constant(term))
        case Var():
            edges = frame.views.everything()
        case path:
            rows = path_table(path, Ends(_constant(subject, frame), _constant(obj, frame)), frame)
            assert rows.events is not None
            edges = Edges(rows.events, rows.columns["start"], rows.columns["end"])
    nodes: list[tuple[Node, Ids]] = [(subject, edges.subjects), (obj, edges.objects)]
    if isinstance(predicate, Var):
        assert edges.predicates is not None
        nodes.insert(1, (predicate, edges.predicates))
    return _matched(nodes, edges.events, frame)


def _constant(node: Node, frame: Frame) -> int:
    return frame.constant(node.term) if isinstance(node, Constant) else 0


def _matched(nodes: list[tuple[Node, Ids]], events: Ids, frame: Frame) -> Table:
    """Constants and repeated variables as masks; the rest as columns."""
    mask: Mask | None = None
    columns: dict[str, Ids] = {}
    for node, column in nodes:
        if isinstance(node, Constant):
            wanted = column == frame.constant(node.term)
        elif node.name in columns:
            wanted = column == columns[node.name]
        else:
            columns[node.name] = column
            continue
        mask = wanted if mask is None else mask & wanted
    table = Table(events, columns, len(events))
    if mask is None:
        return table
    return table.take(np.flatnonzero(mask))


UNKNOWN: Final = -(1 << 40)
"""Stands for a constant that is not in the dictionary; no triple has it."""


def solve_few(triples: Sequence[TriplePattern], names: Sequence[str], frame: Frame) -> Table | None:
    """The solutions over a small batch; None if it is large, or the pattern not plain: columns do those."""
    if len(frame.views.batch.subjects) > settings().looped_triples or frame.origin is not None:
        return None
    if not all(isinstance(triple.predicate, Constant) for triple in triples):
        return None
    place = {name: number for number, name in enumerate(names, 1)}
    solutions: list[list[int]] = []
    for number, triple in enumerate(triples):
        assert isinstance(triple.predicate, Constant)
        edges = frame.views.few().get(frame.constant(triple.predicate.term), ())
        subject, obj = _end(triple.subject, place, frame), _end(triple.object, place, frame)
        if number == 0:
            blank = [0] * (len(names) + 1)
            solutions = [new for edge in edges if (new := _bound([edge[0], *blank[1:]], subject, obj, edge))]
        else:
            solutions = [
                new
                for known in solutions
                for edge in edges
                if edge[0] == known[0] and (new := _bound(known.copy(), subject, obj, edge))
            ]
        if not solutions:
            return empty_table(names)
    columns = np.array(solutions, np.int32).T
    return Table(columns[0], {name: columns[at] for name, at in place.items()}, len(solutions))


def _end(node: Node, place: dict[str, int], frame: Frame) -> int:
    """Where a variable stands in a solution; a constant as its id, below zero."""
    if isinstance(node, Var):
        return place[node.name]
    return -frame.constant(node.term) or UNKNOWN


def _bound(solution: list[int], subject: int, obj: int, edge: tuple[int, int, int]) -> list[int] | None:
    """The solution with both ends of a triple, if they fit."""
    for end, value in ((subject, edge[1]), (obj, edge[2])):
        if end < 0:
            if value != -end:
                return None
        elif solution[end] == 0:
            solution[end] = value
        elif solution[end] != value:
            return None
    return solution
