"""Where the events of a MATCH come from: what they match, by key, and what is consumed of them (semantics 4.2 and 4.5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from spaseq.algebra.event_patterns import DeclaredEvent, EventPattern, Selected, declared_events, seqs
from spaseq.algebra.expressions import Constant, Var
from spaseq.algebra.patterns import Bgp, Pattern, TriplePattern
from spaseq.algebra.scope import certainly_bound, lowered, visible
from spaseq.columnar.keeping import Keeper
from spaseq.columnar.kernels.cache import cache_of
from spaseq.columnar.knowledge import Knowledge
from spaseq.columnar.row_numbers import RowNumbers, id_matrix
from spaseq.model.dictionary import TermDictionary
from spaseq.model.mappings import MappingTable
from spaseq.model.ordered import each_once
from spaseq.settings import settings
from spaseq.windowed.evaluations import Arrived, Period
from spaseq.windowed.event_contents import Candidates, EventContents
from spaseq.windowed.event_graphs import EventGraphs
from spaseq.windowed.event_selection import Composites, EventSelection
from spaseq.windowed.inputs import ConsumingEvent, EventInput, Input, consuming_event, key_triples
from spaseq.windowed.timed import Ids, Longs, Rows


@dataclass(frozen=True, slots=True)
class EventSource:
    """Where rows come from, and which triples they use."""

    source: Input | EventInput
    contents: EventContents
    triples: tuple[TriplePattern, ...] = ()
    graphs: EventGraphs | None = None
    """What is left of the events' graphs, where EXISTS depends on it."""


_SourceKey: TypeAlias = tuple[int, Input | EventInput, tuple[str, ...], ConsumingEvent | None]


class EventSources(Keeper):
    """All events that a MATCH reads, by key.

    ``leaves`` are its EVENTs in the order written. For STRICT all events of the windows are among them, and for PARTITION those with a
    key, by its variable.
    """

    def __init__(
        self,
        pattern: EventPattern,
        key: tuple[str, ...],
        windows: Mapping[str, tuple[int, str]],
        dictionary: TermDictionary,
        knowledge: Knowledge,
        *,
        consumes: bool,
        spread: str | None,
    ) -> None:
        """``windows`` gives the number and the stream of every window; ``spread`` is the variable by which a host distributes."""
        self._consumes, self._key = consumes, key
        self._dictionary, self._knowledge, self._spread = dictionary, knowledge, spread
        self.keys = RowNumbers(len(key))
        self._kept_keys = 0
        self._all: dict[_SourceKey, EventSource] = {}
        events = tuple(declared_events(pattern))
        self.leaves = [self._declared(each, events, windows[each.window]) for each in events]
        used = dict.fromkeys(each.window for each in events)
        self._every_event: list[EventSource] = []
        self._keyed: dict[str, list[EventSource]] = {}
        for node in seqs(pattern):
            if node.selected is Selected.STRICT and not self._every_event:
                self._every_event = [self._source(windows[window], None, ()) for window in used]
            if node.key is not None:
                self._keyed[node.key.name] = [
                    self._source(windows[each.window], Bgp((triple,)), (node.key.name,))
                    for each in events
                    for triple in key_triples(each, node.key)
                ]

    def keepers(self) -> Iterator[tuple[str, Keeper]]:
        """The keys, and what is known of events."""
        yield "keys", self.keys
        for number, each in enumerate(self._all.values()):
            yield f"events{number}", each.contents
            if each.graphs is not None:
                yield f"graphs{number}", each.graphs

    @property
    def contents(self) -> list[EventContents]:
        """What is known of events, each kind once."""
        return [each.contents for each in self._all.values()]

    # --- what comes in --------------------------------------------------------------------------

    def _declared(
        self, event: DeclaredEvent, events: tuple[DeclaredEvent, ...], window: tuple[int, str]
    ) -> EventSource:
        names = tuple(variable.name for variable in visible(lowered(event.pattern)))
        if not self._consumes:
            return self._source(window, lowered(event.pattern), names)
        return self._source(window, None, names, consuming_event(event, events))

    def _source(
        self,
        window: tuple[int, str],
        pattern: Pattern | None,
        names: tuple[str, ...],
        consuming: ConsumingEvent | None = None,
    ) -> EventSource:
        """What matches a pattern, or an EVENT that consumes; without either, the events themselves."""
        number, stream = window
        if consuming is not None:
            pattern = consuming.pattern
        source = Input(stream) if pattern is None else EventInput(stream, pattern)
        key = (number, source, names, consuming)
        if key not in self._all:
            triples = () if consuming is None else consuming.triples
            contents = EventContents(number, names, certainly_bound(source.pattern), len(triples))
            graphs = None
            if consuming is not None and consuming.changing:
                graphs = EventGraphs(stream, consuming, self._spread, self._dictionary, self._knowledge)
            self._all[key] = EventSource(source, contents, triples, graphs)
        return self._all[key]

    def arrive(self, stream: str, tables: Mapping[Input | EventInput, MappingTable], events: Arrived) -> None:
        """Take what the events of a stream match."""
        for each in self._all.values():
            if each.source.stream != stream:
                continue
            table = (
                tables[each.source] if isinstance(each.source, EventInput) else MappingTable(events.own, {})
            )
            if not len(table):
                continue
            contents = each.contents
            ids = id_matrix(table.columns, contents.names, len(table))
            key = self.keys.number(id_matrix(table.columns, self._key, len(table))).astype(np.int64)
            end = events.times[table.events]
            start = end if table.starts is None else table.starts
            position, number = events.position[table.events], events.numbers[table.events]
            triples = self._triples(each, table.columns, len(table))
            contents.add(ids, triples, position, number, start, end, key)
            if each.graphs is not None:
                each.graphs.arrive(tables, events, table.events)
                self._judge(each, each_once(number))

    def _judge(self, source: EventSource, events: Longs) -> None:
        """Look which solutions of some events satisfy EXISTS over what is left of them."""
        assert source.graphs is not None
        found = source.graphs.solutions(events)
        assert found.events is not None
        source.contents.judge(events, found.events, self._triples(source, found.columns, found.size))

    def _triples(self, source: EventSource, table: Mapping[str, Ids], count: int) -> Ids:
        """The triples that solutions use, given as columns."""
        columns = [np.zeros((count, 0), np.int32)]
        for triple in source.triples:
            for node in (triple.subject, triple.predicate, triple.object):
                if isinstance(node, Var):
                    columns.append(table[node.name][:, None])
                else:
                    assert isinstance(node, Constant)
                    constant = cache_of(self._dictionary).constant(node.term)
                    columns.append(np.full((count, 1), constant, np.int32))
        return np.concatenate(columns, axis=1)

    # --- what is chosen from, and what goes -----------------------------------------------------

    def selection(
        self, keys: Longs, period: Period, last: Rows | None = None
    ) -> tuple[EventSelection, list[Candidates]]:
        """What solutions for some different keys are chosen from; ``last`` are the rows of the last EVENT if others do not matter."""
        every = {id(each): self._candidates(each, keys, period) for each in self._all.values()}
        leaves = [every[id(each)] for each in self.leaves]
        if last is not None:
            leaves[-1] = Candidates(self.leaves[-1].contents, last, period)
        strict = [every[id(each)] for each in self._every_event]
        keyed = {name: [every[id(each)] for each in several] for name, several in self._keyed.items()}
        return EventSelection(leaves, strict, keyed), leaves

    def _candidates(self, source: EventSource, keys: Longs, period: Period) -> Candidates:
        return Candidates(source.contents, source.contents.of_keys(keys), period)

    def consume(self, found: Composites, leaves: list[Candidates]) -> None:
        """Take away what solutions used, and what else is made of the same triples of the same events (semantics 4.5)."""
        used: dict[int, list[tuple[Longs, Ids]]] = {}
        for at, (leaf, candidates) in enumerate(zip(self.leaves, leaves, strict=True)):
            rows = each_once(found.used[:, at])
            rows = candidates.rows[rows[rows >= 0]]
            for first in range(0, leaf.contents.triples.shape[1], 3):
                triples = leaf.contents.triples[rows, first : first + 3]
                used.setdefault(leaf.contents.window, []).append((leaf.contents.event[rows], triples))
        for source in {id(each): each for each in self.leaves}.values():
            several = used.get(source.contents.window, [])
            if not several:
                continue
            event = np.concatenate([each for each, _ in several])
            triples = np.concatenate([each for _, each in several])
            events = each_once(event)
            source.contents.consume(events, event, triples)
            if source.graphs is not None:
                source.graphs.consume(events, event, triples)
                self._judge(source, events)

    def forget(self, period: Period, *, only_last: bool) -> None:
        """Drop what no evaluation after some sees; with ``only_last`` all but the last events."""
        for each in self._all.values():
            window = each.contents.window
            if only_last:
                each.contents.keep_last(int(period.high[window][-1]))
            each.contents.forget(int(period.low[window][-1]))
            if each.graphs is not None:
                each.graphs.forget(int(period.low[window][-1]))

    def forget_keys(self, named: Longs) -> Rows | None:
        """Drop the keys of which there is no event and that are not named, when they may be half of all; the new numbers of the old."""
        if not self._key or len(self.keys) <= 2 * self._kept_keys + settings().forgotten_keys:
            return None
        kept = np.zeros(len(self.keys), np.bool_)
        kept[named] = True
        for each in self.contents:
            kept[each.key[: len(each)]] = True
        moved = self.keys.keep(kept)
        for each in self.contents:
            each.renumber(moved)
        self._kept_keys = len(self.keys)
        return moved
