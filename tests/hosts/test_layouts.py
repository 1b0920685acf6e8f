"""Data sets as others write them, on Spark: the same events and the same lines (docs/reference/event-formats.md)."""

from __future__ import annotations

import gzip
import random
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name everybody knows it by

import spaseq
from spaseq import spark as sps
from spaseq.engine.inputs import NamedQuery
from spaseq.engine.local_run import run_local
from spaseq.engine.request import RunRequest
from spaseq.errors import InvalidArgument
from spaseq.spark.command.spark_run import SparkRun
from spaseq.spark.sources.bad_events import quarantined
from support.datasets import WRITERS

pytestmark = pytest.mark.spark

EX = "http://ex.org/"
STAMP = "http://www.w3.org/ns/prov#generatedAtTime"
INTEGER = "^^<http://www.w3.org/2001/XMLSchema#integer>"
QUERY = """PREFIX : <http://ex.org/>
SELECT ?c ?p ?q WITHIN 20 SECONDS SLIDING FROM STREAM S <http://ex.org/trades>
WHERE { SEQ (A ; B) DEFINE GPM A ON S { ?t :of ?c ; :price ?p }
DEFINE GPM B ON S { ?u :of ?c ; :price ?q FILTER (?q > ?p) } }
"""


def trades(count: int, first: int = 0) -> bytes:
    """Trades of five companies, one a second, in the layout of streams."""
    chance, lines = random.Random(first), []
    for n in range(first, first + count):
        name = f"<{EX}t{n}>"
        lines += [
            f'{name} <{STAMP}> "{n * 1000}"{INTEGER} .',
            f"{name} <{EX}of> <{EX}c{chance.randrange(5)}> {name} .",
            f'{name} <{EX}price> "{chance.randrange(100)}"{INTEGER} {name} .',
            f"<{EX}exchange{n % 3}> <{EX}saw> {name} {name} .",
        ]
    return ("\n".join(lines) + "\n").encode()


@pytest.mark.filterwarnings("ignore::DeprecationWarning:rdflib")
def test_read_events_gives_the_events_of_the_stream(spark: SparkSession, tmp_path: Path) -> None:
    """Of every writer and format, and of timestamps inside."""
    (tmp_path / "stream.nq").write_bytes(stream := trades(30))
    for number, (suffix, write) in enumerate(WRITERS.values()):
        (tmp_path / f"{number}.{suffix}").write_bytes(write(stream))
    triples = F.array_sort(F.transform("triples", lambda t: F.concat_ws(" ", t.s, t.p, t.o)))
    rows = (
        sps.read_events(spark, tmp_path).select("source", F.unix_micros("time"), "graph", triples).collect()
    )
    found: dict[str, set[tuple[object, ...]]] = {}
    for source, time, graph, texts in rows:
        found.setdefault(Path(source).name, set()).add((time, graph, tuple(texts)))
    expected = found.pop("stream.nq")
    assert len(expected) == 30
    assert len(found) == len(WRITERS)
    assert all(events == expected for events in found.values())


def test_a_large_data_set_is_read_by_one_task(spark: SparkSession, tmp_path: Path) -> None:
    """It is noticed before it is cut; a layout that is insisted on is kept to."""
    (tmp_path / "sorted.nq").write_bytes(WRITERS["sort"][1](trades(300)))
    sps.register(spark)
    reader = spark.read.format("rdf").option("partBytes", "5000")
    events = reader.load(str(tmp_path / "sorted.nq"))
    assert events.select(F.spark_partition_id()).distinct().count() == 1
    assert events.count() == events.select("graph").distinct().count() == 300
    few = reader.option("layout", "stream").option("onBadInput", "skip").load(str(tmp_path / "sorted.nq"))
    assert few.where(F.size("triples") == 3).count() < 300


@pytest.mark.parametrize("checkpoint", [False, True], ids=["at once", "in micro-batches"])
def test_run_writes_the_same_lines_on_both_engines(
    spark: SparkSession, tmp_path: Path, checkpoint: bool
) -> None:
    """Data sets, streams and a file that is cut short side by side, in one run; they say the same at the end."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.nq").write_bytes(trades(100))
    (tmp_path / "in/b.nq").write_bytes(WRITERS["sort"][1](trades(100, 100)))
    (tmp_path / "in/c.trig").write_bytes(WRITERS["store trig"][1](trades(50, 200)))
    (tmp_path / "in/d.nq.gz").write_bytes(gzip.compress(trades(200, 250))[:-200])
    local, spread = tmp_path / "local.jsonl", tmp_path / "spark.jsonl"
    queries = (NamedQuery("rise", spaseq.compile(QUERY)),)
    kept = tmp_path / "quarantine.jsonl"
    request = RunRequest(queries, (("S", str(tmp_path / "in")),), output=local, quarantine=kept)
    expected = run_local(request)
    points = tmp_path / "points" if checkpoint else None
    run = SparkRun(replace(request, output=spread, checkpoint=points), "local[2]")
    report = run.run_in(spark, tmp_path / "work")
    assert report.summary == expected.summary
    assert report.summary[0].startswith(
        f"read {report.status.events} events (S {report.status.events}), 1 bad"
    )
    assert report.status.events > 300
    (fault,) = report.incomplete
    assert fault == expected.incomplete[0]
    assert "d.nq.gz" in fault
    lines = local.read_text("utf-8").splitlines()
    assert sorted(spread.read_text("utf-8").splitlines()) == sorted(lines)
    assert len(lines) > 100


def test_a_data_set_behind_the_beginning_is_told_with_what_to_do(spark: SparkSession, tmp_path: Path) -> None:
    """Spark decides the layout of a file by its first 64 KiB; what does not fit later is bad input that names the option."""
    stream = trades(300)
    assert len(stream) > 1 << 16
    (tmp_path / "mixed.nq").write_bytes(stream + WRITERS["sort"][1](trades(20, 300)))
    kept = tmp_path / "bad"
    options = {"on_bad_input": "quarantine", "quarantine": str(kept)}
    events = sps.read_events(spark, tmp_path / "mixed.nq", **options)  # type: ignore[arg-type]
    assert events.where(F.size("triples") == 3).count() == 300
    reasons = [str(bad["reason"]) for bad in quarantined(kept)]
    assert reasons
    assert all(text.endswith("; --layout dataset finds timestamps anywhere in the file") for text in reasons)
    assert sps.read_events(spark, tmp_path / "mixed.nq", layout="dataset").count() == 320


def test_a_stream_of_files_takes_no_data_sets(spark: SparkSession, tmp_path: Path) -> None:
    """Asked for, they are refused; those that come are bad input with a reason that names the option."""
    with pytest.raises(InvalidArgument, match="needs whole files"):
        sps.read_events(spark, tmp_path, streaming=True, layout="dataset")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.nq").write_bytes(WRITERS["sort"][1](trades(20)))
    kept = tmp_path / "bad"
    events = sps.read_events(
        spark, tmp_path / "in", streaming=True, finite=True, on_bad_input="quarantine", quarantine=str(kept)
    )
    query = events.writeStream.format("noop").option("checkpointLocation", str(tmp_path / "points"))
    query.trigger(availableNow=True).start().awaitTermination()
    reasons = [str(bad["reason"]) for bad in quarantined(kept)]
    assert reasons
    assert all("with --follow a timestamp stands directly before" in text for text in reasons)
    assert all("(--layout dataset)" in text for text in reasons)
