"""Text to AST and back: the SPARQL 1.1 core, the dialects over it, and the printer."""

from spaseq.syntax.parser import parse, parse_sparql

__all__ = ["parse", "parse_sparql"]
