"""MIN and MAX of groups whose rows come and go."""

from __future__ import annotations

import numpy as np

from spaseq.windowed.timed import FAR, Counts, Ids, Longs, Rows


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
    """The term of least rank in each group at each evaluation; 0 if there is none, or one is unbound.

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
    # An unbound term makes the whole unbound: it comes before all others.
    keys = np.where(terms == 0, -1, ranked * (len(rows) + 1) + np.arange(len(rows)))[where]
    best = least(len(groups), start, stop, keys)
    found = np.zeros(len(groups), np.int32)
    there = (best < FAR) & (best >= 0)
    found[there] = terms[best[there] % (len(rows) + 1)]
    return found
