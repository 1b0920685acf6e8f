"""What of an evaluation is reported: all solutions, those that appeared, or those that vanished (semantics 3.5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from spaseq.algebra.events import AskForm, Form
from spaseq.algebra.functions import has_exists, is_volatile, reads_times
from spaseq.algebra.patterns import Distinct, OrderBy, OrderKey, Pattern, Project, Slice
from spaseq.algebra.total_order import with_bound_keys
from spaseq.algebra.windows import Emission
from spaseq.columnar.keeping import Keeper
from spaseq.columnar.row_numbers import by_name, id_matrix, order_of
from spaseq.columnar.rows import RowEvaluator
from spaseq.columnar.table import Table
from spaseq.model.ordered import numbers_from
from spaseq.windowed.evaluations import Period
from spaseq.windowed.event_traces import TRACE
from spaseq.windowed.timed import Counting, Counts, Held, Ids, Longs, Rows, TimedRows, order_by


@dataclass(frozen=True, slots=True)
class Reported:
    """The reported solutions, in order of evaluation: the evaluation's number in its period, and the ids."""

    names: tuple[str, ...]
    at: Longs
    ids: Ids
    answers: Longs | None = None
    """What an ASK answers: 1 or 0."""

    def __len__(self) -> int:
        return len(self.at)

    def column(self, name: str) -> Ids:
        """The ids of a variable; one that is not there is unbound."""
        if name not in self.names:
            return np.zeros(len(self), np.int32)
        return np.ascontiguousarray(self.ids[:, self.names.index(name)])

    def repeated(self, which: Longs, many: Longs) -> Reported:
        """What is reported at evaluations that are or repeat these; ``many`` are the solutions of each of these."""
        begins, own = (np.cumsum(many) - many)[which], many[which]
        rows = numbers_from(begins, own)
        answers = None if self.answers is None else self.answers[rows]
        return Reported(self.names, np.repeat(np.arange(len(which)), own), self.ids[rows], answers)


def outer_operators(form: Form, pattern: Pattern) -> tuple[Pattern, list[Pattern]]:
    """The pattern inside ORDER BY or LIMIT and what is then done with its solutions, innermost first; nothing if neither is there.

    What is done then sees rows and nothing else, so a key of ORDER BY that needs more is bound inside. ASK counts solutions and
    leaves nothing to be done.
    """
    outer: list[Pattern] = []
    current, cut = pattern, 0
    if isinstance(form, AskForm):
        return pattern, []
    while isinstance(current, (Slice, Distinct, Project, OrderBy)):
        if isinstance(current, OrderBy) and any(map(_needs_windows, current.keys)):
            # Keys are bound where windows and clock are at hand.
            current = OrderBy(*with_bound_keys(current.pattern, current.keys, _needs_windows))
            return current.pattern, [current, *outer[::-1]]
        outer.append(current)
        if isinstance(current, (Slice, OrderBy)):
            cut = len(outer)
        current = current.pattern
    if not cut:
        return pattern, []
    operators = outer[:cut][::-1]
    return operators[0].pattern, operators  # type: ignore[union-attr]


def _needs_windows(key: OrderKey) -> bool:
    """Whether a key is not a function of a row alone: the clock, the times of triples or a pattern decide it as well."""
    return is_volatile(key.expression) or reads_times(key.expression) or has_exists(key.expression)


class Reporter(Keeper):
    """Follows the solutions of a query and says what is reported of them."""

    IDS = ("_last",)
    NUMBERS = ("_true",)

    def __init__(
        self,
        names: Sequence[str],
        form: Form,
        emission: Emission,
        operators: Sequence[Pattern],
        results: Sequence[str],
        evaluator: RowEvaluator,
        windows: int,
    ) -> None:
        self._names, self._results = tuple(names), tuple(results)
        self._ask = isinstance(form, AskForm)
        self._emission, self._operators, self._evaluator = emission, tuple(operators), evaluator
        self._held = Held(names, windows)
        self._counting = Counting(len(names))
        self._last = np.zeros((0, len(self._results)), np.int32)
        """The finished solutions of the evaluation before, in order, where there is something to finish."""
        self._true = False

    def keepers(self) -> Iterator[tuple[str, Keeper]]:
        """The solutions."""
        yield from (("held", self._held), ("solutions", self._counting))

    @property
    def solutions(self) -> int:
        """How many different solutions there are now."""
        return int(np.count_nonzero(self._counting.counts))

    def step(self, rows: TimedRows, period: Period) -> Reported:
        """What is reported at some evaluations."""
        counts = self._counting.count(self._held.step(rows, period))
        if self._ask:
            reported = self._truths(counts, period)
        elif self._operators:
            reported = self._finished(counts, period)
        elif self._emission is Emission.RSTREAM:
            at, numbers = self._expanded(counts, period)
            reported = Reported(self._names, at, self._counting.numbers.ids[numbers])
        else:
            reported = self._differences(counts, period)
        self._counting.forget()
        return reported

    def _differences(self, counts: Counts, period: Period) -> Reported:
        change = counts.after - counts.before
        if self._emission is Emission.DSTREAM:
            change = -change
        many = np.maximum(change, 0)
        if TRACE in self._names:
            many = self._net(counts, change)
        at, rows = np.repeat(counts.at, many), np.repeat(counts.rows, many)
        order = order_of(at - period.first, len(period))
        return Reported(self._names, at[order] - period.first, self._counting.numbers.ids[rows[order]])

    def _net(self, counts: Counts, change: Longs) -> Longs:
        """How many of each are reported where solutions are equal but for their events: one that comes may replace another."""
        shown = [at for at, name in enumerate(self._names) if name != TRACE]
        ids = self._counting.numbers.ids[counts.rows][:, shown]
        order = np.lexsort((change, *ids.T, counts.at))
        first = np.ones(len(order), np.bool_)
        first[1:] = (counts.at[order[1:]] != counts.at[order[:-1]]) | (ids[order[1:]] != ids[order[:-1]]).any(
            axis=1
        )
        # From the least change on, what is left after those that go is what comes.
        running = np.cumsum(change[order])
        base = np.maximum.accumulate(np.where(first, np.arange(len(order)), 0))
        total = running - np.concatenate([[0], running])[base]
        many = np.empty(len(order), np.int64)
        many[order] = np.clip(np.minimum(total, change[order]), 0, None)
        return many

    def _expanded(self, counts: Counts, period: Period) -> tuple[Longs, Rows]:
        """Every solution at every evaluation, as often as it is there: the evaluation, and the number of the row."""
        first, last = period.first, period.first + len(period)
        begins = np.ones(len(counts.rows), np.bool_)
        begins[1:] = counts.rows[1:] != counts.rows[:-1]
        ends = np.ones(len(counts.rows), np.bool_)
        ends[:-1] = begins[1:]
        # From the beginning to the first change, between changes, and all the time without any.
        still = np.flatnonzero(self._counting.counts > 0)
        still = still[~np.isin(still, counts.rows)]
        row = np.concatenate([counts.rows[begins], counts.rows, still])
        start = np.concatenate([np.full(int(begins.sum()), first), counts.at, np.full(len(still), first)])
        following = np.append(counts.at[1:], last)[: len(counts.at)]
        following[ends] = last
        end = np.concatenate([counts.at[begins], following, np.full(len(still), last)])
        many = np.concatenate([counts.before[begins], counts.after, self._counting.counts[still]])
        there = many > 0
        row, start, many, length = row[there], start[there], many[there], (end - start)[there]
        row, at, many = np.repeat(row, length), numbers_from(start, length), np.repeat(many, length)
        row, at = np.repeat(row, many), np.repeat(at, many)
        order = order_by(at - first, row)
        return at[order] - first, row[order]

    def _truths(self, counts: Counts, period: Period) -> Reported:
        total = int(self._counting.counts.sum()) - int((counts.after - counts.before).sum())
        steps = np.bincount(
            counts.at - period.first, weights=counts.after - counts.before, minlength=len(period)
        )
        truth = (total + np.cumsum(steps.astype(np.int64))) > 0
        before = np.concatenate([[self._true], truth[:-1]])
        self._true = bool(truth[-1])
        if self._emission is Emission.RSTREAM:
            told = np.arange(len(period))
        elif self._emission is Emission.ISTREAM:
            told = np.flatnonzero(truth & ~before)
        else:
            told = np.flatnonzero(before & ~truth)
        nothing = np.zeros((len(told), 0), np.int32)
        return Reported((), told.astype(np.int64), nothing, answers=truth[told].astype(np.int64))

    def _finished(self, counts: Counts, period: Period) -> Reported:
        """Sorted, projected, made distinct and cut at every evaluation."""
        at, numbers = self._expanded(counts, period)
        columns = by_name(self._counting.numbers.ids[numbers], self._names)
        table = Table(at.astype(np.int32), columns, len(at))
        table = self._evaluator.finished(table, len(period), self._operators)
        assert table.events is not None
        ids = id_matrix(table.columns, self._results, table.size)
        at = table.events.astype(np.int64)
        if self._emission is Emission.RSTREAM:
            return Reported(self._results, at, ids)
        bounds = np.searchsorted(at, np.arange(len(period) + 1))
        shown = [at for at, name in enumerate(self._results) if name != TRACE]
        told_at, told = [np.zeros(0, np.int64)], [np.zeros((0, ids.shape[1]), np.int32)]
        for evaluation in range(len(period)):
            here = ids[bounds[evaluation] : bounds[evaluation + 1]]
            more, less = (here, self._last) if self._emission is Emission.ISTREAM else (self._last, here)
            told.append(more[_surplus(more[:, shown], less[:, shown])])
            told_at.append(np.full(len(told[-1]), evaluation))
            self._last = here
        return Reported(self._results, np.concatenate(told_at), np.concatenate(told))


def _surplus(more: Ids, less: Ids) -> Rows:
    """The rows of a bag that another one has not, in their order; of equal ones the last."""
    left: dict[tuple[int, ...], int] = {}
    for row in map(tuple, less.tolist()):
        left[row] = left.get(row, 0) + 1
    found = []
    for place, row in enumerate(map(tuple, more.tolist())):
        if left.get(row, 0):
            left[row] -= 1
        else:
            found.append(place)
    return np.array(found, np.intp)
