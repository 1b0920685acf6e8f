"""From query text to AST. Whatever the text, the outcome is a tree or a `QueryError` that knows its place."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from spaseq.errors import NOWHERE, InvalidArgument, QueryError, Span
from spaseq.syntax.ast import (
    AskQuery,
    ConstructQuery,
    DescribeQuery,
    SelectQuery,
    SparqlQuery,
)
from spaseq.syntax.dialect import SPARQL, Dialect
from spaseq.syntax.errors import PathInsteadOfQuery, TooDeep
from spaseq.syntax.expected import syntax_error
from spaseq.syntax.lalr import Rejected, run
from spaseq.syntax.lexer import blank_node_labels, read_source, without_surrogates

MAX_DEPTH = 200
"""How deep a tree may be; a list of parts counts as a level of its own.

Every later stage recurses over the tree, up to five Python frames to a level, and Python allows a thousand.
"""


def parse_sparql(text: str, name: str = "query", base: str | None = None) -> SparqlQuery:
    """Parse a SPARQL 1.1 query."""
    found = parse_dialect(text, SPARQL, name, base)
    assert isinstance(found, (SelectQuery, ConstructQuery, AskQuery, DescribeQuery))
    return found


def parse_dialect(text: str, dialect: Dialect, name: str = "query", base: str | None = None) -> object:
    """Parse a query of any dialect; the tree's type is the dialect's.

    ``name`` is the file name that errors show; ``base`` is what relative IRIs are resolved against when
    the query has no BASE.
    """
    if not isinstance(text, str):
        raise InvalidArgument(f"a query is a text, not {text!r}; read a file with Path(…).read_text()")
    try:
        return _parse(text, dialect, base if base is not None else dialect.default_base)
    except QueryError as error:
        if _is_path(text):
            wrong = PathInsteadOfQuery(path=text, span=Span(0, len(text)))
            wrong.located(text, name)
            raise wrong from None
        shown = without_surrogates(text)
        for each in (error, *error.also):
            each.located(shown, name)
        raise


EXTENSIONS = (".spaseq", ".epsparql", ".rsepql", ".rspql", ".csparql", ".rq", ".sparql")
"""How the names of query files end."""


def _is_path(text: str) -> bool:
    """True if a text that is no query is the path of one."""
    if "\n" in text or "{" in text:
        return False
    if text.lower().endswith(EXTENSIONS):
        return True
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # too long for a path, or a null character
        return False


def _parse(text: str, dialect: Dialect, base: str | None) -> object:
    source = read_source(text)
    actions = dialect.actions(base=base, taken_labels=blank_node_labels(source.text))
    try:
        tree = run(dialect.table, dialect.lexer(source, dialect.vocabulary), actions)
    except Rejected as rejected:
        raise syntax_error(rejected, text, dialect.wording) from None
    _check_depth(tree)
    _raise_all(actions.errors + dialect.check(tree))
    return tree


def _raise_all(found: list[QueryError]) -> None:
    """Raise the first error in the text; it carries the others."""
    if found:
        first, *others = sorted(found, key=lambda error: error.span.start)
        first.also = tuple(others)
        raise first


def _check_depth(tree: object) -> None:
    stack: list[tuple[Any, int, Span]] = [(tree, 0, NOWHERE)]
    while stack:
        node, depth, span = stack.pop()
        if isinstance(node, tuple):
            stack.extend((part, depth + 1, span) for part in node)
        elif is_dataclass(node) and not isinstance(node, Span):
            span = getattr(node, "span", span)
            if depth > MAX_DEPTH:
                raise TooDeep(limit=MAX_DEPTH, span=span)
            stack.extend((getattr(node, item.name), depth + 1, span) for item in fields(node))
