"""The static rules of EP-SPARQL (semantics 2.1), besides SPARQL's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass

from spaseq.errors import QueryError, Span
from spaseq.languages.epsparql.errors import InputInQuery, NoStatement, RuleModifiers
from spaseq.languages.epsparql.tree import EpsparqlFile, Statement
from spaseq.languages.sparql import FormUnsupported, ServiceUnsupported
from spaseq.syntax.ast import ConstructQuery, DescribeQuery, ServiceClause
from spaseq.syntax.rules import check_sparql


def check_epsparql(file: EpsparqlFile) -> list[QueryError]:
    """All static errors of a file."""
    if not file.statements:
        return [NoStatement(span=Span(0, 0))]
    return [error for statement in file.statements for error in _statement(statement)]


def _statement(statement: Statement) -> Iterator[QueryError]:
    for dataset in statement.datasets:
        yield InputInQuery(iri=dataset.iri.written or str(dataset.iri.term), span=dataset.iri.span)
    if isinstance(statement, DescribeQuery):
        yield FormUnsupported(form="DESCRIBE", span=statement.span)
        return
    if isinstance(statement, ConstructQuery):
        used = statement.modifiers
        clauses = {
            "GROUP BY": used.group_by,
            "HAVING": used.having,
            "ORDER BY": used.order_by,
            "LIMIT": used.limit is not None,
            "OFFSET": used.offset is not None,
        }
        for word in (word for word, present in clauses.items() if present):
            yield RuleModifiers(modifier=word, span=statement.span)
    yield from (ServiceUnsupported(span=clause.span) for clause in _services(statement))
    yield from check_sparql(statement)


def _services(statement: Statement) -> Iterator[ServiceClause]:
    """The SERVICE clauses of all groups, sub-SELECTs and EXISTS."""
    stack: list[object] = [statement]
    while stack:
        node = stack.pop()
        if isinstance(node, tuple):
            stack.extend(node)
        elif is_dataclass(node) and not isinstance(node, Span):
            if isinstance(node, ServiceClause):
                yield node
            stack.extend(getattr(node, item.name) for item in fields(node))
