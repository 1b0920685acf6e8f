"""Plain SPARQL 1.1 queries."""

from __future__ import annotations

from spaseq.syntax.builder import SparqlActions
from spaseq.syntax.dialects.base import Dialect
from spaseq.syntax.rules import check_sparql

DIALECT = Dialect(
    name="sparql",
    grammar=("sparql.lark",),
    start="sparql_query",
    actions=SparqlActions,
    check=check_sparql,
    # A query without BASE gets one from its surroundings (SPARQL 1.1, 4.1.1.2); text alone has none.
    default_base="http://base.invalid/",
)
