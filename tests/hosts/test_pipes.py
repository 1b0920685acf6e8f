"""Standard input on Spark, and inputs of which no event can be read."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import spaseq
from spaseq.engine.inputs import NamedQuery
from spaseq.engine.request import RunRequest
from spaseq.errors import InvalidArgument
from spaseq.io.unreadable import UnreadableInput
from spaseq.spark.command.spark_run import SparkRun
from support.processes import SPASEQ

pytestmark = pytest.mark.spark

STAMP = "http://www.w3.org/ns/prov#generatedAtTime"
INTEGER = "^^<http://www.w3.org/2001/XMLSchema#integer>"
QUERY = """SELECT ?c ?p ?q WITHIN 20 SECONDS SLIDING FROM STREAM S <urn:s> FROM STREAM T <urn:t>
WHERE { SEQ (A ; B) DEFINE GPM A ON S { ?c <urn:price> ?p } DEFINE GPM B ON T { ?c <urn:price> ?q FILTER (?q > ?p) } }
"""


def trade(second: int, price: int) -> str:
    """A trade of one company."""
    name = f"<urn:t{second}>"
    return f'<urn:c> <urn:price> "{price}"{INTEGER} {name} .\n{name} <{STAMP}> "{second * 1000}"{INTEGER} .\n'


def test_standard_input_is_read_to_its_end_and_sorted(tmp_path: Path) -> None:
    """Workers read what was kept of it; bad input has its name."""
    (tmp_path / "rise.spaseq").write_text(QUERY)
    (tmp_path / "t.nq").write_text(trade(3, 5))
    arguments = ["rise.spaseq", "--stream", "S=-", "--stream", "T=t.nq", "--output", "out.jsonl"]
    done = subprocess.run(
        [*SPASEQ, "run", "--engine", "spark", "--master", "local[2]", *arguments],
        input=(trade(2, 4) + trade(1, 1) + "garbage\n").encode(),
        capture_output=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(spaseq.__file__).parents[1])},
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    starts = [json.loads(line)["start"] for line in (tmp_path / "out.jsonl").read_text("utf-8").splitlines()]
    assert sorted(starts) == ["1970-01-01T00:00:01Z", "1970-01-01T00:00:02Z"]
    kept = json.loads((tmp_path / "quarantine.jsonl").read_text("utf-8"))
    assert (kept["source"], kept["position"]) == ("standard input", 5)


@pytest.fixture
def request_of(tmp_path: Path) -> RunRequest:
    """A run over two files."""
    (tmp_path / "s.nq").write_text(trade(1, 1))
    (tmp_path / "t.nq").write_text("".join(f'<urn:o> <urn:at> "{n}" <urn:g{n}> .\n' for n in range(7)))
    streams = (("S", str(tmp_path / "s.nq")), ("T", str(tmp_path / "t.nq")))
    queries = (NamedQuery("rise", spaseq.compile(QUERY)),)
    output, kept = tmp_path / "out.jsonl", tmp_path / "quarantine.jsonl"
    return RunRequest(queries, streams, output=output, quarantine=kept)


@pytest.mark.parametrize("checkpoint", [False, True], ids=["at once", "in micro-batches"])
def test_an_input_without_a_readable_event_fails_and_says_what_it_has(
    spark: SparkSession, tmp_path: Path, request_of: RunRequest, checkpoint: bool
) -> None:
    """Of one stream, although the other can be read."""
    points = tmp_path / "points" if checkpoint else None
    with pytest.raises(UnreadableInput) as caught:
        SparkRun(replace(request_of, checkpoint=points), "local[2]").run_in(spark, tmp_path / "work")
    assert "no event of the stream `T` can be read" in str(caught.value)
    assert "has 7 pieces of bad input" in str(caught.value)
    assert "found: 7 named graphs without timestamps" in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"follow": True}, "Spark cannot follow a pipe"),
        ({"streams": (("S", "-"), ("T", "/dev/stdin"))}, "standard input can be read only once"),
        ({"checkpoint": Path("points")}, "cannot be read again after a crash"),
    ],
)
def test_standard_input_that_spark_cannot_read_is_refused(
    request_of: RunRequest, changes: dict[str, object], reason: str
) -> None:
    """Before anything is started."""
    with pytest.raises(InvalidArgument, match=reason):
        SparkRun(replace(request_of, **{"streams": (("S", "-"), request_of.streams[1]), **changes}))  # type: ignore[arg-type]
