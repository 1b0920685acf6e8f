"""Facts about EP-SPARQL at work: rules without end, and what is followed instead of looked at again."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from pyoxigraph import Literal

import spaseq
from spaseq.algebra.intervals import IntervalQuery
from spaseq.algebra.operator_query import OperatorQuery
from spaseq.columnar.knowledge import Knowledge
from spaseq.columnar.rows import RowEvaluator
from spaseq.errors import LimitReached
from spaseq.intervals.running_extremes import RunningExtremes
from spaseq.model.dictionary import TermDictionary
from spaseq.planner.in_run import Choices, in_run

PREFIX = "PREFIX : <http://example.org/> "
COUNTING = """
  CONSTRUCT { ?a :count 0 } WHERE { ?a :edge ?b }
  CONSTRUCT { ?a :count ?more } WHERE { ?a :count ?n BIND(?n + 1 AS ?more) }
  SELECT ?n WHERE { ?a :count ?n }"""
CLOSURE = """
  CONSTRUCT { ?a :reaches ?b } WHERE { ?a :edge ?b }
  CONSTRUCT { ?a :reaches ?c } WHERE { ?a :reaches ?b . ?b :reaches ?c }
  SELECT ?a ?b WHERE { ?a :reaches ?b }"""
CHAIN = " ".join(f":n{a} :edge :n{b} ." for a, b in pairwise(range(13)))


def answers(text: str, *facts: str, **options: object) -> list[spaseq.Match]:
    """What a query finds in facts, one a second."""
    head = "@prefix : <http://example.org/> . "
    events = [
        spaseq.Event("any", 1_000_000 * at, head + fact, format="turtle") for at, fact in enumerate(facts)
    ]
    query = spaseq.compile(PREFIX + text, language="epsparql")
    return list(spaseq.run(query, {"any": events}, **options))  # type: ignore[arg-type]


def test_rules_that_invent_terms_without_end_are_reported_with_instant_and_rules() -> None:
    """A rule that can only count on is reported at once, not when it has counted to the limit."""
    with pytest.raises(LimitReached) as refused:
        answers(COUNTING, ":x :other 1 .", ":x :edge :y .", rule_limit=10**9)
    assert "rule 2 produces more than 1,000,000,000 occurrences at 1970-01-01T00:00:01Z" in str(refused.value)


@pytest.mark.parametrize(
    "rule",
    [
        "{ ?x :n ?w } WHERE { ?x :n ?v BIND(?v * 2 AS ?w) }",
        "{ ?x :n ?w } WHERE { ?x :n ?v BIND(?v + 1 AS ?w) FILTER(?v != 0) }",
        "{ ?x :n _:new } WHERE { ?x :n ?v FILTER(?v != 0 || isBlank(?v)) }",
        "{ ?x :n ?w } WHERE { ?x :n ?v . ?x :n ?u BIND(?v + ?u + 1 AS ?w) }",
        "{ ?x :n ?w } WHERE { ?x :n ?v . ?x :n ?u . ?x :n ?t BIND(?v + ?u * ?t + 1 AS ?w) }",
    ],
)
@pytest.mark.parametrize("instants", [1, 400])
def test_rules_without_end_reach_the_limit_of_one_instant(rule: str, instants: int) -> None:
    """One occurrence a round or many, at every instant of an input: memory and time go by the limit of one instant."""
    with pytest.raises(LimitReached) as refused:
        answers(f"CONSTRUCT {rule} SELECT ?v {{ ?x :n ?v }}", *[":x :n 1 ."] * instants, rule_limit=300)
    assert "rule 1 produces more than 300 occurrences at 1970-01-01T00:" in str(refused.value)


@pytest.mark.parametrize(
    "rule",
    [
        "{ ?x :n _:new } WHERE { ?x :n ?v }",
        "{ ?v :n [] } WHERE { ?x :n ?v }",
        "{ ?v :n _:new . _:new :is ?any } WHERE { ?x :n ?v . ?v :is ?any }",
        "{ [] :n ?v ; :is ?any } WHERE { ?x :n ?v ; :is ?any BIND(?v AS ?w) }",
        "{ ?x ?p [] } WHERE { ?x ?p ?v }",
    ],
)
def test_a_rule_that_makes_a_new_node_of_each_new_node_is_reported_at_once(rule: str) -> None:
    """Not when it has made as many as the limit, one after another."""
    with pytest.raises(LimitReached) as refused:
        answers(
            f"CONSTRUCT {rule} SELECT ?v {{ ?x :n ?v }}", ":x :n 1 .", ":x :n :y . :x :is 5 . :y :is 5 .",
            rule_limit=10**9,
        )  # fmt: skip
    assert "rule 1 produces more than 1,000,000,000 occurrences at 1970-01-01T00:00:0" in str(refused.value)


@pytest.mark.parametrize(
    "rule",
    [
        "{ ?x :n ?w } WHERE { ?x :n ?v BIND(CONCAT(STR(?v), 'a') AS ?w) }",
        "{ ?x :n ?w ; :old ?v } WHERE { ?x :n ?v ; :is ?any BIND(CONCAT('<', ?v, '>') AS ?w) }",
        "{ ?x :n ?w } WHERE { ?x :n ?v BIND(UUID() AS ?w) }",
        "{ ?x ?p ?w } WHERE { ?x ?p ?v BIND(STRUUID() AS ?w) }",
    ],
)
def test_a_rule_that_makes_a_new_text_of_each_new_text_is_reported_at_once(rule: str) -> None:
    """Longer and longer ones would fill the memory before the limit is reached."""
    with pytest.raises(LimitReached) as refused:
        answers(f"CONSTRUCT {rule} SELECT ?v {{ ?x :n ?v }}", ":x :n 'a' ; :is 5 .", rule_limit=10**9)
    assert "rule 1 produces more than 1,000,000,000 occurrences at 1970-01-01T00:00:00Z" in str(refused.value)


@pytest.mark.parametrize(
    ("rule", "many"),
    [
        ("{ ?x :n ?w } WHERE { ?x :n ?v BIND(CONCAT(?v, 'a') AS ?w) }", 1),  # numbers are no texts
        ("{ ?x :m ?w } WHERE { ?x :n ?v BIND(CONCAT(STR(?v), 'a') AS ?w) }", 1),
        ("{ ?x :n ?w } WHERE { ?x :n ?v BIND(CONCAT(STR(?v), '') AS ?w) }", 2),
        ("{ ?x :n ?w } WHERE { ?x :n ?v BIND(CONCAT(STR(?v), 'a') AS ?w) FILTER(STRLEN(STR(?v)) < 3) }", 3),
        ("{ ?v :n ?w } WHERE { ?x :n ?v BIND(UUID() AS ?w) }", 1),
    ],
)
def test_a_rule_that_makes_new_texts_may_have_an_end(rule: str, many: int) -> None:
    """What it makes is not read again, or nothing is made of it."""
    assert len(answers(f"CONSTRUCT {rule} SELECT ?x ?v {{ ?x :n ?v }}", ":x :n 1 .")) == many


@pytest.mark.parametrize(
    ("rule", "many"),
    [
        ("{ ?x :n [] } WHERE { ?x :n [] }", 3),
        ("{ ?v :n [] } WHERE { ?x :n ?v FILTER isLiteral(?v) }", 2),
        ("{ ?v :n [] } WHERE { ?x :n ?v . ?v :is 1 }", 3),
        ("{ ?v :n ?x . ?x :m [] } WHERE { ?x :n ?v }", 3),
        ("{ ?x :n [] } WHERE { ?x :n ?v . ?v :is ?any }", 3),
        ("{ _:a :n _:b } WHERE { ?x :n ?v . ?v :n ?w . ?w :n ?x }", 2),
    ],
)
def test_a_rule_that_makes_new_nodes_may_have_an_end(rule: str, many: int) -> None:
    """What it makes is not read again, or not as another solution."""
    assert (
        len(answers(f"CONSTRUCT {rule} SELECT ?x ?v {{ ?x :n ?v }}", ":x :n 1 . :x :n :y . :y :is 1 ."))
        == many
    )


def test_rules_that_count_to_an_end_are_followed_for_as_many_rounds_as_they_need() -> None:
    """The one limit is that on occurrences at an instant."""
    text = "CONSTRUCT { ?x :n ?w } WHERE { ?x :n ?v BIND(?v + 1 AS ?w) FILTER(?v < 1100) } SELECT ?v { ?x :n ?v }"
    assert len(answers(text, ":x :n 1 .", rule_limit=1_099)) == 1_100
    with pytest.raises(LimitReached):
        answers(text, ":x :n 1 .", rule_limit=1_098)


def test_rules_may_make_a_new_term_of_the_one_before_at_every_instant() -> None:
    """A chain as long as the input, which comes at once."""
    text = "CONSTRUCT { ?t :n ?m } WHERE { { ?p :n ?k } SEQ { ?t :prev ?p } BIND(?k + 1 AS ?m) } SELECT ?m { ?t :n ?m }"
    facts = [":t0 :n 0 .", *(f":t{number + 1} :prev :t{number} ." for number in range(1_100))]
    found = answers(text, *facts, rule_limit=1)
    assert [match.bindings["m"].value for match in found] == [str(number) for number in range(1_101)]


def test_rules_that_produce_too_much_at_one_instant_are_reported() -> None:
    """The closure of a chain of 12 edges has 78 pairs."""
    with pytest.raises(LimitReached) as refused:
        answers(CLOSURE, CHAIN, rule_limit=77)
    assert "produces more than 77 occurrences at 1970-01-01T00:00:00Z" in str(refused.value)


def test_rules_of_several_files_are_called_by_their_file() -> None:
    """Their numbers count within a file."""
    texts = {
        "first.epsparql": "CONSTRUCT { ?x :linked ?y } WHERE { ?x :edge ?y } SELECT ?x { ?x :linked ?y }",
        "second.epsparql": COUNTING,
        "third.epsparql": "SELECT ?x { ?x :edge ?y }",
    }
    queries = [spaseq.compile(PREFIX + text, language="epsparql", name=name) for name, text in texts.items()]
    second = ["1 of second.epsparql", "2 of second.epsparql"]
    assert rule_names(queries) == ["1 of first.epsparql", *second]
    assert rule_names(queries[1:]) == second
    assert rule_names(queries[1:2]) == ["1", "2"]
    for query, alone in zip(in_run(queries[1:], Knowledge(), Choices()), queries[1:], strict=True):
        assert (query.fingerprint == alone.fingerprint) == (query.name == "second.epsparql")


def rule_names(queries: list[spaseq.CompiledQuery]) -> list[str]:
    """What messages of a run call its rules."""
    first = in_run(queries, Knowledge(), Choices())[0].source
    assert isinstance(first, OperatorQuery)
    assert isinstance(first.details, IntervalQuery)
    return list(first.details.rule_names)


def test_rules_may_produce_as_much_as_the_limit_at_each_instant() -> None:
    """It counts for every instant anew."""
    assert len(answers(CLOSURE, CHAIN, rule_limit=78)) == 78
    facts = [f":a{n} :edge :b{n} ." for n in range(5)]
    assert len(answers(CLOSURE, *facts, rule_limit=1)) == 5


def test_what_rules_produce_at_one_instant_counts_however_its_events_come() -> None:
    """Two events at one instant, each pushed by itself, with a snapshot in between; the next instant counts anew."""
    text = "CONSTRUCT { ?x :linked ?y } WHERE { ?x :edge ?y } SELECT ?y { ?x :linked ?y }"
    query = spaseq.compile(PREFIX + text, language="epsparql")
    facts = [
        spaseq.Event("any", time * 1_000_000, f"@prefix : <http://example.org/> . :a :edge :b{at}, :c{at} .", format="turtle")
        for at, time in enumerate((0, 1, 1, 2))
    ]  # fmt: skip
    engine = spaseq.Engine(query, rule_limit=4)
    assert sum(len(list(engine.push(each))) for each in facts) == 8
    engine = spaseq.Engine(query, rule_limit=3)
    for each in facts[:2]:
        list(engine.push(each))
    engine = spaseq.Engine.restore(query, engine.snapshot(), rule_limit=3)
    with pytest.raises(LimitReached, match="rule 1 produces more than 3 occurrences at 1970-01-01T00:00:01Z"):
        list(engine.push(facts[2]))


def test_what_two_strata_produce_counts_once() -> None:
    """The second rule reads one of two triples that the first one produces, and produces the other again."""
    text = """CONSTRUCT { ?x :linked ?y . ?x :note ?y } WHERE { ?x :edge ?y }
        CONSTRUCT { ?x :note ?y } WHERE { ?x :linked ?y } SELECT ?y { ?x :note ?y }"""
    assert len(answers(text, ":a :edge :b .", rule_limit=2)) == 1
    with pytest.raises(LimitReached, match="more than 1 occurrences"):
        answers(text, ":a :edge :b .", rule_limit=1)


def test_a_running_extreme_does_not_depend_on_what_came_first() -> None:
    """1 and 1.0 are equal, so their texts decide; an error spoils the rest of its group."""
    dictionary = TermDictionary()
    one, same, two, text = (
        dictionary.encode(term)
        for term in (
            Literal(1),
            Literal("1.0", datatype=Literal(1.5).datatype),
            Literal(2),
            Literal("10", datatype=Literal(1).datatype),
        )
    )
    extremes = RunningExtremes([("MIN", 0), ("MAX", 0)], RowEvaluator(dictionary))
    groups, every = np.array([0, 0, 1, 1, 1]), np.ones(5, np.bool_)
    ids = np.array([[two], [one], [same], [one], [0]], np.int32)
    first = extremes.step(groups, ids, every, 2)
    assert first.tolist() == [[two, two], [one, two], [same, same], [one, same], [0, 0]]
    later = extremes.step(
        np.array([0, 0, 1, 2]), np.array([[same], [text], [two], [two]], np.int32), every[:4], 3
    )
    assert later.tolist() == [[one, two], [one, text], [0, 0], [two, two]]
    assert extremes.step(np.zeros(0, np.intp), ids[:0], every[:0], 3).shape == (0, 2)


def test_a_running_maximum_is_that_of_all_members_so_far() -> None:
    """Also beside a sum, and with terms that are no numbers."""
    facts = [f":x :p {value} ." for value in ("3", "1", "5.5", "2", "9e0", '"text"')]
    found = answers("SELECT (MAX(?v) AS ?most) (COUNT(*) AS ?n) { ?x :p ?v } GROUP BY ?x", *facts)
    assert [str(match.bindings["most"].value) for match in found] == ["3", "3", "5.5", "5.5", "9e0", "text"]
    assert [match.values["n"] for match in found] == [1, 2, 3, 4, 5, 6]


def test_a_sequence_of_equal_prices_with_one_start_is_one_solution() -> None:
    """Two middles of the same value and the same ends are one (μ, I); the first join, over instants, has both."""
    facts = [":x :p 3 .", ":x :p 1 .", ":x :p 1 .", ":x :p 4 ."]
    query = "SELECT ?a ?b ?c { { ?x :p ?a } SEQ { ?x :p ?b } SEQ { ?x :p ?c } FILTER(?b < ?a && ?c > ?a) }"
    assert len(answers(query, *facts)) == 1
    assert len(answers("SELECT ?a ?b { { ?x :p ?a } SEQ { ?x :p ?b } FILTER(?b < ?a) }", *facts)) == 2


def facts(read: list[int]) -> Iterator[spaseq.Event]:
    """Many facts, one a second; notes those that were taken."""
    for second in range(20_000):
        read.append(second)
        yield spaseq.Event("any", 1_000_000 * second, f"<urn:a> <urn:p> {second} .", format="turtle")


@pytest.mark.parametrize("distinct", ["", "DISTINCT"])
@pytest.mark.parametrize("limits", ["LIMIT 3 OFFSET 2", "LIMIT 0"])
def test_a_query_ends_after_as_many_answers_as_it_asks_for(distinct: str, limits: str) -> None:
    """The rest of the input is not read."""
    read: list[int] = []
    query = spaseq.compile(f"SELECT {distinct} ?v {{ ?s <urn:p> ?v }} {limits}", language="epsparql")
    found = [match.bindings["v"] for match in spaseq.run(query, {"any": facts(read)})]
    assert found == ([Literal(2), Literal(3), Literal(4)] if limits != "LIMIT 0" else [])
    assert 0 < len(read) < 20_000


def test_a_query_that_ended_keeps_nothing_more() -> None:
    """Nor after a snapshot."""
    text = "SELECT ?v { { ?s <urn:p> ?u } SEQ { ?s <urn:p> ?v } } LIMIT 2"
    query = spaseq.compile(text, language="epsparql")
    engine = spaseq.Engine(query)
    events = facts([])
    found = engine.push([next(events), next(events)])
    engine = spaseq.Engine.restore(query, engine.snapshot())
    found += engine.push(next(events))
    kept = engine.metrics.runs
    engine = spaseq.Engine.restore(query, engine.snapshot())
    found += engine.push([next(events) for _ in range(100)])
    assert len(found) == 2
    assert engine.metrics.runs <= kept
