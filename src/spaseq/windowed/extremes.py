"""MIN, MAX and SAMPLE of groups whose rows come and go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from spaseq.columnar.keeping import Keeper
from spaseq.columnar.row_numbers import KeyIndex, RowNumbers, columns_at
from spaseq.columnar.rows import RowEvaluator
from spaseq.model.ordered import each_once
from spaseq.settings import settings
from spaseq.windowed.timed import FAR, Changes, Counting, Counts, Ids, Longs, Mask, Rows


def presence(counts: Counts, members: Rows, now: Longs) -> tuple[Rows, Longs, Longs]:
    """From which evaluation to which some rows are there, each as often as it comes and goes: its place among them, begin and end.

    ``now`` are the counts after all changes; -FAR and FAR stand for the times before and after those of the changes.
    """
    place = np.full(len(now), -1, np.intp)
    place[members] = np.arange(len(members))
    mine = np.flatnonzero(place[counts.rows] >= 0)
    rows, at = counts.rows[mine], counts.at[mine]
    begins = np.ones(len(mine), np.bool_)
    begins[1:] = rows[1:] != rows[:-1]
    ends = np.ones(len(mine), np.bool_)
    ends[:-1] = begins[1:]
    following = np.append(at[1:], FAR)[: len(at)]
    following[ends] = FAR
    still = np.ones(len(members), np.bool_)
    still[place[rows]] = False
    still &= now[members] > 0
    early = begins & (counts.before[mine] > 0)
    there = counts.after[mine] > 0
    where = np.concatenate([np.flatnonzero(still), place[rows[early]], place[rows[there]]])
    begin = np.concatenate([np.full(int(still.sum()) + int(early.sum()), -FAR), at[there]])
    end = np.concatenate([np.full(int(still.sum()), FAR), at[early], following[there]])
    return where, begin, end


def least(size: int, begin: Rows, end: Rows, keys: Longs) -> Longs:
    """At each of so many places the least key of the intervals that cover it; FAR if none does.

    An interval is the union of two that are a power of two long: these are noted by length, longer ones then handed down.
    """
    some = end > begin
    begin, end, keys = begin[some], end[some], keys[some]
    best = np.full(size, FAR, np.int64)
    if not len(keys):
        return best
    level = np.frexp((end - begin).astype(np.float64))[1] - 1
    for height in range(int(level.max()), -1, -1):
        length = 1 << height
        if height < int(level.max()):  # the level above, in two halves
            halves = best.copy()
            halves[length:] = np.minimum(halves[length:], best[:-length])
            best = halves
        here = level == height
        np.minimum.at(best, begin[here], keys[here])
        np.minimum.at(best, end[here] - length, keys[here])
    return best


def extremes(
    groups: Longs,
    at: Longs,
    members: tuple[Rows, Longs],
    counts: Counts,
    now: Longs,
    terms: Ids,
    ranked: Longs,
) -> Ids:
    """The term of least rank in each group at each evaluation, 0 for one that is unbound; -1 if there is none.

    ``groups`` and ``at`` are in order; ``members`` are the rows of these groups and the group of each, ``terms`` and ``ranked`` theirs.
    """
    rows, owners = members
    where, begin, end = presence(counts, rows, now)
    first, last = int(at.min()), int(at.max())
    span = last - first + 2
    known = groups * span + (at - first)
    base = owners[where] * span
    start = np.searchsorted(known, base + np.clip(begin - first, 0, span - 1))
    stop = np.searchsorted(known, base + np.clip(end - first, 0, span - 1))
    best = least(len(groups), start, stop, (ranked * len(rows) + np.arange(len(rows)))[where])
    there = best < FAR
    found = np.full(len(groups), -1, np.int32)
    found[there] = terms[best[there] % len(rows)]
    return found


class _ShortLists:
    """Some of the best values of groups: all that are there and no worse than the group's bound.

    So while one of them is there, the best of the group is among them.
    """

    def __init__(self) -> None:
        self.bound = np.zeros(0, np.int32)
        """The worst term that belongs on the list of each group; 0 if the group has no list."""
        self._number = np.zeros(0, np.int64)
        """The number of each group's list. One that is replaced is forgotten later, together with others."""
        self._length = np.zeros(0, np.int64)
        self._index = KeyIndex()
        self._made = 0
        self._gone = 0

    def make_room(self, count: int) -> None:
        """Room for so many groups."""
        grown = count - len(self.bound)
        self.bound = np.concatenate([self.bound, np.zeros(grown, np.int32)])
        self._number = np.concatenate([self._number, np.full(grown, -1, np.int64)])
        self._length = np.concatenate([self._length, np.zeros(grown, np.int64)])

    def find(self, groups: Longs) -> Rows:
        """The values on the lists of some groups; some of them may have left."""
        return self._index.find(self._number[groups])[1]

    def length(self, groups: Longs) -> Longs:
        """How many values are on the lists of some groups."""
        return self._length[groups]

    def add(self, owners: Longs, values: Rows) -> None:
        """Further values, and the group of each."""
        np.add.at(self._length, owners, 1)
        self._index.add_rows(self._number[owners], values)

    def drop(self, groups: Longs) -> None:
        """No list for some groups."""
        self._gone += int(self._length[groups].sum())
        self.bound[groups], self._number[groups], self._length[groups] = 0, -1, 0

    def replace(self, groups: Longs, bounds: Ids, owners: Longs, values: Rows) -> None:
        """New lists for some groups."""
        self.drop(groups)
        self.bound[groups] = bounds
        self._number[groups] = self._made + np.arange(len(groups))
        self._made += len(groups)
        self.add(owners, values)
        if self._gone > int(self._length.sum()) + settings().forgotten_rows:
            self._index.keep(self._number)
            self._gone = 0


class Extremes(Keeper):
    """The least and the greatest values of an operand in every group, while values come and go.

    Where a group has many values for each of its evaluations, its best ones are on a short list, so that a step looks only at these and
    at what has come. When all of the list have left, the group is looked through again for the next ones: with a list as long as the
    square root of the group, even values that rise or fall steadily cost no more than that per step.
    """

    def __init__(self, places: Sequence[int], names: Sequence[str], evaluator: RowEvaluator) -> None:
        """``places`` are the columns of the group's key, then the operand's; ``names`` are of MIN, MAX and SAMPLE what is asked."""
        self._places, self._evaluator = list(places), evaluator
        self._values = Counting(len(places))
        self._lists = {name: _ShortLists() for name in dict.fromkeys(names)}
        self._group_of = np.zeros(0, np.intp)
        self._by_group = KeyIndex()
        self._many = np.zeros(0, np.int64)
        """How many different values each group has."""

    def keepers(self) -> Iterator[tuple[str, Keeper]]:
        """The values; all else follows from them."""
        yield "values", self._values

    def add_up(self, groups: RowNumbers, count: int) -> None:
        """Begin anew with all that is there, and groups numbered anew."""
        self._values.forget(at_once=True)  # those that left may have had groups that are no more
        self._lists = {name: _ShortLists() for name in self._lists}
        self._group_of, self._by_group = np.zeros(0, np.intp), KeyIndex()
        self._many = np.zeros(0, np.int64)
        self._assign(groups, count)
        self._many = np.bincount(self._group_of[self._values.counts > 0], minlength=count)

    def _assign(self, groups: RowNumbers, count: int) -> None:
        """The groups of new values."""
        known, ids = len(self._group_of), self._values.numbers.ids
        new = groups.number(ids[known:, :-1])
        self._by_group.add(new.astype(np.int64), known)
        self._group_of = np.concatenate([self._group_of, new])
        self._many = np.concatenate([self._many, np.zeros(count - len(self._many), np.int64)])
        for lists in self._lists.values():
            lists.make_room(count)

    def step(
        self, changes: Changes, groups: RowNumbers, touched: tuple[Longs, Longs], count: int
    ) -> dict[str, Ids]:
        """The extremes at every touched group and evaluation, in this order; 0 if there is no value, or one is unbound."""
        own = Changes(columns_at(changes.ids, self._places), changes.weight, changes.at)
        counts = self._values.count(own)
        self._assign(groups, count)
        turned = (counts.after > 0).astype(np.int64) - (counts.before > 0)
        np.add.at(self._many, self._group_of[counts.rows], turned)
        found = {name: self._found(name, *touched, counts) for name in self._lists}
        if self._values.forget() is not None:
            self.add_up(groups, count)
        return found

    def _found(self, name: str, groups: Longs, at: Longs, counts: Counts) -> Ids:
        own, begins, many = np.unique(groups, return_index=True, return_counts=True)
        lists = self._lists[name]
        # Where there are many evaluations for what a group has, one look at all of it serves them all.
        few = self._many[own] <= many * settings().listed_values
        lists.drop(own[few])
        through = lists.bound[own] == 0
        owner = np.repeat(np.arange(len(own)), many)
        found = np.full(len(groups), -1, np.int32)
        if not through.all():
            listed = ~through[owner]
            found[listed] = self._from_lists(name, own[~through], groups[listed], at[listed], counts)
            through |= np.minimum.reduceat(found, begins) < 0
        if through.any():
            asked = through[owner]
            found[asked] = self._looked_through(
                name, own[through], ~few[through], (groups[asked], at[asked]), counts
            )
        return np.maximum(found, 0)

    def _from_lists(self, name: str, own: Longs, groups: Longs, at: Longs, counts: Counts) -> Ids:
        """The best values of groups with lists; -1 where none of a list is there."""
        lists = self._lists[name]
        known = each_once(lists.find(own))
        fresh = each_once(counts.rows[counts.after > 0])
        place = np.minimum(np.searchsorted(own, self._group_of[fresh]), len(own) - 1)
        fresh = fresh[own[place] == self._group_of[fresh]]
        fresh = np.setdiff1d(fresh, known, assume_unique=True)
        rows = np.concatenate([known, fresh])
        owners, terms = self._group_of[rows], self._values.numbers.ids[rows, -1]
        ranked = self._ranks(name, np.concatenate([terms, lists.bound[own]]))
        ranked, limits = ranked[: len(rows)], ranked[len(rows) :]
        kept = ranked <= limits[np.searchsorted(own, owners)]
        rows, owners, terms, ranked = rows[kept], owners[kept], terms[kept], ranked[kept]
        found = extremes(groups, at, (rows, owners), counts, self._values.counts, terms, ranked)
        new = np.arange(len(rows)) >= int(kept[: len(known)].sum())
        lists.add(owners[new], rows[new])
        long = lists.length(own) > 2 * self._wanted(own)
        if long.any():
            chosen = long[np.searchsorted(own, owners)]
            self._make_lists(name, own[long], owners[chosen], rows[chosen], terms[chosen], ranked[chosen])
        return found

    def _looked_through(
        self, name: str, own: Longs, lasting: Mask, asked: tuple[Longs, Longs], counts: Counts
    ) -> Ids:
        """The best values of groups, looking at all of them; those that ``lasting`` says get a list."""
        position, rows = self._by_group.find(own)
        there = self._values.counts > 0
        there[counts.rows] = True
        kept = there[rows]
        position, rows = position[kept], rows[kept]
        owners, terms = own[position], self._values.numbers.ids[rows, -1]
        ranked = self._ranks(name, terms)
        found = extremes(*asked, (rows, owners), counts, self._values.counts, terms, ranked)
        if lasting.any():
            chosen = lasting[position]
            self._make_lists(name, own[lasting], owners[chosen], rows[chosen], terms[chosen], ranked[chosen])
        return found

    def _make_lists(
        self, name: str, own: Longs, owners: Longs, rows: Rows, terms: Ids, ranked: Longs
    ) -> None:
        """The best of some values, as the lists of their groups."""
        there = np.flatnonzero(self._values.counts[rows] > 0)
        order = there[np.lexsort((ranked[there], owners[there]))]
        ordered = owners[order]
        start, end = np.searchsorted(ordered, own), np.searchsorted(ordered, own, side="right")
        end = np.minimum(end, start + self._wanted(own))
        best = np.concatenate([np.arange(low, high) for low, high in zip(start, end, strict=True)])
        some = end > start
        self._lists[name].drop(own[~some])
        order, last = order[best], order[end[some] - 1]
        self._lists[name].replace(own[some], terms[last], owners[order], rows[order])

    def _wanted(self, groups: Longs) -> Longs:
        """How many values a list should have."""
        roots = np.sqrt(self._many[groups]).astype(np.int64)
        return np.maximum(roots, settings().listed_values)

    def _ranks(self, name: str, terms: Ids) -> Longs:
        """A number per term, the least for the best: where the operand has no value, MIN and MAX have none, SAMPLE takes any other."""
        ranked = self._evaluator.ranks(terms)
        last = int(ranked.max(initial=0)) + 1
        if name == "MAX":
            ranked = last - ranked
        return np.where(terms == 0, last + 1 if name == "SAMPLE" else -1, ranked)
