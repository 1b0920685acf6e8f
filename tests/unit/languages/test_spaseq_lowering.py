"""SPAseq syntax to the event algebra: what lowering builds, and how it reports what is wrong."""

from __future__ import annotations

import time

import pytest

from spaseq.algebra.events import (
    Absent,
    Assignment,
    Both,
    Contiguity,
    Either,
    EventQuery,
    EventWindow,
    Gpm,
    Maybe,
    Once,
    Repeat,
    TimeWindow,
    gpms,
)
from spaseq.algebra.rules.classify_variables import classify_variables
from spaseq.algebra.scope import in_scope
from spaseq.errors import QueryError
from spaseq.languages.spaseq.dialect import parse
from spaseq.languages.spaseq.query import lower
from spaseq.planner import compile_query
from support.speed import yardstick


def text(sequence: str, *patterns: str, rest: str = "WITHIN 1 MINUTE", form: str = "SELECT *") -> str:
    """A query over one stream; a pattern is ``A { … }``."""
    definitions = "\n".join(f"DEFINE GPM {pattern.replace(' ', ' ON S ', 1)}" for pattern in patterns)
    return (
        f"PREFIX : <urn:>\n{form} {rest}\nFROM STREAM S <urn:s>\nWHERE {{\nSEQ ({sequence})\n{definitions} }}"
    )


def lowered(
    sequence: str, *patterns: str, rest: str = "WITHIN 1 MINUTE", form: str = "SELECT *"
) -> EventQuery:
    """The algebra of such a query, before any rule."""
    return lower(parse(text(sequence, *patterns, rest=rest, form=form))).query


def gpm(query: EventQuery, name: str) -> Gpm:
    """A GPM by name."""
    return next(found for found in query.gpms if found.name == name)


A, B, C = "A { ?a :p ?x }", "B { ?b :q ?y }", "C { ?c :r ?z }"


# --- sequences ----------------------------------------------------------------------------------


def test_steps_carry_their_operator_and_quantifier() -> None:
    """The operator stands before its step; the first step has none."""
    query = lowered("A ; B! : C{2,3}[,]", A, B, C)
    assert [(step.operator, step.quantifier) for step in query.sequence.steps] == [
        (None, Once()),
        (Contiguity.NEXT, Absent()),
        (Contiguity.ANY, Repeat(2, 3, Contiguity.STRICT)),
    ]


@pytest.mark.parametrize(
    ("written", "quantifier"),
    [
        ("A+", Repeat()),
        ("A+[;]", Repeat(1, None, Contiguity.NEXT)),
        ("A{2}", Repeat(2, 2)),
        ("A{2,}", Repeat(2, None)),
        ("A{2,5}", Repeat(2, 5)),
    ],
)
def test_repetitions_are_bounds_and_an_operator(written: str, quantifier: Repeat) -> None:
    """``A{m}`` is ``A{m,m}``; without ``[…]`` the operator is decided by the place."""
    assert lowered(written, A).sequence.steps[0].quantifier == quantifier


def test_a_repetition_without_operator_follows_its_place() -> None:
    """``;`` at the start, ``,`` after another step (Defs 13 and 14)."""
    assert Repeat().operator(first_step=True) is Contiguity.NEXT
    assert Repeat().operator(first_step=False) is Contiguity.STRICT
    assert Repeat(between=Contiguity.ANY).operator(first_step=False) is Contiguity.ANY


def test_conjunction_binds_tighter_than_disjunction() -> None:
    """``A | B & C`` is ``A | (B & C)``."""
    (step,) = lowered("A | B & C", A, B, C).sequence.steps
    assert isinstance(step.element, Either)
    assert isinstance(step.element.parts[1], Both)
    assert [found.name for found in gpms(step.element)] == ["A", "B", "C"]


def test_optional_is_a_quantifier() -> None:
    """What skipping means depends on what follows in a flat sequence."""
    assert lowered("A ; B?", A, B).sequence.steps[1].quantifier == Maybe()


def test_names_keep_the_order_of_seq() -> None:
    """Whatever the order of the definitions."""
    assert lowered("C ; (B | A)", A, B, C).names == ("C", "B", "A")


# --- windows ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "window"),
    [
        ("", None),
        ("WITHIN 5 MILLISECONDS", TimeWindow(5_000)),
        ("WITHIN 1 SECOND TUMBLING", TimeWindow(1_000_000)),
        ("WITHIN 2 MINUTES SLIDING", TimeWindow(120_000_000, sliding=True)),
        ("WITHIN 1 HOUR", TimeWindow(3_600_000_000)),
        ("WITHIN 1 DAY", TimeWindow(86_400_000_000)),
        ("WITHIN 7 EVENTS", EventWindow(7)),
        ("WITHIN 7 EVENTS SLIDING", EventWindow(7, sliding=True)),
        ('WITHIN 1 SECOND STARTING AT "1970-01-01T00:00:01.5Z"', TimeWindow(1_000_000, start=1_500_000)),
        ('WITHIN 1 SECOND STARTING AT "1970-01-02"^^<http://www.w3.org/2001/XMLSchema#date>',
         TimeWindow(1_000_000, start=86_400_000_000)),
    ],
)  # fmt: skip
def test_windows_are_microseconds_or_events(written: str, window: TimeWindow | EventWindow | None) -> None:
    """Units are lowered to int64 microseconds (semantics 0)."""
    assert lowered("A", A, rest=written).window == window


# --- stateful parts (semantics 1.4) -------------------------------------------------------------


def test_filters_stay_whole_until_a_rule_splits_them() -> None:
    """Lowering does not decide what is stateful in a filter."""
    query = lowered("A ; B", A, "B { ?b :q ?y FILTER(?y > ?x && ?y > 1) }")
    assert len(gpm(query, "B").filters) == 1
    assert gpm(query, "B").stateful == ()


def test_a_bind_that_reads_an_earlier_step_leaves_the_pattern() -> None:
    """It is evaluated on ``μ₁ ∪ μ₂``."""
    found = gpm(lowered("A ; B", A, "B { ?b :q ?y BIND(?x + ?y AS ?n) }"), "B")
    assert [part.variable.name for part in found.stateful if isinstance(part, Assignment)] == ["n"]
    assert "n" not in in_scope(found.pattern)


@pytest.mark.parametrize(
    ("sequence", "b", "stateful"),
    [
        ("A ; B", "?b :q ?y BIND(?y + 1 AS ?n)", []),
        ("A ; B", "?b :q ?x BIND(?x + 1 AS ?n)", []),
        ("A ; B", "?b :q ?y OPTIONAL { ?b :r ?x } BIND(?x + 1 AS ?n)", ["n"]),
        ("A ; B", "?b :q ?y BIND(?x AS ?n) BIND(?n + 1 AS ?m)", ["n", "m"]),
        ("A ; B", "?b :q ?y BIND(?y AS ?n) BIND(?n + ?x AS ?m)", ["m"]),
        ("B ; A", "?b :q ?y BIND(?y AS ?n)", []),
        ("A & B", "?b :q ?y BIND(?x AS ?n)", ["n"]),
        ("A+ ; B", "?b :q ?y BIND(SUM(?x) AS ?n)", ["n"]),
        ("B+ ; A", "?b :q ?y BIND(COUNT(B) AS ?n)", ["n"]),
        # an earlier iteration may have bound what the event leaves open
        ("B+ ; A", "?b :q ?y OPTIONAL { ?b :r ?x } BIND(?x + 1 AS ?n)", ["n"]),
        ("B ; A", "?b :q ?y OPTIONAL { ?b :r ?x } BIND(?x + 1 AS ?n)", []),
    ],
)
def test_which_binds_are_stateful(sequence: str, b: str, stateful: list[str]) -> None:
    """Those that read iterations, or what something else may bind and this event may not."""
    found = gpm(lowered(sequence, A, f"B {{ {b} }}"), "B")
    assert [part.variable.name for part in found.stateful if isinstance(part, Assignment)] == stateful


def test_a_partition_key_is_bound_from_outside() -> None:
    """A BIND over a key that the event may leave open waits for the partition."""
    query = text("A ; B", "A { ?a :p ?x OPTIONAL { ?a :k ?k } BIND(STR(?k) AS ?n) }", "B { ?b :k ?k }")
    partitioned = query.replace("WHERE", "PARTITION BY ?k WHERE")
    assert len(gpm(lower(parse(partitioned)).query, "A").stateful) == 1
    assert gpm(lower(parse(query)).query, "A").stateful == ()


# --- shared and iteration variables (semantics 1.5) ---------------------------------------------


@pytest.mark.parametrize(
    ("sequence", "b", "shared", "iterated"),
    [
        ("A ; B+", "?a :q ?y", {"a"}, {"y"}),
        ("A ; B+", "?b :q ?y", set(), {"b", "y"}),
        ("A ; B", "?b :q ?y", set(), set()),
        ("(A & B)+", "?a :q ?y", {"a"}, {"x", "y"}),
        ("(A | B)+", "?b :q ?y FILTER(?y > 1)", set(), {"a", "x", "b", "y"}),
        ("A! ; B+", "?a :q ?y", {"a"}, {"y"}),
        ("A ; B+", "?b :q ?y BIND(?x AS ?n)", set(), {"b", "y", "n"}),
        ("A ; B+", "?b :q ?y MINUS { ?a :q 1 }", set(), {"b", "y"}),
        ("A ; B+", "?b :q ?y GRAPH <urn:g> { ?b :of ?a }", {"a"}, {"b", "y"}),
        ("A ; B+", "{ SELECT ?b { ?b :q ?x } }", set(), {"b"}),
        ("A ; B+", "?b :q ?y VALUES ?x { 1 }", {"x"}, {"b", "y"}),
    ],
)
def test_which_variables_join_and_which_are_bound_afresh(
    sequence: str, b: str, shared: set[str], iterated: set[str]
) -> None:
    """Shared is what two GPMs have in scope; filters do not count, nor does what MINUS or SELECT hides."""
    query = classify_variables(lowered(sequence, A, f"B {{ {b} }}"))
    assert (query.shared, query.iterated) == (shared, iterated)


def test_partition_variables_are_shared() -> None:
    """Even if one GPM alone reads them."""
    query = text("A+", A).replace("WHERE", "PARTITION BY ?a WHERE")
    found = classify_variables(lower(parse(query)).query)
    assert (found.shared, found.iterated) == ({"a"}, {"x"})


# --- reports ------------------------------------------------------------------------------------


def test_all_errors_come_at_once_in_the_order_of_the_text() -> None:
    """An author sees everything that is wrong, not one thing after the other."""
    with pytest.raises(QueryError) as caught:
        compile_query(text("A ; B ; X", "A { ?a :p ?x FILTER(?y > 1) }", B, C, form="SELECT ?nothing"))
    every = [caught.value, *caught.value.also]
    assert [error.code for error in every] == ["SPQ302", "SPQ203", "SPQ305", "SPQ204"]
    assert [error.line for error in every] == [2, 5, 6, 8]


def test_an_error_names_what_was_meant() -> None:
    """Near names are suggested."""
    with pytest.raises(QueryError, match=r"did you mean `\?price`\?"):
        compile_query(text("A", "A { ?a :p ?price FILTER(?pirce > 1) }"))


def test_an_error_shows_the_line_with_a_caret() -> None:
    """Code, sentence, place, caret, cure."""
    with pytest.raises(QueryError) as caught:
        compile_query(text("A ; X", A), name="q.spaseq")
    assert str(caught.value).splitlines() == [
        "error[SPQ203]: pattern `X` is used in SEQ but never defined",
        "  --> q.spaseq:5:10",
        " 5 | SEQ (A ; X)",
        "   |          ^ defined here: A",
        "help: define `X`, or take it out of SEQ",
    ]


def test_warnings_come_in_the_order_of_the_text() -> None:
    """And do not stop the query."""
    query = text("A ; B", A, B, rest="").replace("PREFIX : <urn:>", "PREFIX : <urn:> PREFIX x: <urn:x>")
    assert [warning.code for warning in compile_query(query).warnings] == ["SPW105", "SPW101", "SPW102"]


# --- size ---------------------------------------------------------------------------------------


def long_query(steps: int) -> str:
    """A sequence of that many steps and GPMs: every quantifier, a shared key, stateful filters."""
    marks = ["", "+", "?", "", "!"]
    names = [f"P{number}" for number in range(steps)]
    definitions = []
    for number, name in enumerate(names):
        before = names[number - number % 5]  # the plain step of its group of five
        condition = f"?v{name} >= ?v{before} && ?w{name} != 0"
        definitions.append(f"{name} {{ ?k :p{name} ?v{name} ; :q{name} ?w{name} . FILTER({condition}) }}")
    steps_written = [name + marks[number % 5] for number, name in enumerate(names)]
    return text(" ; ".join(steps_written), *definitions)


def test_sixty_steps_and_sixty_gpms_compile_in_under_a_second() -> None:
    """The checks and rules do not grow beyond what a long query can bear; on a machine whose yardstick is 0.1 s."""
    query = long_query(60)
    compile_query(text("A", A))  # the grammar's table is read once for all queries
    took = []
    for _ in range(3):
        begun = time.process_time()
        assert len(compile_query(query).algebra.gpms) == 60
        took.append(time.process_time() - begun)
    assert min(took) < 10 * yardstick()
