"""How a query may be spread over workers without changing its answers (semantics 1.9)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from spaseq.algebra.events import EventQuery, EventWindow, TimeWindow
from spaseq.algebra.operator_query import Stretches
from spaseq.algebra.visibility import bindable, certain
from spaseq.automaton import Automaton
from spaseq.automaton.moves import is_strict
from spaseq.errors import listed


class RouteUnit(Enum):
    """Which rows must go to one worker."""

    PARTITION = "partition"
    """The query says PARTITION BY: every key is a query of its own."""
    KEY = "key"
    """A shared variable that every step binds."""
    KEY_AND_TICKS = "key and ticks"
    """Such a variable, and the instants of all events, because ``,`` asks what lies between."""
    EVALUATION = "evaluation"
    """Of a finite input, evaluations go apart by their instants; all workers hear when the events of every stream begin and end."""
    WHOLE = "whole"
    """All rows go to one worker."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """The unit of distribution, its variables, and whether stretches of time can go apart as well."""

    unit: RouteUnit
    variables: tuple[str, ...]
    by_window: bool
    """Tumbling windows can."""
    reason: str
    cure: str = ""
    by_slice: bool = False
    """Slices of time can, with a sliding window more on either side of each: of a finite input, whose rows can be copied."""
    stretches: Stretches | None = None
    """How evaluations go apart."""


def distribute(query: EventQuery, automaton: Automaton) -> Distribution:
    """The finest distribution that provably changes nothing; the automaton is the query's."""
    sliding = isinstance(query.window, TimeWindow) and query.window.sliding
    return replace(_by_key(query, automaton), by_slice=sliding and not query.skip_past)


def _by_key(query: EventQuery, automaton: Automaton) -> Distribution:
    # Skipping carries on from one window to the next.
    by_window = isinstance(query.window, TimeWindow) and not query.window.sliding and not query.skip_past
    if query.partition:
        names = listed(f"?{name}" for name in query.partition)
        return Distribution(
            RouteUnit.PARTITION,
            query.partition,
            by_window,
            f"PARTITION BY {names} makes every key a query of its own",
        )
    if query.skip_past:
        return Distribution(
            RouteUnit.WHOLE,
            (),
            False,
            "AFTER MATCH SKIP chooses among the matches of all keys",
            "add `PARTITION BY` with the variable that all steps share",
        )
    keys = common_keys(query)
    if not keys:
        return Distribution(
            RouteUnit.WHOLE,
            (),
            by_window,
            "no variable is certainly bound in every step",
            _cure_for_keys(query),
        )
    if isinstance(query.window, EventWindow):
        return Distribution(
            RouteUnit.WHOLE,
            (),
            False,
            "a window counted in EVENTS numbers the events of all keys together",
            f"add `PARTITION BY ?{keys[0]}`, or use a time window",
        )
    shown = f"?{keys[0]}"
    if is_strict(automaton):
        return Distribution(
            RouteUnit.KEY_AND_TICKS,
            keys[:1],
            by_window,
            f"{shown} is certainly bound in every step; `,` also needs the instants of all events",
        )
    return Distribution(
        RouteUnit.KEY,
        keys[:1],
        by_window,
        f"{shown} is certainly bound in every step, no `,` applies, and the window is not counted in EVENTS",
    )


def common_keys(query: EventQuery) -> tuple[str, ...]:
    """The variables that every GPM certainly binds, negated ones included."""
    sets = [certain(gpm) for gpm in query.gpms]
    common = frozenset.intersection(*sets) - query.iterated
    return tuple(name for name in bindable(query.gpms[0]) if name in common)


def _cure_for_keys(query: EventQuery) -> str:
    """The variable that most steps bind, and the steps that would have to bind it too."""
    sets = {gpm.name: certain(gpm) for gpm in query.gpms}
    counts = {
        name: sum(name in bound for bound in sets.values())
        for bound in sets.values()
        for name in bound
        if name not in query.iterated
    }
    best = max(counts, key=lambda name: (counts[name], name), default=None)
    if best is None or counts[best] < 2:
        return "bind one variable in a triple pattern of every GPM, for example the sensor or the account"
    missing = listed(f"`{name}`" for name, bound in sets.items() if best not in bound)
    return f"bind `?{best}` in {missing} as well (outside OPTIONAL and UNION)"
