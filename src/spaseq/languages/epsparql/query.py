"""A file of EP-SPARQL, checked and lowered: one query for each SELECT and ASK, over all rules of the file (semantics 2.7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from spaseq.algebra.events import AskForm, Form, ProjectionItem, SelectForm
from spaseq.algebra.intervals import Asked, IntervalQuery, Policy, Rule
from spaseq.algebra.patterns import Group, OrderBy, Pattern, Slice
from spaseq.algebra.strata import NegativeCycle, strata
from spaseq.algebra.visibility import every_pattern
from spaseq.errors import QueryError
from spaseq.languages.epsparql.dialect import parse_epsparql
from spaseq.languages.epsparql.errors import NegativeDependence, PolicyImpossible
from spaseq.languages.epsparql.printer import format_epsparql
from spaseq.languages.epsparql.tree import EpsparqlFile
from spaseq.languages.epsparql.warnings import warnings_of
from spaseq.languages.registry import Lowered
from spaseq.languages.sparql import join, lower_group, lower_solutions, lower_values
from spaseq.syntax import ast


def compile_intervals(
    text: str, name: str = "query", policy: Policy = Policy.UNRESTRICTED
) -> tuple[IntervalQuery, ...]:
    """Parse, check and lower a file; `QueryError` says what is wrong and where.

    >>> (query,) = compile_intervals("ASK { { ?a <urn:p> ?b } SEQ { ?a <urn:q> ?c } }")
    >>> query.rules
    ()
    """
    written = parse_epsparql(text, name=name)
    try:
        queries = lower(written)
        for query in queries:
            check_policy(query, policy)
        return queries
    except QueryError as error:
        error.located(text, name)
        raise


def compile_file(text: str, name: str) -> tuple[Lowered, ...]:
    """The queries of a file, each with its rules."""
    written = parse_epsparql(text, name=name)
    try:
        queries = lower(written)
    except QueryError as error:
        error.located(text, name)
        raise
    declared = (each for each in written.prologue.declarations if isinstance(each, ast.PrefixDeclaration))
    prefixes = tuple({each.name: each.iri for each in declared}.items())
    answering = [each for each in written.statements if each not in written.rules]
    return tuple(
        Lowered(
            query,
            warnings_of(query),
            format_epsparql(
                replace(
                    written, statements=(*written.rules, *answering[at : at + 1]), prologue=ast.Prologue()
                )
            ),
            prefixes,
            written.span,
        )
        for at, query in enumerate(queries)
    )


def lower(written: EpsparqlFile) -> tuple[IntervalQuery, ...]:
    """The queries of a file in its order; a file of rules alone asks for what they produce."""
    rules = tuple(_rule(rule) for rule in written.rules)
    check_rules(rules)
    asked = tuple(
        _asked(statement)
        for statement in written.statements
        if isinstance(statement, (ast.SelectQuery, ast.AskQuery))
    )
    return tuple(IntervalQuery(each, rules) for each in asked or (None,))


def check_rules(rules: Sequence[Rule]) -> None:
    """Refuse rules of a file that depend negatively on each other (semantics 2.7)."""
    try:
        strata(rules)
    except NegativeCycle as cycle:
        raise negative_dependence(rules, cycle) from None


def negative_dependence(rules: Sequence[Rule], cycle: NegativeCycle) -> QueryError:
    """What is wrong with the rules of a cycle, shown where the first of them is written."""
    names = [f"rule {rules[number].name or number + 1}" for number in cycle.rules]
    several = len(names) > 1
    return NegativeDependence(
        rules=f"{' and '.join(names)} depend{'' if several else 's'}",
        produced="they produce themselves" if several else "it produces itself",
        span=rules[cycle.rules[0]].span,
    )


def check_policy(query: IntervalQuery, policy: Policy) -> None:
    """Refuse a policy for a query with grouping, LIMIT or OFFSET (semantics 2.9)."""
    if policy is Policy.UNRESTRICTED or query.asked is None:
        return
    asked = query.asked
    found = list(every_pattern(asked.read))
    slices = [(asked.offset, asked.limit), *((p.offset, p.limit) for p in found if isinstance(p, Slice))]
    clauses = {
        "grouping": any(isinstance(part, Group) for part in found),
        "LIMIT": any(limit is not None for _, limit in slices),
        "OFFSET": any(offset for offset, _ in slices),
    }
    for clause in (clause for clause, present in clauses.items() if present):
        raise PolicyImpossible(clause=clause, policy=policy.value, span=asked.span)


def _asked(statement: ast.SelectQuery | ast.AskQuery) -> Asked:
    pattern, variables = lower_solutions(statement)
    modifiers = statement.modifiers
    pattern, order = (pattern.pattern, pattern.keys) if isinstance(pattern, OrderBy) else (pattern, ())
    form: Form = AskForm()
    distinct = False
    if isinstance(statement, ast.SelectQuery):
        form = SelectForm(tuple(ProjectionItem(variable) for variable in variables))
        distinct = statement.select.modifier == "DISTINCT"
    return Asked(form, pattern, distinct, order, modifiers.offset or 0, modifiers.limit, statement.span)


def _rule(statement: ast.ConstructQuery) -> Rule:
    """The short form's template is its pattern; VALUES behind a rule joins with its pattern."""
    pattern: Pattern = lower_group(statement.where)
    values = statement.modifiers.values
    if values is not None:
        pattern = join(pattern, lower_values(values))
    template = statement.template
    if template is None:
        assert isinstance(statement.where, ast.Group)
        blocks = (element for element in statement.where.elements if isinstance(element, ast.Triples))
        template = tuple(triple for block in blocks for triple in block.triples)
    return Rule(template, pattern, span=statement.span)
