"""MATCH as a view: an event pattern over windows, made anew only for the keys whose events changed (semantics 4.2 to 4.5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from spaseq.algebra.event_patterns import (
    Consumption,
    EventPattern,
    Selected,
    seqs,
)
from spaseq.columnar.keeping import Keeper
from spaseq.columnar.knowledge import Knowledge
from spaseq.columnar.row_numbers import by_name
from spaseq.model.dictionary import TermDictionary
from spaseq.model.mappings import MappingTable
from spaseq.model.ordered import each_once
from spaseq.model.packing import Damaged
from spaseq.settings import settings
from spaseq.temporal.instants import FOREVER
from spaseq.windowed.evaluations import Arrived, Period
from spaseq.windowed.event_contents import Candidates, Contexts, any_of
from spaseq.windowed.event_plan import MatchPlan
from spaseq.windowed.event_selection import (
    Composites,
    certain_names,
    distinct_composites,
    event_names,
    first_of_equal,
    joined_composites,
    placed_pattern,
    right_sides,
)
from spaseq.windowed.event_sources import EventSources
from spaseq.windowed.event_traces import TRACE, trace_events, trace_text
from spaseq.windowed.inputs import EventInput, Input
from spaseq.windowed.timed import NO_END, Ids, Longs, Mask, Rows, TimedRows, lasting_changes, no_rows, stacked
from spaseq.windowed.views import View


class MatchView(View):
    """The solutions of a MATCH.

    Solutions of different keys never meet, so that at an evaluation only the keys matter of which an event came or left. With
    consumption, also those that had a solution at the evaluation before: what it used is gone.
    """

    IDS = ("_last_ids",)
    ARRAYS = ("_last_key", "_again")
    NUMBERS = ("_looks_back",)
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
        self._dictionary = dictionary
        self._sources = EventSources(
            pattern, plan.key, windows, dictionary, knowledge, consumes=self._consumes, spread=key
        )
        self._leaves = self._sources.leaves
        self._last_key = np.zeros(0, np.int64)
        self._last_ids = np.zeros((0, len(self.names)), np.int32)
        """The solutions of the last evaluation, with their keys."""
        self._again = np.zeros(0, np.int64)
        """The keys that must be looked at again at the next evaluation, because something was consumed."""
        self._looks_back = int(plan.looks_back)
        self._overtakers = [self._leaves[place] for place in right_sides(self._placed, Selected.NEXT)]
        """Where the right sides of NEXT come from."""
        self._instants = [*self._overtakers, *(self._leaves[:1] if traced else ())]
        """The EVENTs on which it depends that solutions are there for good, if none of their events lasts."""
        self._selective = plan.looks_back and all(node.selected is not Selected.ANY for node in seqs(pattern))
        """Whether few events fit to each one that comes."""

    def parts(self) -> tuple[View, ...]:
        return ()

    def keepers(self) -> Iterator[tuple[str, Keeper]]:
        yield from self._sources.keepers()
        yield "references", _References(self)

    def check_keys(self) -> None:
        """Every key that is named is there."""
        named = [self._last_key, self._again, *(each.key for each in self._sources.contents)]
        if any(((keys < 0) | (keys >= len(self._sources.keys))).any() for keys in named):
            raise Damaged("a solution of an event has a key that is not there")
        if self._looks_back not in (0, int(self.plan.looks_back)):
            raise Damaged("a MATCH is not followed in the way that was saved")
        if len(self._last_key) != len(self._last_ids):
            raise Damaged("the solutions of a MATCH and their keys differ in number")

    def arrive(self, stream: str, tables: Mapping[Input | EventInput, MappingTable], events: Arrived) -> None:
        """Take what the events of a stream match."""
        self._sources.arrive(stream, tables, events)

    # --- what comes out -------------------------------------------------------------------------

    def _step(self, period: Period) -> TimedRows:
        if self._looks_back and self._lasting(period):
            # What lasts may begin before an event that came earlier: a solution under NEXT is then not there for good. And what
            # begins together may leave one after the other: a solution then tells of other events.
            self._looks_back = 0
            rows = stacked([self._taken_back(period), self._anew(period)])
        elif self._looks_back:
            rows = self._looked_back(period)
        else:
            rows = self._anew(period)
        self._sources.forget(period, only_last=self.plan.only_last)
        moved = self._sources.forget_keys(np.concatenate([self._last_key, self._again]))
        if moved is not None:
            self._last_key = moved[self._last_key].astype(np.int64)
            self._again = moved[self._again].astype(np.int64)
        return rows

    def _anew(self, period: Period) -> TimedRows:
        keys, at = self._touched(period)
        found = self._consuming(keys, at, period) if self._consumes else self._choosing(keys, at, period)
        return self._changes(found, period)

    def _looked_back(self, period: Period) -> TimedRows:
        """The solutions that appear with the last events that come; each is there until its first event leaves."""
        contents = self._leaves[-1].contents
        high = int(period.high[contents.window][-1])
        rows = contents.between(contents.seen, high)
        new = np.arange(rows.start, rows.stop)
        at = period.entering(contents.window, contents.position[new])
        seen = period.leaving(contents.window, contents.position[new]) > at
        contents.seen = high
        return self._ending_with(new[seen], at[seen], period)

    def _ending_with(self, last: Rows, at: Longs, period: Period) -> TimedRows:
        """The solutions at some evaluations whose last event is one of some, in order, each at its evaluation."""
        newest, earliest = self._leaves[-1].contents, self._leaves[0].contents
        parts: list[tuple[Composites, Longs, Ids]] = []
        for first, end in self._portions(newest.key[last]):
            mine, when = last[first:end], at[first:end]
            selection, leaves = self._sources.selection(
                each_once(newest.key[mine]), period, None if self._overtakers else mine
            )
            used = np.full((len(mine), len(leaves)), -1, np.intp)
            used[:, -1] = np.searchsorted(leaves[-1].rows, mine)
            right = Composites(
                np.arange(len(mine)), newest.ids[mine], newest.start[mine], newest.end[mine], used
            )
            found = selection.partnered(self._placed, self._contexts(newest.key[mine], when), right)
            until = earliest.position[leaves[0].rows[found.used[:, 0]]]
            rows = [np.append(each.rows, -1)[found.used[:, at]] for at, each in enumerate(leaves)]
            traced = replace(found, context=when[found.context], used=np.column_stack(rows))
            parts.append((traced, until, self._ids(found, leaves)))
        if not parts:
            return no_rows(self.names, self._windows)
        every = joined_composites([found for found, _, _ in parts])
        until = np.concatenate([each for _, each, _ in parts])
        if self._traced:
            kept = first_of_equal(every, by_events=True)
        else:  # of simultaneous events that give the same, the last one to leave counts
            order = np.argsort(-until, kind="stable")
            kept = order[first_of_equal(every.take(order))]
        ends = np.full((len(kept), self._windows), NO_END, np.int64)
        ends[:, newest.window] = until[kept]
        columns = by_name(np.concatenate([each for _, _, each in parts])[kept], self.names)
        return TimedRows(columns, np.ones(len(kept), np.int64), period.first + every.context[kept], ends)

    def _lasting(self, period: Period) -> bool:
        """True if an event that comes lasts, on which it depends whether solutions are there for good."""
        newest = self._leaves[-1].contents
        high = int(period.high[newest.window][-1])
        for each in self._instants:
            rows = each.contents.between(newest.seen, high)
            if (each.contents.start[rows] < each.contents.end[rows]).any():
                return True
        return False

    def _taken_back(self, period: Period) -> TimedRows:
        """What was there before some evaluations, and would be there at the first of them, is there no more."""
        contents = self._leaves[-1].contents
        before = period.part(0, 1)
        before = replace(before, high=tuple(np.minimum(high, contents.seen) for high in before.high))
        rows = contents.between(int(before.low[contents.window][0]), contents.seen)
        last = np.arange(rows.start, rows.stop)
        found = self._ending_with(last, np.zeros(len(last), np.int64), before)
        contents.seen = 0
        return replace(found, weight=-found.weight)

    def _touched(self, period: Period) -> tuple[Longs, Longs]:
        """The keys of which an event that matters comes or leaves, and at which evaluation, in order of key."""
        pairs = [self._again * len(period)]
        for contents in self._sources.contents:
            window = contents.window
            low, high = period.low[window], period.high[window]
            if not self.plan.by_last or contents is self._leaves[-1].contents:
                rows = contents.between(contents.seen, int(high[-1]))
                enter = period.entering(window, contents.position[rows])
                seen = period.leaving(window, contents.position[rows]) > enter
                pairs.append((contents.key[rows] * len(period) + enter)[seen])
            if not (self._consumes and self.plan.settled):
                rows = contents.between(contents.left, int(low[-1]))
                leave = period.leaving(window, contents.position[rows])
                pairs.append(contents.key[rows] * len(period) + leave)
            contents.seen, contents.left = max(contents.seen, int(high[-1])), max(contents.left, int(low[-1]))
        every = each_once(np.concatenate(pairs))
        return every // len(period), every % len(period)

    def _choosing(self, keys: Longs, at: Longs, period: Period) -> _Solutions:
        """The solutions for some keys at some evaluations."""
        parts = [_Solutions(keys[:0], at[:0], np.zeros(0, np.intp), self._last_ids[:0])]
        for first, last in self._portions(keys):
            every, candidates = self._evaluated(keys[first:last], at[first:last], period)
            found = distinct_composites(every, by_events=self._traced)
            ids = self._ids(found, candidates)
            parts.append(_Solutions(keys[first:last], at[first:last], found.context, ids))
        return _joined(parts)

    def _portions(self, keys: Longs) -> Iterator[tuple[int, int]]:
        """Cut a list of keys so that not too many candidates are looked at together."""
        if not len(keys):
            return
        if self.plan.only_last or self._selective:
            yield 0, len(keys)
            return
        many = np.ones(len(keys), np.int64)
        for each in self._sources.contents:
            held = np.bincount(each.key[: len(each)], minlength=len(self._sources.keys))
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
            self._sources.consume(found, candidates)
            chosen = distinct_composites(found, by_events=self._traced)
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
        place = np.full(len(self._sources.keys), -1, np.int64)
        place[keys] = np.arange(len(keys))
        mine = place[contents.key[newest.rows]]
        there = contents.position[newest.rows] < period.high[window][at[mine]]
        contents.gone[newest.rows[there & ~found[mine]]] = True
        return any_of(mine[there & ~contents.gone[newest.rows]], len(keys))

    def _evaluated(self, keys: Longs, at: Longs, period: Period) -> tuple[Composites, list[Candidates]]:
        """The solutions for some keys, each at one evaluation, in every way to make one; and what they were chosen from."""
        selection, leaves = self._sources.selection(each_once(keys), period)
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
            yield from (each.event[: len(each)] for each in self._sources.contents)
            for trace in each_once(self._last_ids[:, -1]):
                found = trace_events(self._dictionary.ntriples(int(trace)))
                yield np.array([serial for _, serial in found], np.int64)

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
        begins = np.full(len(self._sources.keys), 0 if self._consumes else len(period), np.int64)
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
