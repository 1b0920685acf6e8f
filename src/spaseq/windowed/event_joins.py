"""Plain SEQ and DURING as joins that follow what comes and goes, where no key keeps events apart (semantics 4.2).

The instants from and to which a solution lasts are terms, in columns that no query can name.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count
from typing import TypeAlias, assert_never

import numpy as np

from spaseq.algebra.event_patterns import (
    DeclaredEvent,
    EventDuring,
    EventPattern,
    EventSeq,
    FirstOf,
    LastOf,
)
from spaseq.algebra.expressions import And, Compare, Expression, Var
from spaseq.algebra.scope import certainly_bound, lowered, visible
from spaseq.columnar.row_numbers import by_name, id_matrix
from spaseq.columnar.rows import RowEvaluator
from spaseq.model.dictionary import TermDictionary
from spaseq.model.mappings import MappingTable
from spaseq.temporal.instants import XSD
from spaseq.windowed.evaluations import Arrived, Period
from spaseq.windowed.inputs import EventInput, Input
from spaseq.windowed.timed import NO_END, Ids, Longs, TimedRows
from spaseq.windowed.views import DistinctView, FilterView, JoinView, ProjectView, View

Timed: TypeAlias = tuple[View, str, str]
"""A view, and the names of its columns of instants."""


class SingleEventView(View):
    """The solutions of the single events of a window, each with the instants from and to which its event lasts."""

    IDS = ("_ids",)
    ARRAYS = ("_position",)

    def __init__(
        self,
        event: DeclaredEvent,
        window: tuple[int, str],
        place: int,
        windows: int,
        dictionary: TermDictionary,
    ) -> None:
        pattern = lowered(event.pattern)
        self._window, stream = window
        self._source, self._dictionary, self._windows = EventInput(stream, pattern), dictionary, windows
        self._own = tuple(variable.name for variable in visible(pattern))
        self.instants = (f"#start{place}", f"#end{place}")
        self.names = (*self._own, *self.instants)
        self.certain = certainly_bound(pattern) & set(self._own) | set(self.instants)
        self._ids = np.zeros((0, len(self.names)), np.int32)
        """Of events that no evaluation has seen yet."""
        self._position = np.zeros(0, np.int64)

    def parts(self) -> tuple[View, ...]:
        return ()

    def arrive(self, stream: str, tables: Mapping[Input | EventInput, MappingTable], events: Arrived) -> None:
        """Take what the events of a stream match."""
        if stream != self._source.stream or not len(table := tables[self._source]):
            return
        end = events.times[table.events]
        start = end if table.starts is None else table.starts
        ids = id_matrix(table.columns, self.names, len(table))
        ids[:, -2], ids[:, -1] = self._terms(start), self._terms(end)
        self._ids = np.concatenate([self._ids, ids])
        self._position = np.concatenate([self._position, events.position[table.events]])

    def _terms(self, instants: Longs) -> Ids:
        distinct, numbers = np.unique(instants, return_inverse=True)
        terms = self._dictionary.encode_texts([f'"{each}"^^<{XSD}integer>' for each in distinct.tolist()])
        return np.array(terms, np.int32)[numbers]

    def _step(self, period: Period) -> TimedRows:
        entered = self._position < period.high[self._window][-1]
        ids, position = self._ids[entered], self._position[entered]
        self._ids, self._position = self._ids[~entered], self._position[~entered]
        enter = period.entering(self._window, position)
        seen = period.leaving(self._window, position) > enter
        ids, position, enter = ids[seen], position[seen], enter[seen]
        ends = np.full((len(ids), self._windows), NO_END, np.int64)
        ends[:, self._window] = position
        return TimedRows(by_name(ids, self.names), np.ones(len(ids), np.int64), period.first + enter, ends)


class EventJoins:
    """Makes the views of plain event patterns; ``singles`` are those of single events, which must hear of events."""

    def __init__(
        self, windows: Mapping[str, tuple[int, str]], dictionary: TermDictionary, evaluator: RowEvaluator
    ) -> None:
        """``windows`` gives the number and the stream of every window."""
        self._windows, self._dictionary, self._evaluator = windows, dictionary, evaluator
        self._place = count()
        self.singles: list[SingleEventView] = []

    def view(self, pattern: EventPattern) -> View:
        """The solutions: a set of values with their time, of which the time is then left out."""
        timed, start, end = self._timed(pattern)
        names = [name for name in timed.names if not name.startswith("#")]
        distinct = DistinctView(_kept(timed, [*names, start, end]), len(self._windows))
        return _kept(distinct, names)

    def _timed(self, pattern: EventPattern) -> Timed:
        match pattern:
            case DeclaredEvent():
                view = SingleEventView(
                    pattern,
                    self._windows[pattern.window],
                    next(self._place),
                    len(self._windows),
                    self._dictionary,
                )
                self.singles.append(view)
                return view, *view.instants
            case EventSeq(left, right):
                (one, start, ended), (other, begun, end) = self._timed(left), self._timed(right)
                return self._joined(one, other, Compare("<", Var(ended), Var(begun))), start, end
            case EventDuring(left, right):
                (one, begun, ended), (other, start, end) = self._timed(left), self._timed(right)
                inside = And(Compare("<", Var(start), Var(begun)), Compare("<", Var(ended), Var(end)))
                return self._joined(one, other, inside), start, end
            case FirstOf() | LastOf():
                raise AssertionError("not plain")
            case _:
                assert_never(pattern)

    def _joined(self, left: View, right: View, condition: Expression) -> View:
        return FilterView(JoinView(left, right, len(self._windows)), condition, self._evaluator)


def _kept(view: View, names: list[str]) -> View:
    return ProjectView(view, dict(zip(names, names, strict=True)))
