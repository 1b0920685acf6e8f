"""The operator of continuous queries: what it keeps, and what it follows besides events."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from pyoxigraph import Literal, NamedNode, RdfFormat, Triple, parse

import spaseq
from spaseq.algebra.operator_query import OperatorQuery
from spaseq.algebra.windows import WindowQuery
from spaseq.columnar.rows import RowEvaluator
from spaseq.errors import SpaseqError
from spaseq.model.events import GraphEvent
from spaseq.planner.compiled import Optimisations, compile_query
from spaseq.reference.continuous import window_answers
from spaseq.windowed.reevaluated import EvaluationScope

COUNT = """PREFIX : <http://e/>
SELECT ?k (COUNT(*) AS ?n) FROM NAMED WINDOW :w ON :s [RANGE 10s STEP 5s]
WHERE { WINDOW :w { ?k :p ?v } OPTIONAL { WINDOW :w { ?v :q ?x } } FILTER NOT EXISTS { WINDOW :w { ?k :r ?x } } } GROUP BY ?k"""


def _event(second: int, key: str) -> spaseq.Event:
    return spaseq.Event("s", second * 1_000_000, f"<http://e/{key}> <http://e/p> {second} .", format="turtle")


def _label(text: str) -> list[Triple]:
    return [Triple(NamedNode("http://e/a"), NamedNode("http://e/label"), Literal(text))]


def test_keys_that_come_once_leave_nothing_behind(change_settings: Callable[..., None]) -> None:
    """Groups, partners and triples that left their window are forgotten, also where the dictionary is compacted in between."""
    change_settings(forgotten_rows=20, forgotten_events=20, compacted_terms=4)
    engine = spaseq.Engine(COUNT)
    sizes = []
    for second in range(600):
        engine.push(_event(second, f"k{second}"))
        if second % 200 == 199:
            sizes.append(len(engine.snapshot()))
    assert max(sizes) < 1.5 * sizes[0]


def test_a_background_graph_that_is_replaced_shows_at_the_next_evaluation() -> None:
    """Background graphs are as they are at the instant of an evaluation."""
    query = """PREFIX : <http://e/> SELECT ?k ?l FROM NAMED WINDOW :w ON :s [RANGE 10s]
    WHERE { WINDOW :w { ?k :p ?v } GRAPH :names { ?k :label ?l } } REPORT ON CONTENT CHANGE"""
    engine = spaseq.Engine(query, knowledge={"http://e/names": _label("old")})
    engine.push(_event(1, "a"))
    found = engine.advance_to(2_000_000)
    engine.replace_knowledge("http://e/names", _label("new"))
    engine.push(_event(3, "b"))
    found += engine.finish()
    assert [match.values["l"] for match in found] == ["old", "new"]


@pytest.mark.parametrize("cut", [1, 40, 200])
def test_a_damaged_state_is_refused(cut: int) -> None:
    """Whatever is missing, the error says so instead of a wrong answer."""
    engine = spaseq.Engine(COUNT)
    engine.push([_event(second, "a") for second in range(20)])
    with pytest.raises(SpaseqError):
        spaseq.Engine.restore(COUNT, engine.snapshot()[:-cut])


@pytest.mark.parametrize("seed", range(16))
def test_the_least_the_greatest_and_the_different_values_are_followed(seed: int) -> None:
    """MIN, MAX, DISTINCT and doubles of any size, over values that come, go and come again; no order of adding matters."""
    chance = random.Random(seed)
    window = chance.choice(["RANGE 4s STEP 2s", "RANGE 3s", "RANGE 3 EVENTS", "LND 0"])
    head, tail = chance.choice([("?k", "GROUP BY ?k"), ("", "")])
    query = compile_query(
        f"PREFIX : <http://e/> SELECT {head} (MIN(?v) AS ?a) (MAX(?v) AS ?b) (COUNT(DISTINCT ?v) AS ?c) (SUM(DISTINCT ?v) AS ?d) "
        f"(SUM(?v) AS ?e) (AVG(?v) AS ?f) FROM NAMED WINDOW :w ON :s [{window}] "
        f"WHERE {{ WINDOW :w {{ ?k :p ?x }} OPTIONAL {{ WINDOW :w {{ ?x :v ?v }} }} }} {tail}",
        "rsepql",
    )
    assert "followed incrementally" in query.explain()
    values = ["1", "-3", "0.5", "1e300", "-1e300", "0.1e0", "3e-320", "7e0", "1e16", '"a"'][: 5 + seed % 6]
    events, second = [], 0
    for _ in range(24):
        second += chance.choice([0, 1, 1, 2])
        item = f"<http://e/x{chance.randrange(5)}>"
        text = f"<http://e/k{chance.randrange(2)}> <http://e/p> {item} ."
        if chance.random() < 0.9:
            text += f" {item} <http://e/v> {chance.choice(values)} ."
        triples = frozenset(quad.triple for quad in parse(text.encode(), format=RdfFormat.TURTLE))
        events.append(GraphEvent("http://e/s", second * 1_000_000, triples))
    engine, found, pushed = spaseq.Engine(query), [], 0
    while pushed < len(events):
        size = chance.choice([1, 2, 8, 24])
        found += engine.push(events[pushed : pushed + size])
        pushed += size
        if chance.random() < 0.3:
            engine = spaseq.Engine.restore(query, engine.snapshot())
    found += engine.finish()
    assert isinstance(query.source, OperatorQuery)
    assert isinstance(query.source.details, WindowQuery)
    wanted = window_answers(query.source.details, events)
    assert Counter(map(_shown, found)) == Counter(map(_shown, wanted))


@pytest.mark.parametrize("shape", ["rising", "falling", "any", "few"])
@pytest.mark.parametrize("seed", range(8))
def test_the_best_of_many_values_are_listed(
    seed: int, shape: str, change_settings: Callable[..., None]
) -> None:
    """Short lists of the best values, of which all may leave; values that are unbound for a while, snapshots, steps of any size."""
    chance = random.Random(f"{seed} {shape}")
    change_settings(listed_values=chance.choice([1, 2, 5]), forgotten_rows=chance.choice([2, 30]))
    head, tail = chance.choice([("?k", "GROUP BY ?k"), ("", "")])
    window = chance.choice(["RANGE 20 EVENTS", "RANGE 20 EVENTS STEP 1", "RANGE 30s", "RANGE 25s STEP 5s"])
    query = compile_query(
        f"PREFIX : <http://e/> SELECT {head} (MIN(?v) AS ?a) (MAX(?v) AS ?b) (MIN(STR(?v)) AS ?c) (MAX(?x) AS ?d) (SUM(?n) AS ?e) "
        f"FROM NAMED WINDOW :w ON :s [{window}] "
        f"WHERE {{ WINDOW :w {{ ?x :k ?k ; :n ?n }} OPTIONAL {{ WINDOW :w {{ ?x :v ?v }} }} }} {tail}",
        "rsepql",
    )
    events = []
    for number in range(90):
        value = {"rising": number, "falling": -number, "any": chance.randrange(99), "few": number % 3}[shape]
        item = NamedNode(f"http://e/x{value + 500 if shape != 'few' else number}")
        unbound = number % 40 == 25
        of = {"k": Literal(chance.choice([1, 1, 1, 2])), "n": Literal(number)}
        of |= {} if unbound else {"v": Literal(value)}
        triples = frozenset(Triple(item, NamedNode(f"http://e/{name}"), term) for name, term in of.items())
        events.append(GraphEvent("http://e/s", number * 1_000_000, triples))
    engine, found, pushed = spaseq.Engine(query), [], 0
    while pushed < len(events):
        size = chance.choice([1, 1, 1, 2, 15])
        found += engine.push(events[pushed : pushed + size])
        pushed += size
        if chance.random() < 0.1:
            engine = spaseq.Engine.restore(query, engine.snapshot())
    found += engine.finish()
    assert isinstance(query.source, OperatorQuery)
    assert isinstance(query.source.details, WindowQuery)
    wanted = window_answers(query.source.details, events)
    assert Counter(map(_shown, found)) == Counter(map(_shown, wanted))


@pytest.mark.parametrize("seed", range(12))
def test_a_sample_is_the_first_value_that_there_is(seed: int, change_settings: Callable[..., None]) -> None:
    """Whatever else the group has: rows without the value, values that came before it and have left."""
    chance = random.Random(seed)
    change_settings(listed_values=chance.choice([1, 2, 64]), forgotten_rows=chance.choice([2, 30]))
    head, tail = chance.choice([("?k", "GROUP BY ?k"), ("", "")])
    query = compile_query(
        f"PREFIX : <http://e/> SELECT {head} (SAMPLE(?v) AS ?a) (COUNT(?v) AS ?b) FROM STREAM :s [RANGE 12 EVENTS] "
        f"WHERE {{ ?x :k ?k OPTIONAL {{ ?x :v ?v }} }} {tail}",
        "rsepql",
    )
    assert "followed incrementally" in query.explain()
    held = [
        (chance.choice([1, 1, 2]), None if chance.random() < 0.3 else chance.randrange(-50, 50))
        for _ in range(60)
    ]
    engine, found, pushed = spaseq.Engine(query), [], 0
    while pushed < len(held):
        size = chance.choice([1, 1, 2, 15])
        events = []
        for number, (key, value) in enumerate(held[pushed : pushed + size], pushed):
            valued = "" if value is None else f"; <http://e/v> {value}"
            text = f"<http://e/x{number}> <http://e/k> {key} {valued} ."
            events.append(spaseq.Event("http://e/s", number * 1_000_000, text, format="turtle"))
        found += engine.push(events)
        pushed += size
        if chance.random() < 0.2:
            engine = spaseq.Engine.restore(query, engine.snapshot())
    found += engine.finish()
    now: dict[object, object] = {}
    for match in found:  # what is new since the evaluation before
        now[match.time, match.values.get("k")] = (match.values.get("a"), match.values["b"])
    for (time, key), (sample, many) in now.items():
        last = int(time.timestamp())
        values = [
            value
            for of, value in held[max(last - 11, 0) : last + 1]
            if key in (None, of) and value is not None
        ]
        assert (sample, many) == (min(values, default=None), len(values))


@pytest.mark.parametrize("shape", ["rising", "falling"])
def test_values_that_rise_or_fall_are_not_ranked_again_and_again(
    shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Although the extreme leaves at every step: a step ranks a small part of what the window holds."""
    ranked: list[int] = []
    ranks = RowEvaluator.ranks

    def counted(evaluator: RowEvaluator, terms: Any) -> Any:
        ranked.append(len(terms))
        return ranks(evaluator, terms)

    monkeypatch.setattr(RowEvaluator, "ranks", counted)
    engine = spaseq.Engine(
        "PREFIX : <http://e/> SELECT (MIN(?v) AS ?a) (MAX(?v) AS ?b) FROM STREAM :s [RANGE 3000 EVENTS] { ?x :v ?v }"
    )
    sign = 1 if shape == "rising" else -1
    texts = [f'<http://e/x> <http://e/v> "{5000 + sign * number}" .' for number in range(3600)]
    events = [
        spaseq.Event("http://e/s", at * 1_000_000, text, format="turtle") for at, text in enumerate(texts)
    ]
    engine.push(events[:3000])
    ranked.clear()
    for event in events[3000:]:
        engine.push(event)
    assert sum(ranked) / 600 < 400


@pytest.mark.parametrize("valued", ["OPTIONAL { WINDOW :w { ?x :v ?v } }", "{ WINDOW :w { ?x :v ?v } }"])
@pytest.mark.parametrize("seed", range(12))
def test_running_totals_are_what_the_reference_adds_up(seed: int, valued: str) -> None:
    """Integers, decimals of more and more places, errors, unbound values and numbers too large to be added up as they come.

    Rows that all leave by themselves are not counted before totals fail; then they are, in the middle of a window.
    """
    chance = random.Random(seed)
    window = chance.choice(["RANGE 4s STEP 2s", "RANGE 3s", "RANGE 3 EVENTS", "LND 0"])
    head, tail = chance.choice([("?k", "GROUP BY ?k"), ("", "")])
    query = compile_query(
        f"PREFIX : <http://e/> SELECT {head} (COUNT(*) AS ?a) (COUNT(?v) AS ?b) (SUM(?v) AS ?c) (AVG(?v + 1) AS ?d) "
        f"FROM NAMED WINDOW :w ON :s [{window}] WHERE {{ WINDOW :w {{ ?k :p ?x }} {valued} }} {tail}",
        "rsepql",
    )
    assert isinstance(query.source, OperatorQuery)
    events, second = [], 0
    for _ in range(14):
        second += chance.choice([0, 1, 1, 2])
        item = f"<http://e/x{chance.randrange(4)}>"
        value = chance.choice(["1", "-3", "0.5", "2.25", "0.0625", "100000000000000000", '"no number"'])
        text = f"<http://e/k{chance.randrange(2)}> <http://e/p> {item} ."
        if chance.random() < 0.8:
            text += f" {item} <http://e/v> {value} ."
        triples = frozenset(quad.triple for quad in parse(text.encode(), format=RdfFormat.TURTLE))
        events.append(GraphEvent("http://e/s", second * 1_000_000, triples))
    engine, found = spaseq.Engine(query), []
    for number, event in enumerate(events):
        found += engine.push(event)
        if number % 5 == 4:
            engine = spaseq.Engine.restore(query, engine.snapshot())
    found += engine.finish()
    assert isinstance(query.source.details, WindowQuery)
    wanted = window_answers(query.source.details, events)
    assert Counter(map(_shown, found)) == Counter(map(_shown, wanted))


def test_incremental_evaluation_can_be_switched_off() -> None:
    """Every evaluation then begins anew, as `explain` says, and the answers are the same."""
    query = compile_query(COUNT, "rsepql", optimisations=Optimisations.without("incremental"))
    assert "incremental evaluation is switched off" in query.explain()
    events = [_event(second, f"k{second % 3}") for second in range(20)]
    answers = []
    for each in (query, compile_query(COUNT, "rsepql")):
        engine = spaseq.Engine(each)
        answers.append(Counter(map(_shown, engine.push(events) + engine.finish())))
    assert answers[0] == answers[1]


@pytest.mark.parametrize(("incremental", "made"), [(True, 1), (False, 20)])
def test_switched_off_it_evaluates_anew_although_nothing_has_changed(
    monkeypatch: pytest.MonkeyPatch, *, incremental: bool, made: int
) -> None:
    """What benchmarks compare with is an evaluation for every event; a path of any length is made anew only where it changed."""
    evaluated = 0
    solutions = EvaluationScope.solutions

    def counted(self: EvaluationScope, *given: Any) -> Any:
        nonlocal evaluated
        evaluated += given[3] - given[2]
        return solutions(self, *given)

    monkeypatch.setattr(EvaluationScope, "solutions", counted)
    text = """PREFIX : <http://e/>
    SELECT * FROM NAMED WINDOW :w ON :s [RANGE 1h] WHERE { WINDOW :w { :k0 :q+ ?v } } REPORT ON CONTENT CHANGE"""
    without = () if incremental else ("incremental",)
    query = compile_query(text, "rsepql", optimisations=Optimisations.without(*without))
    first = spaseq.Event("s", 0, "<http://e/k0> <http://e/q> <http://e/k1> .", format="turtle")
    engine = spaseq.Engine(query)
    assert (
        len(engine.push([first, *(_event(second, "k0") for second in range(1, 20))]) + engine.finish()) == 1
    )
    assert evaluated == made


def _shown(match: spaseq.Match) -> tuple[object, ...]:
    return match.time, match.start, tuple(sorted((name, str(term)) for name, term in match.bindings.items()))
