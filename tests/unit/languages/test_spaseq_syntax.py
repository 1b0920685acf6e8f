"""SPAseq texts: the clauses of semantics 1.1, the original spellings, the papers' queries."""

from __future__ import annotations

from pathlib import Path
from time import process_time

import pytest
from pyoxigraph import Literal, NamedNode

from spaseq.algebra.expressions import Aggregate, Arithmetic, Compare, Constant, GpmFunction, Iterated, Var
from spaseq.languages.spaseq.dialect import parse
from spaseq.languages.spaseq.printer import format_query
from spaseq.languages.spaseq.tree import (
    Ask,
    Conjunction,
    Construct,
    Disjunction,
    GpmDefinition,
    Name,
    Quantified,
    SequenceExpression,
    SpaseqQuery,
    Step,
    WindowClause,
)
from spaseq.syntax.ast import FilterClause, Group, SelectClause
from support.speed import yardstick

QUERIES = sorted((Path(__file__).parent / "queries").glob("*.spaseq"))


def with_seq(sequence: str) -> SequenceExpression:
    """The tree of a sequence expression."""
    clause = parse(f"ASK FROM STREAM S <urn:s> {{ SEQ ({sequence}) }}").where[0]
    assert isinstance(clause, SequenceExpression)
    return clause


def step(text: str) -> Step:
    """The tree of a single step."""
    (only,) = with_seq(text).steps
    return only


def with_gpm(pattern: str) -> GpmDefinition:
    """The tree of a GPM's definition."""
    clause = parse(
        f"PREFIX : <urn:> ASK FROM STREAM S <urn:s> {{ DEFINE GPM A ON S {{ {pattern} }} }}"
    ).where[0]
    assert isinstance(clause, GpmDefinition)
    return clause


def head(text: str) -> SpaseqQuery:
    """The tree of a query whose body is empty."""
    return parse(f"{text} {{ }}")


# --- whole queries ---


@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.stem)
def test_realistic_queries_survive_the_round_trip(path: Path) -> None:
    """The papers' queries, and one with every construct, parse to what their printed form parses to."""
    query = parse(path.read_text("utf-8"), name=path.name)
    assert parse(format_query(query)) == query


def test_the_first_query_of_the_paper_is_read_as_meant() -> None:
    """Query 1: three streams, `A; B+, C`, dots after filters, a GRAPH block."""
    query = parse(next(path for path in QUERIES if path.stem.startswith("q1")).read_text("utf-8"))
    assert [stream.alias for stream in query.streams] == ["S1", "S2", "S3"]
    assert query.window == WindowClause(30, "MINUTE")
    sequence, first, *_ = query.where
    assert sequence == SequenceExpression((Name("A"), Quantified(Name("B"), "+"), Name("C")), (";", ","))
    assert isinstance(first, GpmDefinition)
    assert isinstance(first.pattern, Group)
    assert [type(element).__name__ for element in first.pattern.elements] == [
        "Triples",
        "FilterClause",
        "GraphClause",
    ]


@pytest.mark.parametrize(
    "where",
    [
        "WHERE { SEQ (A) DEFINE GPM A ON S { ?s ?p ?o } }",
        "where { seq (A) define gpm A on S { ?s ?p ?o } }",
        "{ SEQ (A) DEFINE GPM A ON S { ?s ?p ?o } }",
        "WHERE SEQ (A) { DEFINE GPM A ON S { ?s ?p ?o } }",
        "SEQ (A) { DEFINE GPM A ON S { ?s ?p ?o } }",
    ],
)
def test_the_original_spellings_mean_the_same(where: str) -> None:
    """WHERE may be missing, SEQ may stand before the braces, keywords have any case."""
    plain = parse("ASK FROM STREAM S <urn:s> WHERE { SEQ (A) DEFINE GPM A ON S { ?s ?p ?o } }")
    assert parse(f"ASK FROM STREAM S <urn:s> {where}") == plain


@pytest.mark.parametrize("text", ["?a ?b", "(?a, ?b)", "(?a ?b)"])
def test_partition_keys_may_stand_in_parentheses(text: str) -> None:
    """`PARTITION BY (?a, ?b)` is the original implementation's spelling."""
    assert head(f"ASK FROM STREAM S <urn:s> PARTITION BY {text}").partition == (Var("a"), Var("b"))


def test_where_keeps_the_order_of_its_clauses() -> None:
    """SEQ need not come first."""
    query = parse("ASK FROM STREAM S <urn:s> { DEFINE GPM A ON S {} SEQ (A; B) DEFINE GPM B ON S {} }")
    assert [type(clause).__name__ for clause in query.where] == [
        "GpmDefinition",
        "SequenceExpression",
        "GpmDefinition",
    ]


# --- heads ---


def test_the_three_forms() -> None:
    """SELECT with names and expressions, CONSTRUCT with a template, ASK."""
    select = head("SELECT DISTINCT ?x (COUNT(A) AS ?n) FROM STREAM S <urn:s>").form
    assert isinstance(select, SelectClause)
    assert select.modifier == "DISTINCT"
    assert select.items is not None
    assert [item.variable.name for item in select.items] == ["x", "n"]
    construct = head("CONSTRUCT { ?x <urn:p> _:new } FROM STREAM S <urn:s>").form
    assert isinstance(construct, Construct)
    assert construct.template[0].object == Var("_:new")
    assert head("ASK FROM STREAM S <urn:s>").form == Ask()


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("WITHIN 5 MILLISECONDS", WindowClause(5, "MILLISECOND")),
        ("WITHIN 1 SECOND", WindowClause(1, "SECOND")),
        ("WITHIN 30 minutes TUMBLING", WindowClause(30, "MINUTE")),
        ("within 2 Hours SLIDING", WindowClause(2, "HOUR", sliding=True)),
        ("WITHIN 7 DAYS", WindowClause(7, "DAY")),
        ("WITHIN 100 EVENTS SLIDING", WindowClause(100, "EVENT", sliding=True)),
        ('WITHIN 1 DAY STARTING AT "x"', WindowClause(1, "DAY", starting_at=Constant(Literal("x")))),
    ],
)
def test_windows(text: str, window: WindowClause) -> None:
    """Every unit, singular or plural, both kinds, and the start as written."""
    assert head(f"ASK {text} FROM STREAM S <urn:s>").window == window


def test_a_stream_may_be_named_by_a_prefixed_name_and_aliased_by_a_keyword() -> None:
    """`FROM STREAM Select ex:s` declares a stream called Select."""
    (stream,) = head("PREFIX ex: <http://ex/> ASK FROM STREAM Select ex:s").streams
    assert (stream.alias, stream.iri.term, stream.iri.written) == ("Select", NamedNode("http://ex/s"), "ex:s")


# --- sequence expressions ---


def test_operators_are_kept_between_steps() -> None:
    """`A;B,C:D` has four steps and three operators; `A:B` is no prefixed name."""
    sequence = with_seq("A;B,C:D")
    assert sequence.steps == tuple(map(Name, "ABCD"))
    assert sequence.operators == (";", ",", ":")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A", Name("A")),
        ("((A))", Name("A")),
        ("A|B&C", Disjunction((Name("A"), Conjunction((Name("B"), Name("C")))))),
        ("(A|B)&C", Conjunction((Disjunction((Name("A"), Name("B"))), Name("C")))),
        ("A+", Quantified(Name("A"), "+", 1, None)),
        ("A+[:]", Quantified(Name("A"), "+", 1, None, ":")),
        ("A{3}", Quantified(Name("A"), "{", 3, 3)),
        ("A{2,}", Quantified(Name("A"), "{", 2, None)),
        ("A{2,5}[,]", Quantified(Name("A"), "{", 2, 5, ",")),
        ("(A|B)?", Quantified(Disjunction((Name("A"), Name("B"))), "?")),
        ("A!", Quantified(Name("A"), "!")),
        # Marks in wrong places are read, so that the check can say where they belong.
        ("A|B+", Disjunction((Name("A"), Quantified(Name("B"), "+")))),
        ("A & B?", Conjunction((Name("A"), Quantified(Name("B"), "?")))),
        ("A+!", Quantified(Quantified(Name("A"), "+"), "!")),
        ("A{0,99999999999999999999}", Quantified(Name("A"), "{", 0, 99999999999999999999)),
    ],
)
def test_steps(text: str, expected: Step) -> None:
    """Groups, both binary operators, every quantifier."""
    assert step(text) == expected


def test_names_may_be_spelled_like_keywords() -> None:
    """A GPM called `a`, `Filter` or `seq` works in SEQ, in DEFINE and in COUNT."""
    query = parse(
        """SELECT (COUNT(a) AS ?n) (COUNT(Filter) AS ?m) FROM STREAM on <urn:s>
           { SEQ (a; Filter:seq) DEFINE GPM a ON on { ?x a ?y } DEFINE GPM Filter ON on {} DEFINE GPM seq ON on {} }"""
    )
    assert [clause.name for clause in query.where if isinstance(clause, GpmDefinition)] == [
        "a",
        "Filter",
        "seq",
    ]
    assert isinstance(query.form, SelectClause)
    assert query.form.items is not None
    assert [item.expression for item in query.form.items] == [
        GpmFunction("COUNT", "a"),
        GpmFunction("COUNT", "Filter"),
    ]


def test_nodes_know_where_they_were_written() -> None:
    """The span of a step, a name and a definition is its text."""
    text = "ASK FROM STREAM S <urn:s> { SEQ (A ; (B|C)+) DEFINE GPM A ON S { ?x ?y ?z FILTER(?z > 1) } }"
    sequence, definition = parse(text).where
    assert isinstance(sequence, SequenceExpression)
    assert isinstance(definition, GpmDefinition)
    assert isinstance(definition.pattern, Group)
    shown = [text[s.start : s.end] for s in (sequence.span, sequence.steps[1].span, definition.name_span)]
    assert shown == ["SEQ (A ; (B|C)+)", "(B|C)+", "A"]
    condition = definition.pattern.elements[1]
    assert isinstance(condition, FilterClause)
    assert text[condition.condition.span.start : condition.condition.span.end] == "?z > 1"


# --- functions over iterations ---


def test_functions_over_iterations() -> None:
    """FIRST, LAST and PREV read a variable, COUNT a name; the others stay aggregates until lowering."""
    group = with_gpm(
        "?x :p ?v FILTER(?v > PREV(?v) + COUNT(A) && LAST(?v) = MAX(?v) && first(?v) < 3)"
    ).pattern
    assert isinstance(group, Group)
    condition = group.elements[1]
    assert isinstance(condition, FilterClause)
    text = repr(condition.condition)
    for node in (
        Iterated("PREV", Var("v")),
        GpmFunction("COUNT", "A"),
        Aggregate("MAX", Var("v")),
        Iterated("FIRST", Var("v")),
    ):
        assert repr(node) in text


def test_compact_comparisons_are_not_taken_for_iris() -> None:
    """`?a<?b&&?c>?d` has no IRI in it, though the longest match would make one."""
    group = with_gpm("FILTER(?a<?b&&?c>?d) ?s<urn:p>?o").pattern
    assert isinstance(group, Group)
    condition = group.elements[0]
    assert isinstance(condition, FilterClause)
    assert Compare("<", Var("a"), Var("b")) == getattr(condition.condition, "left", None)


def test_a_number_with_a_sign_after_an_operand_is_an_operation() -> None:
    """`?a -1` subtracts one."""
    group = with_gpm("FILTER(?a -1*2)").pattern
    assert isinstance(group, Group)
    condition = group.elements[0]
    assert isinstance(condition, FilterClause)
    assert isinstance(condition.condition, Arithmetic)
    assert (condition.condition.op, condition.condition.left) == ("-", Var("a"))


def test_sixty_steps_parse_fast() -> None:
    """A sequence of 60 GPMs takes well under 0.4 s once the tables are loaded, on a machine whose yardstick is 0.1 s."""
    names = [f"G{index}" for index in range(60)]
    gpms = "\n".join(
        f"DEFINE GPM {name} ON S {{ ?c :price ?p{name} . ?c :volume ?v{name} . FILTER (?p{name} > 2 && ?v{name} < 9) }}"
        for name in names
    )
    text = f"PREFIX : <urn:> SELECT * FROM STREAM S <urn:s> WHERE {{ SEQ ({'; '.join(names)}) {gpms} }}"
    parse(text)
    took = []
    for _ in range(5):
        started = process_time()
        assert len(parse(text).where) == 61
        took.append(process_time() - started)
    assert min(took) < 4 * yardstick()
