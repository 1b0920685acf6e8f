"""MATCH as a view: an event pattern over windows, made anew only for the keys whose events changed (semantics 4.2 to 4.5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np

from spaseq.algebra.event_patterns import (
    Consumption,
    DeclaredEvent,
    EventPattern,
    Selected,
    declared_events,
    seqs,
)
from spaseq.algebra.expressions import Constant, Var
from spaseq.algebra.patterns import Bgp, Pattern, TriplePattern
from spaseq.algebra.scope import certainly_bound, lowered, visible
from spaseq.columnar.keeping import Keeper
from spaseq.columnar.kernels.cache import cache_of
from spaseq.columnar.knowledge import Knowledge
from spaseq.columnar.row_numbers import RowNumbers, by_name, id_matrix
from spaseq.model.dictionary import TermDictionary
from spaseq.model.mappings import MappingTable
from spaseq.model.packing import Damaged
from spaseq.settings import settings
from spaseq.temporal.instants import FOREVER
from spaseq.windowed.evaluations import Arrived, Period
from spaseq.windowed.event_contents import Candidates, Contexts, EventContents, any_of
from spaseq.windowed.event_graphs import EventGraphs
from spaseq.windowed.event_plan import MatchPlan
from spaseq.windowed.event_selection import (
    Composites,
    EventSelection,
    certain_names,
    distinct_composites,
    event_names,
    first_of_equal,
    joined_composites,
    placed_pattern,
)
from spaseq.windowed.event_traces import TRACE, trace_events, trace_text
from spaseq.windowed.inputs import ConsumingEvent, EventInput, Input, consuming_event, key_triples
from spaseq.windowed.timed import NO_END, Ids, Longs, Mask, Rows, TimedRows, lasting_changes, no_rows
from spaseq.windowed.views import View


@dataclass(frozen=True, slots=True)
class _Source:
    """Where rows come from, and which triples they use."""

    source: Input | EventInput
    contents: EventContents
    triples: tuple[TriplePattern, ...] = ()
    graphs: EventGraphs | None = None
    """What is left of the events' graphs, where EXISTS depends on it."""


_SourceKey: TypeAlias = tuple[int, Input | EventInput, tuple[str, ...], ConsumingEvent | None]


class MatchView(View):
    """The solutions of a MATCH.

    Solutions of different keys never meet, so that at an evaluation only the keys matter of which an event came or left. With
    consumption, also those that had a solution at the evaluation before: what it used is gone.
    """

    IDS = ("_last_ids",)
    ARRAYS = ("_last_key", "_again")
    TOGETHER = False

    def __init__(
        self,
        pattern: EventPattern,
        consumption: Consumption,
        plan: MatchPlan,
        windows: Mapping[str, tuple[int, str]],
        dictionary: TermDictionary,
        knowledge: Knowledge,
        *,
        key: str | None = None,
        traced: bool = False,
    ) -> None:
        """``windows`` gives the number and the stream of every window; with ``traced`` a solution tells its events.

        ``key`` is the variable by which a host distributes the query.
        """
        self._consumes, self._windows = consumption is not Consumption.NONE, len(windows)
        self.plan = plan
        self.names, self.certain = event_names(pattern), certain_names(pattern)
        self._traced = traced
        if traced:
            self.names = (*self.names, TRACE)
        self._placed = placed_pattern(pattern, iter(range(2**31)))
        self._dictionary, self._knowledge, self._spread = dictionary, knowledge, key
        self._keys = RowNumbers(len(self.plan.key))
        self._sources: dict[_SourceKey, _Source] = {}
        events = tuple(declared_events(pattern))
        self._leaves = [self._declared(each, events, windows[each.window]) for each in events]
        used = dict.fromkeys(each.window for each in events)
        self._strict: list[_Source] = []
        self._keyed: dict[str, list[_Source]] = {}
        for node in seqs(pattern):
            if node.selected is Selected.STRICT and not self._strict:
                self._strict = [self._source(windows[window], None, ()) for window in used]
            if node.key is not None:
                self._keyed[node.key.name] = [
                    self._source(windows[each.window], Bgp((triple,)), (node.key.name,))
                    for each in events
                    for triple in key_triples(each, node.key)
                ]
        self._last_key = np.zeros(0, np.int64)
        self._last_ids = np.zeros((0, len(self.names)), np.int32)
        """The solutions of the last evaluation, with their keys."""
        self._again = np.zeros(0, np.int64)
        """The keys that must be looked at again at the next evaluation, because something was consumed."""
        self._kept_keys = 0

    def parts(self) -> tuple[View, ...]:
        return ()

    def keepers(self) -> Iterator[tuple[str, Keeper]]:
        yield "keys", self._keys
        for number, each in enumerate(self._sources.values()):
            yield f"events{number}", each.contents
            if each.graphs is not None:
                yield f"graphs{number}", each.graphs
        yield "references", _References(self)

    def check_keys(self) -> None:
        """Every key that is named is there."""
        named = [self._last_key, self._again, *(each.contents.key for each in self._sources.values())]
        if any(((keys < 0) | (keys >= len(self._keys))).any() for keys in named):
            raise Damaged("a solution of an event has a key that is not there")
        if len(self._last_key) != len(self._last_ids):
            raise Damaged("the solutions of a MATCH and their keys differ in number")

    # --- what comes in --------------------------------------------------------------------------

    def _declared(
        self, event: DeclaredEvent, events: tuple[DeclaredEvent, ...], window: tuple[int, str]
    ) -> _Source:
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
    ) -> _Source:
        """What matches a pattern, or an EVENT that consumes; without either, the events themselves."""
        number, stream = window
        if consuming is not None:
            pattern = consuming.pattern
        source = Input(stream) if pattern is None else EventInput(stream, pattern)
        key = (number, source, names, consuming)
        if key not in self._sources:
            triples = () if consuming is None else consuming.triples
            contents = EventContents(number, names, certainly_bound(source.pattern), len(triples))
            graphs = None
            if consuming is not None and consuming.changing:
                graphs = EventGraphs(stream, consuming, self._spread, self._dictionary, self._knowledge)
            self._sources[key] = _Source(source, contents, triples, graphs)
        return self._sources[key]

    def arrive(self, stream: str, tables: Mapping[Input | EventInput, MappingTable], events: Arrived) -> None:
        """Take what the events of a stream match."""
        for each in self._sources.values():
            if each.source.stream != stream:
                continue
            table = (
                tables[each.source] if isinstance(each.source, EventInput) else MappingTable(events.own, {})
            )
            if not len(table):
                continue
            contents = each.contents
            ids = id_matrix(table.columns, contents.names, len(table))
            key = self._keys.number(id_matrix(table.columns, self.plan.key, len(table))).astype(np.int64)
            end = events.times[table.events]
            start = end if table.starts is None else table.starts
            position, number = events.position[table.events], events.numbers[table.events]
            triples = self._triples(each, table.columns, len(table))
            contents.add(ids, triples, position, number, start, end, key)
            if each.graphs is not None:
                each.graphs.arrive(tables, events, table.events)
                self._judge(each, np.unique(number))

    def _judge(self, source: _Source, events: Longs) -> None:
        """Look which solutions of some events satisfy EXISTS over what is left of them."""
        assert source.graphs is not None
        found = source.graphs.solutions(events)
        assert found.events is not None
        source.contents.judge(events, found.events, self._triples(source, found.columns, found.size))

    def _triples(self, source: _Source, table: Mapping[str, Ids], count: int) -> Ids:
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

    # --- what comes out -------------------------------------------------------------------------

    def _step(self, period: Period) -> TimedRows:
        if self.plan.paired:
            rows = self._paired(period)
        else:
            keys, at = self._touched(period)
            found = self._consuming(keys, at, period) if self._consumes else self._choosing(keys, at, period)
            rows = self._changes(found, period)
        for each in self._sources.values():
            window = each.contents.window
            if self.plan.only_last:
                each.contents.keep_last(int(period.high[window][-1]))
            each.contents.forget(int(period.low[window][-1]))
            if each.graphs is not None:
                each.graphs.forget(int(period.low[window][-1]))
        self._forget_keys()
        return rows

    def _paired(self, period: Period) -> TimedRows:
        """The pairs that appear, each for the events of the right side that come; it is there until the left one leaves."""
        contents, left = self._leaves[1].contents, self._leaves[0].contents
        window = contents.window
        rows = contents.between(contents.seen, int(period.high[window][-1]))
        new = np.arange(rows.start, rows.stop)
        at = period.entering(window, contents.position[new])
        seen = period.leaving(window, contents.position[new]) > at
        new, at = new[seen], at[seen]
        contents.seen = int(period.high[window][-1])
        parts: list[tuple[Composites, Longs, Ids]] = []
        for first, last in self._portions(contents.key[new]):
            mine, when = new[first:last], at[first:last]
            leaves = [self._candidates(self._leaves[0], np.unique(contents.key[mine]), period)]
            leaves.append(Candidates(contents, mine, period))
            used = np.full((len(mine), 2), -1, np.intp)
            used[:, 1] = np.arange(len(mine))
            right = Composites(
                np.arange(len(mine)), contents.ids[mine], contents.start[mine], contents.end[mine], used
            )
            contexts = self._contexts(contents.key[mine], when)
            pairs = EventSelection(leaves, (), {}).partnered(self._placed, contexts, right)
            until = left.position[leaves[0].rows[pairs.used[:, 0]]]
            parts.append((replace(pairs, context=when[pairs.context]), until, self._ids(pairs, leaves)))
        if not parts:
            return no_rows(self.names, self._windows)
        found = joined_composites([pairs for pairs, _, _ in parts])
        until = np.concatenate([each for _, each, _ in parts])
        # Of simultaneous events that give the same, the last one to leave counts.
        order = np.argsort(-until, kind="stable")
        kept = order[first_of_equal(found.take(order))]
        ends = np.full((len(kept), self._windows), NO_END, np.int64)
        ends[:, window] = until[kept]
        columns = by_name(np.concatenate([each for _, _, each in parts])[kept], self.names)
        return TimedRows(columns, np.ones(len(kept), np.int64), period.first + found.context[kept], ends)

    def _touched(self, period: Period) -> tuple[Longs, Longs]:
        """The keys of which an event that matters comes or leaves, and at which evaluation, in order of key."""
        pairs = [self._again * len(period)]
        for each in self._sources.values():
            contents, window = each.contents, each.contents.window
            low, high = period.low[window], period.high[window]
            if not self.plan.by_last or each is self._leaves[-1]:
                rows = contents.between(contents.seen, int(high[-1]))
                enter = period.entering(window, contents.position[rows])
                seen = period.leaving(window, contents.position[rows]) > enter
                pairs.append((contents.key[rows] * len(period) + enter)[seen])
            if not (self._consumes and self.plan.settled):
                rows = contents.between(contents.left, int(low[-1]))
                leave = period.leaving(window, contents.position[rows])
                pairs.append(contents.key[rows] * len(period) + leave)
            contents.seen, contents.left = max(contents.seen, int(high[-1])), max(contents.left, int(low[-1]))
        every = np.unique(np.concatenate(pairs))
        return every // len(period), every % len(period)

    def _choosing(self, keys: Longs, at: Longs, period: Period) -> _Solutions:
        """The solutions for some keys at some evaluations."""
        parts = [_Solutions(keys[:0], at[:0], np.zeros(0, np.intp), self._last_ids[:0])]
        for first, last in self._portions(keys):
            every, candidates = self._evaluated(keys[first:last], at[first:last], period)
            found = distinct_composites(every)
            ids = self._ids(found, candidates)
            parts.append(_Solutions(keys[first:last], at[first:last], found.context, ids))
        return _joined(parts)

    def _portions(self, keys: Longs) -> Iterator[tuple[int, int]]:
        """Cut a list of keys so that not too many candidates are looked at together."""
        if not len(keys):
            return
        if self.plan.only_last:
            yield 0, len(keys)
            return
        many = np.ones(len(keys), np.int64)
        for each in self._sources.values():
            held = np.bincount(each.contents.key[: len(each.contents)], minlength=len(self._keys))
            many += held[keys]
        group = np.cumsum(many) // settings().reevaluated_triples
        bounds = [0, *(np.flatnonzero(np.diff(group)) + 1).tolist(), len(keys)]
        yield from pairwise(bounds)

    def _consuming(self, keys: Longs, at: Longs, period: Period) -> _Solutions:
        """The same, where each evaluation of a key consumes what its solutions use, before the next one of that key.

        Keys do not share what they use. So the first evaluations of all keys are made together, then all second ones, and so on.
        """
        parts = [_Solutions(keys[:0], at[:0], np.zeros(0, np.intp), self._last_ids[:0])]
        place = np.flatnonzero(np.diff(keys, prepend=-1))
        """Where the next evaluation of every key stands."""
        last = np.append(place[1:], len(keys))
        active, following = keys[place], at[place]
        unfinished = [keys[:0]]
        while len(active):
            found, candidates = self._evaluated(active, following, period)
            self._consume(found, candidates)
            chosen = distinct_composites(found)
            parts.append(_Solutions(active, following, chosen.context, self._ids(chosen, candidates)))
            # What was used is gone at the evaluation after this one, where something else may take its place.
            open_still = any_of(found.context, len(active))
            if self.plan.settled:
                open_still &= self._settle(candidates[-1], active, following, open_still, period)
            again = np.where(open_still, following + 1, len(period) + 1)
            unfinished.append(active[again == len(period)])
            place = place + ((place < last) & (at[np.minimum(place, len(at) - 1)] == following))
            due = np.where(place < last, at[np.minimum(place, len(at) - 1)], len(period))
            following = np.minimum(due, again)
            left = following < len(period)
            active, place, last, following = active[left], place[left], last[left], following[left]
        self._again = np.concatenate(unfinished)
        return _joined(parts)

    def _settle(self, newest: Candidates, keys: Longs, at: Longs, found: Mask, period: Period) -> Mask:
        """Drop the events of the last EVENT for which nothing was found; gives the keys that have others of them left."""
        contents, window = newest.contents, newest.contents.window
        place = np.full(len(self._keys), -1, np.int64)
        place[keys] = np.arange(len(keys))
        mine = place[contents.key[newest.rows]]
        there = contents.position[newest.rows] < period.high[window][at[mine]]
        contents.gone[newest.rows[there & ~found[mine]]] = True
        return any_of(mine[there & ~contents.gone[newest.rows]], len(keys))

    def _evaluated(self, keys: Longs, at: Longs, period: Period) -> tuple[Composites, list[Candidates]]:
        """The solutions for some keys, each at one evaluation, in every way to make one; and what they were chosen from."""
        wanted = np.unique(keys)
        every = {id(each): self._candidates(each, wanted, period) for each in self._sources.values()}
        leaves = [every[id(each)] for each in self._leaves]
        strict = [every[id(each)] for each in self._strict]
        keyed = {name: [every[id(each)] for each in several] for name, several in self._keyed.items()}
        selection = EventSelection(leaves, strict, keyed)
        return selection.solutions(self._placed, self._contexts(keys, at)), leaves

    def _contexts(self, keys: Longs, at: Longs) -> Contexts:
        """Evaluations of keys, without any restriction."""
        nothing = np.zeros((len(keys), 0), np.int32)
        return Contexts(at, keys, np.full(len(keys), FOREVER, np.int64), (), nothing, frozenset())

    def _ids(self, found: Composites, leaves: list[Candidates]) -> Ids:
        """The values of solutions, with their events if asked for."""
        if not self._traced:
            return found.ids
        serials = np.full((len(found), len(leaves)), -1, np.int64)
        for at, candidates in enumerate(leaves):
            there = found.used[:, at] >= 0
            serials[there, at] = candidates.contents.event[candidates.rows[found.used[there, at]]]
        rows: list[list[int]] = serials.tolist()
        texts = [
            trace_text([(place, serial) for place, serial in enumerate(row) if serial >= 0]) for row in rows
        ]
        traces = np.array(self._dictionary.encode_texts(texts), np.int32)
        return np.column_stack([found.ids, traces])

    def event_serials(self) -> Iterator[Longs]:
        """The serial numbers of the events that solutions may tell."""
        if self._traced:
            yield from (each.contents.event[: len(each.contents)] for each in self._sources.values())
            for trace in np.unique(self._last_ids[:, -1]):
                found = trace_events(self._dictionary.ntriples(int(trace)))
                yield np.array([serial for _, serial in found], np.int64)

    def _candidates(self, source: _Source, keys: Longs, period: Period) -> Candidates:
        return Candidates(source.contents, source.contents.of_keys(keys), period)

    def _consume(self, found: Composites, leaves: list[Candidates]) -> None:
        """Take away what solutions used, and what else is made of the same triples of the same events (semantics 4.5)."""
        used: dict[int, list[tuple[Longs, Ids]]] = {}
        for at, (leaf, candidates) in enumerate(zip(self._leaves, leaves, strict=True)):
            rows = np.unique(found.used[:, at])
            rows = candidates.rows[rows[rows >= 0]]
            for first in range(0, leaf.contents.triples.shape[1], 3):
                triples = leaf.contents.triples[rows, first : first + 3]
                used.setdefault(leaf.contents.window, []).append((leaf.contents.event[rows], triples))
        for source in {id(each): each for each in self._leaves}.values():
            several = used.get(source.contents.window, [])
            if not several:
                continue
            event = np.concatenate([each for each, _ in several])
            triples = np.concatenate([each for _, each in several])
            events = np.unique(event)
            source.contents.consume(events, event, triples)
            if source.graphs is not None:
                source.graphs.consume(events, event, triples)
                self._judge(source, events)

    def _changes(self, found: _Solutions, period: Period) -> TimedRows:
        """What appears and what is taken back where the solutions of some keys are made anew."""
        if not len(found.keys) and not (self._consumes and len(self._last_key)):
            return no_rows(self.names, self._windows)
        order = np.lexsort((found.at, found.keys))
        keys, at = found.keys[order], found.at[order]
        until = np.empty(len(order), np.int64)
        ends = np.append(keys[1:] != keys[:-1], True)
        until[order] = np.where(ends, len(period), np.append(at[1:], 0))
        if self._consumes:
            until = found.at + 1
        starts = np.flatnonzero(np.diff(keys, prepend=-1))
        begins = np.full(len(self._keys), 0 if self._consumes else len(period), np.int64)
        if not self._consumes:
            begins[keys[starts]] = at[starts]
        since, over = found.at[found.context], until[found.context]
        before = begins[self._last_key]
        old = before < len(period)
        gone = over < len(period)
        every = np.concatenate([found.ids, found.ids[gone], self._last_ids[old]])
        when = np.concatenate([since, over[gone], before[old]])
        weight = np.repeat(np.array([1, -1]), [len(since), int(gone.sum()) + int(old.sum())])
        self._last_ids = np.concatenate([self._last_ids[~old], found.ids[~gone]])
        self._last_key = np.concatenate([self._last_key[~old], found.keys[found.context][~gone]])
        return lasting_changes(by_name(every, self.names), weight, when + period.first, self._windows)

    def _forget_keys(self) -> None:
        """Drop the keys of which there is no event, when they may be half of all."""
        if not self.plan.key or len(self._keys) <= 2 * self._kept_keys + settings().forgotten_keys:
            return
        kept = np.zeros(len(self._keys), np.bool_)
        kept[self._last_key] = kept[self._again] = True
        for each in self._sources.values():
            kept[each.contents.key[: len(each.contents)]] = True
        moved = self._keys.keep(kept)
        self._last_key = moved[self._last_key].astype(np.int64)
        self._again = moved[self._again].astype(np.int64)
        for each in self._sources.values():
            each.contents.renumber(moved)
        self._kept_keys = len(self._keys)


class _References(Keeper):
    """Keeps nothing: loaded last, it looks whether what the others hold leads somewhere."""

    def __init__(self, view: MatchView) -> None:
        self._view = view

    def check(self) -> None:
        """Raise `Damaged` if a key is not there."""
        self._view.check_keys()


class _Solutions(NamedTuple):
    """The solutions for some keys, each at one evaluation: of which of these, and the ids."""

    keys: Longs
    at: Longs
    context: Rows
    ids: Ids


def _joined(parts: list[_Solutions]) -> _Solutions:
    first = np.cumsum([0, *(len(part.keys) for part in parts[:-1])])
    return _Solutions(
        np.concatenate([part.keys for part in parts]),
        np.concatenate([part.at for part in parts]),
        np.concatenate([part.context + before for part, before in zip(parts, first, strict=True)]),
        np.concatenate([part.ids for part in parts]),
    )
