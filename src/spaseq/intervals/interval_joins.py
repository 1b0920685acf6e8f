"""Two views together: how rows fit, optional parts, and what only looks for partners (semantics 2.3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from spaseq.algebra.intervals import Policy
from spaseq.algebra.patterns import Relation
from spaseq.columnar.keeping import Keeper
from spaseq.columnar.row_numbers import RowNumbers
from spaseq.intervals.interval_rows import (
    LAST,
    NEVER_ENDED,
    NEVER_STARTED,
    Ids,
    IntervalRows,
    IntervalTable,
    Longs,
    Mask,
    Rows,
    SolutionSet,
    no_rows,
    stacked,
)
from spaseq.intervals.solution_views import SolutionView, TimeStep
from spaseq.intervals.timed_expressions import Test


@dataclass(frozen=True, slots=True)
class RowPairs:
    """Rows of one side with rows of the other: the merged solutions, and which row of the first side each is of."""

    of: Rows
    rows: IntervalRows
    start: Longs
    end: Longs
    """The interval of the other side's row."""

    def chosen(self, policy: Policy) -> RowPairs:
        """Of each row's partners those that end, then start, earliest or latest (semantics 2.9)."""
        if policy is Policy.UNRESTRICTED or not len(self.of):
            return self
        sign = 1 if policy is Policy.CHRONOLOGICAL else -1
        order = np.lexsort((sign * self.start, sign * self.end, self.of))
        first = np.ones(len(order), np.bool_)
        first[1:] = self.of[order[1:]] != self.of[order[:-1]]
        best = order[first][np.cumsum(first) - 1]
        kept = np.sort(order[(self.end[order] == self.end[best]) & (self.start[order] == self.start[best])])
        return RowPairs(self.of[kept], self.rows.take(kept), self.start[kept], self.end[kept])


class Columns(Protocol):
    """What is joined: the names of its variables, and those that every row binds."""

    @property
    def names(self) -> tuple[str, ...]: ...

    @property
    def certain(self) -> frozenset[str]: ...


class Matching:
    """How the rows of two views fit: by the variables both have, by time, and by conditions on the merged row."""

    def __init__(
        self,
        left: Columns,
        right: Columns,
        *,
        relation: Relation | None = None,
        tests: Sequence[Test] = (),
        longest: int | None = None,
        ended: bool = False,
        overlapping: bool = False,
    ) -> None:
        shared = [name for name in left.names if name in right.names]
        self.key = [name for name in shared if name in left.certain and name in right.certain]
        self.names = tuple(dict.fromkeys((*left.names, *right.names)))
        self.equal = relation in (Relation.EQUALS, Relation.EQUALSOPTIONAL)
        self._before = relation in (Relation.SEQ, Relation.OPTIONALSEQ)
        self._loose = [name for name in shared if name not in self.key]
        self._overlapping = overlapping and not self.key
        self._ended = ended
        """Whether the other row must end when the first one does, or before."""
        self._longest = longest
        self.tests = tuple(tests)

    @property
    def exact(self) -> bool:
        """True if a merged mapping tells those it is made of."""
        return not self._loose

    def table(self, view: Columns) -> IntervalTable:
        """Where rows of one side wait for the other."""
        return IntervalTable(view.names, self.key, by_interval=self.equal)

    def pairs(
        self,
        rows: IntervalRows,
        table: IntervalTable,
        *,
        left: bool,
        policy: Policy = Policy.UNRESTRICTED,
    ) -> RowPairs:
        """The merged rows; ``left`` says that the given ones are the left side, whose partners a policy chooses."""
        if self.tests or self._loose or self._longest is not None or table.hashed:
            return self._pairs(rows, table, left=left, policy=Policy.UNRESTRICTED).chosen(policy)
        return self._pairs(rows, table, left=left, policy=policy).chosen(policy)

    def _pairs(self, rows: IntervalRows, table: IntervalTable, *, left: bool, policy: Policy) -> RowPairs:
        """Those that fit; a policy may leave out some that end too early or too late to be chosen."""
        found, of, others = [no_rows(self.names)], [np.zeros(0, np.intp)], [np.zeros(0, np.intp)]
        if len(rows) and len(table):
            for asked, other in table.find(rows, *self._range(rows, table, left=left), policy):
                kept, merged = self._merged(rows, table, asked, other, left=left)
                found.append(merged)
                of.append(asked[kept])
                others.append(other[kept])
        other = np.concatenate(others)
        return RowPairs(np.concatenate(of), stacked(found, self.names), table.start[other], table.end[other])

    def _range(self, rows: IntervalRows, table: IntervalTable, *, left: bool) -> tuple[Longs, Longs]:
        """Where the other row's end must lie: not before the first, before the second."""
        low, high = np.full(len(rows), -LAST), np.full(len(rows), LAST)
        if self.equal:
            low, high = rows.end, rows.end + 1
        elif self._before and not left:
            low, high = np.full(len(rows), NEVER_ENDED + 1), rows.start
        elif self._ended:
            high = rows.end + 1
        if self._longest is not None and ((self._before and not left) or not table.timeless):
            # Whatever lasts no longer together ends near the other; a step may bring much more than that at once.
            longest = min(self._longest, NEVER_STARTED // 2)
            low, high = np.maximum(low, rows.end - longest), np.minimum(high, rows.start + longest + 1)
        return low, high

    def _merged(
        self, rows: IntervalRows, table: IntervalTable, asked: Rows, other: Rows, *, left: bool
    ) -> tuple[Rows, IntervalRows]:
        fits = self._compatible(rows, table, asked, other)
        if self._before and not left:
            # They were found among rows that end before this one starts, so they also start before it.
            start, end = table.start[other], rows.end[asked]
            if not (timed := rows.timed).all():
                fits &= timed[asked]
        else:
            start, end = rows.start[asked], rows.end[asked]
            their_start, their_end = table.start[other], table.end[other]
            if self.equal:
                fits &= (start == their_start) & (end == their_end) & (start <= end)
            elif self._before:
                fits &= (end < their_start) & (start <= end) & (their_start <= their_end)
            start, end = np.minimum(start, their_start), np.maximum(end, their_end)
        if self._longest is not None:
            fits &= end - start <= self._longest
            if self._ended:  # the bound is a filter of the optional part: an error without time
                fits &= start <= end
        kept = np.flatnonzero(fits)
        for test in self.tests:
            if not len(kept):
                break
            needed = [name for name in self.names if name in test.needed]
            columns = {name: self._column(name, rows, table, asked[kept], other[kept]) for name in needed}
            kept = kept[test.holds(IntervalRows(columns, start[kept], end[kept]))]
        asked, other = asked[kept], other[kept]
        columns = {name: self._column(name, rows, table, asked, other) for name in self.names}
        return kept, IntervalRows(columns, start[kept], end[kept])

    @staticmethod
    def _column(name: str, rows: IntervalRows, table: IntervalTable, asked: Rows, other: Rows) -> Ids:
        mine = rows.columns[name][asked] if name in rows.columns else None
        if name not in table.names:
            assert mine is not None
            return mine
        theirs: Ids = table.ids[other, table.names.index(name)]
        return theirs if mine is None else np.where(mine != 0, mine, theirs)

    def _compatible(self, rows: IntervalRows, table: IntervalTable, asked: Rows, other: Rows) -> Mask:
        fits = np.ones(len(asked), np.bool_)
        if not self._loose and not self._overlapping:
            return fits
        overlaps = np.full(len(asked), not self._overlapping)
        for name in self._loose:
            mine, theirs = rows.columns[name][asked], table.ids[other, table.names.index(name)]
            both = (mine != 0) & (theirs != 0)
            fits &= ~both | (mine == theirs)
            overlaps |= both
        result: Mask = fits & overlaps
        return result


class OptionalSolutions(SolutionView):
    """OPTIONAL, OPTIONALSEQ and EQUALSOPTIONAL: every row with each of its partners, or alone if it has none."""

    def __init__(
        self,
        rows: SolutionView,
        partners: SolutionView,
        *,
        relation: Relation | None = None,
        tests: Sequence[Test] = (),
        longest: int | None = None,
        longest_pair: int | None = None,
        policy: Policy = Policy.UNRESTRICTED,
    ) -> None:
        self.policy = policy
        self._inner, self._partners, self._relation = rows, partners, relation
        self.waits = relation is not Relation.OPTIONALSEQ or any(test.waits for test in tests)
        self._longest_pair = longest_pair
        self._longest = longest
        left, right = (partners, rows) if relation is Relation.OPTIONALSEQ else (rows, partners)
        self._matching = Matching(
            left, right, relation=relation, tests=tests, longest=longest_pair, ended=relation is None
        )
        self._table = self._matching.table(partners)
        self.names = self._matching.names
        self.certain = rows.certain
        self._seen = SolutionSet(self.names)

    @property
    def title(self) -> str:
        """Its name in a plan."""
        return "OPTIONAL" if self._relation is None else self._relation.value

    @property
    def key(self) -> tuple[str, ...]:
        """The variables it goes by."""
        return tuple(self._matching.key)

    @property
    def kept_for(self) -> int | None:
        """How long it keeps rows, in microseconds; None for ever."""
        return self._longest_pair

    @property
    def at_once(self) -> bool:
        """True if it joins only what ends together."""
        return self._matching.equal

    def parts(self) -> tuple[SolutionView, ...]:
        tested = (view for test in self._matching.tests for view in test.views)
        return (self._inner, self._partners, *tested)

    def keepers(self) -> Iterator[tuple[str, Keeper]]:
        yield from (("partners", self._table), ("seen", self._seen))
        yield from ((f"test{number}", test) for number, test in enumerate(self._matching.tests))

    def _step(self, current: TimeStep) -> IntervalRows:
        rows = self._inner.step(current)
        self._table.add(self._partners.step(current))
        for test in self._matching.tests:
            test.step(current)
        leads = self._relation is not Relation.OPTIONALSEQ
        pairs = self._matching.pairs(rows, self._table, left=leads, policy=self.policy)
        alone = np.ones(len(rows), np.bool_)
        alone[pairs.of] = False
        together = pairs.rows
        if self._longest is not None and len(together):
            together = together.take(together.end - together.start <= self._longest)
        oldest = None if self._longest_pair is None else current.horizon - self._longest_pair
        self._table.forget(oldest, current.horizon if self._matching.equal else None)
        return self._seen.new(stacked([together, rows.take(alone)], self.names), current.horizon)


@dataclass(frozen=True, slots=True)
class RowColumns:
    """What a search for partners knows of the rows it is made for."""

    names: tuple[str, ...]
    certain: frozenset[str]


class Partners(Keeper):
    """The solutions that EXISTS and MINUS look for: those that end when a row does, or before.

    Of solutions that agree in what the rows share and the conditions read, it keeps the one that ends first: if a later one is a
    partner, so is that one.
    """

    def __init__(
        self, rows: RowColumns, others: SolutionView, *, overlapping: bool = False, tests: Sequence[Test] = ()
    ) -> None:
        self.others = others
        self.shared = frozenset(rows.names)
        """What is read of the rows."""
        read = self.shared.union(*(test.needed for test in tests))
        names = tuple(name for name in others.names if name in read)
        kept = RowColumns(names, others.certain & frozenset(names))
        self._matching = Matching(rows, kept, tests=tests, ended=True, overlapping=overlapping)
        self._table = self._matching.table(kept)
        self._different: RowNumbers | None = None

    @property
    def views(self) -> tuple[SolutionView, ...]:
        """What is read."""
        return (self.others,)

    @property
    def key(self) -> tuple[str, ...]:
        """The variables it goes by."""
        return tuple(self._matching.key)

    def keepers(self) -> Iterator[tuple[str, Keeper]]:
        yield "others", self._table

    def step(self, current: TimeStep) -> None:
        """Take the new solutions; those of later steps end later."""
        rows = self.others.step(current)
        if not len(rows):
            return
        if self._different is None:
            self._different = RowNumbers(len(self._table.names))
            self._different.number(self._table.ids[: len(self._table)])
        rows = rows.by_end()
        self._table.add(rows.take(self._different.fresh(rows.matrix(self._table.names))))

    def rebuild(self) -> None:
        """What differs follows from what is kept."""
        self._different = None

    def found(self, rows: IntervalRows) -> Mask:
        """Which rows have a partner."""
        found = np.zeros(len(rows), np.bool_)
        found[self._matching.pairs(rows, self._table, left=True).of] = True
        return found


class MinusView(SolutionView):
    """The rows that have no partner."""

    waits = True

    def __init__(self, rows: SolutionView, others: SolutionView) -> None:
        self._inner = rows
        self._partners = Partners(RowColumns(rows.names, rows.certain), others, overlapping=True)
        self.names, self.certain = rows.names, rows.certain

    def parts(self) -> tuple[SolutionView, ...]:
        return self._inner, self._partners.others

    def keepers(self) -> Iterator[tuple[str, Keeper]]:
        yield "partners", self._partners

    def _step(self, current: TimeStep) -> IntervalRows:
        rows = self._inner.step(current)
        self._partners.step(current)
        return rows.take(~self._partners.found(rows))
