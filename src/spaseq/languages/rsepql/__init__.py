"""Continuous SPARQL over windows: RSP-QL, C-SPARQL and the window clauses of RSEP-QL (semantics 3)."""

from spaseq.languages.registry import Language
from spaseq.languages.rsepql.query import compile_text

LANGUAGE = Language(
    "rsepql",
    (".rsepql", ".rspql", ".csparql"),
    frozenset(("REGISTER", "RANGE", "RSTREAM", "ISTREAM", "DSTREAM", "LND")),
    compile_text,
)

__all__ = ["LANGUAGE"]
