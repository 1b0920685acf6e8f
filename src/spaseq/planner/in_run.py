"""Queries as a run needs them: what its options, its background graphs and the rules of its other files make of them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from spaseq.algebra.expressions import Constant
from spaseq.algebra.intervals import IntervalQuery, Policy, Rule
from spaseq.algebra.operator_query import OperatorQuery
from spaseq.errors import InvalidArgument, QueryError, did_you_mean, listed
from spaseq.planner.compiled import CompiledQuery, operator_distribution

if TYPE_CHECKING:
    from spaseq.columnar.knowledge import Knowledge

UNRESTRICTED: Final = Policy.UNRESTRICTED.value
POLICIES: Final = tuple(policy.value for policy in Policy)
RULE_LIMIT: Final = 100_000


@dataclass(frozen=True, slots=True)
class Choices:
    """What a run decides for its EP-SPARQL queries: their policy, and how much rules may produce at one instant."""

    policy: str = UNRESTRICTED
    rule_limit: int = RULE_LIMIT

    def __post_init__(self) -> None:
        if self.policy not in POLICIES:
            hint = did_you_mean(str(self.policy), POLICIES)
            raise InvalidArgument(f"`policy=` is one of {listed(POLICIES)}, not `{self.policy}`{hint}")
        limit: object = self.rule_limit
        if not isinstance(limit, int) or limit < 1:
            raise InvalidArgument(f"`rule_limit=` is a number of at least 1, not {limit!r}")


DEFAULT: Final = Choices()


def in_run(
    queries: Sequence[CompiledQuery], knowledge: Knowledge, choices: Choices
) -> tuple[CompiledQuery, ...]:
    """The queries of a run: all rules are one set, and RDFS asks for what the background's schema makes of a pattern."""
    rules: dict[Rule, None] = {}
    for query in queries:
        if (details := _intervals(query)) is not None:
            rules |= dict.fromkeys(details.rules)
    return tuple(
        query if details is None else _adapted(query, details, tuple(rules), knowledge, choices)
        for query in queries
        for details in (_intervals(query),)
    )


def has_rules(queries: Sequence[CompiledQuery]) -> bool:
    """True if rules complete what queries read."""
    return any((details := _intervals(query)) is not None and details.rules for query in queries)


def rules_alone(queries: Sequence[CompiledQuery]) -> CompiledQuery | None:
    """A query whose answers are what the rules of some queries produce; None if there are none."""
    from spaseq.planner.over_intervals import graphs_of, interval_query

    found = [(query, details) for query in queries if (details := _intervals(query)) is not None]
    rules = tuple(dict.fromkeys(rule for _, details in found for rule in details.rules))
    if not rules:
        return None
    alone = IntervalQuery(None, rules)
    source = interval_query(alone)
    return replace(
        found[0][0],
        name="rules",
        source=source,
        form=source.form,
        patterns=source.patterns,
        knowledge=graphs_of(alone),
        distribution=operator_distribution(source),
    )


def _intervals(query: CompiledQuery) -> IntervalQuery | None:
    details = query.source.details if isinstance(query.source, OperatorQuery) else None
    return details if isinstance(details, IntervalQuery) else None


def _adapted(
    query: CompiledQuery,
    details: IntervalQuery,
    rules: tuple[Rule, ...],
    knowledge: Knowledge,
    choices: Choices,
) -> CompiledQuery:
    from spaseq.languages.epsparql.query import check_policy  # other languages need neither
    from spaseq.planner.over_intervals import graphs_of, interval_query

    policy = Policy(choices.policy)
    wanted = replace(details, rules=rules, policy=policy, rule_limit=choices.rule_limit)
    if wanted == details and not knowledge.rdfs:
        return query
    try:
        check_policy(wanted, policy)
        source = interval_query(wanted, knowledge)
    except QueryError as error:
        error.located(query.text, query.name)
        raise
    terms = repr((rules, choices.policy, knowledge.rdfs, [each.name for each in source.patterns]))
    return replace(
        query,
        source=source,
        patterns=source.patterns,
        knowledge=graphs_of(wanted),
        distribution=operator_distribution(source),
        circumstances=hashlib.sha256(terms.encode()).hexdigest(),
    )


def produced_predicates(query: CompiledQuery) -> frozenset[str]:
    """The predicates of what the query's own rules produce: events need not have them."""
    details = _intervals(query)
    rules = () if details is None else details.rules
    made = (triple.predicate for rule in rules for triple in rule.template)
    return frozenset(node.term.value for node in made if isinstance(node, Constant))
