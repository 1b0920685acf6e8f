"""Properties of parser and printer over random queries, whole and damaged."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from spaseq.errors import QueryError
from spaseq.languages.epsparql.dialect import parse_epsparql
from spaseq.languages.epsparql.printer import format_epsparql
from spaseq.languages.epsparql.tree import EpsparqlFile
from spaseq.languages.rsepql.dialect import parse_rsepql
from spaseq.languages.rsepql.printer import format_rsepql
from spaseq.languages.rsepql.tree import RsepqlQuery
from spaseq.languages.spaseq import printer
from spaseq.languages.spaseq.dialect import parse
from spaseq.languages.spaseq.tree import SpaseqQuery
from spaseq.syntax import format_query, parse_sparql
from spaseq.syntax.ast import SparqlQuery
from support.epsparql_strategies import broken_epsparql_texts, epsparql_files
from support.rsepql_strategies import broken_rsepql_texts, rsepql_queries
from support.strategies import broken_texts, sparql_queries, spaseq_queries

PARSERS: dict[str, tuple[Any, Any]] = {
    "spaseq": (parse, printer.format_query),
    "sparql": (parse_sparql, format_query),
    "rsepql": (parse_rsepql, format_rsepql),
    "epsparql": (parse_epsparql, format_epsparql),
}
"""How the text of a language becomes a tree, and how the tree is printed."""
FEWER = settings(max_examples=settings.default.max_examples // 2)


@given(sparql_queries())
def test_a_printed_sparql_query_parses_to_the_same_tree(query: SparqlQuery) -> None:
    """``parse(print(ast)) == ast`` over all constructs of SPARQL."""
    assert parse_sparql(format_query(query)) == query


@given(spaseq_queries())
def test_a_printed_spaseq_query_parses_to_the_same_tree(query: SpaseqQuery) -> None:
    """``parse(print(ast)) == ast`` over all constructs of SPAseq."""
    assert parse(printer.format_query(query)) == query


@given(spaseq_queries())
def test_printing_is_stable(query: SpaseqQuery) -> None:
    """What the printer writes, it writes again after a round trip: prefixes and all."""
    text = printer.format_query(query)
    assert printer.format_query(parse(text)) == text


@FEWER
@given(rsepql_queries())
def test_a_printed_query_over_windows_parses_to_the_same_tree(query: RsepqlQuery) -> None:
    """``parse(print(ast)) == ast`` over all windows, sources and reports, and printing again gives the same text."""
    text = format_rsepql(query)
    assert parse_rsepql(text) == query
    assert format_rsepql(parse_rsepql(text)) == text


@FEWER
@given(broken_rsepql_texts())
def test_a_damaged_query_over_windows_parses_or_gives_a_located_error(text: str) -> None:
    """No deletion or swap of tokens makes the parser crash or lose its place."""
    _parses_or_is_located(text, dialect="rsepql")


@FEWER
@given(epsparql_files())
def test_a_printed_file_of_epsparql_parses_to_the_same_tree(file: EpsparqlFile) -> None:
    """``parse(print(ast)) == ast`` over chains, rules and time functions, and printing again gives the same text."""
    text = format_epsparql(file)
    assert parse_epsparql(text) == file
    assert format_epsparql(parse_epsparql(text)) == text


@FEWER
@given(broken_epsparql_texts())
def test_a_damaged_file_of_epsparql_parses_or_gives_a_located_error(text: str) -> None:
    """No deletion or swap of tokens makes the parser crash or lose its place."""
    _parses_or_is_located(text, dialect="epsparql")


@given(broken_texts(dialect="spaseq"))
def test_a_damaged_spaseq_query_parses_or_gives_a_located_error(text: str) -> None:
    """No deletion or swap of tokens makes the parser crash or lose its place."""
    _parses_or_is_located(text, dialect="spaseq")


@given(broken_texts(dialect="sparql"))
def test_a_damaged_sparql_query_parses_or_gives_a_located_error(text: str) -> None:
    """No deletion or swap of tokens makes the parser crash or lose its place."""
    _parses_or_is_located(text, dialect="sparql")


@given(st.text())
@example("\ud800")
@example("\\u005c\\U0000FFFFF")
@example("SELECT * FROM STREAM S <\u0000>")
@example('ASK { ?s ?p "' + "\\" * 9)
@example("'''")
def test_any_text_parses_or_gives_a_located_error(text: str) -> None:
    """Whatever the string, nothing but a `QueryError` escapes."""
    for dialect in PARSERS:
        _parses_or_is_located(text, dialect=dialect)


NESTING = (
    "{",
    "(",
    "[",
    "!(",
    "SEQ ((",
    "{ SELECT * {",
    "NOT EXISTS {",
    "-(",
    "^(",
    "STR(",
    "1 IN (",
    "?x || ",
    "1 + ",
)


@pytest.mark.parametrize("opening", NESTING)
@pytest.mark.parametrize("depth", [20, 45, 65, 95, 150, 190, 5000])
def test_deep_nesting_never_exhausts_the_stack(opening: str, depth: int) -> None:
    """However deep brackets nest, the answer is a tree that can be printed, or an error with a place."""
    closing = "".join({"{": "}", "(": ")", "[": "]"}.get(sign, "") for sign in reversed(opening))
    nested = opening * depth + "?x" + closing * depth
    for query in (
        f"ASK {{ FILTER ({nested}) }}",
        f"ASK {{ FILTER {nested} }}",
        f"ASK {{ ?s {nested} }}",
        f"ASK {nested}",
    ):
        _parses_or_is_located(query, dialect="sparql")
    marks = opening * depth + "A" + closing * depth
    _parses_or_is_located(f"ASK FROM STREAM S <urn:s> {{ SEQ ({marks}) }}", dialect="spaseq")


def _parses_or_is_located(text: str, *, dialect: str) -> None:
    reader, writer = PARSERS[dialect]
    try:
        query = reader(text)
    except QueryError as error:
        lines = text.split("\n")
        for each in (error, *error.also):
            assert 1 <= each.line <= len(lines)
            assert 1 <= each.column <= len(lines[each.line - 1]) + 1
            assert 0 <= each.span.start <= each.span.end <= len(text)
            assert each.code in each.render()
            each.render().encode()
    else:
        assert reader(writer(query)) == query
