"""What `explain` says of an EP-SPARQL query: its operators, what bounds them, what they wait for and choose, and its rules."""

from __future__ import annotations

from collections.abc import Iterator

from spaseq.algebra.format import format_pattern
from spaseq.algebra.intervals import IntervalQuery, Policy
from spaseq.algebra.patterns import Bgp
from spaseq.algebra.strata import strata
from spaseq.planner.interval_operators import OperatorFacts, operators

_CHOICE = {
    Policy.UNRESTRICTED: "",
    Policy.CHRONOLOGICAL: ", chooses the earliest partner",
    Policy.RECENT: ", chooses the latest partner",
}


def interval_facts(query: IntervalQuery) -> Iterator[tuple[str, list[str]]]:
    """The lines of the plan, by name."""
    found = operators(query)
    several = bool(query.rules)
    yield (
        "evaluates",
        [_described(each, several=several) for each in found] or ["every triple as an answer by itself"],
    )
    orders = [each for each in found if each.parts > 2]
    if orders:
        later = "as written at first, then by how many rows each part has"
        yield (
            "order",
            [f"{_whose(each, several=several)}{each.name} of {each.parts}: {later}" for each in orders],
        )
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


def _whose(operator: OperatorFacts, *, several: bool) -> str:
    return f"{operator.of}: " if several else ""


def _described(operator: OperatorFacts, *, several: bool) -> str:
    name = operator.name
    if operator.key is not None:
        name += f" on {' '.join(f'?{name}' for name in operator.key) or 'nothing'}"
    waits = "waits for the end of an instant" if operator.waits else "waits for nothing"
    choice = _CHOICE[operator.policy]
    return f"{_whose(operator, several=several)}{name}: keeps {operator.keeps}, {waits}{choice}"


def _policy(policy: Policy) -> str:
    said = {
        Policy.UNRESTRICTED: "all partners; nothing is consumed",
        Policy.CHRONOLOGICAL: "the earliest partner; answers consume what they are made of",
        Policy.RECENT: "the latest partner; answers consume what they are made of",
    }
    return f"{policy.value}: {said[policy]}"
