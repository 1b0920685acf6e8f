"""Joins of mapping tables: compatibility, not equality (semantics 0)."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spaseq.columnar.joins import join, without
from spaseq.columnar.table import Table, distinct, stacked

NAMES = ("a", "b", "c")
Rows = list[tuple[int, dict[str, int]]]

rows = st.lists(
    st.tuples(st.integers(0, 2), st.dictionaries(st.sampled_from(NAMES), st.integers(1, 2), max_size=3)),
    max_size=6,
)


def table(content: Rows, names: tuple[str, ...] = NAMES, static: bool = False) -> Table:
    """Rows as a table in event order; an absent variable is unbound."""
    ordered = sorted(content, key=lambda row: row[0])
    columns = {name: np.array([row.get(name, 0) for _, row in ordered], dtype=np.int32) for name in names}
    events = None if static else np.array([event for event, _ in ordered], dtype=np.int32)
    return Table(events, columns, len(ordered))


def content(result: Table) -> list[tuple[int, tuple[tuple[str, int], ...]]]:
    """A table as sorted rows."""
    events = [0] * result.size if result.events is None else result.events.tolist()
    return sorted(
        (event, tuple(sorted((name, int(ids[row])) for name, ids in result.columns.items() if ids[row])))
        for row, event in enumerate(events)
    )


def compatible(one: dict[str, int], other: dict[str, int]) -> bool:
    """Equal on what both bind."""
    return all(other.get(name, value) == value for name, value in one.items())


@given(rows, rows)
def test_join_merges_compatible_rows_of_one_event(left: Rows, right: Rows) -> None:
    """The definition, row by row."""
    wanted = sorted(
        (event, tuple(sorted({**one, **other}.items())))
        for (event, one), (place, other) in product(left, right)
        if event == place and compatible(one, other)
    )
    assert content(join(table(left), table(right))) == wanted


@given(rows, rows)
def test_join_with_a_static_table_ignores_events(left: Rows, right: Rows) -> None:
    """Inline data and background knowledge hold for every event."""
    wanted = sorted(
        (event, tuple(sorted({**one, **other}.items())))
        for (event, one), (_, other) in product(left, right)
        if compatible(one, other)
    )
    assert content(join(table(right, static=True), table(left))) == wanted


@given(rows, rows)
def test_minus_removes_compatible_rows_that_share_a_variable(left: Rows, right: Rows) -> None:
    """Rows that bind nothing in common stay (SPARQL 1.1, 8.3.3)."""
    wanted = sorted(
        (event, tuple(sorted(one.items())))
        for event, one in left
        if not any(
            event == place and compatible(one, other) and not one.keys().isdisjoint(other)
            for place, other in right
        )
    )
    assert content(without(table(left), table(right))) == wanted


@given(rows)
def test_distinct_keeps_one_of_equal_rows_per_event(some: Rows) -> None:
    """Equal mappings of two events stay two."""
    result = content(distinct(table(some)))
    assert result == sorted({(event, tuple(sorted(row.items()))) for event, row in some})


def test_joined_rows_stay_in_event_order() -> None:
    """The sequence stage reads them in order."""
    left = table([(2, {"a": 1}), (0, {"a": 2}), (1, {})], ("a",))
    right = table([(0, {}), (1, {"a": 1}), (2, {"a": 1}), (2, {})], ("a",))
    result = join(left, right)
    assert result.events is not None
    assert result.events.tolist() == [0, 1, 2, 2]


def test_stacked_tables_lack_no_column() -> None:
    """What one table does not have is unbound in its rows."""
    result = stacked([table([(1, {"a": 1})], ("a",)), table([(0, {"b": 2}), (1, {"b": 1})], ("b",))])
    assert content(result) == [(0, (("b", 2),)), (1, (("a", 1),)), (1, (("b", 1),))]
    assert result.events is not None
    assert result.events.tolist() == [0, 1, 1]
