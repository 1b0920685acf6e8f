"""Join, SEQ and EQUALS of several views, in an order that follows from what they hold.

All three are associative, also in what they say of intervals, and Join and EQUALS are commutative (semantics 2.3): a solution of a
sequence ends with its last part and starts with its first one, so only neighbours decide whether it is one. Joins are made one after
the other, and what each gives is kept, so the order decides how much is kept and looked through. It begins as written. When enough
rows have come it is compared with the order that the numbers of rows, of different values, and of rows on which conditions hold
suggest, and where that would cost much less, the joins are made anew from the rows that are there. Under a policy a sequence
chooses the partners of its right side, so it has two parts only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from spaseq.algebra.intervals import Policy
from spaseq.algebra.patterns import Relation
from spaseq.columnar.join_order import GAIN, Condition, Order, Statistics, best_order, cost, written_order
from spaseq.columnar.keeping import Keeper
from spaseq.columnar.row_numbers import keys_of
from spaseq.intervals.interval_joins import Columns, Matching, RowPairs
from spaseq.intervals.interval_rows import (
    LAST,
    IntervalRows,
    IntervalTable,
    Longs,
    SolutionSet,
    each_row_once,
    interval_keys,
    no_rows,
    stacked,
)
from spaseq.intervals.solution_views import Gone, SolutionView, TimeStep, is_trace
from spaseq.intervals.timed_expressions import Test
from spaseq.model.ordered import each_once
from spaseq.model.packing import Damaged
from spaseq.settings import settings

_INTERVAL = "#interval"
"""What both sides of EQUALS have in common, as a variable."""


def first_consumed(consumed: Longs, rows: IntervalRows) -> Longs:
    """When the first occurrence that each row is made of is consumed; LAST if none is."""
    found = np.full(len(rows), LAST, np.int64)
    for name, column in rows.columns.items():
        if is_trace(name):
            np.minimum(found, consumed[column], out=found)
    return found


class Choices:
    """What a policy chose for the right rows of a sequence: kept where a later row may rest on it, to be chosen again when it is gone."""

    def __init__(self, names: Sequence[str], right: Sequence[str], above: PairJoin | None) -> None:
        self._names, self._right_names = tuple(names), tuple(right)
        self._above = above
        """The sequence on whose left side the rows stand, if it alone reads them."""
        self.rights, self.made = no_rows(self._right_names), no_rows(self._names)
        """Right rows that have partners, and the merged rows."""
        self._owner = np.zeros(0, np.intp)
        """Which right row each merged row is of."""

    def add(self, rights: IntervalRows, pairs: RowPairs) -> None:
        """Further right rows with their partners."""
        having, owner = np.unique(pairs.of, return_inverse=True)
        self._owner = np.concatenate([self._owner, owner + len(self.rights)])
        self.rights = stacked([self.rights, rights.take(having)], self._right_names)
        self.made = stacked([self.made, pairs.rows], self._names)

    def hold_until(self, consumed: Longs) -> int:
        """Up to which instant nothing of the last step can rest on a choice that is made again; ``consumed`` says when each occurrence is.

        What a right row chooses instead is of use for a later row of the sequence above that agrees with it.
        """
        when = first_consumed(consumed, self.made)
        again = (when >= self.made.end) & (when < LAST)
        if not again.any():
            return LAST
        when, made, above = when[again], self.made.take(again), self._above
        if above is None:
            return int(when.min())
        names = [name for name in above.key if name in self._right_names]
        mine, theirs = keys_of(made.matrix(names)), keys_of(above.asked.matrix(names))
        order = np.lexsort((when, mine))
        first = np.flatnonzero(np.diff(mine[order], prepend=mine[order[0]] - 1))
        known, earliest = mine[order[first]], when[order[first]]
        place = np.minimum(np.searchsorted(known, theirs), len(known) - 1)
        reached = (known[place] == theirs) & (earliest[place] < above.asked.end)
        return int(above.asked.end[reached].min(initial=LAST)) - 1

    def without(self, gone: Gone) -> IntervalRows:
        """Drop what is gone; the right rows that have lost all their partners, and are dropped too."""
        lost_rows = gone.rows(self._names, self.made.matrix(self._names), self.made.end)
        if not lost_rows.any():
            return no_rows(self._right_names)
        there = ~gone.rows(self._right_names, self.rights.matrix(self._right_names), self.rights.end)
        having = np.zeros(len(self.rights), np.bool_)
        having[self._owner[~lost_rows]] = True
        lost = self.rights.take(there & ~having)
        self._owner = (np.cumsum(having) - 1)[self._owner[~lost_rows]]
        self.rights, self.made = self.rights.take(having), self.made.take(~lost_rows)
        return lost


class PairJoin(Keeper):
    """The merged rows of two sides that fit, as a set. ``seen`` holds those that may come again."""

    NUMBERS = ("_instants",)

    def __init__(
        self,
        left: Columns,
        right: Columns,
        *,
        relation: Relation | None,
        tests: Sequence[Test],
        longest: int | None,
        policy: Policy,
        seen: SolutionSet | None = None,
    ) -> None:
        self.policy = policy
        self._relation, self.kept_for = relation, longest
        self._matching = Matching(left, right, relation=relation, tests=tests, longest=longest)
        self.tables = tuple(self._matching.table(side) for side in (left, right))
        self.names = self._matching.names
        self.certain = left.certain | right.certain
        self.seen = SolutionSet(self.names) if seen is None else seen
        self._instants = 1
        """Whether every row of both sides starts when it ends."""
        self.choices: Choices | None = None
        self._right_names = right.names
        self.chosen = no_rows(self.names)
        """What a policy chose at the last step."""
        self.asked = no_rows(right.names)
        """The right rows of the last step, where a policy chooses."""

    waits = False

    @property
    def chooses(self) -> bool:
        """Whether a policy chooses the partners of right rows."""
        return self._relation is Relation.SEQ and self.policy is not Policy.UNRESTRICTED

    def keep_choices(self, above: PairJoin | None) -> None:
        """From now on; nothing was joined before. The rows stand on the left side of a sequence, or somewhere else."""
        self.choices = Choices(self.names, self._right_names, above)

    @property
    def title(self) -> str:
        """Its name in a plan."""
        return "join" if self._relation is None else self._relation.value

    @property
    def key(self) -> tuple[str, ...]:
        """The variables it goes by."""
        return tuple(self._matching.key)

    @property
    def at_once(self) -> bool:
        """True if it joins only what ends together."""
        return self._matching.equal

    def keepers(self) -> Iterator[tuple[str, Keeper]]:
        """Both sides, and what it gave."""
        yield from zip(("left", "right"), self.tables, strict=True)
        yield "seen", self.seen

    def step(self, left: IntervalRows, right: IntervalRows, current: TimeStep) -> IntervalRows:
        """The pairs of which a row is new."""
        left_table, right_table = self.tables
        found = [self._matching.pairs(left, right_table, left=True).rows]
        left_table.add(left)
        pairs = self._matching.pairs(right, left_table, left=False, policy=self.policy)
        found.append(pairs.rows)
        if self.chooses:
            self.chosen, self.asked = pairs.rows, right
        if self.choices is not None:
            self.choices.add(right, pairs)
        right_table.add(self._kept(right, current.horizon))
        oldest = None if self.kept_for is None else current.horizon - self.kept_for
        earliest = current.horizon if self._relation is Relation.EQUALS else None
        left_table.forget(oldest, earliest)
        right_table.forget(current.horizon if self._relation is Relation.SEQ else oldest, earliest)
        both = stacked(found, self.names)
        once = self._matching.exact and self._tells_apart(left, right)
        return (self.seen.remember if once else self.seen.new)(both, current.horizon)

    def revised(self, left: IntervalRows, right: IntervalRows, gone: Gone) -> IntervalRows:
        """Drop what is gone and take what has appeared; the merged rows that have appeared."""
        for table in self.tables:
            table.drop(gone.rows(table.names, table.ids[: len(table)], table.end[: len(table)]))
        left_table, right_table = self.tables
        if self.chooses:
            left_table.add(left)
            if self.choices is None:  # what ended before is of no use any more
                return no_rows(self.names)
            lost = self.choices.without(gone)
            pairs = self._matching.pairs(lost, left_table, left=False, policy=self.policy)
            self.choices.add(lost, pairs)
            return pairs.rows
        found = [self._matching.pairs(left, right_table, left=True).rows]
        left_table.add(left)
        found.append(self._matching.pairs(right, left_table, left=False).rows)
        right_table.add(right)
        return each_row_once(stacked(found, self.names))

    def hold(self, left: IntervalRows, right: IntervalRows, horizon: int) -> None:
        """Take rows of earlier steps into empty tables; what ends before the horizon will not come any more."""
        self.tables[0].add(left)
        self.tables[1].add(self._kept(right, horizon))
        self._tells_apart(left, right)

    def fill(self, left: IntervalRows, right: IntervalRows, horizon: int) -> IntervalRows:
        """The same; the pairs of these rows."""
        self.hold(left, right, horizon)
        pairs = self._matching.pairs(right, self.tables[0], left=False)
        return self.seen.new(pairs.rows, horizon)

    def _tells_apart(self, left: IntervalRows, right: IntervalRows) -> bool:
        """True if a merged row tells which two it is of, so that none comes twice: from its interval, if both are instants in sequence."""
        self._instants &= all(bool((side.start == side.end).all()) for side in (left, right))
        return self._relation is Relation.EQUALS or (self._relation is Relation.SEQ and bool(self._instants))

    def _kept(self, right: IntervalRows, horizon: int) -> IntervalRows:
        """What a later left row may be joined with: in a sequence, only what starts later than that row can end."""
        if self._relation is not Relation.SEQ or not len(right):
            return right
        return right.take((right.start > horizon) & right.timed)


class ConjoinedSolutions(SolutionView):
    """The join of at least two views; conditions on what all its rows bind are checked as soon as their variables are there."""

    ARRAYS = ("_arranged",)
    NUMBERS = ("_came", "_looked", "_horizon", "between")
    TOGETHER = False

    def __init__(
        self,
        parts: Sequence[SolutionView],
        *,
        relation: Relation | None = None,
        tests: Sequence[Test] = (),
        longest: int | None = None,
        policy: Policy = Policy.UNRESTRICTED,
    ) -> None:
        assert len(parts) == 2 or policy is Policy.UNRESTRICTED or relation is not Relation.SEQ
        self._parts, self._tests = tuple(parts), tuple(tests)
        self._relation, self._longest, self._policy = relation, longest, policy
        self.names = tuple(dict.fromkeys(name for part in parts for name in part.names))
        self.certain = frozenset[str]().union(*(part.certain for part in parts))
        self._seen = SolutionSet(self.names)
        self._came = 0
        """How many rows have come."""
        self._looked = 0
        """How many had come when the order was last looked at."""
        self._horizon = -LAST
        """What ends before it has come."""
        self.between = 0
        """How many rows the joins gave, but for the last one."""
        self.joined = 0
        """How many rows all joins gave since it was made."""
        in_sequence = relation is Relation.SEQ
        self._arrange(
            tuple(range(len(parts))) if in_sequence else written_order([part.names for part in parts])
        )

    def parts(self) -> tuple[SolutionView, ...]:
        return self._parts

    def keepers(self) -> Iterator[tuple[str, Keeper]]:
        yield from ((f"join{number}", join) for number, join in enumerate(self.joins))
        yield from ((f"history{part}", table) for part, table in self._histories.items())
        yield from ((f"test{number}", test) for number, test in enumerate(self._tests))

    def _arrange(self, order: Order) -> None:
        """Make new joins in some order."""
        self.order = order
        self._arranged = np.array(order, np.int64)
        self.joins: list[PairJoin] = []
        self._leads: list[bool] = []
        """Whether the part that is added stands before what is joined already."""
        waiting = list(self._tests)
        side: SolutionView | PairJoin = self._parts[order[0]]
        tables: dict[int, IntervalTable] = {}
        for place, part in enumerate(order[1:], 1):
            leads = self._relation is Relation.SEQ and part < min(order[:place])
            sides = (self._parts[part], side) if leads else (side, self._parts[part])
            certain = sides[0].certain | sides[1].certain
            ready = [test for test in waiting if test.needed <= certain]
            waiting = [test for test in waiting if test not in ready]
            last = place == len(order) - 1
            side = PairJoin(
                *sides,
                relation=self._relation,
                tests=ready,
                longest=self._longest,
                policy=self._policy,
                seen=self._seen if last else None,
            )
            self.joins.append(side)
            self._leads.append(leads)
            tables[part] = side.tables[0 if leads else 1]
            if place == 1:
                tables[order[0]] = side.tables[1 if leads else 0]
        self._histories: dict[int, IntervalTable] = {}
        """The rows of parts that a sequence keeps nowhere else: a right side is kept until its left side has come."""
        if self._relation is Relation.SEQ and len(self._parts) > 2:
            kept = [join.tables[0] for join in self.joins]
            missing = sorted(part for part, table in tables.items() if not any(table is one for one in kept))
            self._histories = {part: IntervalTable(self._parts[part].names, ()) for part in missing}
        self._tables = {**tables, **self._histories}

    def rebuild(self) -> None:
        """Take up the order of a saved state."""
        if (order := tuple(self._arranged.tolist())) != self.order:
            self._arrange(order)

    def check(self) -> None:
        """An order names every view once, in a sequence without gaps."""
        order = self._arranged.tolist()
        gaps = self._relation is Relation.SEQ and any(
            max(order[:n]) - min(order[:n]) >= n for n in range(1, len(order))
        )
        if sorted(order) != list(range(len(self._parts))) or gaps:
            raise Damaged(f"{order} is not an order of {len(self._parts)} views")

    def _step(self, current: TimeStep) -> IntervalRows:
        new = [part.step(current) for part in self._parts]
        self._came += sum(map(len, new))
        if len(new) > 2:
            self._look(new)
        rows = new[self.order[0]]
        for number, (join, leads, part) in enumerate(
            zip(self.joins, self._leads, self.order[1:], strict=True)
        ):
            self.between += len(rows) if number else 0
            left, right = (new[part], rows) if leads else (rows, new[part])
            rows = join.step(left, right, current)
            self.joined += len(rows)
        for part, table in self._histories.items():
            table.add(new[part])
            table.forget(None if self._longest is None else current.horizon - self._longest)
        self._horizon = current.horizon
        return rows

    def _revised(self, gone: Gone) -> IntervalRows:
        appeared = [part.revised(gone) for part in self._parts]
        rows = appeared[self.order[0]]
        for join, part in zip(self.joins, self.order[1:], strict=True):
            rows = join.revised(rows, appeared[part], gone)
        return rows

    # --- the order ------------------------------------------------------------------------------

    def _look(self, new: Sequence[IntervalRows]) -> None:
        """Change the order if there is a much better one for old and new rows; looked for each time these have doubled."""
        if self._came < max(2 * self._looked, settings().ordered_rows):
            return
        self._looked = self._came
        held = self.held()
        known = [
            self._statistics(stacked(rows, part.names))
            for part, *rows in zip(self._parts, held, new, strict=True)
        ]
        conditions = [Condition(test.needed, test.share) for test in self._tests]
        order = best_order(known, conditions, adjacent=self._relation is Relation.SEQ)
        if cost(order, known, conditions) * GAIN < cost(self.order, known, conditions):
            self.reorder(order, held)

    def _statistics(self, rows: IntervalRows) -> Statistics:
        found = Statistics.of(rows.columns, len(rows))
        if self._relation is Relation.EQUALS:
            found.values[_INTERVAL] = len(each_once(interval_keys(rows.start, rows.end)))
        return found

    def held(self) -> list[IntervalRows]:
        """The rows of every part that are there."""
        oldest = None if self._longest is None else self._horizon - self._longest
        earliest = self._horizon if self._relation is Relation.EQUALS else None
        return [self._tables[part].rows(oldest, earliest) for part in range(len(self._parts))]

    def reorder(self, order: Order, held: Sequence[IntervalRows]) -> None:
        """Make the joins anew, in another order, of the rows that are there; what the last one gives is known already."""
        self._arrange(order)
        rows = held[order[0]]
        for number, (join, leads, part) in enumerate(zip(self.joins, self._leads, order[1:], strict=True)):
            self.between += len(rows) if number else 0
            left, right = (held[part], rows) if leads else (rows, held[part])
            if number < len(self.joins) - 1:
                rows = join.fill(left, right, self._horizon)
            else:
                join.hold(left, right, self._horizon)
        for part, table in self._histories.items():
            table.add(held[part])
