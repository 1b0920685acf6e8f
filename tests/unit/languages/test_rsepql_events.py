"""The spellings of event patterns (semantics 4.1), their trees, their printed form and their defaults."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from spaseq.algebra.event_patterns import (
    Consumption,
    DeclaredEvent,
    EventDuring,
    EventPattern,
    EventSeq,
    FirstOf,
    LastOf,
    Selected,
    declared_events,
)
from spaseq.algebra.expressions import Var
from spaseq.algebra.patterns import Bgp, EventMatch, Project
from spaseq.algebra.scope import in_scope, lowered, visible
from spaseq.algebra.windows import Emission, Trigger, WindowQuery
from spaseq.errors import QueryError
from spaseq.languages.registry import language_of
from spaseq.languages.rsepql.dialect import parse_rsepql
from spaseq.languages.rsepql.printer import format_rsepql
from spaseq.languages.rsepql.query import compile_text, compile_windows

HEAD = """PREFIX : <http://ex.org/>
SELECT ?x ?z
FROM NAMED :S WIN [LND 1] AS :w1
FROM NAMED :S WIN [RANGE 5] AS :w2
EVENT ON :w1 { ?x :p ?y. } AS E1
EVENT ON :w2 { ?y :q ?z. } AS E2
"""


def match_of(query: WindowQuery) -> EventPattern:
    """The event pattern of a query that is one MATCH."""
    pattern = query.pattern
    assert isinstance(pattern, Project)
    assert isinstance(pattern.pattern, EventMatch)
    return pattern.pattern.events


def seq(selected: Selected) -> Callable[[EventPattern, EventPattern], EventPattern]:
    """A SEQ with a policy."""
    return lambda one, two: EventSeq(one, two, selected)


WRITTEN: dict[str, Callable[[EventPattern, EventPattern], EventPattern]] = {
    "E1 SEQ E2": EventSeq,
    "E1 seq any E2": EventSeq,
    "E1 SEQ^n E2": seq(Selected.NAIVE),
    "E1 SEQ ^ C E2": seq(Selected.CHRONOLOGICAL),
    "E1 Seq^R E2": seq(Selected.RECENT),
    "E1 SEQ NAIVE E2": seq(Selected.NAIVE),
    "E1 SEQ CHRONOLOGICAL E2": seq(Selected.CHRONOLOGICAL),
    "E1 SEQ RECENT E2": seq(Selected.RECENT),
    "E1 SEQ NEXT E2": seq(Selected.NEXT),
    "E1 SEQ STRICT E2": seq(Selected.STRICT),
    "E1 SEQ PARTITION ?y E2": lambda one, two: EventSeq(one, two, Selected.PARTITION, Var("y")),
    "E1 DURING E2": EventDuring,
    "E1 SEQ NOT E1 SEQ RECENT E2": lambda one, two: EventSeq(one, two, Selected.RECENT, None, one),
    "E1 SEQ NOT (E1 SEQ E2) SEQ E2": lambda one, two: EventSeq(one, two, absent=EventSeq(one, two)),
    "FIRST E1 SEQ LAST E2": lambda one, two: EventSeq(FirstOf(one), LastOf(two)),
    "first (E1 SEQ E2)": lambda one, two: FirstOf(EventSeq(one, two)),
    "LAST FIRST E1 DURING E2": lambda one, two: EventDuring(LastOf(FirstOf(one)), two),
    "E1 SEQ E2 DURING E1 SEQ E2": lambda one, two: EventSeq(EventDuring(EventSeq(one, two), one), two),
    "E1 SEQ (E2 SEQ E1)": lambda one, two: EventSeq(one, EventSeq(two, one)),
    "((E1)) SEQ (E2)": EventSeq,
}


@pytest.mark.parametrize("where", ["WHERE ", ""])
@pytest.mark.parametrize("events", WRITTEN)
def test_an_event_pattern_means_the_same_in_every_spelling_and_printed(events: str, where: str) -> None:
    """All operators associate to the left; names stand for their window and pattern; WHERE may be left out."""
    text = HEAD + where + f"{{ MATCH {{ {events} }} WINDOW :w2 {{}} }}"
    assert parse_rsepql(format_rsepql(parse_rsepql(text))) == parse_rsepql(text)
    if "E2" not in events or "E1" not in events:
        return
    found = match_of(compile_windows(HEAD + where + f"{{ MATCH {{ {events} }} }}"))
    known = {each.name: each for each in declared_events(found)}
    assert found == WRITTEN[events](known["E1"], known["E2"])
    assert known["E1"].window == "http://ex.org/w1"
    assert isinstance(known["E2"].pattern, Bgp)


def test_a_blank_node_is_a_variable_of_one_event_alone() -> None:
    """The same label in two events, or the same event twice, joins nothing; and WHERE may have it again."""
    text = """SELECT * FROM NAMED WINDOW <w> ON <s> [RANGE 5s]
    EVENT ON <w> { _:b <urn:p> ?x } AS E1 EVENT ON <w> { _:b <urn:q> ?y . [] <urn:r> _:b } AS E2
    WHERE { MATCH { E1 SEQ E2 SEQ E1 } }"""
    events = list(declared_events(match_of(compile_windows(text))))
    assert [in_scope(lowered(each.pattern)) for each in events] == [("x",), ("y",), ("x",)]
    compile_windows(text.replace("} }", "} WINDOW <w> { _:b <urn:p> ?z } }"))


def test_relative_names_and_names_of_events_that_look_like_other_words() -> None:
    """A window may be named by a relative IRI; an event by any word that is no keyword, letter by letter."""
    text = """SELECT * FROM NAMED WINDOW <w> ON <s> [RANGE 5s]
    EVENT ON <w> { ?x <urn:p> ?y } AS n EVENT ON <w> { ?x <urn:p> ?y } AS N
    EVENT ON <w> { ?x <urn:p> ?y } AS Stream_1 WHERE { MATCH { n SEQ^n N SEQ Stream_1 } }"""
    names = [each.name for each in declared_events(match_of(compile_windows(text)))]
    assert names == ["n", "N", "Stream_1"]


def test_match_stands_wherever_a_group_may() -> None:
    """In OPTIONAL, UNION, MINUS, EXISTS, a sub-SELECT, under WINDOW and GRAPH; in CONSTRUCT and ASK."""
    where = """{ MATCH { E1 } OPTIONAL { MATCH { E1 SEQ E2 } } { MATCH { E2 } } UNION { MATCH { E1 } }
    MINUS { MATCH { E2 } } WINDOW :w1 { MATCH { E2 } } GRAPH ?g { MATCH { E2 } } FILTER EXISTS { MATCH { E1 } }
    { SELECT ?x (COUNT(*) AS ?n) WHERE { MATCH { E1 SEQ E2 } } GROUP BY ?x } }"""
    for form in ("SELECT ?x ?z", "ASK", "CONSTRUCT { ?x :r ?z }"):
        written = parse_rsepql(HEAD.replace("SELECT ?x ?z", form) + "WHERE " + where)
        assert len(written.matches) == 9
        assert parse_rsepql(format_rsepql(written)) == written


def test_select_star_has_the_variables_of_the_events_but_not_those_under_not() -> None:
    """What is absent binds nothing."""
    text = HEAD.replace("?x ?z", "*") + "EVENT ON :w2 { ?y :r ?never } AS E3 {}"
    query = compile_windows(text.replace("{}", "{ MATCH { E1 SEQ NOT E3 SEQ E2 } }"))
    assert [variable.name for variable in visible(query.pattern)] == ["x", "y", "z"]


@pytest.mark.parametrize(
    ("after", "consumption", "trigger", "emission"),
    [
        ("", Consumption.NONE, Trigger.CONTENT_CHANGE, Emission.ISTREAM),
        ("CONSUME NONE", Consumption.NONE, Trigger.CONTENT_CHANGE, Emission.ISTREAM),
        ("consume chronological", Consumption.CHRONOLOGICAL, Trigger.CONTENT_CHANGE, Emission.RSTREAM),
        ("LIMIT 3 CONSUME RECENT", Consumption.RECENT, Trigger.CONTENT_CHANGE, Emission.RSTREAM),
        (
            "CONSUME RECENT REPORT ON CONTENT CHANGE",
            Consumption.RECENT,
            Trigger.CONTENT_CHANGE,
            Emission.RSTREAM,
        ),
        ("REPORT ON WINDOW CLOSE", Consumption.NONE, Trigger.WINDOW_CLOSE, Emission.RSTREAM),
        ("REPORT EVERY 5s", Consumption.NONE, Trigger.EVERY, Emission.RSTREAM),
    ],
)
def test_the_defaults_of_a_query_with_match(
    after: str, consumption: Consumption, trigger: Trigger, emission: Emission
) -> None:
    """At every new event although a window has a step, ISTREAM; RSTREAM whenever the query consumes."""
    head = HEAD.replace("[RANGE 5]", "[RANGE 5 STEP 1]")
    query = compile_windows(head + "WHERE { MATCH { E1 SEQ E2 } } " + after)
    assert (query.consumption, query.report.trigger, query.emission) == (consumption, trigger, emission)


def test_an_operator_that_is_stated_counts_although_the_query_consumes() -> None:
    """REGISTER ISTREAM … AS."""
    text = HEAD.replace("SELECT", "REGISTER ISTREAM :q AS SELECT") + "{ MATCH { E1 SEQ E2 } } CONSUME RECENT"
    assert compile_windows(text).emission is Emission.ISTREAM


@pytest.mark.parametrize(
    ("window", "after", "codes"),
    [
        ("[LND 1]", "", ["SPW701"]),
        ("[LND 1]", "CONSUME NONE", ["SPW701"]),
        ("[LND 1]", "CONSUME RECENT", []),
        ("[RANGE 5s] OF [LND 1]", "", []),
        ("[FROM 1 TO 5]", "", []),
        ("[EVENTS 5]", "", []),
    ],
)
def test_a_match_over_everything_so_far_is_warned_of(window: str, after: str, codes: list[str]) -> None:
    """Unless something consumes, or a window drops what it held."""
    text = HEAD.replace("[LND 1]", window) + "{ MATCH { E1 SEQ E2 } }" + after
    assert [warning.code for warning in compile_text(text, "q").warnings] == codes


@pytest.mark.parametrize(
    ("match", "cure"),
    [
        ("E1 -> E2", "E1 SEQ E2"),
        ("E1, E2", "SEQ STRICT"),
        ("E1; E2", "SEQ NEXT"),
        ("E1 SEQ RECNT E2", "did you mean SEQ RECENT?"),
        ("E1 || E2", "UNION"),
        ("E1 AND E2", "two MATCH"),
        ("E1* SEQ E2", "one after the other"),
        ("?x :p ?y", "EVENT ON <w>"),
        ("E1 SEQ Count", "COUNT is a keyword"),
        ("SEQ(E1, E2)", "E1 SEQ E2"),
        ("E1 SEQ E22", "declare it before WHERE"),
    ],
)
def test_a_slip_inside_match_is_told_what_to_write(match: str, cure: str) -> None:
    """The operators of other languages, a policy with a slip, a pattern in place of a name."""
    with pytest.raises(QueryError) as error:
        parse_rsepql(HEAD + f"WHERE {{ MATCH {{ {match} }} }}")
    assert any(cure in each.cure for each in (error.value, *error.value.also))


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        (HEAD + "FROM <urn:g> { MATCH { E1 SEQ E2 } }", "before the first EVENT"),
        (HEAD.replace("AS E2", "AS Count") + "{ MATCH { E1 } }", "another name"),
        (HEAD + "{ MATCH { E1 SEQ E2 } } REPORT EVERY 5s CONSUME NONE", "before REPORT"),
        (HEAD + "{ EVENT ON :w2 { ?y :q ?z } AS E3 }", "before WHERE"),
        (HEAD + "MATCH { E1 SEQ E2 }", "inside WHERE"),
        (HEAD + "WITHIN 5s { MATCH { E1 SEQ E2 } }", "the size of their window"),
    ],
)
def test_a_clause_at_the_wrong_place_is_told_where_it_stands(text: str, cure: str) -> None:
    """EVENT, CONSUME, MATCH, sources."""
    with pytest.raises(QueryError) as error:
        parse_rsepql(text)
    assert cure in error.value.cure


def test_the_language_is_found_by_match() -> None:
    """SEQ alone is a word of SPAseq's, and EP-SPARQL has it between groups."""
    assert language_of(HEAD + "{ MATCH { E1 SEQ E2 } }").name == "rsepql"
    assert language_of("SELECT ?a { ?a <urn:p> 1 } SEQ { ?a <urn:q> 2 }").name == "epsparql"
    skips = "WHERE { SEQ (A ; B) AFTER MATCH SKIP PAST LAST EVENT DEFINE GPM A ON S { ?s ?p ?o } }"
    assert language_of(f"SELECT * FROM STREAM S <urn:s> {skips}").name == "spaseq"


def test_names_stand_for_the_pattern_where_they_are_used() -> None:
    """One name at several places is the same event pattern at each."""
    query = compile_windows(HEAD + "{ MATCH { E1 SEQ E2 SEQ E1 } }")
    one, _, three = declared_events(match_of(query))
    assert isinstance(one, DeclaredEvent)
    assert one == three


def test_an_event_may_be_named_before_its_declaration() -> None:
    """In an EXISTS of SELECT, which stands before the sources."""
    text = HEAD.replace("?x ?z", "?x (EXISTS { MATCH { E1 SEQ E2 } } AS ?both)") + "{ MATCH { E1 } }"
    first, second = parse_rsepql(text).matches
    assert {
        each.name: each.window for match in (first, second) for each in declared_events(match.events)
    } == {
        "E1": "http://ex.org/w1",
        "E2": "http://ex.org/w2",
    }
    with pytest.raises(QueryError) as error:
        parse_rsepql(text.replace("SEQ E2", "SEQ E3"))
    assert "SPQ715" in [each.code for each in (error.value, *error.value.also)]
