"""The printer: a tree as text that a person would write, and that parses to the same tree.

Keywords are upper case, prefixes and prefixed spellings are kept, parentheses stand only where they are
needed. ``parse_sparql(format_query(query)) == query`` for every query.
"""

from __future__ import annotations

from spaseq.algebra.expressions import Expression
from spaseq.algebra.patterns import Path
from spaseq.syntax.ast import GroupPattern, Prologue, SparqlQuery
from spaseq.syntax.printing.queries import Printer

_NO_PREFIXES = Prologue()


def format_query(query: SparqlQuery) -> str:
    """The text of a whole SPARQL query."""
    printer = Printer(query.prologue)
    return "\n".join((*printer.prologue(query.prologue), printer.query(query))) + "\n"


def format_expression(node: Expression, prologue: Prologue = _NO_PREFIXES) -> str:
    """The text of an expression; a prologue lends its prefixes."""
    return Printer(prologue).expressions.text(node)


def format_group(pattern: GroupPattern, prologue: Prologue = _NO_PREFIXES) -> str:
    """The text of a group graph pattern."""
    return Printer(prologue).group(pattern)


def format_path(path: Path, prologue: Prologue = _NO_PREFIXES) -> str:
    """The text of a property path."""
    return Printer(prologue).names.path(path)
