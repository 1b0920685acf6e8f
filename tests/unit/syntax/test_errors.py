"""Each way a text can be wrong: its code, its place, its words."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from spaseq.errors import InvalidArgument, QueryError
from spaseq.languages.spaseq.dialect import parse
from spaseq.syntax import errors, parse_sparql
from spaseq.syntax.parser import MAX_DEPTH

HEAD = "PREFIX ex: <http://ex/> PREFIX foaf: <http://foaf/>\n"

# (class, query, line, column, words of the rendered error)
SPARQL = [
    (errors.UnexpectedToken, "SELECT * { ?s ?p }", 1, 18, "expected a term"),
    (errors.UnexpectedToken, "SELECT * { ?s ?p ?o FILTR(?o) }", 1, 21, "did you mean FILTER?"),
    (errors.UnexpectedToken, "SELECT * { FILTER(STRLNE(?x) > 1) }", 1, 19, "did you mean STRLEN?"),
    (
        errors.UnexpectedToken,
        "SELECT * { FILTER STRLEN(STR(?x)) < 5 }",
        1,
        35,
        "FILTER (STRLEN(STR(?x)) < …)",
    ),
    (errors.UnexpectedToken, "SELECT * { ?s ?p ?o } HAVING COUNT(*) > 1", 1, 39, "HAVING (COUNT(*) > …)"),
    (errors.UnexpectedToken, "SELECT ?a, ?b {}", 1, 10, "separated by spaces"),
    (errors.UnexpectedToken, "SELECT COUNT(?x) {}", 1, 8, "(COUNT(…) AS ?name)"),
    (errors.UnexpectedToken, "SELECT * {\n  FILTER(?a > )\n}", 2, 15, "expected an expression"),
    (errors.UnexpectedToken, "ASK { FILTER ?x }", 1, 14, "a condition in parentheses or a function call"),
    (errors.UnexpectedEnd, "SELECT * { ?s ?p ?o\n\n\n", 1, 20, "a `}` may be missing"),
    (errors.UnexpectedEnd, "", 1, 1, "the query is empty"),
    (errors.BadCharacter, "SELECT * { ?s ?p ?o } §", 1, 23, "`§`"),
    (errors.BadCharacter, "ASK { FILTER(?a & ?b) }", 1, 17, "written &&"),
    (errors.BadCharacter, "ASK { ?s ?p \ud800 }", 1, 13, "U+D800"),
    (errors.UnterminatedString, "ASK { ?s ?p 'a }", 1, 13, "no closing '"),
    (errors.UnterminatedString, 'ASK { ?s ?p """a" }', 1, 13, 'no closing """'),
    (errors.BadEscape, "ASK { ?s ?p 'a\\q' }", 1, 15, "`\\q` is not an escape"),
    (errors.BadIri, "ASK { ?s ?p <http://a b> }", 1, 13, "it holds a space"),
    (errors.BadIri, "ASK { ?s ?p <http://a \n }", 1, 13, "no `>` closes it"),
    (errors.BadIri, "ASK { ?s ?p <http://a/%zz> }", 1, 13, "percent"),
    (errors.BadLanguageTag, "ASK { ?s ?p 'a'@abcdefghijk }", 1, 16, "`@abcdefghijk`"),
    (errors.TooDeep, "ASK { FILTER(" + "?x + " * 300 + "1) }", 1, None, f"{MAX_DEPTH} levels"),
    (errors.NumberTooLong, "SELECT * {} LIMIT " + "9" * 5000, 1, 19, "5000 digits"),
    (errors.WrongArgumentCount, "ASK { FILTER(SUBSTR(?x)) }", 1, 14, "SUBSTR takes 2 or 3 arguments, not 1"),
    (errors.WrongArgumentCount, "ASK { FILTER(NOW(1)) }", 1, 14, "NOW takes no arguments, not 1"),
    (errors.BoundNeedsVariable, "ASK { FILTER(BOUND(1)) }", 1, 20, "BOUND takes a variable"),
    (errors.UndefinedPrefix, HEAD + "ASK { ?s foa:p ?o }", 2, 10, "did you mean `foaf`?"),
    (errors.BlankNodeReused, "ASK { _:a ?p ?o OPTIONAL { ?s ?p _:a } }", 1, 34, "`_:a`"),
    (errors.BlankNodeReused, "ASK { _:a ?p ?o BIND(1 AS ?x) _:a ?p ?o }", 1, 31, "two basic graph patterns"),
    (errors.BlankNodeReused, "ASK { _:a ?p ?o FILTER EXISTS { _:a ?p ?o } }", 1, 33, "another label"),
    (errors.BindInScope, "ASK { ?s ?p ?o BIND(1 AS ?o) }", 1, 26, "BIND cannot set ?o"),
    (errors.BindInScope, "ASK { { SELECT ?x {} } BIND(1 AS ?x) }", 1, 34, "uses it before"),
    (errors.DuplicateAlias, "SELECT (1 AS ?x) (2 AS ?x) {}", 1, 24, "the name ?x twice"),
    (errors.DuplicateAlias, "SELECT (1 AS ?x) ?x {}", 1, 18, "the name ?x twice"),
    (errors.AliasInScope, "SELECT (1 AS ?o) { ?s ?p ?o }", 1, 14, "SELECT cannot name an expression ?o"),
    (errors.AliasInScope, "SELECT ?o { ?s ?p ?o } GROUP BY (1 AS ?o)", 1, 39, "GROUP BY cannot name"),
    (
        errors.UngroupedVariable,
        "SELECT ?o { ?s ?p ?o } GROUP BY ?s",
        1,
        8,
        "GROUP BY ?o, or write SAMPLE(?o)",
    ),
    (errors.UngroupedVariable, "SELECT (?o + COUNT(*) AS ?n) { ?s ?p ?o }", 1, 9, "?o is neither"),
    (errors.SelectStarGrouped, "SELECT * { ?s ?p ?o } GROUP BY ?s", 1, 1, "SELECT *"),
    (errors.NestedAggregate, "SELECT (SUM(COUNT(?x)) AS ?n) {}", 1, 13, "COUNT stands inside SUM"),
    (errors.MisplacedAggregate, "ASK { FILTER(COUNT(?x) > 1) }", 1, 14, "in FILTER"),
    (errors.MisplacedAggregate, "ASK { BIND(SUM(?x) AS ?y) }", 1, 12, "in BIND"),
    (errors.MisplacedAggregate, "SELECT (1 AS ?x) {} GROUP BY (SUM(?y))", 1, 31, "in GROUP BY"),
    (errors.ValuesRowLength, "ASK { VALUES (?a ?b) {\n (1) } }", 2, 2, "1 value, but there are 2 variables"),
    (errors.ValuesVariableTwice, "ASK { VALUES (?a ?a) { (1 2) } }", 1, 18, "?a twice"),
]

STREAM = "ASK FROM STREAM S <urn:s>\n"

SPASEQ = [
    (errors.RelativeIri, "ASK FROM STREAM S <power> {}", 1, 19, "<power> has no base"),
    (errors.RelativeIri, "PREFIX : <#> ASK FROM STREAM S <urn:s> {}", 1, 10, "BASE"),
    (errors.UnexpectedToken, STREAM + "{ SEQ (A, B, C,) }", 2, 16, "a name"),
    (errors.UnexpectedToken, STREAM + "{ SEQ (A B) }", 2, 10, "a sequence operator"),
    (errors.UnexpectedToken, STREAM + "{ DEFINE A ON S {} }", 2, 10, "expected `GPM`"),
    (errors.UnexpectedToken, STREAM + "{ DEFINE GPM A ON {} }", 2, 19, "a name"),
    (errors.UnexpectedToken, "ASK FROM S <urn:s> {}", 1, 10, "expected `STREAM`"),
    (errors.UnexpectedToken, "ASK WITHIN 5 FROM STREAM S <urn:s> {}", 1, 14, "MINUTES"),
    (errors.UnexpectedToken, "SELECT REDUCED ?x FROM STREAM S <urn:s> {}", 1, 8, "`DISTINCT`"),
    (errors.UnexpectedEnd, STREAM + "{ SEQ (A", 2, 9, "a `)` may be missing"),
    (errors.BadCharacter, STREAM + "{ SEQ (A^) }", 2, 9, "in SEQ"),
    (
        errors.BadCharacter,
        STREAM + "{ SEQ (A -> B) }",
        2,
        10,
        "help: one step after another is written `A ; B`",
    ),
    (
        errors.BadCharacter,
        STREAM + "{ SEQ (A → B) }",
        2,
        10,
        "help: one step after another is written `A ; B`",
    ),
    (
        errors.BadCharacter,
        STREAM + "{ SEQ (A => B) }",
        2,
        10,
        "help: one step after another is written `A ; B`",
    ),
    (errors.UnexpectedToken, STREAM + "{ SEQ (A then B) }", 2, 10, "help: one step after another is written"),
    (errors.UnexpectedToken, STREAM + "{ SEQ (!Late ; B) }", 2, 8, "the step that must not occur: `Late!`"),
    (errors.UnexpectedToken, STREAM + "{ SEQ (A ; !(B|C)) }", 2, 12, "the step that must not occur: `B!`"),
    (errors.UnexpectedToken, STREAM + "WITHIN 1 HOUR {}", 2, 1, "WITHIN stands before FROM STREAM"),
    (errors.UnexpectedToken, STREAM + "{ SEQ (A) } WITHIN 1 HOUR", 2, 13, "WITHIN stands before FROM STREAM"),
    (errors.UnexpectedToken, STREAM + "{ SEQ (A) } LIMIT 5", 2, 13, "a SPAseq query has no LIMIT"),
    (errors.UnexpectedToken, STREAM + "{ SEQ (A) } OFFSET 5", 2, 13, "a SPAseq query has no LIMIT"),
    (errors.UnexpectedToken, STREAM + "{ SEQ (A) } GROUP BY ?x", 2, 13, "a SPAseq query has no GROUP BY"),
    (errors.UnexpectedToken, STREAM + "GROUP BY ?x { SEQ (A) }", 2, 1, "PARTITION BY evaluates it for every"),
    (errors.UnexpectedToken, STREAM + "{ SEQ (A) } HAVING (?x)", 2, 13, "a SPAseq query has no GROUP BY"),
    (errors.UnexpectedToken, STREAM + "{ SEQ (A) } ORDER BY ?x", 2, 13, "matches come in order of time"),
    (
        errors.UnexpectedToken,
        STREAM + "{ SEQ (A) } PARTITION BY ?x",
        2,
        13,
        "PARTITION BY stands after FROM STREAM",
    ),
    (errors.UnexpectedToken, "SELECT * WHERE { ?s ?p ?o }", 1, 10, "FROM STREAM name <iri>"),
    (errors.PathInsteadOfQuery, "queries/rise.spaseq", 1, 1, "Path('queries/rise.spaseq').read_text()"),
    (errors.PathInsteadOfQuery, __file__, 1, 1, "names a file"),
    (errors.TooDeep, STREAM + "{ SEQ (A" + "+" * 300 + ") }", 2, None, "levels"),
    (errors.NumberTooLong, STREAM + "{ SEQ (A{" + "1" * 2000 + "}) }", 2, 10, "2000 digits"),
    (
        errors.AliasInScope,
        "SELECT (1 AS ?x) FROM STREAM S <urn:s> { DEFINE GPM A ON S { ?x ?y ?z } }",
        1,
        14,
        "?x",
    ),
    (errors.DuplicateAlias, "SELECT (1 AS ?x) (2 AS ?x) FROM STREAM S <urn:s> {}", 1, 24, "?x twice"),
    (
        errors.NestedAggregate,
        "SELECT (SUM(AVG(?x)) AS ?n) FROM STREAM S <urn:s> {}",
        1,
        13,
        "AVG stands inside SUM",
    ),
    (
        errors.MisplacedAggregate,
        STREAM + "{ DEFINE GPM A ON S { OPTIONAL { FILTER(SUM(?x) > 1) } } }",
        2,
        41,
        "of the GPM itself",
    ),
    (
        errors.BlankNodeReused,
        STREAM + "{ DEFINE GPM A ON S { _:a ?p 1 } DEFINE GPM B ON S { _:a ?p 2 } }",
        2,
        54,
        "`_:a`",
    ),
]


@pytest.mark.parametrize(("kind", "text", "line", "column", "words"), SPARQL)
def test_a_wrong_sparql_query_is_told_so(
    kind: type[QueryError], text: str, line: int, column: int | None, words: str
) -> None:
    """The class, the line and column, and what it says."""
    with pytest.raises(kind) as caught:
        parse_sparql(text, "wrong.rq")
    _check(caught.value, kind, line, column, words, "wrong.rq")


@pytest.mark.parametrize(("kind", "text", "line", "column", "words"), SPASEQ)
def test_a_wrong_spaseq_query_is_told_so(
    kind: type[QueryError], text: str, line: int, column: int | None, words: str
) -> None:
    """The class, the line and column, and what it says."""
    with pytest.raises(kind) as caught:
        parse(text, name="wrong.spaseq")
    _check(caught.value, kind, line, column, words, "wrong.spaseq")


def _check(
    error: QueryError, kind: type[QueryError], line: int, column: int | None, words: str, name: str
) -> None:
    assert type(error) is kind
    assert error.line == line
    assert column is None or error.column == column
    assert words in error.render()
    assert not error.text or f"{name}:{line}:" in error.render()


def test_every_error_class_is_shown_here() -> None:
    """A new kind of error needs a query that makes it."""
    defined = {
        kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, QueryError)
    }
    shown = {case[0] for case in (*SPARQL, *SPASEQ)}
    assert defined - {QueryError} == shown


def test_codes_are_unique_and_in_their_range() -> None:
    """SPQ0xx is about letters and grammar, SPQ1xx about SPARQL's rules; each class is explained."""
    kinds = {case[0] for case in (*SPARQL, *SPASEQ)}
    codes = [kind.code for kind in kinds]
    assert len(set(codes)) == len(codes)
    assert all(code.startswith(("SPQ0", "SPQ1")) for code in codes)
    assert all(kind.__doc__ and "\n" not in kind.__doc__ for kind in kinds)


def test_all_undefined_prefixes_are_found_at_once() -> None:
    """The first one is raised, each further one is with it, and one is told once."""
    with pytest.raises(errors.UndefinedPrefix) as caught:
        parse_sparql("ASK { a:x b:y c:z . a:x b:y 'x'^^d:t }")
    found = [caught.value, *caught.value.also]
    assert [error.fields["prefix"] for error in found] == ["a", "b", "c", "d"]
    assert [error.column for error in found] == [7, 11, 15, 34]


def test_errors_of_different_kinds_come_in_the_order_of_the_text() -> None:
    """Static errors are collected and sorted by place."""
    with pytest.raises(QueryError) as caught:
        parse_sparql("SELECT (1 AS ?s) { ?s a:p ?o VALUES (?a) { (1 2) } BIND(STRLEN() AS ?o) }")
    assert [error.code for error in (caught.value, *caught.value.also)] == [
        "SPQ105",
        "SPQ101",
        "SPQ110",
        "SPQ011",
        "SPQ103",
    ]


def test_no_more_than_six_expectations_are_listed() -> None:
    """A long list would not be read."""
    with pytest.raises(errors.UnexpectedToken) as caught:
        parse_sparql("SELECT * { ?s ?p ?o } )")
    assert caught.value.fields["expected"].count(",") <= 5
    assert caught.value.fields["expected"].endswith("…")


def test_a_place_after_codepoint_escapes_is_right() -> None:
    """Columns count what the author wrote."""
    with pytest.raises(errors.UnexpectedToken) as caught:
        parse_sparql("SELECT ?\\u0061 { ?\\u0061 ?b } }")
    assert caught.value.column == 29


@pytest.mark.parametrize("text", ["SELECT * { } x.rq", "x" * 10_000, "a\0b", "no such file"])
def test_a_wrong_query_that_is_no_path_is_told_as_a_query(text: str) -> None:
    """Whatever the text, it is not looked for in the file system where it cannot be there."""
    with pytest.raises(QueryError) as caught:
        parse(text)
    assert not isinstance(caught.value, errors.PathInsteadOfQuery)


@pytest.mark.parametrize("given", [None, 5, b"ASK {}", Path("rise.spaseq"), ["ASK {}"]])
def test_only_text_is_parsed(given: object) -> None:
    """Anything else is refused with a sentence that shows it."""
    for parser in (parse, parse_sparql):
        with pytest.raises(InvalidArgument, match="a query is a text, not"):
            parser(given)  # type: ignore[operator]
