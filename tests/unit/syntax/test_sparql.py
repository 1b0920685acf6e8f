"""How SPARQL's shorthand becomes plain nodes: names, literals, triples, paths, expressions, modifiers."""

from __future__ import annotations

import pytest
from pyoxigraph import Literal, NamedNode

from spaseq.algebra.expressions import (
    Aggregate,
    Arithmetic,
    Call,
    Compare,
    Constant,
    Exists,
    Expression,
    FunctionCall,
    In,
    Or,
    Unary,
    Var,
)
from spaseq.algebra.patterns import (
    Inverse,
    Link,
    NegatedSet,
    Path,
    PathAlternative,
    PathRepeat,
    PathSequence,
    TriplePattern,
)
from spaseq.syntax import parse_sparql
from spaseq.syntax.ast import (
    AskQuery,
    ConstructQuery,
    DescribeQuery,
    FilterClause,
    Group,
    GroupElement,
    GroupKey,
    OrderCondition,
    SelectQuery,
    SubSelect,
    Triples,
    UnionClause,
    ValuesClause,
)

EX = "http://ex/"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XSD = "http://www.w3.org/2001/XMLSchema#"


def iri(local: str) -> Constant:
    """A constant of the example namespace."""
    return Constant(NamedNode(EX + local))


def typed(value: str, datatype: str) -> Constant:
    """A literal of an XSD type."""
    return Constant(Literal(value, datatype=NamedNode(XSD + datatype)))


def elements(body: str) -> tuple[GroupElement, ...]:
    """What stands in a group."""
    query = parse_sparql(f"PREFIX : <{EX}> ASK {{ {body} }}")
    assert isinstance(query, AskQuery)
    assert isinstance(query.where, Group)
    return query.where.elements


def triples(body: str) -> tuple[TriplePattern, ...]:
    """The triples of a group that holds nothing else."""
    (only,) = elements(body)
    assert isinstance(only, Triples)
    return only.triples


def condition(text: str) -> Expression:
    """An expression, by way of a filter."""
    (only,) = elements(f"FILTER({text})")
    assert isinstance(only, FilterClause)
    return only.condition


def path(text: str) -> object:
    """A predicate, by way of a triple."""
    return triples(f"?s {text} ?o")[0].predicate


def select(text: str) -> SelectQuery:
    """A SELECT query."""
    query = parse_sparql(text)
    assert isinstance(query, SelectQuery)
    return query


# --- names ---


def test_prefixed_names_become_iris_and_keep_their_spelling() -> None:
    """Escapes in the local part are resolved; the author's spelling is kept for printing."""
    (triple,) = triples("?s :p :a\\~b%20")
    assert triple.object == iri("a~b%20")
    assert isinstance(triple.object, Constant)
    assert triple.object.written == ":a\\~b%20"


def test_relative_iris_are_resolved_against_the_base_that_holds() -> None:
    """A later BASE is itself resolved, and holds for the prefixes after it."""
    query = select("BASE <http://a/b/> PREFIX x: <c#> BASE <../d/> SELECT * { <e> x:f <#g> }")
    assert isinstance(query.where, Group)
    (block,) = query.where.elements
    assert isinstance(block, Triples)
    terms = [
        node.term.value
        for t in block.triples
        for node in (t.subject, t.predicate, t.object)
        if isinstance(node, Constant)
    ]
    assert terms == ["http://a/d/e", "http://a/b/c#f", "http://a/d/#g"]


def test_the_caller_may_lend_a_base() -> None:
    """A query that was read from somewhere resolves against that place."""
    query = parse_sparql("DESCRIBE <x>", base="http://here/dir/file.rq")
    assert isinstance(query, DescribeQuery)
    assert query.resources == (Constant(NamedNode("http://here/dir/x")),)


def test_used_prefixes_are_remembered() -> None:
    """The prologue knows which of its prefixes the query needs."""
    query = select("PREFIX a: <urn:a> PREFIX b: <urn:b> SELECT * { ?s a:p 'x'^^a:t }")
    assert query.prologue.used_prefixes == {"a"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("5", typed("5", "integer")),
        ("-05", typed("-05", "integer")),
        ("2.50", typed("2.50", "decimal")),
        ("1e3", typed("1e3", "double")),
        ("TRUE", typed("true", "boolean")),
        ("'a'@EN-gb", Constant(Literal("a", language="en-gb"))),
        ("'a'^^:t", Constant(Literal("a", datatype=NamedNode(EX + "t")))),
        ("()", Constant(NamedNode(RDF + "nil"))),
    ],
)
def test_literals_keep_their_lexical_form(text: str, expected: Constant) -> None:
    """`05` stays `05`; the form of a number decides its type."""
    assert triples(f"?s :p {text}")[0].object == expected


# --- triples ---


def test_lists_of_predicates_and_objects_are_spelled_out() -> None:
    """`;` repeats the subject, `,` subject and predicate, stray `;` mean nothing."""
    assert triples("?s :p 1, 2 ;; a :C ; .") == (
        TriplePattern(Var("s"), iri("p"), typed("1", "integer")),
        TriplePattern(Var("s"), iri("p"), typed("2", "integer")),
        TriplePattern(Var("s"), Constant(NamedNode(RDF + "type")), iri("C")),
    )


def test_fresh_blank_nodes_keep_clear_of_labels_in_the_text() -> None:
    """`[]` never becomes a label that the author uses elsewhere."""
    labels = {
        node.name
        for t in triples("[] :p _:b0 . [] :p _:b1")
        for node in (t.subject, t.object)
        if isinstance(node, Var)
    }
    assert len(labels) == 4
    assert all(label.startswith("_:") for label in labels)


def test_brackets_become_triples_of_a_hidden_variable() -> None:
    """`[ … ]` as subject and object, nested, and alone."""
    found = triples("[ :a 1 ] :b [ :c [ :d 2 ] ] . [ :e 3 ]")
    assert len(found) == 5
    assert {t.predicate for t in found} == {iri(name) for name in "abcde"}
    assert all(isinstance(t.subject, Var) and t.subject.hidden for t in found)


def test_collections_become_first_and_rest() -> None:
    """`(1 2)` is two cells that end in rdf:nil."""
    found = triples("?s :p (1 2)")
    first, rest = Constant(NamedNode(RDF + "first")), Constant(NamedNode(RDF + "rest"))
    assert [t.predicate for t in found] == [iri("p"), first, rest, first, rest]
    assert found[0].object == found[1].subject
    assert found[2].object == found[3].subject
    assert found[-1].object == Constant(NamedNode(RDF + "nil"))


def test_a_long_list_of_triples_is_read_in_linear_time() -> None:
    """Five thousand triples are no special case."""
    assert len(triples("?s :p ?o . " * 5_000)) == 5_000


def test_triples_on_both_sides_of_a_filter_are_two_elements() -> None:
    """The order of elements is kept; only adjacent triples are one block."""
    found = elements("?a :p ?b . ?b :p ?c FILTER(?c) ?c :p ?d . { } ?d :p ?e")
    assert [type(element).__name__ for element in found] == [
        "Triples",
        "FilterClause",
        "Triples",
        "UnionClause",
        "Triples",
    ]


# --- paths ---


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (":p", iri("p")),
        ("(:p)", iri("p")),
        ("^:p", Inverse(Link(iri("p")))),
        (":p/:q|:r", PathAlternative((PathSequence((Link(iri("p")), Link(iri("q")))), Link(iri("r"))))),
        ("^:p*", Inverse(PathRepeat(Link(iri("p")), "*"))),
        ("(^:p)+", PathRepeat(Inverse(Link(iri("p"))), "+")),
        (":p?", PathRepeat(Link(iri("p")), "?")),
        ("!:p", NegatedSet((iri("p"),), ())),
        ("!(:p|^:q|:r)", NegatedSet((iri("p"), iri("r")), (iri("q"),))),
        ("!()", NegatedSet((), ())),
        ("(:p/:q)/:r", PathSequence((PathSequence((Link(iri("p")), Link(iri("q")))), Link(iri("r"))))),
    ],
)
def test_paths(text: str, expected: Path | Constant) -> None:
    """Every path operator with its precedence; one predicate alone is no path."""
    assert path(text) == expected


# --- expressions ---


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("?a || ?b || ?c", Or(Or(Var("a"), Var("b")), Var("c"))),
        ("?a - ?b - ?c", Arithmetic("-", Arithmetic("-", Var("a"), Var("b")), Var("c"))),
        ("?a + ?b * ?c", Arithmetic("+", Var("a"), Arithmetic("*", Var("b"), Var("c")))),
        ("?a +1", Arithmetic("+", Var("a"), typed("1", "integer"))),
        ("?a + +1", Arithmetic("+", Var("a"), typed("+1", "integer"))),
        ("-?a", Unary("-", Var("a"))),
        ("-1", typed("-1", "integer")),
        ("!BOUND(?a)", Unary("!", Call("BOUND", (Var("a"),)))),
        ("?a NOT IN ()", In(Var("a"), (), negated=True)),
        ("?a IN (1)", In(Var("a"), (typed("1", "integer"),))),
        ("isIRI(?a) = true", Compare("=", Call("ISIRI", (Var("a"),)), typed("true", "boolean"))),
        (":f(DISTINCT ?a, 1)", FunctionCall(iri("f"), (Var("a"), typed("1", "integer")), distinct=True)),
        (":f()", FunctionCall(iri("f"), ())),
        ("NOT EXISTS {}", Exists(Group(()), negated=True)),
    ],
)
def test_expressions(text: str, expected: Expression) -> None:
    """Precedence, associativity, signs, calls."""
    assert condition(text) == expected


def test_aggregates() -> None:
    """COUNT(*), DISTINCT, and the separator of GROUP_CONCAT."""
    query = select(
        "SELECT (COUNT(DISTINCT *) AS ?a) (sum(?x) AS ?b) (GROUP_CONCAT(?x; separator='|') AS ?c) {}"
    )
    assert query.select.items is not None
    assert [item.expression for item in query.select.items] == [
        Aggregate("COUNT", None, distinct=True),
        Aggregate("SUM", Var("x")),
        Aggregate("GROUP_CONCAT", Var("x"), separator="|"),
    ]


# --- groups and queries ---


def test_nested_groups_and_sub_selects() -> None:
    """A group alone is a union of one; a sub-SELECT is a group of its own kind."""
    found = elements("{ ?s ?p ?o } UNION { SELECT * {} } { }")
    assert isinstance(found[0], UnionClause)
    assert isinstance(found[0].groups[1], SubSelect)
    assert found[1] == UnionClause((Group(()),))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("VALUES ?x { 1 UNDEF }", ValuesClause((Var("x"),), ((Literal(1),), (None,)))),
        (
            "VALUES (?x ?y) { (1 :a) }",
            ValuesClause((Var("x"), Var("y")), ((Literal(1), NamedNode(EX + "a")),)),
        ),
        ("VALUES () { () }", ValuesClause((), ((),))),
    ],
)
def test_inline_data(text: str, expected: ValuesClause) -> None:
    """One variable, several, none."""
    assert elements(text) == (expected,)


def test_solution_modifiers() -> None:
    """All of them at once, LIMIT and OFFSET in either order."""
    text = "SELECT ?k {} GROUP BY ?k (?x+1 AS ?y) HAVING(COUNT(*)>1) ORDER BY DESC(?k) ASC(?y) OFFSET 2 LIMIT 3 VALUES ?k {1}"
    modifiers = select(text).modifiers
    assert modifiers.group_by[0] == GroupKey(Var("k"))
    assert modifiers.group_by[1].variable == Var("y")
    assert modifiers.order_by == (OrderCondition(Var("k"), descending=True), OrderCondition(Var("y")))
    assert (modifiers.limit, modifiers.offset) == (3, 2)
    assert modifiers.values is not None


def test_the_other_query_forms() -> None:
    """CONSTRUCT with and without a template, DESCRIBE with and without a pattern."""
    long, short = (
        parse_sparql("CONSTRUCT { ?s ?p _:x } { ?s ?p ?o }"),
        parse_sparql("CONSTRUCT WHERE { ?s ?p ?o }"),
    )
    assert isinstance(long, ConstructQuery)
    assert long.template == (TriplePattern(Var("s"), Var("p"), Var("_:x")),)
    assert isinstance(short, ConstructQuery)
    assert short.template is None
    assert short.where == long.where
    describe = parse_sparql("DESCRIBE * FROM <urn:a> FROM NAMED <urn:b> { ?s ?p ?o }")
    assert isinstance(describe, DescribeQuery)
    assert describe.resources is None
    assert [clause.named for clause in describe.datasets] == [False, True]
