"""Continuous SPARQL over windows: RSP-QL, C-SPARQL (semantics 3), and RSEP-QL's event patterns over them (4)."""

from spaseq.languages.registry import Language
from spaseq.languages.rsepql.profiles import PROFILES
from spaseq.languages.rsepql.query import compile_text

# Streams without a name before their IRI, which SPAseq has; a SPAseq text that forgets it has its other words.
_SOURCES = r"FROM\s+NAMED\s+(?:STREAM|WINDOW)\b|FROM\s+STREAM\s*(?:[\[{]|(?:FROM|WHERE|EVENT)\b)|\bWIN\s*\["

LANGUAGE = Language(
    "rsepql",
    (".rsepql", ".rspql", ".csparql"),
    frozenset(("REGISTER", "RANGE", "RSTREAM", "ISTREAM", "DSTREAM", "LND", "REPORT")),
    compile_text,
    sign=rf"(?s)\bMATCH\s*\{{|\A(?!.*\b(?:SEQ|GPM)\b).*?(?:{_SOURCES})",
    profiles=tuple(PROFILES),
    compile_profile=compile_text,
)

__all__ = ["LANGUAGE"]
