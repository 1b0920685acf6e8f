"""GROUP BY and aggregates, per event (SPARQL 1.1, sections 11 and 18.5.1).

Counting is done on columns. The other set functions are put to pyoxigraph with all groups in one
question; MIN, MAX and SAMPLE pick a row, so that the term keeps its spelling. A row on which the operand
is an error spoils the group, except for COUNT and SAMPLE. What SPARQL leaves open is decided by a total order
of terms: MIN and SAMPLE give the first one, MAX the last, GROUP_CONCAT all in that order.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt
from pyoxigraph import BlankNode, Literal

from spaseq.algebra.expressions import Aggregate, Expression, Term, Var
from spaseq.columnar.expressions import ids, needs_events
from spaseq.columnar.frame import Frame
from spaseq.columnar.kernels.exact import aggregate_numbers
from spaseq.columnar.kernels.numbers import (
    encode_averages,
    encode_integers,
    encode_numbers,
    numbers_of,
    total,
)
from spaseq.columnar.kernels.strings import check_length
from spaseq.columnar.order import total_ranks
from spaseq.columnar.table import Ids, Rows, Table, codes, row_codes

Groups = npt.NDArray[np.intp]
"""For every row the number of its group."""

HIDDEN = ("_:", "#")
"""How the names of columns begin that are no variables: blank nodes, and what is computed for aggregates."""


def solve_group(
    table: Table,
    keys: tuple[tuple[Var, Expression], ...],
    aggregates: tuple[tuple[Var, Expression], ...],
    frame: Frame,
    *,
    in_order: bool = False,
) -> Table:
    """One row per group and event: the keys, then the aggregates. Rows ``in_order`` are those of a sequence: GROUP_CONCAT follows it."""
    for _, expression in keys:
        if needs_events(expression, table, frame):
            table = frame.spread(table)
    operands = [aggregate for _, aggregate in aggregates if isinstance(aggregate, Aggregate)]
    if any(item.operand is not None and needs_events(item.operand, table, frame) for item in operands):
        table = frame.spread(table)
    columns = {variable.name: ids(expression, table, frame) for variable, expression in keys}
    keyed = Table(table.events, columns, table.size)
    if keys:
        _, first, inverse = np.unique(row_codes(keyed, columns), return_index=True, return_inverse=True)
        result, groups = keyed.take(first), inverse.reshape(-1)
    else:
        result, groups = _whole_events(table, frame)
    for (variable, _), operand in zip(aggregates, operands, strict=True):
        result = result.bind(
            variable.name, _aggregated(operand, table, groups, result.size, frame, in_order=in_order)
        )
    return result.in_event_order()


def _whole_events(table: Table, frame: Frame) -> tuple[Table, Groups]:
    """Without keys each event is one group, even an event without any solution."""
    if table.events is None:
        return Table(None, {}, 1), np.zeros(table.size, dtype=np.intp)
    events = frame.all_events()
    return Table(events, {}, len(events)), np.searchsorted(events, table.events)


def _aggregated(
    item: Aggregate, table: Table, groups: Groups, count: int, frame: Frame, *, in_order: bool
) -> Ids:
    if item.operand is None:
        rows = np.arange(table.size)
        if item.distinct:
            visible = [column for name, column in table.columns.items() if not name.startswith(HIDDEN)]
            rows = _first_of_each(codes([groups.astype(np.int32), *visible], table.size))
        return encode_integers(np.bincount(groups[rows], minlength=count), frame.functions)
    column = ids(item.operand, table, frame)
    rows = np.flatnonzero(column != 0)
    failed = np.zeros(count, dtype=np.bool_)
    failed[groups[column == 0]] = True
    if item.distinct:
        rows = rows[_first_of_each(codes([groups[rows].astype(np.int32), column[rows]], len(rows)))]
    owners, terms = groups[rows], column[rows]
    match item.name:
        case "COUNT":
            return encode_integers(np.bincount(owners, minlength=count), frame.functions)
        case "SAMPLE":
            return _picked(total_ranks(terms, frame), owners, terms, count)
        case "MIN" | "MAX":
            ranked = total_ranks(terms, frame)
            best = _picked(ranked if item.name == "MIN" else -ranked, owners, terms, count)
        case _:
            best = _computed(item, owners, terms, count, frame, in_order=in_order)
    best[failed] = 0
    return best


def _first_of_each(keys: npt.NDArray[np.int64]) -> Rows:
    return np.sort(np.unique(keys, return_index=True)[1])


def _picked(ranked: npt.NDArray[np.int64], owners: Groups, terms: Ids, count: int) -> Ids:
    """For each group the term of its row of lowest rank."""
    order = np.lexsort((ranked, owners))
    sorted_owners = owners[order]
    first = np.flatnonzero(np.concatenate([[True], sorted_owners[1:] != sorted_owners[:-1]])[: len(order)])
    chosen = np.zeros(count, dtype=np.int32)
    chosen[sorted_owners[first]] = terms[order[first]]
    return chosen


def _computed(
    item: Aggregate, owners: Groups, terms: Ids, count: int, frame: Frame, *, in_order: bool
) -> Ids:
    """SUM and AVG, on columns if they can; GROUP_CONCAT, whose result has no language whatever its strings have."""
    many = np.bincount(owners, minlength=count)
    if item.name == "SUM" or (item.name == "AVG" and bool(many.all())):
        added = total(numbers_of(terms, frame.functions), owners, count)
        if added is not None and item.name == "SUM":
            return encode_numbers(added, added.known, frame.functions)
        if added is not None:
            return encode_averages(added, many, frame.functions)
    order = np.argsort(owners, kind="stable")
    if item.name == "GROUP_CONCAT" and not in_order:
        order = np.lexsort((total_ranks(terms, frame), owners))
    bounds = np.searchsorted(owners[order], np.arange(count + 1))
    decoded = frame.dictionary.decode_many(terms[order])
    groups = [decoded[start:end] for start, end in pairwise(bounds)]
    if item.name == "GROUP_CONCAT":
        answers = [
            _concatenated(group, " " if item.separator is None else item.separator) for group in groups
        ]
    else:
        answers = aggregate_numbers(item.name, groups)
    chosen = np.zeros(count, dtype=np.int32)
    for group, answer in enumerate(answers):
        if answer is not None:
            chosen[group] = frame.dictionary.encode(answer)
    return chosen


def _concatenated(terms: list[Term], separator: str) -> Term | None:
    """What STR gives of the terms, in a row: a blank node has no STR and is an error."""
    if any(isinstance(term, BlankNode) for term in terms):
        return None
    check_length(sum(len(term.value) + len(separator) for term in terms))
    return Literal(separator.join(term.value for term in terms))
