"""A file of EP-SPARQL as text that parses to the same tree: all declarations first, every pattern in braces."""

from __future__ import annotations

from spaseq.languages.epsparql.tree import EpsparqlFile
from spaseq.syntax.printing.queries import Printer


def format_epsparql(file: EpsparqlFile) -> str:
    """The text of a file."""
    printer = Printer(file.prologue)
    declared = printer.prologue(file.prologue)
    statements = "\n\n".join(printer.query(statement) for statement in file.statements)
    return "\n".join((*declared, statements)) + "\n"
