"""The spellings of EP-SPARQL (semantics 2.1), their trees, their printed form and their algebra."""

from __future__ import annotations

import pytest

from spaseq.algebra.events import AskForm, SelectForm
from spaseq.algebra.expressions import Arithmetic, Call, Compare, Var
from spaseq.algebra.intervals import GET_DURATION, IntervalQuery
from spaseq.algebra.patterns import (
    Bgp,
    Extend,
    Filter,
    Group,
    IntervalJoin,
    Join,
    LeftJoin,
    Pattern,
    Relation,
    Slice,
    Union,
)
from spaseq.errors import QueryError
from spaseq.languages.epsparql.dialect import parse_epsparql
from spaseq.languages.epsparql.printer import format_epsparql
from spaseq.languages.epsparql.query import compile_intervals
from spaseq.planner import compile_query

PREFIXES = "PREFIX : <http://ex.org/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>\n"

PAPER = {
    1: """SELECT ?company WHERE
          { ?company :hasStockPrice ?price1 }
          SEQ { ?company :hasStockPrice ?price2 }
          SEQ { ?company :hasStockPrice ?price3 }
          FILTER ( ?price2 < ?price1 * 0.7 && ?price3 > ?price1 * 1.05
                   && getDURATION() < "P30D"^^xsd:duration)""",
    2: """SELECT ?company ?ratingagency WHERE
          { ?company :downratedby ?ratingagency}
          OPTIONALSEQ
          { { ?company :hasStockPrice ?price1 } SEQ { ?company :hasStockPrice ?price2 }}
          FILTER (?price2 < ?price1 * 0.5)""",
    3: """SELECT ?company WHERE
          { ?company :hasStockprice ?price1 }
          SEQ { { ?company :hasAcquired ?othercompany } OPTIONALSEQ { ?company :hasStockPrice ?price2 } }
          FILTER ( ?price2 < ?price1 * 1.5 && !BOUND(?othercompany) && getDURATION() < "P15D"^^xsd:duration )""",
    4: """CONSTRUCT ?company :downratedby ?ratingagency
          WHERE { ?rating1 :rater ?ratingagency ; :rated ?company ; :score ?score1 }
          SEQ { ?rating2 :rater ?ratingagency ; :rated ?company ; :score ?score2 }
          FILTER ( ?score2 < ?score1 )""",
    5: """CONSTRUCT _:aaa :hasCount ?count . _:aaa :hasSum ?sum .
          { SELECT ?count AS ?prevcount + 1
                   ?sum AS ?prevsum + ?price
            WHERE {{ ?point :hasCount ?prevcount . ?point :hasSum ?prevsum . } SEQ { :ACME :hasStockPrice ?price . }}
            EQUALSOPTIONAL
            {{ ?point :hasCount ?prevcount . ?point :hasSum ?prevsum . }
             SEQ { :ACME :hasStockPrice ?inbetween . } SEQ { :ACME :hasStockPrice ?price . }}
            FILTER ( !BOUND(?inbetween) && getDURATION() < "P10D"^^xsd:duration )}""",
    6: """SELECT ?sum / ?count AS ?average
          WHERE {{ :ACME :hasStockPrice ?price . } SEQ { ?point :hasCount ?prevcount . ?point :hasSum ?prevsum . }}
          EQUALSOPTIONAL
          {{ :ACME :hasStockPrice ?price . } SEQ { :ACME :hasStockPrice ?inbetween . }
           SEQ { ?point :hasCount ?prevcount . ?point :hasSum ?prevsum . }}
          FILTER ( !BOUND(?inbetween) && getDURATION() > "P10D"^^xsd:duration )""",
}
"""The statements of the paper's section 4.1 in its own spelling, but for the prefix of its names."""


@pytest.mark.parametrize("number", PAPER)
def test_the_statements_of_the_paper_parse_and_survive_printing(number: int) -> None:
    """Without braces around WHERE, with both orders of AS; the printed form has the same tree."""
    file = parse_epsparql(PREFIXES + PAPER[number])
    assert parse_epsparql(format_epsparql(file)) == file
    (query,) = compile_intervals(PREFIXES + PAPER[number])
    assert (query.asked is None) == (number in (4, 5))


@pytest.mark.parametrize("between", [" ", " ; ", ";\nPREFIX : <http://other.org/>\n"])
def test_a_file_has_several_statements(between: str) -> None:
    """Each query has all rules of the file; a prefix holds from where it stands."""
    queries = compile_intervals(PREFIXES + between.join(PAPER.values()))
    assert [len(query.rules) for query in queries] == [2, 2, 2, 2]
    assert all(query.asked for query in queries)
    bgps = [str(query.asked.pattern) for query in queries if query.asked]
    assert ("http://other.org/" in bgps[1]) == ("PREFIX" in between)
    assert "http://other.org/" not in bgps[0]


def test_a_prefix_declared_anew_survives_printing() -> None:
    """The printed file declares all prefixes first, so names of the older meaning are written in full."""
    file = parse_epsparql("PREFIX : <urn:a:> ASK { ?x :p 1 } PREFIX : <urn:b:> ASK { ?x :p 1 }")
    assert parse_epsparql(format_epsparql(file)).statements == file.statements


def _where(text: str) -> Pattern:
    (query,) = compile_intervals(f"{PREFIXES} SELECT * WHERE {text}")
    assert query.asked is not None
    return query.asked.pattern


def _letters(pattern: Pattern) -> str:
    """The shape of a pattern whose triples have one-letter predicates."""
    match pattern:
        case Bgp(triples):
            return "".join(triple.predicate.term.value[-1] for triple in triples)  # type: ignore[union-attr]
        case IntervalJoin(left, right, relation):
            return f"({_letters(left)} {relation.value} {_letters(right)})"
        case Union(left, right):
            return f"({_letters(left)} UNION {_letters(right)})"
        case Join(left, right):
            return f"({_letters(left)} & {_letters(right)})"
        case LeftJoin(left, right):
            return f"({_letters(left)} OPTIONAL {_letters(right)})"
        case Filter(inner):
            return f"[{_letters(inner)}]"
        case _:
            raise AssertionError(pattern)


A, B, C, D = (f"{{ ?x :{letter} ?{letter} }}" for letter in "abcd")


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        (f"{A} SEQ {B} SEQ {C}", "((a SEQ b) SEQ c)"),
        (f"{{ {A} SEQ {B} SEQ {C} }}", "((a SEQ b) SEQ c)"),
        (f"{A} seq {{ {B} Equals {C} }}", "(a SEQ (b EQUALS c))"),
        (f"{A} UNION {B} SEQ {C} EQUALSOPTIONAL {D}", "(((a UNION b) SEQ c) EQUALSOPTIONAL d)"),
        (f"{A} OPTIONALSEQ {B} UNION {C}", "((a OPTIONALSEQ b) UNION c)"),
        (f"{A} SEQ {B} OPTIONAL {C}", "((a SEQ b) OPTIONAL c)"),
        (f"{A} SEQ {B} . {C} SEQ {D}", "((a SEQ b) & (c SEQ d))"),
        (f"{A} SEQ {B} ?x :c ?c ; :d ?d", "((a SEQ b) & cd)"),
        (f"{A} ?x :b ?b FILTER(?b > 1) ?x :c ?c .", "[abc]"),
    ],
)
def test_the_operators_of_a_chain_associate_to_the_left(text: str, shape: str) -> None:
    """They have one precedence, with UNION, and a chain joins with the rest of its body."""
    assert _letters(_where(text)) == shape


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("{ ?x :a ?a FILTER(?a > 1) } OPTIONALSEQ { ?x :b ?b }", True),
        ("{ { ?x :a ?a FILTER(?a > 1) } } OPTIONALSEQ { ?x :b ?b }", False),
        ("{ ?x :a ?a FILTER(?a > 1) } SEQ { ?x :b ?b } OPTIONALSEQ { ?x :c ?c }", False),
        ("{ ?x :a ?a } OPTIONALSEQ { ?x :b ?b FILTER(?a > 1) }", False),
        ("{ ?x :a ?a } EQUALSOPTIONAL { ?x :b ?b FILTER(?a > 1) }", True),
        ("{ ?x :a ?a } EQUALSOPTIONAL { { ?x :b ?b FILTER(?a > 1) } }", False),
        ("{ ?x :a ?a FILTER(?a > 1) } EQUALSOPTIONAL { ?x :b ?b }", False),
        ("{ ?x :a ?a FILTER(?a > 1) } SEQ { ?x :b ?b FILTER(?b > 1) }", False),
        ("{ ?x :a ?a } SEQ { ?x :c ?c } EQUALSOPTIONAL { ?x :b ?b FILTER(?a > 1) }", True),
    ],
)
def test_the_filters_directly_in_an_optional_operand_are_the_joins(text: str, condition: bool) -> None:
    """Braced once more, in a mandatory operand or in a chain they are the operand's."""
    pattern = _where(text)
    assert isinstance(pattern, IntervalJoin)
    assert (pattern.condition is not None) is condition


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("{ ?x :a ?y } { ?y :b* ?z }", 2),
        ("{ ?x :a ?y . { ?y (:b?/^:c*) ?z } }", 2),
        ("{ BIND(1 AS ?o) ?x :a ?y { ?y :b? ?z } }", 2),
        ("{ ?x :a ?y FILTER(?y != ?z) ?y :b* ?z }", 1),
        ("{ ?x :a ?y } { ?y :b+/:c* ?z }", 1),
        ("{ ?x :a ?y { ?y (:b|^:c) ?z } }", 1),
    ],
)
def test_a_path_that_may_be_empty_stays_in_its_own_basic_graph_pattern(text: str, parts: int) -> None:
    """What binds its ends decides which terms it ranges over (semantics 2.3)."""
    found = []
    stack = [_where(text)]
    while stack:
        pattern = stack.pop()
        match pattern:
            case Bgp():
                found.append(pattern)
            case Join(left, right):
                stack += left, right
            case Filter(inner) | Extend(inner):
                stack.append(inner)
    assert sum(bool(bgp.triples) for bgp in found) == parts


@pytest.mark.parametrize(
    "items",
    [
        "(?a + 1 AS ?n) ?x",
        "?a + 1 AS ?n ?x",
        "?n AS ?a + 1 ?x",
        "?n AS ?a +1 ?x",
        "?n AS (?a + 1) ?x",
        "(?a + 1) AS ?n ?x",
    ],
)
def test_as_has_both_orders_with_and_without_parentheses(items: str) -> None:
    """All stand for SPARQL's spelling."""
    (query,) = compile_intervals(f"{PREFIXES} SELECT {items} {{ ?x :a ?a }}")
    assert query.asked is not None
    assert isinstance(query.asked.form, SelectForm)
    assert [item.variable.name for item in query.asked.form.items] == ["n", "x"]
    assert isinstance(query.asked.pattern, Extend)
    assert isinstance(query.asked.pattern.expression, Arithmetic)


ITEMS = {
    "?a NOT IN (1) AS ?n ?c": "(?a NOT IN (1) AS ?n) ?c",
    "?n AS ?a NOT IN (1, :c) ?c IN (2) AS ?m": "(?a NOT IN (1, :c) AS ?n) (?c IN (2) AS ?m)",
    "?n AS ?a NOT IN () -1 AS ?m": "(?a NOT IN () AS ?n) (-1 AS ?m)",
    "?n AS ?a - -?b - ?c AS ?m": "(?a - -?b AS ?n) (-?c AS ?m)",
    "?a NOT EXISTS { ?x :p ?y } AS ?n": "?a (NOT EXISTS { ?x :p ?y } AS ?n)",
    "?n AS EXISTS { ?x :p ?y } ?c": "(EXISTS { ?x :p ?y } AS ?n) ?c",
    "EXISTS { SELECT ?n AS :c -1 AS ?m { ?x :p ?y } } AS ?c": "(EXISTS { SELECT (:c AS ?n) (-1 AS ?m) { ?x :p ?y } } AS ?c)",
    "?n AS :c": "(:c AS ?n)",
    "?n AS :c ?m AS <urn:d> ?c": "(:c AS ?n) (<urn:d> AS ?m) ?c",
    "?n AS :c (?x AS ?m)": "(:c AS ?n) (?x AS ?m)",
    "?n AS :c (?x) AS ?m": "(:c AS ?n) (?x AS ?m)",
    "?n AS :c(?x) :d() AS ?m": "(:c(?x) AS ?n) (:d() AS ?m)",
    '?n AS ?a = :c || ?b = :d "e"@en AS ?m': '(?a = :c || ?b = :d AS ?n) ("e"@en AS ?m)',
    '?n AS "5"^^xsd:byte (?x AS ?m) true AS ?o': '("5"^^xsd:byte AS ?n) (?x AS ?m) (true AS ?o)',
    "?n AS COUNT(*) getDURATION() AS ?d SUM(?a)/2 AS ?m": "(COUNT(*) AS ?n) (getDURATION() AS ?d) (SUM(?a)/2 AS ?m)",
    "?n AS (?a) (?b) AS ?m": "(?a AS ?n) (?b AS ?m)",
    "!?a AS ?n !(?b) AS ?m": "(!?a AS ?n) (!(?b) AS ?m)",
    "-?a AS ?n - ?b AS ?m +1 AS ?o": "(-?a AS ?n) (-?b AS ?m) (+1 AS ?o)",
    "(?a AS ?n) -?b AS ?m": "(?a AS ?n) (-?b AS ?m)",
    "?a - ?b AS ?n - ?c AS ?m": "(?a - ?b AS ?n) (-?c AS ?m)",
    "?n AS ?a -1": "(?a - 1 AS ?n)",
    "?a AS ?n -1 AS ?m": "(?a AS ?n) (-1 AS ?m)",
    "DISTINCT ?n AS -1 * ?a ?c": "DISTINCT (-1 * ?a AS ?n) ?c",
    "?a<?b&&?c>?d AS ?n": "(?a < ?b && ?c > ?d AS ?n)",
}
"""Items without parentheses, and the same with them."""


@pytest.mark.parametrize("items", ITEMS)
def test_items_without_parentheses_end_where_the_next_begins(items: str) -> None:
    """Whatever their expressions; a sign and a `(` go on with what stands before, if AS leaves that open."""
    bare, full = (
        parse_epsparql(f"{PREFIXES} SELECT {text} {{ ?s :p ?o2 }}") for text in (items, ITEMS[items])
    )
    assert bare == full


def test_of_two_variables_the_left_one_is_the_value() -> None:
    """`?a AS ?b`: the value is ?a."""
    pattern = compile_intervals(f"{PREFIXES} SELECT ?a AS ?b {{ ?x :a ?a }}")[0].asked.pattern  # type: ignore[union-attr]
    assert isinstance(pattern, Extend)
    assert (pattern.variable, pattern.expression) == (Var("b"), Var("a"))


@pytest.mark.parametrize("name", ["getDURATION", "GETDURATION", "getduration"])
def test_time_functions_stand_wherever_an_expression_may(name: str) -> None:
    """In FILTER, BIND, SELECT, HAVING, GROUP BY, ORDER BY and inside aggregates, in any case."""
    text = f"""{PREFIXES} SELECT ?d (MAX({name}()) AS ?m) {name}() AS ?e WHERE {{
        {{ ?x :a ?a }} SEQ {{ ?x :b ?b FILTER({name}( ) = "PT0S"^^xsd:duration) }}
        BIND({name}() AS ?d) }} GROUP BY ?d HAVING({name}() > ?d) ORDER BY {name}() LIMIT 5 OFFSET 2"""
    file = parse_epsparql(text)
    assert parse_epsparql(format_epsparql(file)) == file
    (query,) = compile_intervals(text)
    assert query.asked is not None
    (key,) = query.asked.order
    assert key.expression == Call(GET_DURATION, ())
    assert (query.asked.offset, query.asked.limit) == (2, 5)
    pattern = query.asked.pattern
    assert isinstance(pattern, Extend)
    assert isinstance(pattern.pattern, Extend)
    assert isinstance(pattern.pattern.pattern, Filter)
    assert isinstance(pattern.pattern.pattern.condition, Compare)
    assert isinstance(pattern.pattern.pattern.pattern, Group)


def test_the_values_at_the_end_are_the_querys_as_in_sparql() -> None:
    """Before modifiers they belong to the pattern."""
    end = compile_intervals(f"{PREFIXES} SELECT (COUNT(*) AS ?n) {A} VALUES ?m {{ 1 }}")
    assert isinstance(end[0].asked.pattern, Extend)  # type: ignore[union-attr]
    assert isinstance(end[0].asked.pattern.pattern, Join)  # type: ignore[union-attr]
    before = compile_intervals(f"{PREFIXES} SELECT (COUNT(*) AS ?n) {A} VALUES ?x {{ :a }} LIMIT 1")
    assert isinstance(before[0].asked.pattern.pattern, Group)  # type: ignore[union-attr]


def test_rules_may_be_short_and_a_sub_select_may_have_a_limit() -> None:
    """The short form's template is its pattern."""
    (query,) = compile_intervals(f"{PREFIXES} CONSTRUCT WHERE {{ ?x :a ?a }}")
    assert isinstance(query, IntervalQuery)
    assert query.rules[0].pattern == Bgp(query.rules[0].template)
    (query,) = compile_intervals(
        f"{PREFIXES} CONSTRUCT {{ ?x :b [] }} {{ SELECT ?x {{ ?x :a ?a }} LIMIT 1 }}"
    )
    assert isinstance(query.rules[0].pattern, Slice)


def test_ask_has_no_projection() -> None:
    """Its form is ASK; DISTINCT is a SELECT's, and REDUCED does nothing."""
    ask, distinct, reduced = compile_intervals(
        f"{PREFIXES} ASK {A} SELECT DISTINCT ?x {A} SELECT REDUCED ?x {A}"
    )
    assert ask.asked is not None
    assert ask.asked.form == AskForm()
    assert [query.asked.distinct for query in (distinct, reduced) if query.asked] == [True, False]


@pytest.mark.parametrize(
    ("text", "code", "column"),
    [
        ("SELECT * { ?x hasPrice ?y }", "SPQ801", 15),
        ("SELECT * { OPTIONAL { ?x :p ?y } SEQ { ?x :q ?z } }", "SPQ802", 34),
        ("SELECT * { ?x :p ?y SEQ { ?x :q ?z } }", "SPQ802", 21),
        ("SELECT * { { ?x :p ?y } FILTER(?y > 1) OPTIONALSEQ { ?x :q ?z } }", "SPQ802", 40),
        ("SELECT * { { ?x :p ?y } SEQ ?x :q ?z }", "SPQ001", 29),
        ("ASK { ?x :p ?y } ; DELETE WHERE { ?x :p ?y }", "SPQ803", 20),
        ("", "SPQ804", 1),
        ("CONSTRUCT { ?x :p 1 } { ?x :q ?y } GROUP BY ?x", "SPQ805", 1),
        ("ASK FROM NAMED :g { ?x :q ?y }", "SPQ806", 16),
        ("SELECT ?x ?y + 1 { ?x :q ?y }", "SPQ807", 11),
        ("SELECT ?y + 1 AS 5 { ?x :q ?y }", "SPQ808", 15),
        ("SELECT AS ?y { ?x :q ?y }", "SPQ808", 8),
        ("SELECT ?y AS { ?x :q ?y }", "SPQ808", 11),
        ("DESCRIBE ?x { ?x :p ?y }", "SPQ403", 1),
        ("ASK { FILTER EXISTS { SERVICE :s { ?x :p ?y } } }", "SPQ401", 23),
        ("ASK { ?x :p ?y FILTER(getDURATION(?x) > 1) }", "SPQ011", 23),
        ("SELECT (?y AS ?x) { ?x :p ?y }", "SPQ105", 15),
    ],
)
def test_a_wrong_text_is_an_error_with_a_place(text: str, code: str, column: int) -> None:
    """The code and the column in the line of the statement."""
    with pytest.raises(QueryError) as caught:
        compile_intervals(PREFIXES + text)
    assert (caught.value.code, caught.value.column) == (code, column)
    assert caught.value.cure


def test_a_list_too_long_for_any_stage_is_an_error_with_a_place() -> None:
    """The groups of a chain nest, one join inside the other."""
    text = " SEQ ".join("{ ?x <urn:p> ?y }" for _ in range(1_500))
    with pytest.raises(QueryError) as caught:
        compile_query(f"SELECT ?x {text}", "epsparql")
    assert (caught.value.code, caught.value.line) == ("SPQ009", 1)


def test_relations_are_the_words_of_the_language() -> None:
    """The printed operator is the relation's name."""
    assert {relation.value for relation in Relation} == {"SEQ", "EQUALS", "OPTIONALSEQ", "EQUALSOPTIONAL"}


def test_a_misspelt_keyword_is_not_taken_for_a_name() -> None:
    """`FILTR` is no predicate of the paper's spelling."""
    with pytest.raises(QueryError, match="FILTER"):
        compile_intervals("SELECT ?c { ?c <urn:p> ?x FILTR(?x > 1) }")


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        ("SELECT ?x WHERE ?x :p ?y SEQ { ?x :q ?z }", "put braces around the pattern"),
        ("SELECT ?x { { ?x :p ?y } WITHIN 1 }", "FILTER(getDURATION()"),
        ("SELECT ?x { ?x :p ?y } WITHIN 1", "FILTER(getDURATION()"),
        ("SELECT ?x FROM STREAM <http://x> { ?x :p ?y }", "--stream NAME=PATH"),
        ("SELECT ?x { { ?x :p ?y } OPTIONAL SEQ { ?x :q ?z } }", "OPTIONALSEQ is one word"),
        ("SELECT ?x { { ?x :p ?y } EQUALS OPTIONAL { ?x :q ?z } }", "EQUALSOPTIONAL is one word"),
        ("SELECT ?y AS ?a - ?b - ?c AS ?d { ?x :p ?z }", "(… AS ?name)"),
        ("SELECT ?x :c { ?x :p ?z }", "(… AS ?name)"),
        ("SELECT ?x { ?x within ?y }", "write :within"),
        ("SELECT ?x { { ?x :p ?y } AND { ?x :q ?z } }", "side by side are joined"),
        ("SELECT ?x { ?x :p ?y FILTER(getDuraton() < ?y) }", "did you mean getDURATION()?"),
        ("SELECT ?x { ?x :p ?y FILTER(?y == 3) }", "equality is one `=`: ?x = 3"),
        ("SELECT ?x { ?x :p ?y FILTER(T_START > ?y) }", "write getSTARTTIME()"),
        ("SELECT (T_END AS ?t) { ?x :p ?y }", "write getENDTIME()"),
        ("SELECT ?x { WINDOW :s { ?x :p ?y } }", "write the group without WINDOW"),
        ("SELECT ?x { ?x :q ?z . STREAM ?s { ?x :p ?y } }", "write the group without STREAM"),
        ("SELECT ?x { ?x :p STREAM }", "write :STREAM for a resource"),
        ("SELECT ?x { ?x :p ?y FILTER(getStartTime < ?y) }", "write getSTARTTIME()"),
        (
            "SELECT ?x { ?x :p ?y FILTER(Price1 < ?y) }",
            "write ?Price1 for a variable, :Price1 for a resource",
        ),
        ("SELECT company { ?x :p ?y }", "write ?company for a variable"),
        ("SELECT ?x { ?x :p ?y FILTER(FLOR(?y) < 1) }", "did you mean FLOOR?"),
        ("SELECT ?x WITHIN 5 { ?x :p ?y }", "FILTER(getDURATION()"),
        ("SELECT ?x { { ?x :p ?y } SEQ NOT { ?x :q ?z } }", "FILTER NOT EXISTS"),
        ("SELECT ?x { { ?x :p ?y } , { ?x :q ?z } }", "side by side are joined"),
        ("SELECT ?x, ?y { ?x :p ?y }", "separated by spaces"),
        ("SELECT ?x { { ?x :p ?y } OPTIONALEQUALS { ?x :q ?z } }", "did you mean EQUALSOPTIONAL?"),
        ("SELECT ?x { { ?x :p ?y } SEQOPTIONAL { ?x :q ?z } }", "did you mean OPTIONALSEQ?"),
        ("SELECT ?x { ?x :p ?y FILTER(?y > 1 AND ?y < 3) }", "did you mean &&?"),
        ("SELECT ?x { ?x :p ?y FILTER(?y > 1 or ?y < 3) }", "did you mean ||?"),
    ],
)
def test_the_cure_of_an_error_is_what_to_write_instead(text: str, cure: str) -> None:
    """Words of other languages, and spellings that nearly are EP-SPARQL's."""
    with pytest.raises(QueryError) as caught:
        parse_epsparql(f"PREFIX : <http://ex.org/> {text}")
    assert cure in caught.value.render()


@pytest.mark.parametrize(
    ("condition", "cure"),
    [
        ("getDURATION() < 3600", 'write "PT3600S"^^xsd:duration'),
        ("90 >= getENDTIME() - getSTARTTIME()", 'write "PT90S"^^xsd:duration'),
        ('getDURATION() = "PT1H"', 'write "PT1H"^^xsd:duration'),
        ('getDURATION() < "2d"^^xsd:duration', 'write "P2D"^^xsd:duration'),
        ('getDURATION() < "1h30m"@en', 'write "PT1H30M"^^xsd:duration'),
        ("getDURATION() < :hour", 'write "PT1H"^^xsd:duration'),
        ('getSTARTTIME() > "2026-01-31"^^xsd:date', 'write "2026-01-31T00:00:00Z"^^xsd:dateTime'),
        ("getENDTIME() > 5", 'write "2026-01-31T12:00:00Z"^^xsd:dateTime'),
    ],
)
def test_a_comparison_that_is_never_true_says_what_to_write(condition: str, cure: str) -> None:
    """Wherever it stands."""
    for text in (
        "SELECT ?x { ?x :p ?y FILTER(%s) }",
        "CONSTRUCT { ?x :q 1 } { ?x :p ?y OPTIONAL { ?x :p 2 FILTER(%s) } }",
    ):
        (query,) = [compile_query(PREFIXES + text % condition, "epsparql")]
        (found,) = [each for each in query.warnings if each.code == "SPW802"]
        assert cure in found.render()
        assert condition in found.render()


@pytest.mark.parametrize(
    "condition",
    [
        'getDURATION() < "PT1H"^^xsd:duration',
        'getDURATION() < "P1M"^^xsd:yearMonthDuration',
        'getENDTIME() - getSTARTTIME() <= "PT1H"^^xsd:dayTimeDuration',
        "getDURATION() < ?y",
        "getDURATION() != 5",
        'getENDTIME() < "2026-01-31T00:00:00"^^xsd:dateTime',
    ],
)
def test_a_comparison_that_may_be_true_is_not_warned_of(condition: str) -> None:
    """Values of variables are known when they come."""
    query = compile_query(f"{PREFIXES} SELECT ?x {{ ?x :p ?y FILTER({condition}) }}", "epsparql")
    assert not [each for each in query.warnings if each.code == "SPW802"]


def test_a_rule_that_produces_nothing_is_warned_of_where_its_variable_stands() -> None:
    """Blank nodes of the template need not be bound, nor what the short form says twice."""
    text = f"{PREFIXES}CONSTRUCT {{ ?x :q ?prise . _:b :of ?x }} {{ ?x :price ?price }}\nCONSTRUCT WHERE {{ ?x :p ?y }}"
    (found,) = [each for each in compile_query(text, "epsparql").warnings if each.code == "SPW803"]
    assert found.span.start == text.index("?prise")
    assert "bind ?prise in WHERE; did you mean `?price`?" in found.render()
