"""A file of EP-SPARQL, checked and lowered: one query for each SELECT and ASK, over all rules of the file (semantics 2.7)."""

from __future__ import annotations

from spaseq.algebra.events import AskForm, Form, ProjectionItem, SelectForm
from spaseq.algebra.intervals import Asked, IntervalQuery, Rule
from spaseq.algebra.patterns import OrderBy, Pattern
from spaseq.errors import QueryError
from spaseq.languages.epsparql.dialect import parse_epsparql
from spaseq.languages.epsparql.tree import EpsparqlFile
from spaseq.languages.sparql import join, lower_group, lower_solutions, lower_values
from spaseq.syntax import ast


def compile_intervals(text: str, name: str = "query") -> tuple[IntervalQuery, ...]:
    """Parse, check and lower a file; `QueryError` says what is wrong and where.

    >>> (query,) = compile_intervals("ASK { { ?a <urn:p> ?b } SEQ { ?a <urn:q> ?c } }")
    >>> query.rules
    ()
    """
    written = parse_epsparql(text, name=name)
    try:
        return lower(written)
    except QueryError as error:
        error.located(text, name)
        raise


def lower(written: EpsparqlFile) -> tuple[IntervalQuery, ...]:
    """The queries of a file in its order; a file of rules alone asks for what they produce."""
    rules = tuple(_rule(rule) for rule in written.rules)
    asked = tuple(
        _asked(statement)
        for statement in written.statements
        if isinstance(statement, (ast.SelectQuery, ast.AskQuery))
    )
    return tuple(IntervalQuery(each, rules) for each in asked or (None,))


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
    return Rule(template, pattern, statement.span)
