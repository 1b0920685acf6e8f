"""Continuous SPARQL over windows: RSP-QL, C-SPARQL (semantics 3), and RSEP-QL's event patterns over them (4)."""

from spaseq.languages.registry import Language
from spaseq.languages.rsepql.profiles import PROFILES
from spaseq.languages.rsepql.query import compile_text

LANGUAGE = Language(
    "rsepql",
    (".rsepql", ".rspql", ".csparql"),
    frozenset(("REGISTER", "RANGE", "RSTREAM", "ISTREAM", "DSTREAM", "LND")),
    compile_text,
    sign=r"\bMATCH\s*\{",
    profiles=tuple(PROFILES),
    compile_profile=compile_text,
)

__all__ = ["LANGUAGE"]
