"""The solutions of an event pattern at some evaluations, from what single events match (semantics 4.2 and 4.3).

An event pattern is evaluated in many contexts at once: an evaluation and a key each at the top, and below SEQ one for every
solution of its right side, with the bound and the values that it passes down to the left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

import numpy as np

from spaseq.algebra.event_patterns import (
    DeclaredEvent,
    EventDuring,
    EventPattern,
    EventSeq,
    FirstOf,
    LastOf,
    Selected,
    declared_events,
)
from spaseq.algebra.scope import certainly_bound, lowered, visible
from spaseq.columnar.row_numbers import keys_of, numbered
from spaseq.model.ordered import numbers_from
from spaseq.temporal.instants import BEFORE_ALL
from spaseq.windowed.event_contents import Candidates, Contexts, Edge, any_of
from spaseq.windowed.timed import Ids, Longs, Mask, Rows


@dataclass(frozen=True, slots=True)
class Composites:
    """Solutions with the time from their first to their last event, in order of the contexts they belong to.

    ``used`` names for each declared event the candidate that a solution is made of, -1 for none.
    """

    context: Rows
    ids: Ids
    start: Longs
    end: Longs
    used: Rows

    def __len__(self) -> int:
        return len(self.context)

    def take(self, rows: Rows | Mask) -> Composites:
        """Some of them, in their order."""
        return Composites(
            self.context[rows], self.ids[rows], self.start[rows], self.end[rows], self.used[rows]
        )


def joined_composites(parts: Sequence[Composites]) -> Composites:
    """All of them, one after the other."""
    return Composites(
        np.concatenate([part.context for part in parts]),
        np.concatenate([part.ids for part in parts]),
        np.concatenate([part.start for part in parts]),
        np.concatenate([part.end for part in parts]),
        np.concatenate([part.used for part in parts]),
    )


def distinct_composites(found: Composites, *, by_events: bool) -> Composites:
    """Every solution once: they are a set of values with their time. With ``by_events`` that of the first events."""
    return found.take(first_of_equal(found, by_events=by_events))


def first_of_equal(found: Composites, *, by_events: bool = False) -> Rows:
    """The first of equal solutions of a context, in order; with ``by_events`` that of the first events."""
    events = found.used.T[::-1] if by_events else ()
    order = np.lexsort((*events, found.end, found.start, *found.ids.T, found.context))
    fresh = np.ones(len(order), np.bool_)
    one, other = order[1:], order[:-1]
    fresh[1:] = (found.context[one] != found.context[other]) | (found.ids[one] != found.ids[other]).any(
        axis=1
    )
    fresh[1:] |= (found.start[one] != found.start[other]) | (found.end[one] != found.end[other])
    return np.sort(order[fresh])


def event_names(pattern: EventPattern, *, absent: bool = False) -> tuple[str, ...]:
    """The variables of a solution; with ``absent`` also those of what must not be there."""
    events = declared_events(pattern, absent=absent)
    return tuple(dict.fromkeys(name.name for each in events for name in visible(lowered(each.pattern))))


def certain_names(pattern: EventPattern) -> frozenset[str]:
    """The variables that every solution binds."""
    events = declared_events(pattern, absent=False)
    found = frozenset[str]().union(*(certainly_bound(lowered(each.pattern)) for each in events))
    return frozenset(name for name in found if not name.startswith("_:"))


class EventSelection:
    """Evaluates event patterns over candidates.

    ``leaves`` are the candidates of each declared event, by its place in the whole pattern; ``windows`` are all events of the
    windows, for STRICT, and ``keyed`` those with a key, by its variable, for PARTITION.
    """

    def __init__(
        self,
        leaves: Sequence[Candidates],
        windows: Sequence[Candidates],
        keyed: Mapping[str, Sequence[Candidates]],
    ) -> None:
        self._leaves, self._windows, self._keyed = leaves, windows, keyed

    def solutions(self, placed: PlacedPattern, contexts: Contexts) -> Composites:
        """The solutions of a pattern, one for every way to make one."""
        if contexts.after is not None and not _takes_after(placed.pattern):
            found = self.solutions(placed, replace(contexts, after=None))
            return found.take(found.end > contexts.after[found.context])
        match placed.pattern:
            case DeclaredEvent():
                return self._single(placed, contexts)
            case FirstOf():
                return self._edge(placed.parts[0], contexts, Edge.FIRST)
            case LastOf():
                return self._edge(placed.parts[0], contexts, Edge.LAST)
            case EventDuring():
                return self._during(placed, contexts)
            case EventSeq(selected=Selected.NAIVE):
                return self._naive(placed, contexts)
            case EventSeq():
                return self._seq(placed, contexts)
            case _:
                assert_never(placed.pattern)

    # --- each kind of pattern -------------------------------------------------------------------

    def _edge(self, placed: PlacedPattern, contexts: Contexts, edge: Edge) -> Composites:
        """Those of every context that no other precedes, or that precede no other."""
        if isinstance(placed.pattern, DeclaredEvent):
            found = self._single(placed, contexts, edge)
        else:
            found = self.solutions(placed, contexts)
        return (_first if edge is Edge.FIRST else _last)(found, len(contexts))

    def _single(self, placed: PlacedPattern, contexts: Contexts, edge: Edge | None = None) -> Composites:
        assert placed.place is not None
        candidates = self._leaves[placed.place]
        context, rows = candidates.pairs(contexts, edge)
        used = np.full((len(rows), len(self._leaves)), -1, np.intp)
        used[:, placed.place] = rows
        return Composites(context, candidates.ids[rows], candidates.start[rows], candidates.end[rows], used)

    def _during(self, placed: PlacedPattern, contexts: Contexts) -> Composites:
        left, right = (self.solutions(part, contexts) for part in placed.parts)
        one, other = _compatible(left, placed.parts[0], right, placed.parts[1])
        inside = (right.start[other] < left.start[one]) & (left.end[one] < right.end[other])
        one, other = one[inside], other[inside]
        return _merged(placed, left.take(one), right.take(other), right.start[other], right.end[other])

    def _naive(self, placed: PlacedPattern, contexts: Contexts) -> Composites:
        """Of the last ones of either side, those that fit (Eq 9)."""
        first, second = placed.sides
        left, right = self._edge(first, contexts, Edge.LAST), self._edge(second, contexts, Edge.LAST)
        one, other = _compatible(left, first, right, second)
        before = left.end[one] < right.start[other]
        one, other = one[before], other[before]
        left, right = left.take(one), right.take(other)
        pairs = _merged(placed, left, right, left.start, right.end)
        return pairs.take(~self._interrupted(placed, contexts, pairs, left.end, right.start))

    def _seq(self, placed: PlacedPattern, contexts: Contexts) -> Composites:
        """For every solution of the right side its partners of the left side, and of these what is selected (Eq 7, 10, 11)."""
        return self.partnered(placed, contexts, self.solutions(placed.sides[1], contexts))

    def partnered(self, placed: PlacedPattern, contexts: Contexts, right: Composites) -> Composites:
        """The same, given the solutions of the right side."""
        first, second = placed.sides
        below = _below(contexts, right, second, first)
        left = self.solutions(first, replace(below, after=self._earliest(placed, contexts, right)))
        after = right.take(left.context)
        pairs = _merged(placed, replace(left, context=after.context), after, left.start, after.end)
        kept = ~self._interrupted(placed, contexts, pairs, left.end, after.start)
        pairs, left, after = pairs.take(kept), left.take(kept), after.take(kept)
        assert isinstance(placed.pattern, EventSeq)
        match placed.pattern.selected:
            case Selected.ANY | Selected.NAIVE:
                return pairs
            case Selected.CHRONOLOGICAL:
                return pairs.take(_chosen(left, after, len(right), earliest=True))
            case Selected.RECENT:
                return pairs.take(_chosen(left, after, len(right), earliest=False))
            case Selected.NEXT:
                return pairs.take(~self._overtaken(placed, contexts, left, after))
            case Selected.STRICT | Selected.PARTITION:
                asked = Contexts(
                    contexts.at[pairs.context], contexts.key[pairs.context], after.start,
                    placed.names, pairs.ids, placed.certain, left.end,
                )  # fmt: skip
                crossed = _crossed(self._breaking(placed), asked)
                if placed.pattern.key is not None and placed.pattern.key.name in placed.names:
                    crossed &= pairs.ids[:, placed.names.index(placed.pattern.key.name)] != 0
                return pairs.take(~crossed)
            case _:
                assert_never(placed.pattern.selected)

    # --- what lies between ----------------------------------------------------------------------

    def _interrupted(
        self, placed: PlacedPattern, contexts: Contexts, pairs: Composites, after: Longs, before: Longs
    ) -> Mask:
        """Which pairs have something between them that must not be there."""
        if placed.absent is None or not len(pairs):
            return np.zeros(len(pairs), np.bool_)
        absent = self.solutions(placed.absent, replace(contexts, after=None))
        return _between(pairs, placed, absent, placed.absent, after, before, pairs.context, whole=True)

    def _breaking(self, placed: PlacedPattern) -> Sequence[Candidates]:
        """The events that break a SEQ under STRICT or PARTITION if they lie between its sides."""
        assert isinstance(placed.pattern, EventSeq)
        key = placed.pattern.key
        if key is None:
            return self._windows
        # A key that only an event under NOT binds sets nothing apart.
        return self._keyed[key.name] if key.name in placed.names else ()

    def _overtaken(
        self, placed: PlacedPattern, contexts: Contexts, left: Composites, after: Composites
    ) -> Mask:
        """For which pairs the right side has a solution that starts between them and is compatible with the left one (NEXT)."""
        first, second = placed.sides
        if not self._by_instants(second):
            every = self.solutions(second, replace(contexts, after=None))
            return _between(left, first, every, second, left.end, after.start, after.context)
        names = tuple(name for name in second.names if name in first.names or name in contexts.names)
        ids = _known(names, contexts, replace(left, context=after.context), first)
        asked = Contexts(
            contexts.at[after.context], contexts.key[after.context], after.start,
            names, ids, first.certain | contexts.certain, left.end,
        )  # fmt: skip
        assert second.place is not None
        return _crossed([self._leaves[second.place]], asked)

    def _by_instants(self, placed: PlacedPattern) -> bool:
        """True for a single EVENT none of whose events lasts."""
        return placed.place is not None and self._leaves[placed.place].instants

    def _earliest(self, placed: PlacedPattern, contexts: Contexts, right: Composites) -> Longs | None:
        """After which instant partners must end, for each solution of the right side: what breaks SEQ is not between them.

        All pairs that remain are looked at nevertheless: this only spares looking at every event of the window.
        """
        assert isinstance(placed.pattern, EventSeq)
        first, second = placed.sides
        match placed.pattern.selected:
            case Selected.STRICT | Selected.PARTITION:
                breaking, names = self._breaking(placed), second.names
            case Selected.NEXT if self._by_instants(second):
                assert second.place is not None
                breaking = [self._leaves[second.place]]
                names = tuple(name for name in second.names if name in first.names or name in contexts.names)
                if not first.certain | contexts.certain >= set(names):
                    return None
            case _:
                return None
        key = placed.pattern.key
        if key is not None:
            if key.name not in second.certain:
                return None
            names = (key.name,)
        asked = Contexts(
            contexts.at[right.context],
            contexts.key[right.context],
            right.start,
            names,
            right.ids[:, [second.names.index(name) for name in names]],
            second.certain,
        )
        latest = [each.latest(asked) for each in breaking]
        found: Longs = np.max(latest, axis=0) if latest else np.full(len(right), BEFORE_ALL, np.int64)
        return np.where(found == BEFORE_ALL, BEFORE_ALL, found - 1)


def _takes_after(pattern: EventPattern) -> bool:
    """True if the solutions that end after an instant need no others to be found."""
    taking = (Selected.ANY, Selected.STRICT, Selected.PARTITION)
    return isinstance(pattern, DeclaredEvent) or (
        isinstance(pattern, EventSeq) and pattern.selected in taking
    )


def _crossed(events: Sequence[Candidates], between: Contexts) -> Mask:
    """For which contexts there is an event."""
    found = np.zeros(len(between), np.bool_)
    for each in events:
        found |= any_of(each.pairs(between)[0], len(between))
    return found


@dataclass(frozen=True, slots=True)
class PlacedPattern:
    """An event pattern with the places of its declared events, and the variables of its solutions."""

    pattern: EventPattern
    parts: tuple[PlacedPattern, ...]
    absent: PlacedPattern | None
    place: int | None
    names: tuple[str, ...]
    certain: frozenset[str]
    restricted: tuple[str, ...]
    """The variables of all its events, those under NOT too: what is passed down restricts them all."""

    @property
    def sides(self) -> tuple[PlacedPattern, PlacedPattern]:
        """The left and the right side."""
        left, right = self.parts
        return left, right


def placed_pattern(pattern: EventPattern, places: Iterator[int]) -> PlacedPattern:
    """Places are in the order written: left side, what stands under NOT, right side."""
    parts: tuple[PlacedPattern, ...] = ()
    absent = place = None
    match pattern:
        case DeclaredEvent():
            place = next(places)
        case FirstOf(operand) | LastOf(operand):
            parts = (placed_pattern(operand, places),)
        case EventDuring(left, right):
            parts = (placed_pattern(left, places), placed_pattern(right, places))
        case EventSeq(left, right, absent=never):
            first = placed_pattern(left, places)
            absent = None if never is None else placed_pattern(never, places)
            parts = (first, placed_pattern(right, places))
        case _:
            assert_never(pattern)
    names, certain = event_names(pattern), certain_names(pattern)
    return PlacedPattern(pattern, parts, absent, place, names, certain, event_names(pattern, absent=True))


def right_sides(placed: PlacedPattern, selected: Selected) -> Iterator[int]:
    """The places of the single events that stand to the right of SEQ under a policy."""
    if isinstance(placed.pattern, EventSeq) and placed.pattern.selected is selected:
        place = placed.sides[1].place
        if place is not None:
            yield place
    for part in placed.parts:
        yield from right_sides(part, selected)


def _below(contexts: Contexts, right: Composites, second: PlacedPattern, first: PlacedPattern) -> Contexts:
    """The contexts of the left side of SEQ: before the right side, and compatible with it."""
    names = tuple(name for name in first.restricted if name in contexts.names or name in second.names)
    return Contexts(
        contexts.at[right.context],
        contexts.key[right.context],
        np.minimum(contexts.before[right.context], right.start),
        names,
        _known(names, contexts, right, second),
        contexts.certain | second.certain,
    )


def _known(names: tuple[str, ...], contexts: Contexts, found: Composites, side: PlacedPattern) -> Ids:
    """What solutions of a side of SEQ and their contexts say of some variables; where both say something, they agree."""
    ids = np.zeros((len(found), len(names)), np.int32)
    for at, name in enumerate(names):
        if name in contexts.names:
            ids[:, at] = contexts.ids[found.context, contexts.names.index(name)]
        if name in side.names:
            own = found.ids[:, side.names.index(name)]
            ids[:, at] = np.where(own != 0, own, ids[:, at])
    return ids


def _merged(
    placed: PlacedPattern, left: Composites, right: Composites, start: Longs, end: Longs
) -> Composites:
    """Pairs as solutions."""
    ids = np.zeros((len(left), len(placed.names)), np.int32)
    for side, part in zip((left, right), placed.parts, strict=True):
        for at, name in enumerate(part.names):
            own, place = side.ids[:, at], placed.names.index(name)
            ids[:, place] = np.where(ids[:, place] != 0, ids[:, place], own)
    return Composites(left.context, ids, start, end, np.maximum(left.used, right.used))


# --- first and last -------------------------------------------------------------------------------


def _first(found: Composites, count: int) -> Composites:
    """Those that no other of their context precedes."""
    return found.take(found.start <= _least(found.context, found.end, count)[found.context])


def _last(found: Composites, count: int) -> Composites:
    """Those that precede no other of their context."""
    return found.take(found.end >= -_least(found.context, -found.start, count)[found.context])


def _least(groups: Rows, values: Longs, count: int) -> Longs:
    """The least value of every group."""
    least = np.full(count, np.iinfo(np.int64).max, np.int64)
    np.minimum.at(least, groups, values)
    return least


def _chosen(left: Composites, right: Composites, count: int, *, earliest: bool) -> Mask:
    """CHRONOLOGICAL: of equal solutions of the right side that have partners the earliest, each with its first partners.

    RECENT: the latest, each with its last partners. ``left`` are partners; their context is the solution of the right side that
    stands beside them in ``right``, one of ``count``.
    """
    equal = numbered(np.column_stack([right.context.astype(np.int32), right.ids]))
    groups = int(equal.max(initial=-1)) + 1
    if earliest:
        chosen = right.start <= _least(equal, right.end, groups)[equal]
        partner = left.start <= _least(left.context, left.end, count)[left.context]
    else:
        chosen = right.end >= -_least(equal, -right.start, groups)[equal]
        partner = left.end >= -_least(left.context, -left.start, count)[left.context]
    found: Mask = chosen & partner
    return found


# --- pairs ----------------------------------------------------------------------------------------


def _keys(found: Composites, placed: PlacedPattern, shared: Sequence[str], context: Rows) -> Longs:
    columns = [found.ids[:, placed.names.index(name)] for name in shared]
    return keys_of(np.column_stack([context.astype(np.int32), *columns]))


def _sure(one: PlacedPattern, other: PlacedPattern) -> list[str]:
    return [name for name in one.names if name in one.certain and name in other.certain]


def _fit(one: PlacedPattern, left: Ids, other: PlacedPattern, right: Ids) -> Mask:
    """Which pairs of solutions are compatible."""
    fits = np.ones(len(left), np.bool_)
    for at, name in enumerate(one.names):
        if name in other.names:
            mine, theirs = left[:, at], right[:, other.names.index(name)]
            fits &= (mine == 0) | (theirs == 0) | (mine == theirs)
    return fits


def _compatible(
    left: Composites, one: PlacedPattern, right: Composites, other: PlacedPattern
) -> tuple[Rows, Rows]:
    """The pairs of compatible solutions of the same context, in order of context."""
    shared = _sure(one, other)
    keys = _keys(right, other, shared, right.context)
    order = np.argsort(keys, kind="stable")
    asked = _keys(left, one, shared, left.context)
    first = np.searchsorted(keys[order], asked)
    many = np.searchsorted(keys[order], asked, side="right") - first
    mine = np.repeat(np.arange(len(asked)), many)
    theirs = order[numbers_from(first, many)]
    fits = (left.context[mine] == right.context[theirs]) & _fit(one, left.ids[mine], other, right.ids[theirs])
    return mine[fits], theirs[fits]


def _between(
    pairs: Composites,
    one: PlacedPattern,
    others: Composites,
    other: PlacedPattern,
    after: Longs,
    before: Longs,
    context: Rows,
    *,
    whole: bool = False,
) -> Mask:
    """For which pairs, in some contexts, a compatible solution of the others starts between two instants.

    With ``whole`` it also ends before the second.
    """
    if not len(others) or not len(pairs):
        return np.zeros(len(pairs), np.bool_)
    shared = _sure(one, other)
    keys, asked = _keys(others, other, shared, others.context), _keys(pairs, one, shared, context)
    distinct, numbers = np.unique(keys, return_inverse=True)
    instants, places = np.unique(others.start, return_inverse=True)
    span = len(instants) + 1
    order = np.argsort(numbers * span + places)
    ranks = (numbers * span + places)[order]
    group = np.minimum(np.searchsorted(distinct, asked), len(distinct) - 1)
    first = np.searchsorted(ranks, group * span + np.searchsorted(instants, after, side="right"))
    last = np.searchsorted(ranks, group * span + np.searchsorted(instants, before))
    many = np.where(distinct[group] == asked, np.maximum(last - first, 0), 0)
    mine = np.repeat(np.arange(len(asked)), many)
    theirs = order[numbers_from(first, many)]
    fits = (context[mine] == others.context[theirs]) & _fit(one, pairs.ids[mine], other, others.ids[theirs])
    if whole:
        fits &= others.end[theirs] < before[mine]
    return any_of(mine[fits], len(pairs))
