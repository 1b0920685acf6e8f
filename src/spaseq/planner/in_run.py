"""Queries as a run needs them: what its options, its background graphs and the rules of its other files make of them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from spaseq.algebra.expressions import Constant
from spaseq.algebra.intervals import IntervalQuery, Policy, Rule
from spaseq.algebra.operator_query import OperatorQuery
from spaseq.algebra.strata import NegativeCycle, strata
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
    rules = _all_rules(queries)
    _check_rules(rules, knowledge)
    return tuple(
        query if details is None else _adapted(query, details, tuple(rules), knowledge, choices)
        for query in queries
        for details in (intervals_of(query),)
    )


def _all_rules(queries: Sequence[CompiledQuery]) -> dict[Rule, CompiledQuery]:
    """The rules of all queries, equal ones once, and where each is written; those of several files are called by their files."""
    over_time = [(query, details) for query in queries if (details := intervals_of(query)) is not None]
    files = {query.text: query.name for query, _ in over_time}
    named = len(set(files.values())) == len(files) > 1
    found: dict[Rule, CompiledQuery] = {}
    for query, details in over_time:
        for number, rule in enumerate(details.rules, 1):
            found.setdefault(replace(rule, name=f"{number} of {query.name}") if named else rule, query)
    return found


def _check_rules(rules: Mapping[Rule, CompiledQuery], knowledge: Knowledge | None = None) -> None:
    """Refuse rules that depend negatively on each other (semantics 2.7), those of other files and what RDFS entails included."""
    if not rules:
        return
    from spaseq.intervals.schema import Schema  # other languages need neither
    from spaseq.languages.epsparql.query import negative_dependence

    schema = None if knowledge is None else Schema.of(knowledge)
    try:
        strata(tuple(rules), *(() if schema is None else (schema.entailed_templates,)))
    except NegativeCycle as cycle:
        error = negative_dependence(tuple(rules), cycle)
        written = list(rules.values())[cycle.rules[0]]
        error.located(written.text, written.name)
        raise error from None


def has_rules(queries: Sequence[CompiledQuery]) -> bool:
    """True if rules complete what queries read."""
    return any((details := intervals_of(query)) is not None and details.rules for query in queries)


def rules_alone(queries: Sequence[CompiledQuery]) -> CompiledQuery | None:
    """A query whose answers are what the rules of some queries produce; None if there are none."""
    from spaseq.planner.over_intervals import graphs_of, interval_query

    rules = _all_rules(queries)
    if not rules:
        return None
    _check_rules(rules)
    alone = IntervalQuery(None, tuple(rules))
    source = interval_query(alone)
    return replace(
        next(query for query in queries if intervals_of(query) is not None),
        name="rules",
        source=source,
        form=source.form,
        patterns=source.patterns,
        knowledge=graphs_of(alone),
        distribution=operator_distribution(source),
    )


def intervals_of(query: CompiledQuery) -> IntervalQuery | None:
    """What a query over intervals asks; None for any other query."""
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
    same = wanted == details and not knowledge.rdfs
    if same and wanted.rule_names == details.rule_names:
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
        circumstances=query.circumstances if same else hashlib.sha256(terms.encode()).hexdigest(),
    )


def background_of(query: CompiledQuery, knowledge: Knowledge) -> str:
    """A digest of the background that the state of a query rests on; nothing if its background may change between events.

    EP-SPARQL's has no time: what came is joined with it once and for all.
    """
    return "" if intervals_of(query) is None or not knowledge.names else knowledge.digest


def produced_predicates(query: CompiledQuery, queries: Sequence[CompiledQuery]) -> frozenset[str]:
    """The predicates of what the rules of all queries of a run produce for one of them: events need not have them."""
    rules = () if intervals_of(query) is None else _all_rules(queries)
    made = (triple.predicate for rule in rules for triple in rule.template)
    return frozenset(node.term.value for node in made if isinstance(node, Constant))
