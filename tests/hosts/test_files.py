"""``format("rdf")`` and `read_events`: files, directories, globs, parts; batch and stream."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name everybody knows it by

import spaseq
from spaseq import spark as sps
from spaseq.engine.bookmarks import Bookmark
from spaseq.errors import InvalidArgument
from spaseq.io.growing import Cut
from spaseq.spark.command.problems import problem_of
from spaseq.spark.sources.bad_events import quarantined
from spaseq.spark.sources.offsets import FileLog, Offset

pytestmark = pytest.mark.spark

STAMP = "http://www.w3.org/ns/prov#generatedAtTime"
QUERY = """PREFIX : <http://ex.org/>
SELECT ?k ?v ?w WITHIN 4 SECONDS SLIDING FROM STREAM S <http://ex.org/s>
WHERE { SEQ (A ; B) DEFINE GPM A ON S { ?x :key ?k ; :a ?v } DEFINE GPM B ON S { ?y :key ?k ; :b ?w } }"""


def nquads(first: int, count: int) -> str:
    """Events half a second apart, of five keys, in N-Quads."""
    lines = []
    for i in range(first, first + count):
        name = f"<http://ex.org/g{i}>"
        lines += [
            f"<http://ex.org/e{i}> <http://ex.org/key> <http://ex.org/k{i * 7 % 5}> {name} .",
            f'<http://ex.org/e{i}> <http://ex.org/{"ab"[i * i % 3 % 2]}> "{i}" {name} .',
            f'{name} <{STAMP}> "{i * 500}"^^<http://www.w3.org/2001/XMLSchema#integer> .',
        ]
    return "\n".join(lines) + "\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four files of a hundred events, one of them packed, and files that are not events."""
    path = tmp_path_factory.mktemp("events")
    for number in range(3):
        (path / f"{number}.nq").write_text(nquads(100 * number, 100))
        os.utime(path / f"{number}.nq", (1000 + number, 1000 + number))
    (path / "3.nq.gz").write_bytes(gzip.compress(nquads(300, 100).encode()))
    os.utime(path / "3.nq.gz", (1003, 1003))
    (path / "_SUCCESS").write_text("")
    (path / "readme.txt").write_text("not events")
    return path


def expected(folder: Path) -> list[tuple[object, ...]]:
    """What the local engine answers."""
    return sorted(
        (m.instant, m.begin, *map(str, m.bindings.values())) for m in spaseq.run(QUERY, {"S": str(folder)})
    )


def rows(answers: object) -> list[tuple[object, ...]]:
    """The rows of a DataFrame of answers, exactly."""
    exact = answers.select(F.unix_micros("time"), F.unix_micros("start"), "k", "v", "w")  # type: ignore[attr-defined]
    return sorted(tuple(row) for row in exact.collect())


def test_events_have_time_triples_and_where_they_come_from(spark: SparkSession, folder: Path) -> None:
    """Time and triples, and the graph's name, the file and the line."""
    events = sps.read_events(spark, f"{folder}/1.nq")
    assert events.dtypes[0] == ("time", "timestamp")
    assert events.dtypes[1] == ("triples", "array<struct<s:string,p:string,o:string>>")
    row = events.where("graph = '<http://ex.org/g101>'").first()
    assert row is not None
    assert (row["source"], row["position"]) == (f"{folder}/1.nq", 4)
    assert {t.p for t in row["triples"]} == {"<http://ex.org/key>", "<http://ex.org/b>"}


def test_the_data_source_works_by_name(spark: SparkSession, folder: Path) -> None:
    """``spark.read.format("rdf")`` after `register`; files that are no events are passed over."""
    sps.register(spark)
    assert spark.read.format("rdf").load(str(folder)).count() == 400
    assert spark.read.format("rdf").option("format", "nquads").load(f"{folder}/[12].nq").count() == 200


def test_only_the_columns_that_are_named_are_made(spark: SparkSession, folder: Path) -> None:
    """Spark tells no Python source what is wanted, so the user may: with `columns`, or a schema."""
    some = sps.read_events(spark, folder, columns=["source", "time"])
    assert some.columns == ["source", "time"]
    wanted = sps.read_events(spark, folder).select("source", "time")
    assert sorted(some.collect()) == sorted(wanted.collect())
    by_name = spark.read.format("rdf").schema("source string, time timestamp").load(str(folder))
    assert sorted(by_name.collect()) == sorted(wanted.collect())
    with pytest.raises(InvalidArgument, match="an events DataFrame has `time` and `triples`"):
        sps.match(QUERY, {"S": some})
    with pytest.raises(InvalidArgument, match=r"no column `when`; theirs are time, triples"):
        sps.read_events(spark, folder, columns=["when"])
    with pytest.raises(InvalidArgument, match=r"`columns=` is a list of names, .*, not `time`"):
        sps.read_events(spark, folder, columns="time")


@pytest.mark.parametrize("how", ["parts", "rows"])
def test_answers_do_not_depend_on_how_files_are_read(spark: SparkSession, folder: Path, how: str) -> None:
    """`match` reads untouched files itself; a DataFrame that went through other hands row by row."""
    events = sps.read_events(spark, folder)
    given = events if how == "parts" else events.where("position > 0")
    answers = sps.match(QUERY, {"S": given})
    plan = answers._jdf.queryExecution().toString()
    assert ("MatchParts" in plan) == (how == "parts")
    assert rows(answers) == expected(folder)


def test_large_files_are_read_in_parts(spark: SparkSession, tmp_path: Path) -> None:
    """Every event once, whatever the cuts."""
    (tmp_path / "large.nq").write_text(nquads(0, 3000))
    events = sps.read_events(spark, tmp_path / "large.nq")
    assert events.select(F.spark_partition_id()).distinct().count() == 1
    many = (
        spark.read.format("rdf")
        .option("paths", f'["{tmp_path}/large.nq"]')
        .option("partBytes", "20000")
        .load()
    )
    assert many.select(F.spark_partition_id()).distinct().count() > 10
    assert many.count() == many.select("graph").distinct().count() == 3000
    assert many.where("position is not null").count() < 100, "lines are counted in the first part only"


@pytest.mark.parametrize("limits", [{}, {"max_files_per_trigger": 1}, {"max_bytes_per_trigger": 9000}])
def test_a_finite_stream_ends_with_the_same_answers(
    spark: SparkSession, folder: Path, tmp_path: Path, limits: dict[str, int]
) -> None:
    """One micro-batch, one per file, or pieces of files; the last one tells that the stream has ended."""
    events = sps.read_events(spark, folder, streaming=True, finite=True, **limits)  # type: ignore[arg-type]
    query = (
        sps.match(QUERY, {"S": events})
        .writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .option("path", str(tmp_path / "answers"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    count = len([report for report in query.recentProgress if report.numInputRows])
    assert count == (1 if not limits else count)
    assert count >= (4 if limits else 1)
    assert rows(spark.read.parquet(str(tmp_path / "answers"))) == expected(folder)


def test_a_finite_stream_that_was_changed_says_what_its_end_needs(spark: SparkSession, folder: Path) -> None:
    """A filter drops the row that tells of the end, whose columns are NULL, and with it the last answers."""
    events = sps.read_events(spark, folder, streaming=True, finite=True)
    with pytest.warns(UserWarning, match="without it the last answers do not come"):
        sps.match(QUERY, {"S": events.where("time > timestamp_seconds(0)")})
    with pytest.raises(InvalidArgument, match="has lost the column `promise`"):
        sps.match(QUERY, {"S": events.select("time", "triples")})
    with pytest.raises(InvalidArgument, match="the end of one would be that of all"):
        sps.match(QUERY, {"S": events.union(sps.read_events(spark, folder, streaming=True, finite=True))})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sps.match(QUERY, {"S": events.where("promise OR time > timestamp_seconds(0)")})
        sps.match(
            QUERY, {"S": sps.read_events(spark, folder, streaming=True).where("time > timestamp_seconds(0)")}
        )


def test_a_file_that_vanishes_before_it_is_read_is_told_as_such(
    spark: SparkSession, folder: Path, tmp_path: Path
) -> None:
    """The driver has found it, and no event is passed over in silence."""
    here = tmp_path / "in"
    shutil.copytree(folder, here)
    gone = min(here.iterdir())
    answers = sps.match(QUERY, {"S": sps.read_events(spark, here)})
    gone.unlink()
    with pytest.raises(PySparkException, match=f"`{gone}` was there when the query was planned"):
        answers.count()


def test_new_files_are_taken_once_and_a_restart_goes_on(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The offset names the files, so nothing is read twice or forgotten."""
    source = tmp_path / "in"
    source.mkdir()

    def run(path: Path) -> int:
        events = sps.read_events(spark, path, streaming=True)
        query = (
            events.writeStream.format("parquet")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .option("path", str(tmp_path / "out"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return spark.read.parquet(str(tmp_path / "out")).count()

    (source / "b.nq").write_text(nquads(0, 10))
    assert run(source) == 10
    (source / "a.nq").write_text(nquads(10, 5))
    os.utime(source / "a.nq", (1, 1))
    assert run(source) == 15, "an older file that came later is not missed"
    monkeypatch.chdir(tmp_path)
    assert run(Path("in")) == 15, "a relative path and an absolute one are the same file"


@pytest.mark.parametrize("log", [False, True], ids=["offsets", "log"])
def test_files_go_once_they_were_read_and_may_come_again(
    spark: SparkSession, tmp_path: Path, log: bool
) -> None:
    """Another file under the name of one that went is read whole; a restart needs no entry that a log has dropped."""
    (tmp_path / "in").mkdir()
    more: dict[str, Any] = {"file_log": tmp_path / "log"} if log else {}

    def run() -> int:
        events = sps.read_events(
            spark, tmp_path / "in", streaming=True, clean_source="archive", archive=tmp_path / "old", **more
        )
        query = (
            events.writeStream.format("parquet")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .option("path", str(tmp_path / "out"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return spark.read.parquet(str(tmp_path / "out")).select("graph").distinct().count()

    for number, (name, count) in enumerate({"x": 4, "y": 2}.items()):
        (tmp_path / "in" / f"{name}.nq").write_text(nquads(10 * number, count))
        run()
    assert [file.name for file in (tmp_path / "in").iterdir()] == ["y.nq"]
    (tmp_path / "in/x.nq").write_text(nquads(20, 6))
    assert run() == 12
    if log:  # as after many more micro-batches
        (own,) = (tmp_path / "log").iterdir()
        FileLog(own).compact(3)
        for number in (1, 2):
            (own / f"{number:012d}.json").unlink()
    (tmp_path / "in/z.nq").write_text(nquads(30, 1))
    assert run() == 13
    assert sorted(file.name for file in (tmp_path / "old").iterdir()) == ["x-2.nq", "x.nq", "y.nq"]
    with pytest.raises(Exception, match="would be read again: name a folder beside the source"):
        sps.read_events(spark, tmp_path, streaming=True, clean_source="archive", archive=tmp_path / "old")


def test_bad_input_is_quarantined_with_its_line(spark: SparkSession, tmp_path: Path) -> None:
    """In files of its own beside everything else, counted."""
    text = nquads(0, 50) + "this is no quad\n" + nquads(50, 50)
    (tmp_path / "events.nq").write_text(text)
    place = str(tmp_path / "bad [1]{a}*")  # no pattern
    events = sps.read_events(spark, tmp_path / "events.nq", on_bad_input="quarantine", quarantine=place)
    assert events.count() == 100
    assert [(each["source"], each["position"]) for each in quarantined(place)] == [
        (f"{tmp_path}/events.nq", 151)
    ]
    (record,) = sps.bad_records(spark, place).collect()
    assert (record.source, record.position, record.unit, record.late) == (
        f"{tmp_path}/events.nq",
        151,
        "line",
        False,
    )
    with pytest.raises(Exception, match="bad input") as failed:
        sps.read_events(spark, tmp_path / "events.nq").count()
    assert str(problem_of(failed.value)).startswith(f"bad input: {tmp_path}/events.nq:151: ")
    files = sps.read_events(spark, tmp_path / "events.nq")
    assert sps.match(QUERY, {"S": files}, on_bad_input="skip").count() > 10, "`match` reads the files itself"


def test_the_example_of_the_documentation_runs_as_printed_over_a_bad_line(
    spark: SparkSession, tmp_path: Path
) -> None:
    """An endless input: the bad line is kept, and the query goes on."""
    page = Path("docs/how-to/use-spark.md").read_text("utf-8")
    (example,) = re.findall(r"```python\n(.*?running = .*?)```", page, re.DOTALL)
    query = Path("examples/first-match/fares.spaseq").read_text("utf-8")
    (tmp_path / "incoming").mkdir()
    shutil.copy("examples/first-match/fares.trig", tmp_path / "incoming")
    (tmp_path / "incoming" / "more.nq").write_text("this is no quad\n")
    known: dict[str, Any] = {"sps": sps, "spark": spark, "query": query}
    exec(re.sub(r'"(\w+)/"', rf'"{tmp_path}/\1"', example), known)  # noqa: S102 - our own page
    running = known["running"]
    try:
        while not list(quarantined(tmp_path / "bad")):  # a file must settle before its last line is taken
            running.processAllAvailable()
    finally:
        running.stop()
    assert [each["source"] for each in quarantined(tmp_path / "bad")] == [f"{tmp_path}/incoming/more.nq"]


def test_a_cached_dataframe_is_matched_as_it_was_cached(spark: SparkSession, tmp_path: Path) -> None:
    """`match` then reads the rows that Spark has, not the files."""
    (tmp_path / "events.nq").write_text(nquads(0, 50))
    events = sps.read_events(spark, tmp_path / "events.nq")
    expected = sps.match(QUERY, {"S": events}).count()
    assert events.cache().count() == 50
    (tmp_path / "events.nq").unlink()
    assert sps.match(QUERY, {"S": events}).count() == expected > 0
    events.unpersist()


def test_misuse_speaks(spark: SparkSession, tmp_path: Path) -> None:
    """A path that is not there, a format nobody knows, N-Triples without a count."""
    with pytest.raises(InvalidArgument, match="does not exist"):
        sps.read_events(spark, tmp_path / "nowhere")
    (tmp_path / "x.nt").write_text("")
    with pytest.raises(InvalidArgument, match="triples_per_event"):
        sps.read_events(spark, tmp_path / "x.nt")
    with pytest.raises(Exception, match=r"(?i)has no option `maxfiles`"):
        spark.read.format("rdf").option("maxFiles", "1").load(str(tmp_path)).count()


def test_an_offset_survives_its_log() -> None:
    """Names with any character, and what is known of a file."""
    marks = [
        Bookmark("", "/a b.nq", Cut(17, 2), 17, "abc", whole=True),
        Bookmark("", "/ü\udcff.trig", Cut(5, 1, "@prefix é: <urn:x> ."), 9, "def", lost="it was cut"),
    ]
    offset = Offset({mark.path: mark for mark in marks}, ended=True, clock=5)
    assert Offset.from_dict(offset.to_dict()) == offset
    assert Offset.from_dict(Offset().to_dict()) == Offset()
    relative = replace(marks[0], path="a b.nq")
    (path,) = Offset.from_dict(Offset({relative.path: relative}).to_dict()).marks
    assert path == str(Path.cwd() / "a b.nq"), "a relative path and an absolute one are the same file"


def test_the_filter_of_one_query_leaves_others_alone(spark: SparkSession, tmp_path: Path) -> None:
    """Where the session hands filters to sources too: Spark keeps what a source makes of them with the DataFrame."""
    (tmp_path / "events.nq").write_text(nquads(0, 20), encoding="utf-8")
    spark.conf.set("spark.sql.python.filterPushdown.enabled", True)
    try:
        events = sps.read_events(spark, tmp_path / "events.nq")
        early, late = (
            events.where("time < timestamp_seconds(7)"),
            events.where("time >= timestamp_seconds(7)"),
        )
        assert early.union(late).count() == 20
        assert (early.count(), events.count(), late.count(), events.count()) == (14, 20, 6, 20)
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")


def test_match_reads_a_range_of_times(spark: SparkSession, tmp_path: Path) -> None:
    """Files that it reads itself, or as rows that Spark has filtered or chosen."""
    (tmp_path / "events.nq").write_text(nquads(0, 40), encoding="utf-8")
    events = sps.read_events(spark, tmp_path, since="1970-01-01T00:00:05Z", until=15_000_000)
    wanted = sps.read_events(spark, tmp_path).where(
        "time >= timestamp_seconds(5) AND time < timestamp_seconds(15)"
    )
    assert events.count() == wanted.count() == 20
    found, other = (sps.match(QUERY, {"S": each}).collect() for each in (events, wanted))
    assert sorted(found) == sorted(other) != []
    with pytest.raises(InvalidArgument, match="finite input"):
        sps.read_events(spark, tmp_path, streaming=True, since="1970-01-01")
