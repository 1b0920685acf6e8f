"""The SPARQL 1.1 core that all languages share: text to tree and back; a language adds to its grammar, nodes and checks."""

from spaseq.syntax.parser import parse_dialect, parse_sparql
from spaseq.syntax.printer import format_query

__all__ = ["format_query", "parse_dialect", "parse_sparql"]
