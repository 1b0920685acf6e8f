"""ORDER BY and slices, per event."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from spaseq.algebra.patterns import OrderKey
from spaseq.columnar.expressions import ids, needs_events
from spaseq.columnar.frame import Frame
from spaseq.columnar.kernels.compare import TRUE, compare
from spaseq.columnar.kernels.exact import sorted_numbers
from spaseq.columnar.kernels.numbers import numbers_of, sort_keys
from spaseq.columnar.kernels.oracle import order
from spaseq.columnar.table import Ids, Table

Ranks = npt.NDArray[np.int64]


def sorted_rows(table: Table, keys: tuple[OrderKey, ...], frame: Frame) -> Table:
    """The rows of each event sorted by the keys; ties keep their order."""
    for key in keys:
        if needs_events(key.expression, table, frame):
            table = frame.spread(table)
    columns = []
    for key in keys:
        ranked = (total_ranks if key.exact else ranks)(ids(key.expression, table, frame), frame)
        columns.append(-ranked if key.descending else ranked)
    columns.reverse()  # lexsort wants its first key last
    if table.events is not None:
        columns.append(table.events.astype(np.int64))
    return table.take(np.lexsort(columns)) if columns else table


def ranks(column: Ids, frame: Frame) -> Ranks:
    """A number per row in the order of SPARQL 1.1, section 15.1: unbound, blank nodes, IRIs, literals.

    Terms that compare as equal have the same number.
    """
    distinct, inverse = np.unique(column, return_inverse=True)
    bound = distinct[distinct != 0]
    rank = np.zeros(len(distinct), dtype=np.int64)
    if len(bound):
        rank[len(distinct) - len(bound) :] = _ranked(bound, frame)
    return rank[inverse.reshape(-1)]


def total_ranks(column: Ids, frame: Frame) -> Ranks:
    """The same, where terms that compare as equal come in the order of their N-Triples texts.

    So no two terms have one number, and what is chosen by it depends on the terms alone, not on the order in which they came.
    """
    distinct, inverse = np.unique(column, return_inverse=True)
    rank = ranks(distinct, frame)
    order_ = np.argsort(rank, kind="stable")
    if (np.diff(rank[order_]) == 0).any():
        texts = [frame.dictionary.ntriples(known) if known else "" for known in distinct.tolist()]
        keys = list(zip(rank.tolist(), texts, strict=True))
        order_ = np.array(sorted(range(len(keys)), key=keys.__getitem__), np.intp)
    rank[order_] = np.arange(len(order_))
    return rank[inverse.reshape(-1)]


def _ranked(terms: Ids, frame: Frame) -> Ranks:
    keys = sort_keys(numbers_of(terms, frame.functions))
    if keys is not None:
        return np.unique(keys, return_inverse=True)[1].reshape(-1).astype(np.int64) + 1
    rank = np.empty(len(terms), dtype=np.int64)
    # Blank nodes come in the order in which they are given here: that of their texts, not of their ids.
    texts = [frame.dictionary.ntriples(known) for known in terms.tolist()]
    given = np.array(sorted(range(len(texts)), key=texts.__getitem__), np.intp)
    decoded = frame.dictionary.decode_many(terms[given])
    sequence = given[np.array(sorted_numbers(decoded) or order(decoded), dtype=np.intp)]
    placed = terms[sequence]
    equal = compare("=", placed[:-1], placed[1:], frame.functions) == TRUE
    steps = np.concatenate([[1], np.where(equal, 0, 1)])
    rank[sequence] = np.cumsum(steps)
    return rank


def sliced(table: Table, offset: int, limit: int | None) -> Table:
    """OFFSET and LIMIT on the rows of each event."""
    positions = np.arange(table.size)
    if table.events is not None:
        table = table.in_event_order()
        assert table.events is not None
        positions -= np.searchsorted(table.events, table.events, side="left")
    mask = positions >= offset
    if limit is not None:
        mask &= positions < offset + limit
    return table.where(mask)
