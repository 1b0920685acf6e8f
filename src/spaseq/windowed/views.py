"""Patterns as views that follow what comes and goes (semantics 3; SPECTRA's incremental evaluation).

A view gives for a period the rows that appear in it, and keeps what it needs to join them with later ones. Joins, filters,
unions and projections carry the end of a row along. What depends on absence (OPTIONAL, MINUS, NOT EXISTS), on being
there at all (DISTINCT) or on all rows together (aggregates) looks at every change, and gives rows that it takes back.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from spaseq.algebra.expressions import Expression
from spaseq.columnar.keeping import Followed, Keeper
from spaseq.columnar.knowledge import Knowledge
from spaseq.columnar.row_numbers import by_name, id_matrix
from spaseq.columnar.rows import RowEvaluator
from spaseq.columnar.table import Table
from spaseq.windowed.contents import WindowContents
from spaseq.windowed.evaluations import Period
from spaseq.windowed.pair_join import PairJoin
from spaseq.windowed.row_table import RowTable
from spaseq.windowed.timed import (
    NO_END,
    Counting,
    Held,
    Ids,
    TimedRows,
    lasting,
    no_rows,
    stacked,
)


class View(Followed[Period, TimedRows]):
    """The solutions of a pattern, followed over the evaluations: a step gives the rows that appear, or are taken back.

    ``names`` are its variables, ``certain`` those that every solution binds. ``passing`` is True if every row rests on an event
    of a window, and so leaves by itself.
    """

    names: tuple[str, ...]
    certain: frozenset[str]
    passing: bool = False

    @abstractmethod
    def parts(self) -> tuple[View, ...]:
        """The views it reads."""


# --- leaves ---------------------------------------------------------------------------------------


class TripleView(View):
    """The solutions of a triple pattern in one window, under the names of its variables."""

    passing = True

    def __init__(self, names: Sequence[str], contents: WindowContents, windows: int) -> None:
        self._contents, self._windows = contents, windows
        self.names = tuple(names)
        self.certain = frozenset(names)

    def parts(self) -> tuple[View, ...]:
        return ()

    def _step(self, period: Period) -> TimedRows:
        del period  # the contents are those of the period
        triples = self._contents.new
        ends = np.full((len(triples), self._windows), NO_END, np.int64)
        ends[:, self._contents.window] = triples.position
        columns = by_name(triples.ids, self.names)
        return TimedRows(columns, np.ones(len(triples), np.int64), triples.known, ends)


class ConstantView(View):
    """Solutions that are there from the first evaluation on: inline data, the empty pattern."""

    IDS = ("_ids",)

    def __init__(self, columns: dict[str, Ids], count: int, windows: int) -> None:
        self.names = tuple(columns)
        self.certain = frozenset(name for name, column in columns.items() if column.all())
        self._ids = id_matrix(columns, self.names, count)
        self._windows = windows

    def parts(self) -> tuple[View, ...]:
        return ()

    def _step(self, period: Period) -> TimedRows:
        if period.first > 0:
            return no_rows(self.names, self._windows)
        count = len(self._ids)
        weight, since = np.ones(count, np.int64), np.zeros(count, np.int64)
        return lasting(by_name(self._ids, self.names), weight, since, self._windows)


class BackgroundView(View):
    """Solutions over background graphs, as these are at every evaluation."""

    IDS = ("_ids",)

    def __init__(
        self,
        names: Sequence[str],
        certain: frozenset[str],
        solutions: Callable[[], Table],
        knowledge: Knowledge,
        windows: int,
    ) -> None:
        self.names, self.certain = tuple(names), certain
        self._solutions, self._knowledge = solutions, knowledge
        self._windows = windows
        self._version = -1
        self._ids = np.zeros((0, len(self.names)), np.int32)

    def parts(self) -> tuple[View, ...]:
        return ()

    def _step(self, period: Period) -> TimedRows:
        if self._version == self._knowledge.version:
            return no_rows(self.names, self._windows)
        self._version = self._knowledge.version
        old, found = self._ids, self._solutions()
        self._ids = id_matrix(found.columns, self.names, found.size)
        weight = np.repeat(np.array([-1, 1]), [len(old), found.size])
        since = np.full(len(weight), period.first)
        return lasting(by_name(np.concatenate([old, self._ids]), self.names), weight, since, self._windows)


# --- rows by themselves ---------------------------------------------------------------------------


class FilterView(View):
    """The rows on which a condition holds."""

    def __init__(self, inner: View, condition: Expression, evaluator: RowEvaluator) -> None:
        self._inner, self._condition, self._evaluator = inner, condition, evaluator
        self.names, self.certain, self.passing = inner.names, inner.certain, inner.passing

    def parts(self) -> tuple[View, ...]:
        return (self._inner,)

    def _step(self, period: Period) -> TimedRows:
        rows = self._inner.step(period)
        if not len(rows):
            return rows
        return rows.take(self._evaluator.holds(self._condition, rows.columns, len(rows)))


class ExtendView(View):
    """Rows with the value of an expression."""

    def __init__(self, inner: View, name: str, expression: Expression, evaluator: RowEvaluator) -> None:
        self._inner, self._name, self._expression, self._evaluator = inner, name, expression, evaluator
        self.names, self.certain, self.passing = (*inner.names, name), inner.certain, inner.passing

    def parts(self) -> tuple[View, ...]:
        return (self._inner,)

    def _step(self, period: Period) -> TimedRows:
        rows = self._inner.step(period)
        if not len(rows):
            return no_rows(self.names, rows.ends.shape[1])
        column = self._evaluator.values(self._expression, rows.columns, len(rows))
        return rows.with_columns({**rows.columns, self._name: column})


class ProjectView(View):
    """Some columns of all rows, under names of their own if asked for."""

    def __init__(self, inner: View, names: dict[str, str]) -> None:
        self._inner, self._from = inner, names
        self.names, self.passing = tuple(names), inner.passing
        self.certain = frozenset(name for name, source in names.items() if source in inner.certain)

    def parts(self) -> tuple[View, ...]:
        return (self._inner,)

    def _step(self, period: Period) -> TimedRows:
        rows = self._inner.step(period)
        unbound = np.zeros(len(rows), np.int32)
        return rows.with_columns(
            {name: rows.columns.get(source, unbound) for name, source in self._from.items()}
        )


class UnionView(View):
    """The rows of several views."""

    def __init__(self, parts: Sequence[View]) -> None:
        self._parts = tuple(parts)
        self.names = tuple(dict.fromkeys(name for part in parts for name in part.names))
        self.certain = frozenset.intersection(*(part.certain for part in parts))
        self.passing = all(part.passing for part in parts)

    def parts(self) -> tuple[View, ...]:
        return self._parts

    def _step(self, period: Period) -> TimedRows:
        rows = stacked([part.step(period) for part in self._parts])
        unbound = np.zeros(len(rows), np.int32)
        return rows.with_columns({name: rows.columns.get(name, unbound) for name in self.names})


# --- rows together --------------------------------------------------------------------------------


class JoinView(View):
    """The merged rows of two views that are compatible, while both are there.

    ``overlapping`` asks that a pair has a variable that both bind, as MINUS does.
    """

    def __init__(self, left: View, right: View, windows: int, *, overlapping: bool = False) -> None:
        self._sides = (left, right)
        self._join = PairJoin(left, right, windows, overlapping=overlapping)
        self.names, self.certain = self._join.names, self._join.certain
        self.passing = left.passing or right.passing

    def parts(self) -> tuple[View, ...]:
        return self._sides

    def keepers(self) -> Iterator[tuple[str, Keeper]]:
        yield "join", self._join

    def _step(self, period: Period) -> TimedRows:
        left, right = (side.step(period) for side in self._sides)
        return self._join.step(left, right, period)


class DistinctView(View):
    """Every row once, while it is there at all."""

    def __init__(self, inner: View, windows: int) -> None:
        self._inner = inner
        self._held = Held(inner.names, windows)
        self._counting = Counting(len(inner.names))
        self.names, self.certain = inner.names, inner.certain
        self._windows = windows

    def parts(self) -> tuple[View, ...]:
        return (self._inner,)

    def keepers(self) -> Iterator[tuple[str, Keeper]]:
        yield from (("held", self._held), ("rows", self._counting))

    def _step(self, period: Period) -> TimedRows:
        counts = self._counting.count(self._held.step(self._inner.step(period), period))
        change = (counts.after > 0).astype(np.int64) - (counts.before > 0)
        turned = np.flatnonzero(change)
        ids = self._counting.numbers.ids[counts.rows[turned]]
        self._counting.forget()
        return lasting(by_name(ids, self.names), change[turned], counts.at[turned], self._windows)


class PartnerView(View):
    """The rows of a view that have a partner, or that have none: what EXISTS, MINUS and OPTIONAL ask.

    ``pairs`` has a row for every partner of a row, with that row's values in the columns ``copies``.
    """

    def __init__(
        self, rows: View, pairs: View, copies: Sequence[str], windows: int, *, partnered: bool
    ) -> None:
        self._left, self._pairs, self._partnered = rows, pairs, partnered
        self.names, self.certain = rows.names, rows.certain
        self._held, self._held_pairs = Held(rows.names, windows), Held(copies, windows)
        self._counting = Counting(len(rows.names))
        self._table = RowTable(rows.names, rows.names, windows)
        self._windows = windows

    def parts(self) -> tuple[View, ...]:
        return self._left, self._pairs

    def keepers(self) -> Iterator[tuple[str, Keeper]]:
        yield from (("held", self._held), ("held_pairs", self._held_pairs))
        yield from (("partners", self._counting), ("rows", self._table))

    def _step(self, period: Period) -> TimedRows:
        partners = self._counting.count(self._held_pairs.step(self._pairs.step(period), period))
        changes = self._held.step(self._left.step(period), period)
        arrived = lasting(by_name(changes.ids, self.names), changes.weight, changes.at, self._windows)
        # A row that comes or goes counts if it has, or lacks, a partner when its whole evaluation is known.
        mine = self._counting.number(changes.ids)
        have = partners.at_evaluation(mine, changes.at, self._counting.counts) > 0
        result = [arrived.take(have == self._partnered)]
        # Those of earlier evaluations appear or vanish as their partners do.
        turned = np.flatnonzero((partners.before > 0) != (partners.after > 0))
        sign = np.where((partners.after[turned] > 0) == self._partnered, 1, -1)
        self._table.add(arrived)
        asked, found = self._table.find(self._counting.numbers.ids[partners.rows[turned]])
        earlier = self._table.since[found] < partners.at[turned][asked]
        asked, found = asked[earlier], found[earlier]
        result.append(
            lasting(
                by_name(self._table.ids[found], self.names),
                self._table.weight[found] * sign[asked],
                partners.at[turned][asked],
                self._windows,
            )
        )
        self._table.forget(period)
        self._counting.forget()
        return stacked(result)
