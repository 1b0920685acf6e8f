"""SPAseq (semantics 1.1): SPARQL graph patterns per event, and SEQ over them."""

from __future__ import annotations

from spaseq.syntax.builder import SpaseqActions
from spaseq.syntax.dialects.base import Dialect
from spaseq.syntax.rules import check_spaseq

UNITS = ("MILLISECOND", "SECOND", "MINUTE", "HOUR", "DAY", "EVENT")
_UNITS = {unit + plural: "UNIT" for unit in UNITS for plural in ("", "S")}

DIALECT = Dialect(
    name="spaseq",
    grammar=("sparql.lark", "spaseq.lark"),
    start="spaseq_query",
    actions=SpaseqActions,
    check=check_spaseq,
    classes=dict.fromkeys(("FIRST", "LAST", "PREV"), "ITERATED"),
    # SPARQL has functions of the same names: a unit is the word after a number.
    words_after={"INTEGER": _UNITS, "PAST": {"LAST": "LAST"}, "LAST": {"EVENT": "EVENT"}},
    names_after=frozenset(("GPM", "ON", "STREAM")),
    islands=frozenset(("SEQ",)),
    soft_words={"WITHIN": "WITHIN", "AFTER": "AFTER", "LONGEST": "LONGEST", **_UNITS},
    called_words=frozenset(("PERMUTE",)),
    counts_names=frozenset(("COUNT", "TIME", "EVENT")),
)
