"""From the parts of a grammar rule to nodes of the AST: one method for each rule, one module for each concern."""

from spaseq.syntax.builder.queries import SparqlActions

__all__ = ["SparqlActions"]
