"""What is left of the graphs of events, for EXISTS in the pattern of an EVENT that consumes (semantics 4.5)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from spaseq.columnar.frame import Frame
from spaseq.columnar.growing import GrowingTable
from spaseq.columnar.kernels.cache import cache_of
from spaseq.columnar.knowledge import Knowledge
from spaseq.columnar.row_numbers import among, numbered, rows_of
from spaseq.columnar.solve import solve
from spaseq.columnar.table import Table
from spaseq.model.dictionary import TermDictionary
from spaseq.model.mappings import MappingTable
from spaseq.settings import settings
from spaseq.windowed.evaluations import Arrived
from spaseq.windowed.inputs import ConsumingEvent, EventInput, Input
from spaseq.windowed.reevaluated import graphs_of, whole_triples
from spaseq.windowed.timed import Ids, Longs


class EventGraphs(GrowingTable):
    """The triples of events that decide the conditions of an EVENT which may change, in order of event."""

    IDS = ("triples",)
    ARRAYS = ("position", "event", "gone")

    def __init__(
        self,
        stream: str,
        event: ConsumingEvent,
        key: str | None,
        dictionary: TermDictionary,
        knowledge: Knowledge,
    ) -> None:
        self._event, self._dictionary, self._knowledge = event, dictionary, knowledge
        self._inputs = tuple(Input(stream, triple) for triple in event.graph(key))
        self.triples = np.zeros((0, 3), np.int32)
        self.position = np.zeros(0, np.int64)
        self.event = np.zeros(0, np.int64)
        self.gone = np.zeros(0, np.bool_)
        self._kept = 0

    def arrive(
        self, tables: Mapping[Input | EventInput, MappingTable], events: Arrived, wanted: Longs
    ) -> None:
        """Take the triples of some of the further events, each once."""
        parts = [np.zeros((0, 4), np.int32)]
        for source in self._inputs:
            table = tables[source]
            ids = whole_triples(source, table.columns, len(table), self._dictionary)
            parts.append(np.column_stack([table.events.astype(np.int32), ids])[np.isin(table.events, wanted)])
        rows = np.concatenate(parts)
        _, first = np.unique(numbered(rows), return_index=True)
        first = first[np.argsort(rows[first, 0], kind="stable")]
        owner = rows[first, 0]
        self._append(
            rows[first, 1:], events.position[owner], events.numbers[owner], np.zeros(len(first), np.bool_)
        )

    def consume(self, events: Longs, event: Longs, triples: Ids) -> None:
        """Take away some triples, each of its event; ``events`` are these events in order."""
        rows = rows_of(self.event[: len(self)], events)
        mine = np.column_stack(
            [np.searchsorted(events, self.event[rows]).astype(np.int32), self.triples[rows]]
        )
        given = np.column_stack([np.searchsorted(events, event).astype(np.int32), triples])
        self.gone[rows[among(mine, given)]] = True

    def solutions(self, events: Longs) -> Table:
        """The solutions over what is left of some events, given in order: they satisfy what may change."""
        rows = rows_of(self.event[: len(self)], events)
        rows = rows[~self.gone[rows]]
        owners = np.searchsorted(events, self.event[rows])
        frame = Frame(
            graphs_of(self.triples[rows], owners, len(events)),
            self._dictionary, cache_of(self._dictionary), self._knowledge, solve,
        )  # fmt: skip
        return frame.spread(solve(self._event.whole, frame))

    def forget(self, low: int) -> None:
        """Drop what was consumed and the events before a position, when they may be half of all."""
        if len(self) > 2 * self._kept + settings().forgotten_rows:
            count = len(self)
            self._keep((self.position[:count] >= low) & ~self.gone[:count])
            self._kept = len(self)
