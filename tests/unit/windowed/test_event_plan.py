"""How every MATCH is followed and spread, and that `explain` says so (semantics 4.7)."""

from __future__ import annotations

import re

import pytest

from spaseq.planner import CompiledQuery, compile_query, explain
from spaseq.planner.distribution import RouteUnit

BY_K = "made anew for the values of ?k of which an event comes or leaves"
JOINED = "a join over time that follows events as they come and leave"
LOOKED = "looked for when its last event comes, and there until its first one leaves"
ALWAYS = "made anew whenever an event comes or leaves, because "
EVENTS = (
    "EVENT ON :w { ?k :p ?x } AS A EVENT ON :w { ?k :q ?y } AS B EVENT ON :w { ?y :r ?z } AS C "
    "EVENT ON :w { :it :s ?u OPTIONAL { ?k :t ?u } } AS D"
)


def compiled(match: str, tail: str = "", window: str = "[RANGE 10s]") -> CompiledQuery:
    """A query over the window :w with the events that a MATCH names."""
    used = " ".join(
        "EVENT " + each
        for each in EVENTS.split("EVENT ")[1:]
        if each.split()[-1] in re.findall(r"\w+", match)
    )
    text = f"PREFIX : <http://ex.org/> SELECT * FROM NAMED WINDOW :w ON :s {window} {used} WHERE {{ MATCH {{ {match} }} }} {tail}"
    return compile_query(text, "rsepql")


def followed(match: str, tail: str = "") -> list[str]:
    """What `explain` says of every SEQ."""
    lines = explain(compiled(match, tail), "text").splitlines()
    return [line.removeprefix("match").strip() for line in lines if line.startswith("match")]


@pytest.mark.parametrize(
    ("match", "tail", "how"),
    [
        ("A SEQ B", "", JOINED),
        ("A SEQ RECENT B", "", BY_K),
        ("A SEQ CHRONOLOGICAL B", "CONSUME CHRONOLOGICAL", f"{BY_K}; what it uses is consumed"),
        ("A SEQ NEXT B", "", f"{LOOKED}; made anew once an event comes that lasts"),
        ("A SEQ PARTITION ?k B", "", LOOKED),
        ("A SEQ NOT B SEQ A", "", LOOKED),
        ("A SEQ C", "", JOINED),
        ("A SEQ NAIVE C", "", "only the last events of either side are kept"),
        ("A SEQ NAIVE C", "CONSUME RECENT", f"{ALWAYS}no variable is bound by every EVENT of it; what it uses is consumed"),
        ("A SEQ RECENT C", "", f"{ALWAYS}no variable is bound by every EVENT of it"),
        ("A SEQ D", "", JOINED),
        ("FIRST A SEQ B", "", f"{ALWAYS}FIRST compares all events"),
        ("A SEQ STRICT B", "", LOOKED),
        ("A SEQ STRICT B", "CONSUME RECENT", f"{ALWAYS}SEQ STRICT compares all events; what it uses is consumed"),
        ("A SEQ NEXT (B SEQ A)", "", BY_K),
    ],
)  # fmt: skip
def test_explain_says_how_a_seq_is_followed(match: str, tail: str, how: str) -> None:
    """By key, by joins, by looking back, by the last events alone, or anew, with the reason."""
    assert followed(match, tail)[0] == f"{match}: {how}"


def test_every_seq_of_a_match_has_its_line() -> None:
    """From the outside in."""
    assert [line.split(":")[0] for line in followed("A SEQ (B SEQ RECENT A)")] == [
        "A SEQ (B SEQ RECENT A)",
        "B SEQ RECENT A",
    ]


@pytest.mark.parametrize(
    ("match", "tail"),
    [("A SEQ B", ""), ("A SEQ RECENT B", "CONSUME RECENT"), ("A SEQ PARTITION ?k B", ""), ("A SEQ NOT B SEQ A", "")],
)  # fmt: skip
def test_a_variable_of_every_event_is_the_key(match: str, tail: str) -> None:
    """Every worker hears of all instants."""
    found = compiled(match, tail).distribution
    assert (found.unit, found.variables) == (RouteUnit.KEY_AND_TICKS, ("k",))


@pytest.mark.parametrize(
    ("match", "reason"),
    [
        ("A SEQ C", "EVENT C may leave ?k unbound"),
        ("A SEQ D", "EVENT D may leave ?k unbound"),
        ("LAST A SEQ B", "LAST compares all events"),
        ("A SEQ NAIVE B", "SEQ NAIVE compares all events"),
        ("A SEQ STRICT B", "SEQ STRICT compares all events"),
    ],
)
def test_events_that_meet_stay_together(match: str, reason: str) -> None:
    """The reason says what compares them."""
    found = compiled(match).distribution
    assert found.variables == ()
    assert reason in found.reason


def test_what_another_value_may_consume_stays_together() -> None:
    """Both events may use the same triple, for two values of the variable."""
    text = (
        "PREFIX : <http://ex.org/> SELECT * FROM NAMED WINDOW :w ON :s [LND 0] "
        "EVENT ON :w { ?k :p ?x } AS A EVENT ON :w { ?y :p ?k } AS B WHERE { MATCH { A SEQ B } } CONSUME RECENT"
    )
    found = compile_query(text, "rsepql").distribution
    assert found.variables == ()
    assert "what is consumed for one value of" in found.reason
