"""The syntax of TALLY."""

from __future__ import annotations

from pathlib import Path

from spaseq.languages.tally.builder import TallyActions
from spaseq.languages.tally.checks import check

from spaseq.syntax.dialect import SPARQL_GRAMMAR, Dialect

DIALECT = Dialect(
    name="tally",
    grammar=(SPARQL_GRAMMAR, Path(__file__).with_name("grammar.lark")),
    start="tally_query",
    actions=TallyActions,
    check=check,
)
