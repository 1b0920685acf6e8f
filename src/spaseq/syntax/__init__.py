"""Text to AST and back: the SPARQL 1.1 core, the dialects over it, and the printer."""

from spaseq.syntax.parser import parse, parse_sparql
from spaseq.syntax.printer import format_query

__all__ = ["format_query", "parse", "parse_sparql"]
