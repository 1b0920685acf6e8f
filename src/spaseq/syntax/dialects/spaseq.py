"""SPAseq (SEMANTICS 1.1): SPARQL graph patterns per event, and SEQ over them."""

from __future__ import annotations

from spaseq.syntax.builder import SpaseqActions
from spaseq.syntax.dialects.base import Dialect
from spaseq.syntax.rules import check_spaseq

UNITS = ("MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "EVENT")

DIALECT = Dialect(
    name="spaseq",
    grammar=("sparql.lark", "spaseq.lark"),
    start="spaseq_query",
    actions=SpaseqActions,
    check=check_spaseq,
    classes=dict.fromkeys(("FIRST", "LAST", "PREV"), "ITERATED"),
    # SPARQL has functions of the same names: a unit is the word after a number.
    words_after={"INTEGER": {unit + plural: "UNIT" for unit in UNITS for plural in ("", "S")}},
    names_after=frozenset(("GPM", "ON", "STREAM")),
    islands=frozenset(("SEQ",)),
    counts_names=frozenset(("COUNT",)),
)
