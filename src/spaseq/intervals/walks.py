"""Paths of unbounded length: walks whose edges each hold at their own time (semantics 2.3)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from spaseq.columnar.keeping import Keeper
from spaseq.intervals.interval_rows import LAST, IntervalRows, IntervalTable, SolutionSet, stacked
from spaseq.intervals.solution_views import SolutionView, TimeStep

FROM, TO = "#from", "#to"
_EDGE = (FROM, TO)


class WalkView(SolutionView):
    """The walks of one or more edges, each with the interval of all its edges: a fixpoint over (from, to, interval)."""

    def __init__(self, edges: SolutionView, longest: int | None = None) -> None:
        self._edges, self.kept_for = edges, longest
        self.names, self.certain = _EDGE, frozenset(_EDGE)
        self._by_from = IntervalTable(_EDGE, (FROM,))
        self._walks = IntervalTable(_EDGE, (TO,))
        self._seen = SolutionSet(_EDGE)

    def parts(self) -> tuple[SolutionView, ...]:
        return (self._edges,)

    def keepers(self) -> Iterator[tuple[str, Keeper]]:
        yield from (("edges", self._by_from), ("walks", self._walks), ("seen", self._seen))

    def _step(self, current: TimeStep) -> IntervalRows:
        edges = self._edges.step(current).named(_EDGE)
        found = [self._new(edges)]
        # Old walks go on with new edges; new walks go on with any edge.
        found.append(self._new(self._joined(edges, self._walks, forward=False)))
        self._by_from.add(edges)
        fresh = stacked(found, _EDGE)
        while len(fresh):
            self._walks.add(fresh)
            fresh = self._new(self._joined(fresh, self._by_from, forward=True))
            found.append(fresh)
        oldest = None if self.kept_for is None else current.horizon - self.kept_for
        self._by_from.forget(oldest)
        self._walks.forget(oldest)
        self._seen.forget(current.horizon)
        return stacked(found, _EDGE)

    def _new(self, rows: IntervalRows) -> IntervalRows:
        """Those that were not found before; all that this step finds is kept until it is over."""
        if self.kept_for is not None and len(rows):
            rows = rows.take(rows.end - rows.start <= self.kept_for)
        return self._seen.new(rows, -LAST)

    @staticmethod
    def _joined(rows: IntervalRows, table: IntervalTable, *, forward: bool) -> IntervalRows:
        """Walks with edges behind them, or edges with walks before them."""
        parts = []
        if len(rows) and len(table):
            # The table is asked by its own key: an edge's beginning is where a walk ends.
            mine, theirs = (TO, FROM) if forward else (FROM, TO)
            asking = rows.with_columns({theirs: rows.columns[mine]})
            anywhere = np.full(len(rows), LAST)
            for asked, other in table.find(asking, -anywhere, anywhere):
                own, their = rows.take(asked), table.ids[other]
                columns = (
                    {FROM: own.columns[FROM], TO: their[:, 1]}
                    if forward
                    else {FROM: their[:, 0], TO: own.columns[TO]}
                )
                start = np.minimum(own.start, table.start[other])
                parts.append(IntervalRows(columns, start, np.maximum(own.end, table.end[other])))
        return stacked(parts, _EDGE)
