"""Vertical views of a batch: the triples of one predicate, over all events at once.

SPECTRA prunes a graph to a summary that holds only what the patterns mention and keeps one view per
predicate (papers, SPECTRA section 4). Here a batch of events is pruned in one pass per predicate and
every pattern of a query shares the views.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from spaseq.columnar.table import Ids, Mask, Rows, Table, distinct, stacked
from spaseq.model.batch import EventBatch

NEVER: Final = -(2**63)
"""The time of a triple that no event brought."""


@dataclass(frozen=True, slots=True, eq=False)
class Views:
    """The triples of a batch, by predicate; ``within`` leaves out the events that are not in question."""

    batch: EventBatch
    within: Mask | None = None
    latest: npt.NDArray[np.int64] | None = None
    """When each triple came last, where an event stands for the contents of windows; `NEVER` for background triples."""
    _cache: dict[int, Edges] = field(default_factory=dict, repr=False)
    _events: list[Ids] = field(default_factory=list, repr=False)
    _parts: dict[bytes, Views] = field(default_factory=dict, repr=False)
    _lists: list[dict[int, list[tuple[int, int, int]]]] = field(default_factory=list, repr=False)

    @property
    def count(self) -> int:
        """The number of events."""
        return len(self.batch)

    def all_events(self) -> Ids:
        """Every event in question."""
        if self.within is not None:
            return np.flatnonzero(self.within).astype(np.int32)
        return np.arange(self.count, dtype=np.int32)

    def only(self, within: Mask) -> Views:
        """The views of some of the events, the same object for the same events."""
        key = within.tobytes()
        if key not in self._parts:
            both = within if self.within is None else self.within & within
            self._parts[key] = Views(self.batch, both, _events=self._events)
        return self._parts[key]

    def events(self) -> Ids:
        """For every triple the event it belongs to."""
        if not self._events:
            owners = np.repeat(np.arange(self.count, dtype=np.int32), np.diff(self.batch.offsets))
            self._events.append(owners)
        return self._events[0]

    def few(self) -> dict[int, list[tuple[int, int, int]]]:
        """Event, subject and object of every triple in question, by predicate, for batches of a few triples."""
        if not self._lists:
            batch, wanted = self.batch, None if self.within is None else self.within.tolist()
            lists: dict[int, list[tuple[int, int, int]]] = {}
            bounds = batch.offsets.tolist()
            columns = (batch.subjects.tolist(), batch.predicates.tolist(), batch.objects.tolist())
            for event, (first, last) in enumerate(pairwise(bounds)):
                if wanted is None or wanted[event]:
                    for at in range(first, last):
                        edge = (event, columns[0][at], columns[2][at])
                        lists.setdefault(columns[1][at], []).append(edge)
            self._lists.append(lists)
        return self._lists[0]

    def predicate(self, predicate: int) -> Edges:
        """The view of one predicate; 0, no term of the dictionary, has an empty one."""
        view = self._cache.get(predicate)
        if view is None:
            if predicate:
                rows = np.flatnonzero(self._triples(self.batch.predicates) == predicate)
            else:
                rows = np.zeros(0, dtype=np.intp)
            view = self._cache[predicate] = self._edges(rows)
        return view

    def everything(self) -> Edges:
        """All triples: the view of a variable predicate."""
        return self._edges(np.arange(len(self._triples(self.batch.predicates))), labelled=True)

    def without(self, predicates: Ids) -> Edges:
        """The triples with none of these predicates."""
        return self._edges(np.flatnonzero(~np.isin(self._triples(self.batch.predicates), predicates)))

    def nodes(self) -> Table:
        """Every subject and object of every event, once, as the column ``node``."""
        edges = self.everything()
        tables = [Table(edges.events, {"node": ends}, edges.size) for ends in (edges.subjects, edges.objects)]
        return distinct(stacked(tables))

    def _edges(self, rows: Rows, labelled: bool = False) -> Edges:
        events = self.events()[rows]
        if self.within is not None:
            kept = self.within[events]
            if not kept.all():
                rows, events = rows[kept], events[kept]
        batch = self.batch
        return Edges(
            events,
            self._triples(batch.subjects)[rows],
            self._triples(batch.objects)[rows],
            self._triples(batch.predicates)[rows] if labelled else None,
        )

    def _triples(self, column: Ids) -> Ids:
        """A triple column without what lies outside the batch's events."""
        first, last = int(self.batch.offsets[0]), int(self.batch.offsets[-1])
        return column if last - first == len(column) else column[first:last]


@dataclass(frozen=True, slots=True, eq=False)
class Edges:
    """Triples as columns, in event order; ``predicates`` is None where they are known or do not matter."""

    events: Ids
    subjects: Ids
    objects: Ids
    predicates: Ids | None = None

    @property
    def size(self) -> int:
        return len(self.events)
