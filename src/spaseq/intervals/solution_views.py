"""Patterns as views: what ends in a stretch of time goes in, the solutions that end in it come out (semantics 2.3)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from spaseq.columnar.keeping import Followed, Keeper
from spaseq.columnar.row_numbers import by_name
from spaseq.intervals.interval_rows import (
    NEVER_ENDED,
    Ids,
    IntervalRows,
    Longs,
    Mask,
    SolutionSet,
    each_row_once,
    no_rows,
    stacked,
    timeless,
)
from spaseq.intervals.timed_expressions import END, START, Test

TRACE: Final = "#occurrence"


def is_trace(name: str) -> bool:
    """True for a column that says which occurrence a row is made of, where answers consume what they are made of."""
    return name.startswith(TRACE)


class Trace(Protocol):
    """Follows the occurrences that match a triple pattern."""

    column: str

    def traced(self, rows: IntervalRows) -> IntervalRows:
        """Those that are not consumed, each with its number."""


@dataclass(frozen=True, slots=True, eq=False)
class TimeStep:
    """One step of all views: what ends before the horizon will not come any more after it."""

    horizon: int


@dataclass(frozen=True, slots=True, eq=False)
class Gone:
    """What is not there any more: some occurrences, by their numbers, and everything that ends after an instant."""

    numbers: Mask
    after: int

    def rows(self, names: Sequence[str], ids: Ids, end: Longs) -> Mask:
        """Which rows rest on it, by their columns side by side."""
        gone = end > self.after
        for place, name in enumerate(names):
            if is_trace(name):
                gone |= self.numbers[ids[:, place]]
        return gone


class SolutionView(Followed[TimeStep, IntervalRows]):
    """The solutions of a pattern. ``names`` are its variables, ``certain`` those that every solution binds."""

    names: tuple[str, ...]
    certain: frozenset[str]
    waits: bool = False
    """Whether it needs to know everything that ends at an instant before it says what ends there."""
    _gone: Gone | None = None
    _appeared: IntervalRows

    def revised(self, gone: Gone) -> IntervalRows:
        """Drop what rests on something that is gone; the rows that are there because of that."""
        if self._gone is not gone:
            self._appeared = self._revised(gone)
            self._gone = gone
        return self._appeared

    def _revised(self, gone: Gone) -> IntervalRows:
        """Of a view that keeps nothing of its own, and whose rows each follow from one row of another."""
        raise NotImplementedError(type(self).__name__)

    @property
    def instants(self) -> Mapping[str, int | None]:
        """The columns that hold the start or the end of a row, and how long after it that row can end; None if nothing bounds it."""
        return {}

    @abstractmethod
    def parts(self) -> tuple[SolutionView, ...]:
        """The views it reads."""


# --- leaves ---------------------------------------------------------------------------------------


class NewOccurrences:
    """The new occurrences that match a triple pattern, with columns named by place."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.new = no_rows(self.names)


class OccurrenceView(SolutionView):
    """The solutions of a triple pattern over occurrences: each source with what it says in the names of the pattern."""

    def __init__(
        self,
        names: Sequence[str],
        sources: Sequence[tuple[NewOccurrences, Callable[[IntervalRows], IntervalRows]]],
        tracer: Trace | None = None,
    ) -> None:
        self._sources = tuple(sources)
        self._seen = SolutionSet(names)
        self._tracer = tracer
        self._own = tuple(names)
        self.names = self._own if tracer is None else (*names, tracer.column)
        self.certain = frozenset(names)

    def parts(self) -> tuple[SolutionView, ...]:
        return ()

    def keepers(self) -> Iterator[tuple[str, Keeper]]:
        yield "seen", self._seen

    def _step(self, current: TimeStep) -> IntervalRows:
        parts = [read(source.new) for source, read in self._sources if len(source.new)]
        rows = self._seen.new(stacked(parts, self._own), current.horizon)
        return rows if self._tracer is None else self._tracer.traced(rows)

    def _revised(self, gone: Gone) -> IntervalRows:
        del gone  # it keeps no row longer than an instant
        return no_rows(self.names)


class TimelessView(SolutionView):
    """Solutions without time, all there from the beginning: background, inline data, the empty pattern.

    ``late`` ones come when all that rules add to the background is there, as with `LaggingView`.
    """

    NUMBERS = ("_given",)

    def __init__(
        self,
        names: Sequence[str],
        certain: frozenset[str],
        solutions: Callable[[], tuple[Mapping[str, Ids], int]],
        *,
        late: bool = False,
    ) -> None:
        self.names, self.certain, self._solutions = tuple(names), certain, solutions
        self._late = late
        self._given = 0

    def parts(self) -> tuple[SolutionView, ...]:
        return ()

    def _step(self, current: TimeStep) -> IntervalRows:
        if self._given or (self._late and current.horizon == NEVER_ENDED):
            return no_rows(self.names)
        self._given = 1
        columns, count = self._solutions()
        return timeless(columns, count).named(self.names)

    def _revised(self, gone: Gone) -> IntervalRows:
        del gone  # the background is never consumed
        return no_rows(self.names)


class LaggingView(SolutionView):
    """The rows of a view when all that end with them are there: what SEQ asks of its left side in a rule that feeds itself."""

    IDS = ("_ids",)
    ARRAYS = ("_start", "_end")

    def __init__(self, inner: SolutionView) -> None:
        self._inner = inner
        self.names, self.certain = inner.names, inner.certain
        self._keep(no_rows(self.names))

    def parts(self) -> tuple[SolutionView, ...]:
        return (self._inner,)

    def _keep(self, rows: IntervalRows) -> None:
        self._ids, self._start, self._end = rows.matrix(self.names), rows.start, rows.end

    def _step(self, current: TimeStep) -> IntervalRows:
        kept = IntervalRows(by_name(self._ids, self.names), self._start, self._end)
        rows = stacked([kept, self._inner.step(current)], self.names)
        over = rows.end < current.horizon
        self._keep(rows.take(~over))
        return rows.take(over)


# --- rows by themselves ---------------------------------------------------------------------------


class FilteredSolutions(SolutionView):
    """The rows on which a condition holds."""

    def __init__(self, inner: SolutionView, test: Test) -> None:
        self._inner, self._test = inner, test
        self.waits = test.waits
        self.names, self.certain = inner.names, inner.certain

    @property
    def instants(self) -> Mapping[str, int | None]:
        return self._inner.instants

    def parts(self) -> tuple[SolutionView, ...]:
        return (self._inner, *self._test.views)

    def keepers(self) -> Iterator[tuple[str, Keeper]]:
        yield "test", self._test

    def _step(self, current: TimeStep) -> IntervalRows:
        rows = self._inner.step(current)
        self._test.step(current)
        return self._of(rows)

    def _revised(self, gone: Gone) -> IntervalRows:
        return self._of(self._inner.revised(gone))

    def _of(self, rows: IntervalRows) -> IntervalRows:
        return rows.take(self._test.holds(rows)) if len(rows) else rows


class BoundView(SolutionView):
    """The rows that last no longer than so many microseconds; ``timed`` leaves out timeless ones, too."""

    def __init__(self, inner: SolutionView, longest: int, *, timed: bool) -> None:
        self._inner, self._longest, self._timed = inner, longest, timed
        self.names, self.certain = inner.names, inner.certain

    @property
    def instants(self) -> Mapping[str, int | None]:
        longest = self._longest
        return {
            name: longest if most is None else min(most, longest)
            for name, most in self._inner.instants.items()
        }

    def parts(self) -> tuple[SolutionView, ...]:
        return (self._inner,)

    def _step(self, current: TimeStep) -> IntervalRows:
        return self._of(self._inner.step(current))

    def _revised(self, gone: Gone) -> IntervalRows:
        return self._of(self._inner.revised(gone))

    def _of(self, rows: IntervalRows) -> IntervalRows:
        kept = rows.end - rows.start <= self._longest
        if self._timed:
            kept &= rows.timed
        return rows if kept.all() else rows.take(kept)


class ExtendedSolutions(SolutionView):
    """Rows with the value of an expression."""

    def __init__(self, inner: SolutionView, name: str, test: Test) -> None:
        self._inner, self._name, self._test = inner, name, test
        self.waits = test.waits
        self.names, self.certain = (*inner.names, name), inner.certain

    @property
    def instants(self) -> Mapping[str, int | None]:
        found = dict(self._inner.instants)
        if self._test.variable in (END, START):
            found[self._name] = 0 if self._test.variable == END else None
        return found

    def parts(self) -> tuple[SolutionView, ...]:
        return (self._inner, *self._test.views)

    def keepers(self) -> Iterator[tuple[str, Keeper]]:
        yield "test", self._test

    def _step(self, current: TimeStep) -> IntervalRows:
        rows = self._inner.step(current)
        self._test.step(current)
        return self._of(rows)

    def _revised(self, gone: Gone) -> IntervalRows:
        return self._of(self._inner.revised(gone))

    def _of(self, rows: IntervalRows) -> IntervalRows:
        if not len(rows):
            return no_rows(self.names)
        return rows.with_columns({**rows.columns, self._name: self._test.values(rows)})


class CopyView(SolutionView):
    """Rows with a column that repeats another one; where there is one already, the rows in which they agree."""

    def __init__(self, inner: SolutionView, name: str, source: str) -> None:
        self._inner, self._name, self._source = inner, name, source
        self.names = inner.names if name in inner.names else (*inner.names, name)
        self.certain = inner.certain | {name}

    def parts(self) -> tuple[SolutionView, ...]:
        return (self._inner,)

    def _step(self, current: TimeStep) -> IntervalRows:
        return self._of(self._inner.step(current))

    def _revised(self, gone: Gone) -> IntervalRows:
        return self._of(self._inner.revised(gone))

    def _of(self, rows: IntervalRows) -> IntervalRows:
        source = rows.columns[self._source]
        if self._name in rows.columns:
            return rows.take(rows.columns[self._name] == source)
        return rows.with_columns({**rows.columns, self._name: source})


# --- sets of rows ---------------------------------------------------------------------------------


class ProjectedSolutions(SolutionView):
    """Some columns of all rows, as a set again."""

    def __init__(self, inner: SolutionView, names: Sequence[str]) -> None:
        self._inner = inner
        self.names = (*names, *(name for name in inner.names if is_trace(name) and name not in names))
        self.certain = inner.certain & frozenset(names)
        self._seen = SolutionSet(self.names)

    @property
    def instants(self) -> Mapping[str, int | None]:
        return {name: most for name, most in self._inner.instants.items() if name in self.names}

    def parts(self) -> tuple[SolutionView, ...]:
        return (self._inner,)

    def keepers(self) -> Iterator[tuple[str, Keeper]]:
        yield "seen", self._seen

    def _step(self, current: TimeStep) -> IntervalRows:
        return self._seen.new(self._inner.step(current).named(self.names), current.horizon)

    def _revised(self, gone: Gone) -> IntervalRows:
        return each_row_once(self._inner.revised(gone).named(self.names))


class UnitedSolutions(SolutionView):
    """The rows of several views, each once."""

    def __init__(self, parts: Sequence[SolutionView]) -> None:
        self._parts = tuple(parts)
        self.names = tuple(dict.fromkeys(name for part in parts for name in part.names))
        self.certain = frozenset.intersection(*(part.certain for part in parts))
        self._seen = SolutionSet(self.names)

    def parts(self) -> tuple[SolutionView, ...]:
        return self._parts

    def keepers(self) -> Iterator[tuple[str, Keeper]]:
        yield "seen", self._seen

    def _step(self, current: TimeStep) -> IntervalRows:
        found = stacked([part.step(current) for part in self._parts], self.names)
        return self._seen.new(found, current.horizon)

    def _revised(self, gone: Gone) -> IntervalRows:
        return each_row_once(stacked([part.revised(gone) for part in self._parts], self.names))
