"""SPARQL's static rules over a SPAseq query; what GPMs and sequences mean is checked when they are lowered."""

from __future__ import annotations

from spaseq.errors import QueryError
from spaseq.languages.spaseq.tree import GpmDefinition, SpaseqQuery
from spaseq.syntax.ast import SelectClause
from spaseq.syntax.rules import Rules

_USE_OWN_FILTER = (
    "a function over iterations stands in a FILTER or BIND of the GPM itself, not in a nested group"
)


def check_spaseq(query: SpaseqQuery) -> list[QueryError]:
    """All static errors that SPARQL's rules find in a SPAseq query; what GPMs mean is checked later."""
    rules = Rules(_USE_OWN_FILTER)
    scope: set[str] = set()
    for clause in query.where:
        if isinstance(clause, GpmDefinition):
            scope |= rules.group(clause.pattern, iterations=True)
    if isinstance(query.form, SelectClause):
        rules.names(query.form.items or (), scope)
        for item in query.form.items or ():
            if item.expression is not None:
                rules.expression(item.expression, "")
    return rules.errors
