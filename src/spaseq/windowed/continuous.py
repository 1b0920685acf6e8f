"""A continuous query at work: what its events match goes in, what is reported comes out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from spaseq.algebra.scope import visible
from spaseq.algebra.windows import WindowQuery
from spaseq.columnar.knowledge import Knowledge
from spaseq.columnar.rows import RowEvaluator
from spaseq.model.dictionary import TermDictionary
from spaseq.model.mappings import MappingTable
from spaseq.windowed.build import ViewBuilder
from spaseq.windowed.evaluations import Evaluations, Longs, Period
from spaseq.windowed.inputs import EVERYTHING, Input
from spaseq.windowed.report import Reported, Reporter, outer_operators
from spaseq.windowed.timed import id_matrix


@dataclass(frozen=True, slots=True)
class Outcome:
    """Some evaluations, and what is reported at them."""

    period: Period
    reported: Reported


class ContinuousQuery:
    """Follows the windows of a query over the events of its streams, in order of time."""

    def __init__(self, query: WindowQuery, dictionary: TermDictionary, knowledge: Knowledge) -> None:
        self.query = query
        self._evaluations = Evaluations(query.windows, query.report)
        builder = ViewBuilder(query, dictionary, knowledge)
        inner, operators = outer_operators(query.pattern)
        self._view = builder.build(inner)
        self.anew = tuple(builder.anew)
        self._contents, self._live = builder.contents, builder.live
        results = tuple(variable.name for variable in visible(query.pattern))
        self._reporter = Reporter(
            self._view.names, query.form, query.emission, operators, results,
            RowEvaluator(dictionary), len(query.windows),
        )  # fmt: skip
        self._arrived = dict.fromkeys(self._evaluations.streams, 0)

    def step(self, tables: Mapping[Input, MappingTable], times: Longs, now: int) -> Outcome | None:
        """Take events in order of time; events at ``now`` may still come, earlier ones may not.

        ``tables`` are the solutions of every input, by event, ``times`` those of the events. None if nothing was evaluated.
        """
        arrived: dict[str, tuple[Longs, Longs]] = {}
        for stream in self._evaluations.streams:
            own = tables[Input(stream)].events
            everything = tables.get(Input(stream, EVERYTHING))
            triples = np.zeros(len(times), np.int64)
            if everything is not None:
                triples = np.bincount(everything.events, minlength=len(times))
            arrived[stream] = times[own], triples[own]
            position = np.zeros(len(times), np.int64)
            position[own] = self._arrived[stream] + np.arange(len(own))
            self._arrived[stream] += len(own)
            for (_, source), contents in self._contents.items():
                if source.stream == stream and len(table := tables[source]):
                    ids = id_matrix(table.columns, source.names, len(table))
                    contents.arrive(ids, position[table.events])
            for (_, source), live in self._live.items():
                if source.stream == stream and len(table := tables[source]):
                    ids = id_matrix(table.columns, source.names, len(table))
                    live.arrive(source, ids, position[table.events], times[table.events])
        period = self._evaluations.step(arrived, now)
        if not len(period):
            return None
        for contents in self._contents.values():
            contents.step(period)
        reported = self._reporter.step(self._view.step(period), period)
        for live in self._live.values():
            live.forget(period)
        return Outcome(period, reported)
