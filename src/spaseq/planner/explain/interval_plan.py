"""What `explain` says of an EP-SPARQL query: its joins over time, what bounds them and what they wait for, and its rules."""

from __future__ import annotations

from collections.abc import Iterator

from spaseq.algebra.format import format_pattern
from spaseq.algebra.intervals import IntervalQuery, Policy
from spaseq.algebra.patterns import Bgp
from spaseq.algebra.strata import strata
from spaseq.planner.over_intervals import JoinFacts, join_facts
from spaseq.settings import settings
from spaseq.temporal.durations import format_duration


def interval_facts(query: IntervalQuery) -> Iterator[tuple[str, list[str]]]:
    """The lines of the plan, by name."""
    joins, orders = join_facts(query)
    yield "join", [_described(each) for each in joins] or ["none: every triple is an answer by itself"]
    begun = (
        f"as written, and from {settings().ordered_rows:,} rows on as few as possible are kept between joins"
    )
    if orders:
        yield "order", [f"{each.name} of {each.parts}: {begun}" for each in orders]
    yield "policy", [_policy(query.policy)]
    if query.rules:
        lines = []
        for number, stratum in enumerate(strata(query.rules), 1):
            names = ", ".join(f"rule {rule + 1}" for rule in stratum.rules)
            lines.append(f"stratum {number}: {names}{', to a fixpoint' if stratum.recursive else ''}")
        lines += [
            f"rule {number}: {format_pattern(Bgp(rule.template))} of {format_pattern(rule.pattern)}"
            for number, rule in enumerate(query.rules, 1)
        ]
        yield "rules", lines


def _described(join: JoinFacts) -> str:
    on = " ".join(f"?{name}" for name in join.key) or "nothing"
    bound = "keeps everything" if join.longest is None else f"keeps {format_duration(join.longest)}"
    if join.at_once:
        bound = "keeps one instant"
    waits = "waits for the end of an instant" if join.waits else "waits for nothing"
    return f"{join.name} on {on}: {bound}, {waits}"


def _policy(policy: Policy) -> str:
    said = {
        Policy.UNRESTRICTED: "all partners; nothing is consumed",
        Policy.CHRONOLOGICAL: "the earliest partner; answers consume what they are made of",
        Policy.RECENT: "the latest partner; answers consume what they are made of",
    }
    return f"{policy.value}: {said[policy]}"
