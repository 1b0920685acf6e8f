"""A continuous query at work: what its events match goes in, what is reported comes out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from spaseq.algebra.by_place import EVERYTHING
from spaseq.algebra.event_patterns import Consumption, declared_events
from spaseq.algebra.functions import is_volatile
from spaseq.algebra.scope import expression_variables, lowered, pattern_expressions, visible
from spaseq.algebra.total_order import settled
from spaseq.algebra.visibility import every_pattern
from spaseq.algebra.windows import Emission, WindowQuery
from spaseq.columnar.keeping import Keeper
from spaseq.columnar.knowledge import Knowledge
from spaseq.columnar.row_numbers import id_matrix
from spaseq.columnar.rows import RowEvaluator
from spaseq.columnar.table import AtHome
from spaseq.model.dictionary import TermDictionary
from spaseq.model.mappings import MappingTable
from spaseq.model.ordered import each_once
from spaseq.settings import settings
from spaseq.windowed.build import ViewBuilder
from spaseq.windowed.evaluations import Alike, Arrived, Evaluations, Longs, Period
from spaseq.windowed.event_match import MatchView
from spaseq.windowed.event_traces import traced
from spaseq.windowed.inputs import EventInput, Input, matches
from spaseq.windowed.named_graphs import with_listed_events
from spaseq.windowed.report import Reported, Reporter, outer_operators


@dataclass(frozen=True, slots=True)
class Outcome:
    """Some evaluations, and what is reported at them."""

    period: Period
    reported: Reported


class ContinuousQuery(Keeper):
    """Follows the windows of a query over the events of its streams, in order of time."""

    NUMBERS = ("_told",)

    def __init__(
        self,
        query: WindowQuery,
        dictionary: TermDictionary,
        knowledge: Knowledge,
        *,
        incremental: bool = True,
        tells_events: bool = False,
        at_home: AtHome | None = None,
    ) -> None:
        with_events = traced(query) if tells_events else None
        query = with_listed_events(with_events or query)
        self.tells_events = with_events is not None
        """Whether solutions tell the events that they are made of."""
        self.query = query
        self._told = 0
        """How many events it was told of."""
        self._evaluations = Evaluations(query.windows, query.report, _alike(query))
        self._turnovers = 1
        """How often windows may change all their contents in what is handled at a time: joins look at all rows of that together."""
        builder = ViewBuilder(
            query,
            dictionary,
            knowledge,
            incremental=incremental,
            tells_events=self.tells_events,
            at_home=at_home,
        )
        inner, operators = outer_operators(query.form, settled(query.pattern))
        keys = (key for each in operators for key in pattern_expressions(each))
        self._view = builder.build(inner, frozenset[str]().union(*map(expression_variables, keys)))
        self.anew = tuple(builder.anew)
        self._contents, self._live, self._matches = builder.contents, builder.live, builder.matches
        results = tuple(variable.name for variable in visible(query.pattern))
        self._reporter = Reporter(
            self._view.names, query.form, query.emission, operators, results,
            RowEvaluator(dictionary), len(query.windows),
        )  # fmt: skip

    def keepers(self) -> Iterator[tuple[str, Keeper]]:
        """All that it keeps rows in."""
        yield "evaluations", self._evaluations
        yield from ((f"contents{number}", each) for number, each in enumerate(self._contents.values()))
        live = {id(each): each for each in self._live.values()}
        yield from ((f"live{number}", each) for number, each in enumerate(live.values()))
        yield from ((f"view{number}", each) for number, each in enumerate(self._view.all_views()))
        yield "report", self._reporter

    @property
    def begun(self) -> bool:
        """True once there was an event."""
        return self._evaluations.begun

    def due(self) -> int | None:
        """The first instant that will be decided by time alone, if there is one."""
        return self._evaluations.due()

    def event_serials(self) -> Longs:
        """The serial numbers of the events that answers may tell."""
        views = (each for each in self._matches if isinstance(each, MatchView))
        parts = [serials for view in views for serials in view.event_serials()]
        return each_once(np.concatenate([np.zeros(0, np.int64), *parts]))

    @property
    def solutions(self) -> int:
        """How many different solutions there are now."""
        return self._reporter.solutions

    def step(
        self,
        tables: Mapping[Input | EventInput, MappingTable],
        times: Longs,
        now: int,
        serials: Longs | None = None,
    ) -> Iterator[Outcome]:
        """Take events in order of time; events at ``now`` may still come, earlier ones may not.

        ``tables`` are the solutions of every input, by event, ``times`` and ``serials`` those of the events; the latter are only
        there to be told. Yields some evaluations at a time, fewer the more is reported at each.
        """
        numbers = self._told + np.arange(len(times)) if serials is None else serials
        arrived: dict[str, tuple[Longs, Longs]] = {}
        streams = self._evaluations.streams
        for stream in streams:
            # Hosts need not tell to which stream an event belongs if there is but one.
            own = tables[Input(stream)].events if len(streams) > 1 else np.arange(len(times))
            everything = tables.get(Input(stream, EVERYTHING))
            triples = np.zeros(len(times), np.int64)
            if everything is not None:
                triples = np.bincount(everything.events, minlength=len(times))
            arrived[stream] = times[own], triples[own]
            position = np.arange(len(times))
            if len(own) < len(times):
                # Of simultaneous events, hosts may tell of one alone; then all stand for one.
                position = np.searchsorted(times[own], times, side="right") - 1
                position[own] = np.arange(len(own))
            position += self._evaluations.arrived(stream)
            for (_, source), contents in self._contents.items():
                if source.stream == stream and len(table := tables[source]):
                    ids = id_matrix(table.columns, source.names, len(table))
                    contents.arrive(ids, position[table.events])
            for (_, source), live in self._live.items():
                if source.stream == stream and len(table := tables[source]):
                    ids = id_matrix(table.columns, source.names, len(table))
                    live.arrive(source, ids, position[table.events], times[table.events])
            for match in self._matches:
                match.arrive(stream, tables, Arrived(numbers, times, position, own))
        self._told += len(times)
        for period in self._evaluations.step(arrived, now):
            for outcome in self._outcomes(period):
                yield from self._repeated(outcome)

    def _outcomes(self, period: Period) -> Iterator[Outcome]:
        first = 0
        while first < len(period):
            last = min(first + self._slice(), len(period))
            if self._turnovers < last - first:  # windows turn over at most once at an evaluation
                last = min(last, period.turned_over(first, self._turnovers))
            part = period.part(first, last)
            yield self._evaluated(part)
            vain = part.pairs.vain > part.pairs.kept + settings().vain_pairs
            more = min(2 * self._turnovers, settings().slice_evaluations)
            self._turnovers = max(self._turnovers // 2, 1) if vain else more
            first = last

    def _repeated(self, outcome: Outcome) -> Iterator[Outcome]:
        """The same with all evaluations that only repeat others, where these report something."""
        period, reported = outcome.period, outcome.reported
        many = np.bincount(reported.at, minlength=len(period))
        if period.repeats is None or self.query.emission is not Emission.RSTREAM or not len(reported):
            yield outcome
            return
        most = max(settings().slice_matches // int(many.max()), 1)
        for part, which in period.listed(many > 0, most):
            yield Outcome(part, reported.repeated(which, many))

    def _slice(self) -> int:
        """How many evaluations are handled at a time."""
        if self.query.emission is not Emission.RSTREAM:
            return settings().slice_evaluations
        return max(settings().slice_matches // max(self.solutions, 1), 1)

    def _evaluated(self, period: Period) -> Outcome:
        for contents in self._contents.values():
            contents.step(period)
        reported = self._reporter.step(self._view.step(period), period)
        for live in self._live.values():
            live.forget(period)
        return Outcome(period, reported)


def _alike(query: WindowQuery) -> Alike:
    """Where evaluations with the same contents have the same answer."""
    events = (event for match in matches(query) for event in declared_events(match.events))
    patterns = (query.pattern, *(lowered(event.pattern) for event in events))
    if any(
        is_volatile(each)
        for part in patterns
        for inner in every_pattern(part)
        for each in pattern_expressions(inner)
    ):
        return Alike.NEVER
    return Alike.ALWAYS if query.consumption is Consumption.NONE else Alike.EMPTY
