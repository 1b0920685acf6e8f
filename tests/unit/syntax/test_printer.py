"""The printed form: what people would write, and what parses back."""

from __future__ import annotations

import pytest
from pyoxigraph import Literal, NamedNode

from spaseq.algebra.expressions import (
    And,
    Arithmetic,
    Constant,
    Expression,
    GpmFunction,
    In,
    Iterated,
    Or,
    Unary,
    Var,
)
from spaseq.algebra.patterns import Inverse, Link, NegatedSet, Path, PathAlternative, PathRepeat, PathSequence
from spaseq.languages.spaseq import printer
from spaseq.languages.spaseq.dialect import parse
from spaseq.languages.spaseq.printer import format_sequence
from spaseq.languages.spaseq.tree import (
    Conjunction,
    Disjunction,
    Name,
    Quantified,
    SequenceExpression,
)
from spaseq.syntax import format_query, parse_sparql
from spaseq.syntax.printer import format_expression, format_group, format_path

A, B, C = Var("a"), Var("b"), Var("c")
ONE = Constant(Literal(1))
P, Q = Link(Constant(NamedNode("urn:p"))), Link(Constant(NamedNode("urn:q")))


def test_a_spaseq_query_is_laid_out_in_lines() -> None:
    """Keywords in capitals, one clause to a line, subjects and prefixes as the author had them."""
    text = """
        prefix ex: <http://ex/> select ?x (count(B) as ?n) within 1 hours sliding from stream S ex:s
        partition by (?x) where seq ((A);(B|C)+) {
        define gpm A on S { ?x ex:p 1, 2; a ex:T . ?y ex:q "\\u00e9\\n" filter((?y > 3) && (?x = 1)) }
        define gpm B on S { optional { ?x ex:r ?z } bind(((1+2)*3) as ?k) } define gpm C on S { } }"""
    assert printer.format_query(parse(text)) == (
        """\
PREFIX ex: <http://ex/>
SELECT ?x (COUNT(B) AS ?n)
WITHIN 1 HOUR SLIDING
FROM STREAM S ex:s
PARTITION BY ?x
WHERE {
  SEQ (A; (B | C)+)

  DEFINE GPM A ON S {
    ?x ex:p 1, 2 ;
       a ex:T .
    ?y ex:q "é\\n" .
    FILTER (?y > 3 && ?x = 1)
  }

  DEFINE GPM B ON S {
    OPTIONAL {
      ?x ex:r ?z .
    }
    BIND ((1 + 2) * 3 AS ?k)
  }

  DEFINE GPM C ON S {}
}
"""
    )


def test_a_sparql_query_is_laid_out_in_lines() -> None:
    """Modifiers have their lines; a sub-SELECT is indented as a whole."""
    text = """select distinct ?x where { { select ?x { ?x ?p ?o } limit 1 } values (?x ?y) { (1 undef) } }
              group by ?x having(count(*) > 1) order by desc(?x) offset 2 values ?x { 1 }"""
    assert format_query(parse_sparql(text)) == (
        """\
SELECT DISTINCT ?x
WHERE {
  {
    SELECT ?x
    WHERE {
      ?x ?p ?o .
    }
    LIMIT 1
  }
  VALUES (?x ?y) {
    (1 UNDEF)
  }
}
GROUP BY ?x
HAVING (COUNT(*) > 1)
ORDER BY DESC(?x)
OFFSET 2
VALUES ?x { 1 }
"""
    )


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (Or(And(A, B), C), "?a && ?b || ?c"),
        (And(Or(A, B), C), "(?a || ?b) && ?c"),
        (Or(A, Or(B, C)), "?a || (?b || ?c)"),
        (Arithmetic("-", A, Arithmetic("-", B, C)), "?a - (?b - ?c)"),
        (Arithmetic("*", Arithmetic("+", A, B), C), "(?a + ?b) * ?c"),
        (Unary("-", ONE), "- 1"),
        (Unary("-", A), "-?a"),
        (Unary("!", Unary("!", A)), "!(!?a)"),
        (Unary("!", In(A, (ONE,), negated=True)), "!(?a NOT IN (1))"),
        (Arithmetic("-", A, Constant(Literal(-1))), "?a - -1"),
        (GpmFunction("COUNT", "A"), "COUNT(A)"),
        (Iterated("GROUP_CONCAT", A, ", "), 'GROUP_CONCAT(?a; SEPARATOR = ", ")'),
    ],
)
def test_parentheses_stand_only_where_they_are_needed(node: Expression, text: str) -> None:
    """The shape of an expression shows in its text, with nothing to spare."""
    assert format_expression(node) == text


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (PathAlternative((PathSequence((P, Q)), P)), "<urn:p>/<urn:q>|<urn:p>"),
        (PathSequence((PathAlternative((P, Q)), P)), "(<urn:p>|<urn:q>)/<urn:p>"),
        (PathRepeat(Inverse(P), "*"), "(^<urn:p>)*"),
        (Inverse(PathRepeat(P, "*")), "^<urn:p>*"),
        (NegatedSet((P.iri,), (Q.iri,)), "!(<urn:p>|^<urn:q>)"),
        (NegatedSet((), (Q.iri,)), "!^<urn:q>"),
        (NegatedSet((), ()), "!()"),
    ],
)
def test_paths_keep_their_shape(path: Path, text: str) -> None:
    """Path operators with the parentheses they need."""
    assert format_path(path) == text


def test_sequences_keep_their_shape() -> None:
    """`&` binds tighter than `|`, a quantifier tighter than both."""
    a, b, c = map(Name, "ABC")
    steps = (
        Disjunction((a, Conjunction((b, c)))),
        Conjunction((Disjunction((a, b)), c)),
        Quantified(Disjunction((a, b)), "{", 2, None, ";"),
        Quantified(a, "{", 3, 3),
        Disjunction((a, Quantified(b, "+"))),
    )
    text = format_sequence(SequenceExpression(steps, (";", ",", ":", ";")))
    assert text == "A | B & C; (A | B) & C, (A | B){2,}[;]: A{3}; A | B+"


def test_a_group_alone_can_be_printed() -> None:
    """Without a prologue names are written in full."""
    query = parse_sparql("PREFIX : <urn:x:> ASK { ?s :p 'x'^^:t }")
    assert query.where is not None
    assert format_group(query.where) == '{\n  ?s <urn:x:p> "x"^^<urn:x:t> .\n}'
    assert format_group(query.where, query.prologue) == '{\n  ?s :p "x"^^:t .\n}'


def test_a_prefixed_spelling_is_used_only_if_it_still_means_the_same() -> None:
    """A spelling whose prefix now stands for something else gives way to the full IRI."""
    stale = Constant(NamedNode("urn:old:p"), "ex:p")
    query = parse_sparql("PREFIX ex: <urn:new:> ASK {}")
    assert format_expression(stale, query.prologue) == "<urn:old:p>"
