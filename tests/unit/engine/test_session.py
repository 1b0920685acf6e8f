"""Facts about sessions: queries come and go while events are pushed, and share what they ask alike."""

from __future__ import annotations

import gc
import random
import weakref

import pytest

import spaseq
from spaseq import Event, InvalidArgument, Session
from spaseq.columnar.plan import _PLANS, PatternPlan

STREAMS = {"S": "http://ex.org/s", "T": "http://ex.org/t"}


def query(sequence: str, alias: str = "S", window: str = "10 SECONDS SLIDING") -> str:
    """A query over one stream; its patterns ask for the properties :a and :b."""
    return f"""PREFIX : <http://ex.org/> SELECT ?k ?v WITHIN {window} FROM STREAM {alias} <{STREAMS[alias]}>
    WHERE {{ SEQ ({sequence}) DEFINE GPM A ON {alias} {{ ?k :a ?v }} DEFINE GPM B ON {alias} {{ ?k :b ?w }} }}"""


def event(seconds: float, name: str, key: str = "k", stream: str = "S") -> Event:
    """An event with one triple."""
    graph = f"<http://ex.org/{key}> <http://ex.org/{name}> {seconds} ."
    return Event(stream, round(seconds * 1_000_000), graph, format="turtle")


def found(matches: list[spaseq.Match]) -> list[tuple[str, int, int]]:
    """Whose matches they are, and when they begin and end, in seconds."""
    return [(each.query, each.begin // 1_000_000, each.instant // 1_000_000) for each in matches]


def test_queries_come_and_go_while_events_are_pushed() -> None:
    """A query sees what is pushed after it was added; a removed one gives nothing more."""
    session = Session()
    assert session.add(query("A ; B"), "pairs") == "pairs"
    assert session.push([event(1, "a"), event(2, "b")]) != []
    assert session.add(query("B ; A")) == "1"
    assert found(session.push([event(3, "b"), event(4, "a")])) == [("1", 3, 4)]
    session.remove("pairs")
    assert found(session.push([event(5, "b"), event(6, "a")])) == [("1", 5, 6)]
    assert list(session.queries) == ["1"]
    assert session.finish() == []


def test_each_query_of_a_session_answers_as_it_would_alone() -> None:
    """Over one stream, another, both; with windows in events; in order of time."""
    texts = {
        "next": query("A ; B"),
        "any": query("A : B"),
        "strict": query("A , B"),
        "counted": query("A ; B", window="3 EVENTS"),
        "other": query("A ; B", alias="T"),
        "without": query("A ; B!"),
    }
    chance = random.Random(3)
    events = [
        event(n // 2, chance.choice("ab"), chance.choice(("k1", "k2")), chance.choice("SST"))
        for n in range(80)
    ]
    session = Session(lateness="2s")
    for name, text in texts.items():
        session.add(text, name)
    together = [match for each in events for match in session.push(each)] + session.finish()
    alone = []
    for name, text in texts.items():
        engine = spaseq.Engine(text, lateness="2s")
        own = [each for each in events if each.stream in {s.alias for s in engine.query.streams}]
        answers = [match for each in own for match in engine.push(each)] + engine.finish()
        alone += [(name, *rest) for _, *rest in found(answers)]
    assert sorted(found(together)) == sorted(alone)
    assert len(alone) > 50


def test_equal_patterns_of_several_queries_are_compiled_and_evaluated_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A hundred queries with the same two patterns cost two evaluations per step."""
    session, asked, real = Session(), 0, PatternPlan.evaluate
    for _ in range(100):
        session.add(query("A ; B"))
    runs = session._group.runs
    assert len({id(gpm.plan) for run in runs for gpm in run.program.gpms}) == 2

    def evaluate(self: PatternPlan, *given: object, **named: object) -> object:
        nonlocal asked
        asked += 1
        return real(self, *given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(PatternPlan, "evaluate", evaluate)
    assert len(session.push([event(1, "a"), event(2, "b")])) == 100
    assert asked == 2


def test_removing_a_query_frees_its_state() -> None:
    """Nothing of the session refers to it any more."""
    session = Session()
    session.add(query("A ; B"), "kept")
    session.add(query("A : B"), "gone")
    session.push([event(n, "a", f"k{n}") for n in range(5)])
    gone = weakref.ref(next(run for run in session._group.runs if run.name == "gone").machine)
    held = session._group.budget.held
    session.remove("gone")
    gc.collect()
    assert gone() is None
    assert session._group.budget.held < held


def test_the_hundredth_query_of_a_session_compiles_no_pattern_and_gives_its_bytes_back() -> None:
    """It is added while events are pushed; patterns that are known are neither compiled nor held twice."""
    session = Session()
    for _ in range(99):
        session.add(query("A ; B"))
    session.push([event(1, "a")])
    plans, held = len(_PLANS), session._group.budget.held
    name = session.add(query("A ; B", window="20 SECONDS SLIDING"))
    assert len(_PLANS) == plans
    assert session._group.budget.held > held
    session.remove(name)
    assert session._group.budget.held == held


def test_matches_of_several_queries_come_in_order_of_time() -> None:
    """Also if they are found in one step."""
    session = Session()
    for sequence in ("A ; B", "B ; A", "A : B"):
        session.add(query(sequence), sequence)
    matches = session.push([event(n, "ab"[n % 2]) for n in range(40)])
    times = [match.instant for match in matches]
    assert times == sorted(times)
    assert len({match.query for match in matches}) == 3


def test_wrong_names_are_refused_with_a_cure() -> None:
    """Two queries of one name, none of that name, a stream that no query declares."""
    session = Session()
    session.add(query("A ; B"), "pairs")
    with pytest.raises(InvalidArgument, match="there is a query `pairs` already"):
        session.add(query("A ; B"), "pairs")
    with pytest.raises(InvalidArgument, match="no query `pair`; did you mean `pairs`"):
        session.remove("pair")
    with pytest.raises(InvalidArgument, match="declares no stream `T`"):
        session.push(event(1, "a", stream="T"))
