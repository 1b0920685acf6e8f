"""What rules may produce at one instant, and how a run ends whose rules produce more (semantics 2.7)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from spaseq.algebra.by_place import PLACES
from spaseq.algebra.strata import Stratum
from spaseq.columnar.keeping import Keeper
from spaseq.errors import LimitReached
from spaseq.intervals.interval_rows import LAST, NEVER_ENDED, IntervalRows, Longs, SolutionSet
from spaseq.temporal.instants import format_instant

CURE: Final = ": does it feed itself without end? If not, raise the limit (`rule_limit=`)"


class ProducedCounts(Keeper):
    """How many occurrences all rules have produced at every instant that is not over; too many at one are an error (semantics 2.7)."""

    ARRAYS = ("_instants", "_many")

    def __init__(self, limit: int, strata: int, names: Sequence[str]) -> None:
        self.limit, self._strata, self._names = limit, strata, tuple(names)
        self._seen = SolutionSet(PLACES)
        """What several strata may each produce counts once."""
        self._instants = np.zeros(0, np.int64)
        self._many = np.zeros(0, np.int64)

    def keepers(self) -> Iterator[tuple[str, Keeper]]:
        yield "seen", self._seen

    def add(self, rows: IntervalRows, stratum: Stratum) -> None:
        """Count what the rules of a stratum have produced."""
        if self._strata > 1:
            rows = self._seen.new(rows, -LAST)
        if not len(rows):
            return
        found, many = np.unique(rows.end, return_counts=True)
        fresh = found[self.of(found) == 0]
        if len(fresh):
            instants = np.concatenate([self._instants, fresh])
            order = np.argsort(instants, kind="stable")
            self._instants = instants[order]
            self._many = np.concatenate([self._many, np.zeros(len(fresh), np.int64)])[order]
        place = np.searchsorted(self._instants, found)
        self._many[place] += many
        most = int(self._many[place].argmax())
        if self._many[place[most]] > self.limit:
            raise self.refusal(stratum, int(found[most]))

    def of(self, instants: Longs) -> Longs:
        """How many there are at some instants."""
        if not len(self._instants):
            return np.zeros(len(instants), np.int64)
        place = np.minimum(np.searchsorted(self._instants, instants), len(self._instants) - 1)
        return np.where(self._instants[place] == instants, self._many[place], 0)

    def refusal(self, stratum: Stratum, instant: int) -> LimitReached:
        """The error that ends a run whose rules produce too much at an instant."""
        when = "in the background" if instant == NEVER_ENDED else f"at {format_instant(instant)}"
        return LimitReached(
            f"{too_much([self._names[rule] for rule in stratum.rules], self.limit)} {when}{CURE}"
        )

    def over(self, horizon: int) -> tuple[Longs, Longs]:
        """The instants that are over, but for the background, and how many each had; they are forgotten."""
        self._seen.forget(horizon)
        past = self._instants < horizon
        done = past & (self._instants != NEVER_ENDED)
        found = self._instants[done], self._many[done]
        self._instants, self._many = self._instants[~past], self._many[~past]
        return found


def too_much(rules: Sequence[str], limit: int) -> str:
    """What is wrong with rules, by their names, that produce more than a limit."""
    who = f"rules {', '.join(rules)} produce" if len(rules) > 1 else f"rule {rules[0]} produces"
    return f"{who} more than {limit:,} occurrences"
