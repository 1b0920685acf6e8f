"""SPARQL text for people: the exact one-line form of `spaseq.algebra.format`, shortened and laid out.

Only spelling changes: IRIs become prefixed names of the query, numbers and booleans lose their
datatypes, double parentheses go, and every clause gets its own line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from spaseq.algebra.expressions import Expression
from spaseq.algebra.format import format_expression, format_pattern, format_triple
from spaseq.algebra.patterns import Filter, Pattern, TriplePattern

_XSD = "http://www.w3.org/2001/XMLSchema#"
_RDF_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
_STRING = r'"(?:[^"\\]|\\.)*"'
_NAMED = re.compile(rf"({_STRING})(?:\^\^<([^\s<>]*)>|@[\w-]+)?|<[^\s<>]*>|\?__\w+")
_LOCAL = re.compile(r"[A-Za-z0-9_](?:[\w-]*[\w-])?\Z", re.ASCII)
_BARE = {
    _XSD + "integer": re.compile(r"[0-9]+\Z"),
    _XSD + "decimal": re.compile(r"[0-9]*\.[0-9]+\Z"),
    _XSD + "boolean": re.compile(r"(?:true|false)\Z"),
}
_PIECE = re.compile(rf"{_STRING}|<[^\s<>]*>|[{{}}()]|[^\s{{}}()<\"]+|<|\s+")
_OPENERS = frozenset({"FILTER", "BIND", "OPTIONAL", "MINUS", "GRAPH", "VALUES", "SELECT", "GROUP", "ORDER"})


@dataclass(frozen=True, slots=True)
class Spelling:
    """How a query writes names: its prefixes, longest IRI first."""

    prefixes: tuple[tuple[str, str], ...] = field(default=())

    @staticmethod
    def of(prefixes: Iterable[tuple[str, str]]) -> Spelling:
        """The spelling of a query with these prefixes."""
        rows = sorted(((iri, name) for name, iri in prefixes if iri), key=lambda r: (-len(r[0]), r[1]))
        return Spelling(tuple(rows))

    def iri(self, iri: str) -> str:
        """An IRI as a prefixed name if the query has a prefix for it, else in angle brackets."""
        for start, name in self.prefixes:
            local = iri[len(start) :]
            if iri.startswith(start) and (not local or _LOCAL.match(local)):
                return f"{name}:{local}"
        return f"<{iri}>"

    def text(self, sparql: str) -> str:
        """SPARQL text with its names shortened."""
        return _NAMED.sub(self._shortened, sparql)

    def _shortened(self, found: re.Match[str]) -> str:
        whole, string, datatype = found[0], found[1], found[2]
        if whole.startswith("?"):  # a variable that lowering made: the value of an aggregate
            return f"?{whole[3:]}"
        if string is None:
            return self.iri(whole[1:-1])
        if datatype is None:
            return whole
        bare = _BARE.get(datatype)
        value = string[1:-1]
        return value if bare is not None and bare.match(value) else f"{string}^^{self.iri(datatype)}"

    def expression(self, expression: Expression) -> str:
        """An expression without the parentheses around the whole."""
        return without_outer(self.text(format_expression(expression)))

    def triple(self, triple: TriplePattern) -> str:
        """A triple pattern with its dot; ``a`` for rdf:type."""
        return self.text(_with_a(format_triple(triple)))

    def pattern(self, pattern: Pattern) -> tuple[str, ...]:
        """The body of a group, one clause a line, nested groups indented by two."""
        if isinstance(pattern, Filter):  # filters rule their whole group, so they need no braces in a row
            return (*self.pattern(pattern.pattern), f"FILTER({self.expression(pattern.condition)})")
        return laid_out(self.text(_with_a(format_pattern(pattern))))


def _with_a(sparql: str) -> str:
    """``a`` where rdf:type stands as a predicate, between two other terms."""
    return sparql.replace(f" {_RDF_TYPE} ", " a ")


def without_outer(text: str) -> str:
    """The text without one pair of parentheses that encloses all of it.

    >>> without_outer("(?a > 3)"), without_outer("(?a > 3) && (?b > 4)")
    ('?a > 3', '(?a > 3) && (?b > 4)')
    """
    if not text.startswith("("):
        return text
    depth = 0
    for piece in _PIECE.finditer(text):
        depth += {"(": 1, ")": -1}.get(piece[0], 0)
        if depth == 0:
            return text[1:-1] if piece.end() == len(text) else text
    return text


def laid_out(sparql: str) -> tuple[str, ...]:
    """One-line SPARQL as lines: a triple, a clause or a brace each.

    >>> laid_out("?s :p ?o . OPTIONAL { ?o :q ?r . FILTER((?r > 3)) }")
    ('?s :p ?o .', 'OPTIONAL {', '  ?o :q ?r .', '  FILTER(?r > 3)', '}')
    """
    page = _Page()
    for found in _PIECE.finditer(sparql):
        page.add(found[0])
    page.end_line()
    return tuple(page.lines)


class _Page:
    """Lines under construction; inside parentheses nothing breaks a line."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._line = ""
        self._indent = 0
        self._parentheses = 0

    def add(self, piece: str) -> None:
        if piece in "()":
            self._parentheses += 1 if piece == "(" else -1
            self._line += piece
        elif self._parentheses:
            self._line += " " if piece.isspace() else piece
        elif piece == "{":
            self._line += piece
            self.end_line()
            self._indent += 1
        elif piece == "}":
            self.end_line()
            self._indent -= 1
            self._line = piece
        elif piece == ".":
            self._line += piece
            self.end_line()
        else:
            self._word(piece)

    def _word(self, piece: str) -> None:
        follows = self._line.strip()
        after_group = follows == "}" and not piece.isspace() and piece != "UNION"
        if after_group or (piece in _OPENERS and follows):
            self.end_line()
        if not (piece.isspace() and not self._line):
            self._line += " " if piece.isspace() else piece

    def end_line(self) -> None:
        text = self._line.strip()
        if text:
            self.lines.append("  " * self._indent + _single(text))
        self._line = ""


def _single(line: str) -> str:
    """``FILTER((…))`` with one pair of parentheses."""
    for word in ("FILTER", "ASC", "DESC"):
        if line.startswith(f"{word}((") and line.endswith("))"):
            return f"{word}({without_outer(line[len(word) + 1 : -1])})"
    return line
