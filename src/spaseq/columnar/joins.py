"""Joins of mapping tables: on the event and on the variables both sides bind.

Mappings join if they are compatible: they agree, as terms, on the variables *both* bind (semantics 0).
Where every shared column is bound that is equality of a composite key. Where some rows leave one
unbound, the rows are split by what they bind, and each pair of parts joins on what it has in common.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from spaseq.columnar.table import Ids, Keys, Mask, Rows, SortedKeys, Table, codes, is_rising, is_sorted
from spaseq.model.ordered import each_once


def join(left: Table, right: Table) -> Table:
    """All merged mappings of compatible rows (SPARQL 1.1, section 18.3: Join)."""
    if left.static and not right.static:
        left, right = right, left  # keep the rows in event order
    if _one_per_event(left) and not _one_per_event(right):
        left, right = right, left  # the side with one row per event is looked up
    if right.static and right.size == 1 and not right.columns:
        return left
    left_rows, right_rows = compatible_rows(left, right)
    return merged(left, right, left_rows, right_rows)


def _one_per_event(table: Table) -> bool:
    return table.events is not None and table.size > 0 and is_rising(table.events)


def merged(left: Table, right: Table, left_rows: Rows, right_rows: Rows) -> Table:
    """The mappings left[i] ∪ right[j] of the given pairs of rows."""
    columns = {name: column[left_rows] for name, column in left.columns.items()}
    for name, column in right.columns.items():
        taken = column[right_rows]
        mine = columns.get(name)
        columns[name] = taken if mine is None else np.where(mine != 0, mine, taken)
    if left.events is not None:
        events: Ids | None = left.events[left_rows]
    else:
        events = None if right.events is None else right.events[right_rows]
    return Table(events, columns, len(left_rows))


def compatible_rows(left: Table, right: Table) -> tuple[Rows, Rows]:
    """The pairs of positions of compatible rows, in the order of the left table."""
    shared = [name for name in left.columns if name in right.columns]
    if right.static and not left.static and 0 < len(shared) < 3:
        keys = static_keys(right, tuple(shared))
        if keys is not None and all(left.columns[name].all() for name in shared):
            return rows_of_keys(codes([left.columns[name] for name in shared], left.size), keys)
    loose = [name for name in shared if not (left.columns[name].all() and right.columns[name].all())]
    if not loose:
        if left.events is not None and right.events is not None and _one_per_event(right):
            return _rows_by_event(left, right, left.events, right.events, shared)
        return equal_rows(*key_pair(left, right, shared))
    firm = [name for name in shared if name not in loose]
    pairs = [
        (left_part[found_left], right_part[found_right])
        for common, left_part, right_part in _parts(left, right, loose)
        for found_left, found_right in [
            equal_rows(*key_pair(left.take(left_part), right.take(right_part), firm + common))
        ]
    ]
    left_rows = np.concatenate([pair[0] for pair in pairs]) if pairs else np.zeros(0, dtype=np.intp)
    right_rows = np.concatenate([pair[1] for pair in pairs]) if pairs else np.zeros(0, dtype=np.intp)
    order = np.argsort(left_rows, kind="stable")
    return left_rows[order], right_rows[order]


def _rows_by_event(
    left: Table, right: Table, left_events: Ids, right_events: Ids, names: Sequence[str]
) -> tuple[Rows, Rows]:
    """The pairs of equal rows if the right side has at most one row per event: look it up by event."""
    if len(left_events) == len(right_events) and bool((left_events == right_events).all()):
        candidates = None
        hits = np.ones(left.size, dtype=np.bool_)
    else:
        last = max(int(right_events[-1]), int(left_events.max(initial=0)))
        places = np.full(last + 1, -1, dtype=np.int32)
        places[right_events] = np.arange(right.size, dtype=np.int32)
        candidates = places[left_events]
        hits = candidates >= 0
    for name in names:
        other = right.columns[name]
        hits &= left.columns[name] == (other if candidates is None else other[candidates])
    rows = np.flatnonzero(hits)
    return rows, rows if candidates is None else candidates[rows].astype(np.intp)


def key_pair(left: Table, right: Table, names: Sequence[str]) -> tuple[Keys, Keys]:
    """Comparable keys of both tables: the event, if both have events, and the named columns."""
    pairs = [(left.columns[name], right.columns[name]) for name in names]
    if left.events is not None and right.events is not None:
        pairs.insert(0, (left.events, right.events))
    if len(pairs) <= 2:
        return codes([a for a, _ in pairs], left.size), codes([b for _, b in pairs], right.size)
    both = codes([np.concatenate(pair) for pair in pairs], left.size + right.size)
    return both[: left.size], both[left.size :]


def static_keys(table: Table, names: tuple[str, ...]) -> SortedKeys | None:
    """The sorted keys of a static table, made once; None if a row leaves one of the columns unbound."""
    known = table.sorted.get(names)
    if known is None:
        columns = [table.columns[name] for name in names]
        if not all(column.all() for column in columns):
            return None
        known = table.sorted[names] = SortedKeys.of(codes(columns, table.size))
    return known


def equal_rows(left: Keys, right: Keys) -> tuple[Rows, Rows]:
    """The pairs of positions with equal keys, in the order of the left side."""
    return rows_of_keys(left, SortedKeys.of(right))


def count_of_keys(left: Keys, known: SortedKeys) -> int:
    """How many pairs of positions have equal keys."""
    return int((np.searchsorted(known.keys, left, "right") - np.searchsorted(known.keys, left)).sum())


def rows_of_keys(left: Keys, known: SortedKeys) -> tuple[Rows, Rows]:
    """The same where the right side is sorted already."""
    right, order = known.keys, known.order
    if known.different:
        if len(left) == len(right) and order is None and bool((left == right).all()):
            same = np.arange(len(left))
            return same, same
        found = np.searchsorted(right, left)
        found[found == len(right)] = 0
        hits = np.flatnonzero(right[found] == left) if len(right) else np.zeros(0, dtype=np.intp)
        right_rows = found[hits]
        return hits, right_rows if order is None else order[right_rows]
    start = np.searchsorted(right, left, side="left")
    counts = np.searchsorted(right, left, side="right") - start
    left_rows = np.repeat(np.arange(len(left)), counts)
    ends = np.cumsum(counts)
    right_rows = np.arange(len(left_rows)) + np.repeat(start - (ends - counts), counts)
    return left_rows, right_rows if order is None else order[right_rows]


def _parts(left: Table, right: Table, loose: Sequence[str]) -> Iterator[tuple[list[str], Rows, Rows]]:
    """Pairs of row groups that bind the same of the loose columns, with the columns both groups bind."""
    left_shape, right_shape = _shape(left, loose), _shape(right, loose)
    for one in each_once(left_shape):
        for other in each_once(right_shape):
            common = [name for bit, name in enumerate(loose) if int(one) & int(other) & 1 << bit]
            yield common, np.flatnonzero(left_shape == one), np.flatnonzero(right_shape == other)


def _shape(table: Table, names: Sequence[str]) -> Keys:
    """Which of the columns each row binds, as bits."""
    shape = np.zeros(table.size, dtype=np.int64)
    for bit, name in enumerate(names):
        shape |= (table.columns[name] != 0).astype(np.int64) << bit
    return shape


def without(left: Table, right: Table) -> Table:
    """The left rows that no right row, compatible and with a variable in common, removes (MINUS)."""
    shared = [name for name in left.columns if name in right.columns]
    if not shared or not right.size or not left.size:
        return left
    loose = [name for name in shared if not (left.columns[name].all() and right.columns[name].all())]
    removed = np.zeros(left.size, dtype=np.bool_)
    if not loose:
        removed = has_partner(*key_pair(left, right, shared))
    else:
        firm = [name for name in shared if name not in loose]
        for common, left_part, right_part in _parts(left, right, loose):
            if firm or common:
                keys = key_pair(left.take(left_part), right.take(right_part), firm + common)
                removed[left_part] |= has_partner(*keys)
    return left.where(~removed)


def has_partner(left: Keys, right: Keys) -> Mask:
    """For each left key, whether the right side has it."""
    if not is_sorted(right):
        right = np.sort(right)
    if not len(right):
        return np.zeros(len(left), dtype=np.bool_)
    found = np.searchsorted(right, left)
    found[found == len(right)] = 0
    partner: Mask = right[found] == left
    return partner
