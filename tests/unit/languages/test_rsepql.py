"""The spellings of queries over windows (semantics 3.1), their trees, their printed form and their defaults."""

from __future__ import annotations

import pytest
from pyoxigraph import NamedNode

from spaseq.algebra.expressions import Call, Var
from spaseq.algebra.windows import (
    Emission,
    Everything,
    Interval,
    Landmark,
    Range,
    ReportPolicy,
    Trigger,
    Unit,
    WindowBody,
)
from spaseq.errors import QueryError
from spaseq.languages.registry import language_of
from spaseq.languages.rsepql.dialect import parse_rsepql
from spaseq.languages.rsepql.printer import format_rsepql
from spaseq.languages.rsepql.query import compile_windows
from spaseq.model.forms import EVERY_STREAM
from spaseq.planner import compile_query
from spaseq.syntax.ast import FilterClause

SECOND = 1_000_000

WINDOWS: dict[str, tuple[WindowBody, ...]] = {
    "[RANGE 10s STEP 5s]": (Range(10 * SECOND, 5 * SECOND),),
    "[range 3000ms step 1s]": (Range(3 * SECOND, SECOND),),
    "[RANGE PT10S STEP PT5S]": (Range(10 * SECOND, 5 * SECOND),),
    "[RANGE PT1.5S SLIDE pt0.25s]": (Range(1_500_000, 250_000),),
    '[RANGE "PT1H"^^<http://www.w3.org/2001/XMLSchema#duration>]': (Range(3600 * SECOND),),
    "[RANGE 10 STEP 0.5]": (Range(10 * SECOND, 500_000),),
    "[RANGE 5 minutes TUMBLING]": (Range(300 * SECOND, 300 * SECOND),),
    "[RANGE 1 DAY STEP 2H STARTING AT 4]": (Range(86_400 * SECOND, 7200 * SECOND, start=4 * SECOND),),
    "[RANGE 1m STARTING AT -1.5]": (Range(60 * SECOND, start=-1_500_000),),
    '[RANGE 1d STARTING AT "1970-01-01T00:00:01Z"]': (Range(86_400 * SECOND, start=SECOND),),
    '[LND "1970-01-01T01:00:00+01:00"^^<http://www.w3.org/2001/XMLSchema#dateTime>]': (Landmark(0),),
    "[FROM 1 TO 2.5]": (Interval(SECOND, 2_500_000),),
    "[RANGE TRIPLES 10]": (Range(10, None, Unit.TRIPLES),),
    "[RANGE 10 TRIPLES STEP 2 TRIPLES]": (Range(10, 2, Unit.TRIPLES),),
    "[RANGE 10 EVENTS STEP 2]": (Range(10, 2, Unit.EVENTS),),
    "[RANGE EVENTS 10 SLIDE EVENTS 2]": (Range(10, 2, Unit.EVENTS),),
    "[ELEMENTS 10 TUMBLING]": (Range(10, 10, Unit.EVENTS),),
    "[EVENTS 10 STEP 3]": (Range(10, 3, Unit.EVENTS),),
    "[TRIPLES 10]": (Range(10, None, Unit.TRIPLES),),
    "[RANGE 1s] OF [RANGE 5s STEP 5s] of [LND 0]": (
        Range(SECOND),
        Range(5 * SECOND, 5 * SECOND),
        Landmark(0),
    ),
}


@pytest.mark.parametrize("window", WINDOWS)
def test_a_window_means_the_same_in_every_spelling_and_printed(window: str) -> None:
    """Its bodies are in microseconds or counts, and the printed query has the same tree."""
    query = parse_rsepql(f"ASK FROM STREAM <s> {window} {{ ?a ?b ?c }}")
    assert tuple(bracket.body for bracket in query.streams[0].window) == WINDOWS[window]
    assert parse_rsepql(format_rsepql(query)) == query


SOURCES = {
    "FROM NAMED WINDOW <w> ON <s> [RANGE 1s]": ("w", "s", True),
    "from named <s> win [range 1s] as <w>": ("w", "s", True),
    "FROM NAMED STREAM <s> [RANGE 1s]": ("s", "s", True),
    "FROM STREAM <s> [RANGE 1s]": (None, "s", False),
}


@pytest.mark.parametrize("source", SOURCES)
def test_a_source_declares_a_window(source: str) -> None:
    """Its name, its stream, and whether it has a graph of its own."""
    name, stream, named = SOURCES[source]
    where = f"WINDOW <{name}> {{ ?a ?b ?c }}" if named else "?a ?b ?c"
    (clause,) = parse_rsepql(f"SELECT * {source} WHERE {{ {where} }}").streams
    found = clause.window_name
    assert clause.iri.term == NamedNode(f"urn:spaseq:name:{stream}")
    assert (found and found.term) == (name and NamedNode(f"urn:spaseq:name:{name}"))


REPORTS = {
    "REPORT ON CONTENT CHANGE": ReportPolicy(Trigger.CONTENT_CHANGE),
    "report content change and non-empty content": ReportPolicy(Trigger.CONTENT_CHANGE, non_empty=True),
    "REPORT ON WINDOW CLOSE": ReportPolicy(Trigger.WINDOW_CLOSE),
    "REPORT ON NON-EMPTY CONTENT": ReportPolicy(Trigger.CONTENT_CHANGE, non_empty=True),
    "REPORT EVERY 5": ReportPolicy(Trigger.EVERY, 5 * SECOND),
    "REPORT ON EVERY PT1M STARTING AT 8 AND NON-EMPTY CONTENT": ReportPolicy(
        Trigger.EVERY, 60 * SECOND, 8 * SECOND, non_empty=True
    ),
}


@pytest.mark.parametrize("report", REPORTS)
def test_a_report_clause_stands_at_the_end(report: str) -> None:
    """Behind all solution modifiers and the trailing VALUES."""
    text = f"SELECT ?a FROM STREAM <s> [RANGE 5s STEP 5s] {{ ?a ?b ?c }} ORDER BY ?a LIMIT 5 VALUES ?a {{ 1 }} {report}"
    query = parse_rsepql(text)
    assert query.report is not None
    assert query.report.policy == REPORTS[report]
    assert parse_rsepql(format_rsepql(query)) == query


@pytest.mark.parametrize(
    ("head", "emission"),
    [
        ("REGISTER RSTREAM <q> AS", Emission.RSTREAM),
        ("REGISTER istream stream :q AS", Emission.ISTREAM),
        ("REGISTER DSTREAM QUERY select AS", Emission.DSTREAM),
        ("register query Q1 as", Emission.RSTREAM),
        ("REGISTER avg AS", Emission.RSTREAM),
        ("REGISTER select AS", Emission.RSTREAM),
        ("REGISTER ISTREAM min AS", Emission.ISTREAM),
        ("REGISTER DSTREAM range AS", Emission.DSTREAM),
        ("REGISTER ISTREAM QUERY stream AS", Emission.ISTREAM),
        ("REGISTER STREAM <http://ex.org/q> AS PREFIX x: <urn:x>", Emission.RSTREAM),
        ("", Emission.RSTREAM),
    ],
)
def test_a_query_may_be_registered(head: str, emission: Emission) -> None:
    """With an IRI or an identifier, and further prefixes behind it."""
    text = f"PREFIX : <urn:> {head} SELECT ?a FROM STREAM <s> [RANGE 5s STEP 5s] {{ ?a ?b ?c }}"
    assert compile_windows(text).emission is emission
    assert parse_rsepql(format_rsepql(parse_rsepql(text))) == parse_rsepql(text)


@pytest.mark.parametrize(
    "call",
    [
        "timestamp(?a ?b ?c)",
        "TIMESTAMP(?a, ?b, ?c)",
        "f:timestamp(?a,?b,?c)",
        "f:timestamp(?a ?b ?c)",
        "<http://ex.org/any/timestamp>(?a, ?b, ?c)",
    ],
)
def test_timestamp_has_several_spellings(call: str) -> None:
    """With spaces or commas, as a word or as a function with an IRI."""
    text = f"PREFIX f: <http://larkc.eu/csparql/sparql/jena/ext#> SELECT * {{ ?a ?b ?c FILTER({call} > 5) }}"
    where = parse_rsepql(text).query.where
    condition = next(e for e in where.elements if isinstance(e, FilterClause)).condition  # type: ignore[union-attr]
    assert condition.left == Call("TIMESTAMP", (Var("a"), Var("b"), Var("c")))  # type: ignore[union-attr]


def test_timestamp_takes_terms() -> None:
    """`a` stands for rdf:type, as in a pattern."""
    query = parse_rsepql("SELECT * { ?a ?b ?c FILTER(timestamp(?a a <urn:T>) < timestamp(?a, a, 5)) }")
    assert parse_rsepql(format_rsepql(query)) == query


def test_window_stands_wherever_graph_may() -> None:
    """In OPTIONAL, UNION, MINUS, EXISTS, sub-SELECT and within itself."""
    query = parse_rsepql(
        """SELECT ?a FROM NAMED WINDOW <w> ON <s> [RANGE 1s] {
             OPTIONAL { WINDOW <w> { ?a ?b ?c } } { WINDOW <w> { ?a ?b ?d } } UNION { GRAPH <w> { ?a ?b ?e } }
             MINUS { WINDOW <w> { ?a ?b 5 } } { SELECT ?f { WINDOW <w> { ?f ?b ?a WINDOW <w> { ?a ?f ?b } } } }
             FILTER NOT EXISTS { WINDOW <w> { ?a ?a ?a } } } HAVING(EXISTS { WINDOW <w> { ?b ?b ?b } })"""
    )
    assert format_rsepql(query).count("WINDOW <w> {") == 7
    assert parse_rsepql(format_rsepql(query)) == query


def test_a_relative_iri_is_a_name_unless_there_is_a_base() -> None:
    """With BASE it is resolved; printed it stays what it was."""
    text = "SELECT * FROM NAMED WINDOW <w> ON <s> [RANGE 1s] FROM <g> { WINDOW <w> { ?a ?b ?c } }"
    assert "FROM NAMED WINDOW <w> ON <s> [RANGE 1s]" in format_rsepql(parse_rsepql(text))
    based = compile_windows("BASE <http://ex.org/> " + text)
    assert based.windows[0].name == "http://ex.org/w"
    mixed = parse_rsepql("REGISTER QUERY <q> AS BASE <http://ex.org/> " + text)
    assert parse_rsepql(format_rsepql(mixed)) == mixed


def test_a_plain_query_reads_every_stream() -> None:
    """Its one window is everything so far, evaluated with every event."""
    query = compile_windows("SELECT ?a { ?a ?b ?c }")
    (window,) = query.windows
    assert (window.stream, window.bodies) == (EVERY_STREAM, (Everything(),))
    assert query.report == ReportPolicy(Trigger.CONTENT_CHANGE)
    assert query.emission is Emission.ISTREAM


@pytest.mark.parametrize(
    ("sources", "report", "emission"),
    [
        ("NAMED WINDOW <w> ON <s> [RANGE 1s STEP 1s]", ReportPolicy(Trigger.WINDOW_CLOSE), Emission.RSTREAM),
        ("NAMED WINDOW <w> ON <s> [RANGE 1s]", ReportPolicy(Trigger.CONTENT_CHANGE), Emission.ISTREAM),
        (
            "NAMED STREAM <w> [RANGE 1s STEP 1s]",
            ReportPolicy(Trigger.WINDOW_CLOSE, non_empty=True),
            Emission.RSTREAM,
        ),
        (
            "NAMED WINDOW <w> ON <s> [LND 0] FROM STREAM <s>",
            ReportPolicy(Trigger.CONTENT_CHANGE, non_empty=True),
            Emission.ISTREAM,
        ),
    ],
)
def test_defaults_follow_from_the_windows(sources: str, report: ReportPolicy, emission: Emission) -> None:
    """WINDOW CLOSE if a window has a step, no empty contents with C-SPARQL's clauses (3.4, 3.5)."""
    query = compile_windows(f"SELECT * FROM {sources} {{ WINDOW <w> {{ ?a ?b ?c }} }}")
    assert (query.report, query.emission) == (report, emission)


def test_a_stream_may_be_called_by_its_local_name() -> None:
    """By its IRI, as the query writes it, or by the last part of its IRI if no other stream ends alike."""
    windows = "FROM NAMED WINDOW <w{0}> ON {1} [RANGE 1s]"
    names = (":a", "<http://ex.org/b>", "<http://ex.org/x/c>", "<http://ex.org/y/c>")
    sources = " ".join(windows.format(number, name) for number, name in enumerate(names))
    where = " ".join(f"WINDOW <w{number}> {{ ?a ?b ?c }}" for number in range(4))
    text = f"PREFIX : <http://ex.org/> SELECT * {sources} {{ {where} }}"
    assert [stream.names[2:] for stream in compile_windows(text).streams] == [("a",), ("b",), (), ()]
    assert compile_windows(text).streams[0].names[:2] == (":a", "http://ex.org/a")


CITY = "http://www.insight-centre.org/dataset/SampleEventService#"
PARKING = f"""
select ?ob1  ?ob2 ?v1 #?lat
(((?v1+?v2)/2) as ?mean)
from <http://127.0.0.1:9000/WebGlCity/RDF/SensorRepository.rdf>
from stream <{CITY}AarhusParkingDataBUSGADEHUSET> [range 3000ms step 1s]
from  stream <{CITY}AarhusTrafficData182955> [range 3s step 1s]
where {{
{{?p1   a <http://www.insight-centre.org/citytraffic#ParkingVacancy>.}}
?ob1 <http://purl.oclc.org/NET/ssnx/ssn#observedProperty> ?p1.
?ob1 <http://purl.oclc.org/NET/sao/hasValue> ?v1
{{ ?ob2 <http://purl.oclc.org/NET/sao/hasValue> ?v2. }}
Filter (((?v2-?v1)*(?v2-?v1) + (?v1 - ?v2)*?v1) < 0.1 || ?v1 < 1)
}}
"""


def test_the_spelling_of_city_bench_is_read() -> None:
    """Lower-case keywords, no REGISTER, no PREFIX, comments, clauses in any order."""
    query = compile_windows(PARKING)
    assert [window.bodies for window in query.windows] == [(Range(3 * SECOND, SECOND),)] * 2
    assert [stream.iri for stream in query.streams] == [
        CITY + "AarhusParkingDataBUSGADEHUSET",
        CITY + "AarhusTrafficData182955",
    ]
    assert query.report == ReportPolicy(Trigger.WINDOW_CLOSE, non_empty=True)


@pytest.mark.parametrize(
    ("text", "cure"),
    [
        ("SELECT * FROM STREAM <s> [RANGE 1s, STEP 1s] {}", "no comma between them"),
        ("REGISTER QUERY q COMPUTED EVERY 5s AS SELECT * {}", "REPORT EVERY 5s"),
        ("SELECT * { STREAM <s> [RANGE 1s] { ?a ?b ?c } }", "declared before WHERE"),
        ("SELECT * FROM STREAM <s> [RANGE 5 weeks] {}", "the units of time"),
        ("SELECT * FROM STREAM <s> [RANGE 5min] {}", "the units of time"),
        ("SELECT ISTREAM ?a FROM STREAM <s> [RANGE 5s] {}", "REGISTER ISTREAM"),
        ("SELECT * FROM STREAM <s> [RANGE 5s] {} REPORT ON NONEMPTY CONTENT", "NON-EMPTY CONTENT"),
        ("SELECT * FROM STREAM <s> RANGE 5s {}", "in brackets"),
        ("SELECT * FROM WINDOW <w> ON <s> [RANGE 5s] {}", "FROM NAMED WINDOW <w>"),
        ("SELECT * FROM NAMED WINDOW <w> OF <s> [RANGE 5s] {}", "FROM NAMED WINDOW <w> ON <s>"),
        ("SELECT * FROM NAMED WINDOW <w> [RANGE 5s] {}", "FROM NAMED WINDOW <w> ON <s>"),
        ("SELECT * FROM STREAM <s> [STEP 5s RANGE 10s] {}", "[RANGE 10s STEP 5s]"),
        ("SELECT * FROM STREAM <s> [TUMBLING 10s] {}", "[RANGE 10s TUMBLING]"),
        (
            "CONSTRUCT FROM NAMED WINDOW <w> ON <s> [RANGE 5s] WHERE { WINDOW <w> { ?a ?b ?c } }",
            "write CONSTRUCT { … } WHERE { … }",
        ),
        ("SELECT * FROM STREAM <s> [LANDMARK 10] {}", "LND"),
        ("SELECT * FROM STREAM <s> [ROWS 10] {}", "RANGE 10 EVENTS"),
        ("SELECT * FROM STREAM <s> [RANGE 5s] REPORT EVERY 5s {}", "at the end"),
        ("SELECT * FROM STREAM <s> [RANGE 5s] {} REPORT EVERY 5s LIMIT 1", "before REPORT"),
        ("SELECT * FROM STREAM <s> [RANGE 5s] {} EVERY 5s", "REPORT EVERY 5s"),
        ("SELECT * FROM STREAM <s> [RANGE 5s] {} REPORT ON PERIODIC 5s", "REPORT EVERY 5s"),
        ("SELECT * FROM STREAM <s> [RANGE 5s] { WINDOW <s> { ?a ?b ?c } }", "FROM NAMED STREAM <s>"),
    ],
)
def test_the_spelling_of_another_engine_is_told_what_to_write(text: str, cure: str) -> None:
    """CQELS, YASPER, C-SPARQL's COMPUTED EVERY."""
    with pytest.raises(QueryError) as error:
        parse_rsepql(text)
    assert cure in error.value.cure


def test_a_step_without_unit_that_counts_may_be_longer_than_any_time() -> None:
    """It is no number of seconds."""
    query = parse_rsepql("SELECT * FROM STREAM <s> [RANGE 3 TRIPLES STEP 999999999999999999] { ?a ?b ?c }")
    assert query.streams[0].window[0].step == 999_999_999_999_999_999


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("REGISTER QUERY q AS SELECT * FROM STREAM <urn:s> [RANGE 10s STEP 5s] WHERE { ?s ?p ?o }", "query"),
        ("SELECT * WHERE { ?s ?p ?o }", "everything.rspql"),
        ("SELECT * FROM STREAM <urn:s> WHERE { ?s ?p ?o }", "all.csparql"),
    ],
)
def test_the_language_is_found_by_words_or_by_the_name_of_the_file(text: str, name: str) -> None:
    """So that neither an option nor an argument is needed."""
    query = compile_query(text, name=name)
    assert (query.language, query.form.continuous) == ("rsepql", True)
    assert compile_query(query.normal_text, "rsepql").normal_text == query.normal_text


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM STREAM <s> { ?a ?b ?c }",
        "select * from stream <s> where { ?a ?b ?c }",
        "PREFIX : <urn:> SELECT * FROM STREAM :s FROM :g { ?a ?b ?c }",
        "SELECT * FROM STREAM <s>[TRIPLES 10 TUMBLING] { ?a ?b ?c }",
        "SELECT * FROM STREAM <s> [FROM 1 TO 2] { ?a ?b ?c }",
        "SELECT * FROM NAMED STREAM <s> [EVENTS 10] { GRAPH <s> { ?a ?b ?c } }",
        "SELECT * FROM NAMED WINDOW <w> ON <s> [ELEMENTS 10] { WINDOW <w> { ?a ?b ?c } }",
        "SELECT * FROM NAMED <s> WIN [EVENTS 10] AS <w> { WINDOW <w> { ?a ?b ?c } }",
        "SELECT * { ?a ?b ?c } REPORT EVERY 5s",
    ],
)
def test_the_language_is_known_without_a_range(text: str) -> None:
    """By what stands behind FROM, or by REPORT; SPAseq names a stream before its IRI."""
    assert compile_query(text).language == "rsepql"


def test_a_pattern_of_spaseq_without_a_name_for_its_stream_stays_one() -> None:
    """The error is then about the name that is missing."""
    gpm = "WHERE { SEQ (A) DEFINE GPM A ON S { ?a <urn:p> ?b } }"
    assert language_of(f"SELECT * FROM STREAM <urn:s> {gpm}").name == "spaseq"
    assert language_of(f"SELECT * FROM STREAM S <urn:s> {gpm}").name == "spaseq"
    assert language_of("SELECT * FROM STREAM S <urn:s> { ?a ?b ?c }").name == "spaseq"
