"""`match` and `match_all` as users meet them (docs/how-to/use-spark.md)."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name everybody knows it by

import spaseq
from spaseq import spark as sps
from spaseq.errors import InvalidArgument
from spaseq.spark.command.problems import problem_of
from spaseq.spark.output.native import typed, variant
from spaseq.spark.sources.bad_events import quarantined

pytestmark = pytest.mark.spark

EX = "http://ex.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"
QUERY = """PREFIX : <http://ex.org/>
{form} WITHIN 10 SECONDS SLIDING FROM STREAM S <http://ex.org/s>
WHERE {{ SEQ (A ; B) DEFINE GPM A ON S {{ ?k :a ?v }} DEFINE GPM B ON S {{ ?k :b ?w }} }}"""
SELECT = QUERY.format(form="SELECT ?k ?v ?w")
TRIPLES = "array<struct<s:string,p:string,o:string>>"


def at(seconds: float) -> datetime:
    """So many seconds after the epoch."""
    return datetime.fromtimestamp(seconds, UTC)


def triple(subject: str, predicate: str, value: str) -> tuple[str, str, str]:
    """A triple of a thing, a property and a literal's text."""
    return f"<{EX}{subject}>", f"<{EX}{predicate}>", value


def integer(value: object) -> str:
    """An integer literal."""
    return f'"{value}"^^<{XSD}integer>'


ROWS = [
    (at(1.000001), [triple("k1", "a", integer(1))]),
    (at(2), [triple("k2", "a", f'"2.5"^^<{XSD}decimal>')]),
    (at(3), [triple("k1", "b", '"say \\"hi\\"\\n"@EN'), triple("k2", "b", "<http://ex.org/thing>")]),
]


@pytest.fixture(scope="module")
def events(spark: SparkSession) -> DataFrame:
    """A few events of two keys, spread over partitions."""
    return spark.createDataFrame(
        spark.sparkContext.parallelize(ROWS, 3), f"time timestamp, triples {TRIPLES}"
    )


def test_select_has_the_documented_columns(events: DataFrame) -> None:
    """``time, start`` as timestamps to the microsecond, then a string in N-Triples syntax per variable."""
    answers = sps.match(SELECT, {"S": events})
    assert answers.dtypes == [
        ("time", "timestamp"),
        ("start", "timestamp"),
        ("k", "string"),
        ("v", "string"),
        ("w", "string"),
    ]
    rows = {row["k"]: row for row in answers.withColumn("start", F.unix_micros("start")).collect()}
    assert rows[f"<{EX}k1>"]["start"] == 1_000_001
    assert rows[f"<{EX}k1>"]["w"] == '"say \\"hi\\"\\n"@en'
    assert rows[f"<{EX}k2>"]["v"] == f'"2.5"^^<{XSD}decimal>'


def test_streams_are_named_by_iri_as_well(events: DataFrame) -> None:
    """Alias or IRI, as on the command line."""
    assert sps.match(spaseq.compile(SELECT), {"http://ex.org/s": events}).count() == 2


def test_native_columns_hold_sql_values(events: DataFrame) -> None:
    """Each literal becomes the SQL value of its datatype; texts lose their quotes and escapes."""
    rows = sps.match(SELECT, {"S": events}, native=dict.fromkeys("kvw", "variant")).collect()
    assert {row["k"].toPython(): (row["v"].toPython(), row["w"].toPython()) for row in rows} == {
        f"{EX}k1": (1, 'say "hi"\n'),
        f"{EX}k2": (Decimal("2.5"), f"{EX}thing"),
    }


def test_native_columns_have_the_one_type_that_is_certain_else_text(events: DataFrame) -> None:
    """What depends on the data is text, without quotes and brackets."""
    query = QUERY.format(
        form="SELECT ?k ?v (STRLEN(STR(?v)) AS ?n) (TIME(B) AS ?t) (STRLEN(STR(?v)) * 1.5 AS ?x) (?v = 1 AS ?b)"
    )
    answers = sps.match(query, {"S": events}, native=True)
    kinds = dict(answers.dtypes)
    assert [kinds[name] for name in "kvntxb"] == [
        "string", "string", "bigint", "timestamp", "decimal(38,18)", "boolean",
    ]  # fmt: skip
    found = {(row["k"], row["v"], row["n"], row["x"], row["b"]) for row in answers.collect()}
    assert found == {
        (f"{EX}k1", "1", 1, Decimal("1.5"), True),
        (f"{EX}k2", "2.5", 3, Decimal("4.5"), False),
    }


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin"])
def test_native_times_do_not_depend_on_the_session(spark: SparkSession, zone: str) -> None:
    """No zone means UTC (semantics 0), also where clocks of the session change; dates may have zones."""
    xsd = "http://www.w3.org/2001/XMLSchema#"
    cases = [
        (f'"2024-03-31T02:30:00"^^<{xsd}dateTime>', "timestamp_ltz", "2024-03-31T02:30:00Z"),
        (f'"2024-07-01T10:00:10.5+02:00"^^<{xsd}dateTime>', "timestamp_ltz", "2024-07-01T08:00:10.500Z"),
        (f'"2024-07-01"^^<{xsd}date>', "timestamp_ltz", "2024-07-01T00:00:00Z"),
        (f'"2024-07-01+02:00"^^<{xsd}date>', "timestamp_ltz", "2024-06-30T22:00:00Z"),
        (f'"2024-07-01Z"^^<{xsd}date>', "date", "2024-07-01"),
        (f'"2024-07-01-05:00"^^<{xsd}date>', "date", "2024-07-01"),
        (f'"2024-07-01"^^<{xsd}date>', "date", "2024-07-01"),
        ('"no time"', "timestamp_ltz", None),
    ]
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        for text, kind, wanted in cases:
            (row,) = (
                spark.createDataFrame([(text,)], "term string")
                .select(typed(F.col("term"), kind).alias("v"), variant(F.col("term")).alias("w"))
                .collect()
            )
            if wanted is None:
                assert row.v is None
            elif kind == "date":
                assert (row.v.isoformat(), row.w.toPython().isoformat()) == (wanted, wanted)
            else:
                assert row.v.timestamp() == datetime.fromisoformat(wanted).timestamp()
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


def test_single_columns_can_be_cast(events: DataFrame) -> None:
    """A column of one type is what most reports want; what does not fit is NULL."""
    answers = sps.match(SELECT, {"S": events}, native={"v": "double"})
    assert dict(answers.dtypes)["v"] == "double"
    assert sorted(row["v"] for row in answers.collect()) == [1.0, 2.5]
    with pytest.raises(InvalidArgument, match="nobody"):
        sps.match(SELECT, {"S": events}, native={"nobody": "int"})


def test_construct_gives_a_graph_per_match(events: DataFrame) -> None:
    """``time, triples``: another query can read it as a stream."""
    answers = sps.match(QUERY.format(form="CONSTRUCT { ?k :pair _:p . _:p :of ?v }"), {"S": events})
    assert answers.dtypes[0] == ("time", "timestamp")
    graphs = [row["triples"] for row in answers.collect()]
    assert [len(graph) for graph in graphs] == [2, 2]
    assert len({t.s for graph in graphs for t in graph if t.s.startswith("_:")}) == 2
    again = sps.match(
        "PREFIX : <http://ex.org/> SELECT ?k FROM STREAM S <urn:x> WHERE { SEQ (A) DEFINE GPM A ON S { ?k :pair ?p } }",
        {"S": answers},
    )
    assert again.count() == 2


def test_ask_gives_the_first_match_or_no_row(spark: SparkSession, events: DataFrame) -> None:
    """Over all partitions together."""
    asked = sps.match(QUERY.format(form="ASK"), {"S": events})
    assert [
        (row["time"], row["boolean"]) for row in asked.withColumn("time", F.unix_micros("time")).collect()
    ] == [(3_000_000, True)]
    assert sps.match(QUERY.format(form="ASK"), {"S": events.limit(1)}).count() == 0


def test_variables_that_spark_could_not_tell_apart_keep_their_question_mark(events: DataFrame) -> None:
    """?time is not the match's time, and Spark does not distinguish ?K from ?k."""
    text = SELECT.replace("?v", "?time").replace("?w", "?K")
    assert sps.match(text, {"S": events}).columns == ["time", "start", "k", "?time", "?K"]
    text = SELECT.replace("?v", "?Time").replace("?w", "?time").replace("?k", "?TIME")
    found = sps.match(text, {"S": events}, native=True)
    assert found.columns == ["time", "start", "?TIME", "??Time", "???time"]
    assert {row["??Time"] for row in found.collect()} == {"1", "2.5"}


def test_a_variable_that_is_selected_twice_is_one_column(events: DataFrame) -> None:
    """As in every other output."""
    found = sps.match(SELECT.replace("?k ?v ?w", "?v ?k ?v"), {"S": events}, native=True)
    assert found.columns == ["time", "start", "v", "k"]
    assert {(row.v, row.k) for row in found.collect()} == {("1", f"{EX}k1"), ("2.5", f"{EX}k2")}


def test_a_variable_may_have_any_name(events: DataFrame) -> None:
    """Also where answers are compared over all buckets, by columns of our own."""
    text = SELECT.replace("SELECT", "SELECT DISTINCT").replace("?k", "?equal").replace("?w", "?spread")
    found = sps.match(text, {"S": events}, partitions=3)
    assert found.columns == ["time", "start", "equal", "v", "spread"]
    assert {row.equal for row in found.collect()} == {f"<{EX}k1>", f"<{EX}k2>"}


def test_provenance_names_the_match_and_its_events(events: DataFrame) -> None:
    """The same identity as in the other engine."""
    local = {
        match.identity
        for match in spaseq.run(
            SELECT,
            {
                "S": [
                    spaseq.Event(stream="S", time=time, graph=_text(triples), format="ntriples")
                    for time, triples in ROWS
                ]
            },
        )
    }
    rows = sps.match(SELECT, {"S": events}, provenance=True).collect()
    assert {row["match"] for row in rows} == local
    assert [event.step for event in rows[0]["events"]] == ["A", "B"]


def _text(triples: list[tuple[str, str, str]]) -> str:
    return "".join(f"{s} {p} {o} .\n" for s, p, o in triples)


def test_a_value_column_is_a_graph_with_its_time_beside_it(spark: SparkSession, events: DataFrame) -> None:
    """As a broker delivers it: text or bytes."""
    for kind in ("string", "binary"):
        rows = [
            (time, _text(triples) if kind == "string" else _text(triples).encode()) for time, triples in ROWS
        ]
        frame = spark.createDataFrame(rows, f"time timestamp, value {kind}")
        assert sps.match(SELECT, {"S": frame}, format="turtle").count() == 2


def test_a_value_can_carry_its_own_time(spark: SparkSession) -> None:
    """A named graph with its timestamp, as in event files."""
    stamp = "<http://www.w3.org/ns/prov#generatedAtTime>"
    values = [
        (
            "".join(f"{s} {p} {o} <urn:g{n}> .\n" for s, p, o in triples)
            + f'<urn:g{n}> {stamp} "{time.isoformat()}"^^<{XSD}dateTime> .\n',
        )
        for n, (time, triples) in enumerate(ROWS)
    ]
    frame = spark.createDataFrame(values, "value string")
    assert sps.match(SELECT, {"S": frame}, format="nquads").count() == 2
    with pytest.raises(InvalidArgument, match="cannot carry its time"):
        sps.match(SELECT, {"S": frame}, format="turtle")


def test_blank_nodes_of_different_events_never_join(spark: SparkSession) -> None:
    """Not even of simultaneous events that different workers read."""
    query = """PREFIX : <http://ex.org/> SELECT ?b FROM STREAM S <urn:s>
    WHERE { SEQ (A & B) DEFINE GPM A ON S { ?b :a ?v } DEFINE GPM B ON S { ?b :b ?w } }"""
    rows = [(at(1), [("_:x", f"<{EX}{p}>", '"1"')]) for p in "ab"]
    frame = spark.createDataFrame(
        spark.sparkContext.parallelize(rows, 2), f"time timestamp, triples {TRIPLES}"
    )
    assert sps.match(query, {"S": frame}).count() == 0
    one = spark.createDataFrame([(at(1), [*rows[0][1], *rows[1][1]])], f"time timestamp, triples {TRIPLES}")
    assert sps.match(query, {"S": one}).count() == 1


def test_bad_events_fail_are_skipped_or_are_quarantined_and_counted(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A literal as subject, a text that is no term, a row without time."""
    good = (at(1), [triple("k", "a", integer(1))])
    bad = [
        (at(2), [('"x"', f"<{EX}b>", '"y"')]),
        (at(3), [triple("k", "b", "no term")]),
        (None, [triple("k", "b", integer(2))]),
    ]
    frame = spark.createDataFrame(
        [good, *bad, (at(4), [triple("k", "b", integer(2))])], f"time timestamp, triples {TRIPLES}"
    )
    counted = Observation("bad-events")
    place = str(tmp_path / "bad")
    answers = sps.match(SELECT, {"S": frame}, on_bad_input="quarantine", quarantine=place, metrics=counted)
    assert answers.count() == 1
    assert counted.get == {"events": 2, "bad": 3}
    reasons = sorted(str(each["reason"]) for each in quarantined(place))
    assert [reason.split(":")[0] for reason in reasons] == [
        "`no term` is not a term in N-Triples syntax",
        "a subject cannot be a literal",
        "the row has no time",
    ]
    assert sps.match(SELECT, {"S": frame}, on_bad_input="skip").count() == 1
    with pytest.raises(Exception, match="bad input") as failed:
        sps.match(SELECT, {"S": frame}).collect()
    assert str(problem_of(failed.value)).startswith("bad input: partition")


def test_several_queries_read_the_input_once(spark: SparkSession, events: DataFrame) -> None:
    """One DataFrame for all, whatever their forms."""
    queries = {
        "pairs": SELECT,
        "keys": QUERY.format(form="SELECT DISTINCT ?k"),
        "any": QUERY.format(form="ASK"),
    }
    rows = sps.match_all(queries, {"S": events}).collect()
    assert sorted(row["query"] for row in rows) == ["any", "keys", "keys", "pairs", "pairs"]
    assert {row["query"]: (row["bindings"] is None, row["boolean"]) for row in rows}["any"] == (True, True)
    plan = sps.match_all(queries, {"S": events})._jdf.queryExecution().toString()
    assert plan.split("== Physical Plan ==")[1].count("MatchRows") == 1


def test_one_dataframe_can_carry_several_streams(spark: SparkSession) -> None:
    """Its column ``stream`` says whose event a row is; streams nobody declares do not exist."""
    query = """PREFIX : <http://ex.org/> SELECT ?v ?w FROM STREAM S <urn:s> FROM STREAM T <urn:t>
    WHERE { SEQ (A , B) DEFINE GPM A ON S { ?x :a ?v } DEFINE GPM B ON T { ?y :b ?w } }"""
    rows = [
        (at(1), [triple("k", "a", integer(1))], "urn:s"),
        (at(2), [triple("k", "a", integer(2))], "urn:other"),
        (at(3), [triple("k", "b", integer(3))], "urn:t"),
    ]
    frame = spark.createDataFrame(rows, f"time timestamp, triples {TRIPLES}, stream string")
    assert sps.match(query, frame).count() == 1


@pytest.mark.parametrize(
    ("streams", "options", "message"),
    [
        (["S", "T"], {}, "the query declares no stream `T`, only `S`"),
        ([], {}, "no stream was given"),
        (["S", "http://ex.org/s"], {}, "given twice"),
        (["S"], {"partitions": 0}, "at least 1"),
        (["S"], {"max_runs": 0}, "`max_runs=` is a number of at least 1"),
        (["S"], {"on_bad_input": "ignore"}, "not a policy"),
        (["S"], {"on_late": "drop"}, "not a policy"),
        (["S"], {"on_bad_input": "quarantine"}, "needs `quarantine=`"),
        (["S"], {"lateness": -1}, "the lateness is a duration of 0 to"),
    ],
)
def test_misuse_is_answered_before_any_job_runs(
    events: DataFrame, streams: list[str], options: dict[str, object], message: str
) -> None:
    """An error that shows the value and what is accepted."""
    with pytest.raises(InvalidArgument, match=message):
        sps.match(SELECT, dict.fromkeys(streams, events), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            "events.nq",
            r"takes a PySpark DataFrame of events, not `events\.nq`: read_events\(spark, path\) makes one",
        ),
        (pd.DataFrame({"a": [1]}), r"not a pandas DataFrame: spark\.createDataFrame\(…\) makes one"),
        ({"a": 1}, "not a dict"),
        ([1], "DataFrame of events, not 1"),
        (None, "not None"),
    ],
)
def test_only_dataframes_are_streams(given: object, message: str) -> None:
    """Anything else is told what it is, and how to make a DataFrame of it."""
    with pytest.raises(InvalidArgument, match=message):
        sps.match(SELECT, {"S": given})  # type: ignore[dict-item]
    with pytest.raises(InvalidArgument, match="`streams` is a mapping"):
        sps.match(SELECT, given if not isinstance(given, dict) else [given])  # type: ignore[arg-type]


def test_wrong_arguments_are_sentences(spark: SparkSession, events: DataFrame) -> None:
    """Queries, knowledge, sessions, paths and options."""
    wrong: list[tuple[Callable[[], object], str]] = [
        (lambda: sps.match(5, {"S": events}), "a query is a text, not 5"),  # type: ignore[arg-type]
        (lambda: sps.match(SELECT, {"S": events}, "kb.ttl"), "`knowledge=` is a mapping"),  # type: ignore[arg-type]
        (lambda: sps.match(SELECT, {"S": events}, {EX: "no.ttl"}), r"`no\.ttl` does not exist"),
        (lambda: sps.match_all(SELECT, {"S": events}), "`queries` is a mapping"),  # type: ignore[arg-type]
        (
            lambda: sps.match_all({"a": SELECT}, {"S": events}, native=True),
            "match_all has no option `native=`",
        ),
        (lambda: sps.match_all({1: SELECT}, {"S": events}), "the name of a query is a text, not 1"),  # type: ignore[dict-item]
        (lambda: sps.match(SELECT, {"S": events}, native=["v"]), "`native=` is True, or a mapping"),  # type: ignore[arg-type]
        (lambda: sps.match(SELECT, {"S": events}, partitions="4"), "`partitions=` is a number"),  # type: ignore[arg-type]
        (lambda: sps.match(SELECT, {"S": events}, partitions=0), "of at least 1, not 0"),
        (
            lambda: sps.match(SELECT, {"S": events}, on_bad_input="quarantine", quarantine=__file__),
            "cannot be made a directory for the files of this run: File exists",
        ),
        (lambda: sps.read_events("x.nq", "x.nq"), r"takes a SparkSession first, not `x\.nq`"),  # type: ignore[arg-type]
        (lambda: sps.read_events(spark, events), "a path or a list of paths, not a PySpark DataFrame"),  # type: ignore[arg-type]
    ]
    for call, message in wrong:
        with pytest.raises(InvalidArgument, match=message):
            call()


def test_a_background_graph_may_be_named_by_its_path(tmp_path: Path, events: DataFrame) -> None:
    """As the documentation shows it."""
    (tmp_path / "kb.ttl").write_text("<http://ex.org/k1> <http://ex.org/r> 1 .")
    query = SELECT.replace("{ ?k :a ?v }", "{ ?k :a ?v GRAPH :kb { ?k :r ?x } }")
    assert sps.match(query, {"S": events}, {f"{EX}kb": str(tmp_path / "kb.ttl")}).count() == 1


def test_a_timestamp_without_time_zone_is_one_of_the_session(events: DataFrame) -> None:
    """Parquet files often have such columns."""
    local = events.withColumn("time", F.col("time").cast("timestamp_ntz"))
    assert sps.match(SELECT, {"S": local}).collect() == sps.match(SELECT, {"S": events}).collect()


def test_a_dataframe_that_holds_no_events_is_refused(spark: SparkSession) -> None:
    """The columns it has are named."""
    with pytest.raises(InvalidArgument, match="this one has id"):
        sps.match(SELECT, {"S": spark.range(1)})
    with pytest.raises(InvalidArgument, match="must be a timestamp, not bigint"):
        sps.match(
            SELECT,
            {"S": spark.range(1).select(F.col("id").alias("time"), F.lit("").alias("value"))},
            format="turtle",
        )


def test_an_unregistered_background_graph_is_an_error_at_start(events: DataFrame) -> None:
    """Not an empty result (semantics 1.7)."""
    text = SELECT.replace("?k :a ?v", "?k :a ?v . GRAPH <urn:db> { ?k ?p ?o }")
    with pytest.raises(InvalidArgument, match="urn:db"):
        sps.match(text, {"S": events})
    known = {"urn:db": f"<{EX}k1> <urn:p> <urn:o> ."}
    graph = sps.match(text, {"S": events}, {"urn:db": spaseq_triples(known["urn:db"])})
    assert graph.count() == 1


def spaseq_triples(text: str) -> list[object]:
    """A graph from N-Triples."""
    from pyoxigraph import RdfFormat, parse

    return [quad.triple for quad in parse(text, format=RdfFormat.N_TRIPLES)]


def test_answers_can_stand_in_any_larger_plan(events: DataFrame) -> None:
    """Unions, joins and differences do not change what a query answers."""
    answers = sps.match(SELECT.replace(" SLIDING", ""), {"S": events})
    both = answers.unionAll(answers)
    assert both.count() == 4
    assert both.exceptAll(answers).exceptAll(answers).count() == 0
    assert json.loads(answers.limit(1).toJSON().first())["k"].startswith("<")


def test_columns_of_rows_are_carried_into_provenance(spark: SparkSession) -> None:
    """A user finds the records of a match in Kafka; the match is the same with and without them."""
    rows = [
        (n, f'<urn:k> <http://ex.org/{p}> "{n}" .', "trades", 3, 40 + n, None if n == 2 else f"k{n}")
        for n, p in ((1, "a"), (2, "b"))
    ]
    frame = spark.createDataFrame(
        rows, "at long, value string, topic string, partition int, offset long, key string"
    )
    events = frame.withColumn("time", F.timestamp_seconds("at"))
    query = """PREFIX : <http://ex.org/> SELECT ?k FROM STREAM S <http://ex.org/s> WHERE { SEQ (A ; B)
      DEFINE GPM A ON S { ?k :a ?v } DEFINE GPM B ON S { ?k :b ?w } }"""
    known = {"format": "ntriples", "provenance": True}
    carry = ["topic", "partition", "offset", "key"]
    (found,) = sps.match(query, {"S": events}, **known, carry=carry).collect()
    (plain,) = sps.match(query, {"S": events}, **known).collect()
    assert [event.carried for event in found.events] == [
        {"topic": "trades", "partition": "3", "offset": "41", "key": "k1"},
        {"topic": "trades", "partition": "3", "offset": "42"},
    ]
    assert [event.graph for event in found.events] == [None, None]
    assert found.match == plain.match
    for wrong, why in (({"carry": ["topci"]}, "topci"), ({"carry": "topic"}, "a list of columns")):
        with pytest.raises(InvalidArgument, match=why):
            sps.match(query, {"S": events}, **known, **wrong)
    with pytest.raises(InvalidArgument, match="needs provenance=True"):
        sps.match(query, {"S": events}, format="ntriples", carry=carry)


def test_rows_of_one_dataframe_name_their_streams(spark: SparkSession) -> None:
    """By alias or IRI; to a query over one stream of everything, names mean nothing."""
    triple = "array(named_struct('s', '<urn:a>', 'p', '<urn:p>', 'o', concat('\"', id, '\"'))) AS triples"
    events = spark.range(4).selectExpr(
        "timestamp_seconds(id) AS time", triple, "array('S', 'urn:s', 'T', 'urn:x')[int(id)] AS stream"
    )
    each = "DEFINE GPM {0} ON {0} {{ ?k <urn:p> ?{0} }}"
    query = f"SELECT ?S ?T FROM STREAM S <urn:s> FROM STREAM T <urn:t> WHERE {{ SEQ (S : T) {each.format('S')} {each.format('T')} }}"
    assert sorted((row.S, row.T) for row in sps.match(query, events).collect()) == [
        ('"0"', '"2"'),
        ('"1"', '"2"'),
    ]
    everything = sps.match(spaseq.compile("SELECT ?v WHERE { ?k <urn:p> ?v }", language="epsparql"), events)
    assert sorted(row.v for row in everything.collect()) == ['"0"', '"1"', '"2"', '"3"']


def test_options_of_streams_say_that_a_batch_does_not_need_them(spark: SparkSession) -> None:
    """A finite input is sorted as a whole; the answers are the same."""
    events = spark.sql(
        "SELECT timestamp_seconds(1) AS time, array(struct('<urn:a>' AS s, '<urn:p>' AS p, '1' AS o)) AS triples"
    )
    query = "SELECT ?v FROM STREAM S <urn:s> WHERE { SEQ (A) DEFINE GPM A ON S { ?k <urn:p> ?v } }"
    for match in (
        lambda **more: sps.match(query, {"S": events}, **more),
        lambda **more: sps.match_all({"q": query}, {"S": events}, **more),
    ):
        with pytest.warns(
            UserWarning, match="without effect: `lateness=`, `on_late=`; batch DataFrames are sorted"
        ) as told:
            match(lateness="5s", on_late="skip")
        assert told[0].filename == __file__


def test_options_that_a_query_or_its_input_does_not_need_say_so(events: DataFrame) -> None:
    """Types are for variables, a syntax for serialised graphs."""
    ask = SELECT.replace(SELECT[SELECT.index("SELECT") : SELECT.index("WITHIN")], "ASK ")
    for query, more, reason in (
        (ask, {"native": True}, "`native=`, the types of variables of SELECT: this query is ASK"),
        (SELECT, {"format": "turtle"}, "`format=`, for graphs in a column `value`"),
        (SELECT, {"timestamp_predicate": "urn:t"}, "`timestamp_predicate=`, for graphs"),
    ):
        with pytest.warns(UserWarning, match=f"without effect: {reason}") as told:
            sps.match(query, {"S": events}, **more)
        assert told[0].filename == __file__


def test_a_query_without_streams_reads_what_it_is_given_under_any_names(
    spark: SparkSession, tmp_path: Path
) -> None:
    """As in process; endless streams of one watermark would make each other late."""
    query = spaseq.compile(
        "PREFIX : <http://ex.org/> SELECT ?k ?v ?w { { ?k :a ?v } SEQ { ?k :b ?w } }", "epsparql"
    )
    (tmp_path / "streams").mkdir()
    for number, name in enumerate(("a", "b", "a", "b")):
        graph, time = f"<urn:{number}>", f'"{number}"^^<http://www.w3.org/2001/XMLSchema#integer>'
        text = f"<urn:k> <http://ex.org/{name}> {time} {graph} .\n{graph} <http://www.w3.org/ns/prov#generatedAtTime> {time} .\n"
        with (tmp_path / f"streams/{name}.nq").open("a", encoding="utf-8") as file:
            file.write(text)
    paths = {name: tmp_path / f"streams/{name}.nq" for name in "ab"}
    found = sps.match(query, {name: sps.read_events(spark, path) for name, path in paths.items()})
    expected = spaseq.run(query, {name: str(path) for name, path in paths.items()})
    assert sorted((row.v, row.w) for row in found.collect()) == sorted(
        (str(match.bindings["v"]), str(match.bindings["w"])) for match in expected
    )
    assert found.count() == 3
    endless = {name: sps.read_events(spark, path, streaming=True) for name, path in paths.items()}
    with pytest.raises(InvalidArgument, match="give one streaming DataFrame; read_events takes a list"):
        sps.match(query, endless)
