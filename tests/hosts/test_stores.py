"""Facts about files in object stores: the same answers from both engines as from files of this machine."""

from __future__ import annotations

import json
import signal
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from pyarrow.fs import S3FileSystem
from pyspark.sql import SparkSession

import spaseq
from spaseq import spark as sps
from spaseq.cli import main
from spaseq.engine.inputs import NamedQuery
from spaseq.engine.request import RunRequest
from spaseq.spark.command.spark_run import SparkRun
from spaseq.spark.sources.bad_events import quarantined
from spaseq.stores import StorePath, for_spark, place_of
from support.object_store import object_store
from support.servers import hadoop_cluster
from support.trades import EX, HEAD, QUERIES, RISE, STREAM, nquads, start, trade, trades, wait_for

GRAPH = f"{EX}db"
KNOWN = f"""{HEAD}SELECT ?c ?n WITHIN 1 MINUTE SLIDING {STREAM}
WHERE {{ SEQ (A) DEFINE GPM A ON S1 {{ ?c :price ?p GRAPH <{GRAPH}> {{ ?c :name ?n }} }} }}"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One server of objects for all tests here."""
    with object_store(tmp_path_factory.mktemp("store")) as found:
        yield found


@pytest.fixture(scope="module")
def namenode(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str | None]:
    """One cluster of HDFS for all tests here, if it is installed."""
    with hadoop_cluster(tmp_path_factory.mktemp("hadoop")) as found:
        yield found


@pytest.fixture(params=["s3", "hdfs"])
def bucket(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StorePath:
    """A new bucket or directory, the environment that leads to it, and a working folder with queries."""
    monkeypatch.chdir(tmp_path)
    for name, text in QUERIES.items():
        Path(f"{name}.spaseq").write_text(text, encoding="utf-8")
    new = tmp_path.name.replace("_", "-").lower()
    if request.param == "hdfs":
        namenode = request.getfixturevalue("namenode")
        if namenode is None:
            pytest.skip("HDFS is not on this machine: `make servers`")
        place = place_of(f"hdfs://{namenode}/{new}")
        assert isinstance(place, StorePath)
        return place
    address = request.getfixturevalue("address")
    for name, value in (
        ("AWS_ENDPOINT_URL", address),
        ("AWS_ACCESS_KEY_ID", "tests"),
        ("AWS_SECRET_ACCESS_KEY", "tests"),
        ("AWS_REGION", "us-east-1"),
        ("AWS_EC2_METADATA_DISABLED", "true"),
    ):
        monkeypatch.setenv(name, value)
    system = S3FileSystem(
        endpoint_override=address.removeprefix("http://"), scheme="http", allow_bucket_creation=True
    )
    system.create_dir(new)
    place = place_of(f"s3a://{new}")
    assert isinstance(place, StorePath)
    return place


only_s3 = pytest.mark.parametrize("bucket", ["s3"], indirect=True)
"""For what only one kind of store has."""


def run(*arguments: str, engine: str = "local") -> Result:
    """Call the command in this process."""
    done = CliRunner().invoke(main, ["run", "--engine", engine, *arguments], prog_name="spaseq")
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def put(bucket: StorePath, **files: str) -> None:
    """Files of events in the folder ``power``."""
    for name, text in files.items():
        (bucket / f"power/{name}.nq").write_text(text)


def spelt_otherwise(bucket: StorePath) -> str:
    """Another name of the same place."""
    return str(for_spark(bucket)) if bucket.scheme == "s3" else f"{bucket}//"


def expected(text: str) -> list[str]:
    """The lines that the in-process engine gives for a file of this machine."""
    Path("local.nq").write_text(text, encoding="utf-8")
    return run("rise.spaseq", "--stream", "S1=local.nq").stdout.splitlines()


@contextmanager
def credentials_checked(address: str) -> Iterator[None]:
    """Let the server refuse everybody, since nobody has an account."""

    def accepted(requests: int) -> None:
        head = {"Content-Type": "text/plain"}
        url = f"{address}/moto-api/reset-auth"
        urllib.request.urlopen(urllib.request.Request(url, f"{requests}".encode(), head, method="POST"))

    accepted(0)
    try:
        yield
    finally:
        accepted(1 << 30)


# --- in process -----------------------------------------------------------------------------------


@pytest.mark.parametrize("named", ["power", "power/*.nq", "pow*/[ab].nq"])
def test_a_directory_or_glob_of_a_bucket_is_read_like_one_of_this_machine(
    bucket: StorePath, named: str
) -> None:
    """Also with a compressed output, which appears as one object."""
    first, second = nquads(trades(30)), nquads(trades(30, seed=2, first=30))
    put(bucket, a=first, b=second)
    lines = expected(first + second)
    assert len(lines) > 10
    done = run("rise.spaseq", "--stream", f"S1={bucket}/{named}", "--output", f"{bucket}/out/rises.jsonl")
    assert (done.exit_code, done.stdout) == (0, "")
    assert (bucket / "out/rises.jsonl").read_text().splitlines() == lines
    assert [match.time for match in spaseq.run(RISE, {"S1": f"{bucket}/{named}"})]


def test_a_file_uri_is_a_path(bucket: StorePath) -> None:
    """Of events, of the output and of the quarantine."""
    lines = expected(nquads(trades(30)))
    here = Path.cwd().as_uri()
    done = run("rise.spaseq", "--stream", f"S1={here}/local.nq", "--output", f"{here}/out.jsonl")
    assert done.exit_code == 0
    assert Path("out.jsonl").read_text().splitlines() == lines


def test_bad_events_and_background_graphs_live_in_a_bucket_too(bucket: StorePath) -> None:
    """The quarantine is beside the output unless another is named."""
    put(bucket, a=nquads([trade(1, "H1", 3)]) + "not a quad\n" + nquads([trade(2, "H1", 4)]))
    (bucket / "db.ttl").write_text(f'<{EX}H1> <{EX}name> "Huber" .')
    Path("known.spaseq").write_text(KNOWN, encoding="utf-8")
    done = run(
        "known.spaseq", "--stream", f"S1={bucket}/power", "--kb", f"{GRAPH}={bucket}/db.ttl",
        "--output", f"{bucket}/known.jsonl",
    )  # fmt: skip
    assert done.exit_code == 0
    assert "Huber" in (bucket / "known.jsonl").read_text()
    (bad,) = (json.loads(line) for line in (bucket / "quarantine.jsonl").read_text().splitlines())
    assert bad["source"] == f"{bucket}/power/a.nq"
    assert bad["text"] == "not a quad"


def test_a_run_that_fails_leaves_no_output(bucket: StorePath) -> None:
    """An object that is there is the whole output."""
    put(bucket, a="not a quad\n")
    done = run("rise.spaseq", "--stream", f"S1={bucket}/power", "--output", f"{bucket}/out.jsonl")
    assert done.exit_code == 1
    assert not (bucket / "out.jsonl").exists()


@only_s3
def test_what_is_wrong_with_a_store_is_said_in_a_sentence(
    address: str, bucket: StorePath, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing object or bucket, what cannot be written, no server: place and cure, and no traceback."""
    put(bucket, a=nquads(trades(3)))

    def problem(stream: str, *more: str) -> str:
        done = run("rise.spaseq", "--stream", f"S1={stream}", *more)
        assert done.exit_code in (1, 2)
        assert "Traceback" not in done.stderr
        return " ".join(done.stderr.split())

    assert "error: `s3://nowhere/x.nq` does not exist: there is no bucket" in problem("s3a://nowhere/x.nq")
    assert f"`{bucket}/none.nq` does not exist" in problem(f"{bucket}/none.nq")
    assert f"no file matches `{bucket}/*.trig`" in problem(f"{bucket}/*.trig")
    assert "names no bucket: write `s3://BUCKET/…`" in problem("s3://")
    assert "has a scheme that files cannot be read from" in problem("ftp://host/x.nq")
    power = f"{bucket}/power"
    assert "names no file: write" in problem(power, "--output", str(bucket))
    assert "has a scheme that files cannot be read from" in problem(power, "--output", "ftp://host/x.nq")
    assert "there is no bucket `nowhere`; make it" in problem(power, "--output", "s3://nowhere/out.jsonl")
    assert "lies in a store, which cannot rename files" in problem(power, "--checkpoint", f"{bucket}/points")
    assert "cannot append to a file: give --checkpoint DIR" in problem(
        power, "--follow", "--output", f"{bucket}/out.jsonl"
    )
    assert "would become its own input" in problem(power, "--output", f"{power}/out.nq")
    with credentials_checked(address):
        assert "did not accept the credentials, or found none; set AWS_ACCESS_KEY_ID" in problem(power)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    assert "the store at http://127.0.0.1:9 cannot be reached; set AWS_ACCESS_KEY_ID" in problem(power)


@pytest.mark.parametrize("bucket", ["hdfs"], indirect=True)
def test_what_is_wrong_with_hdfs_is_said_in_a_sentence(bucket: StorePath) -> None:
    """What a namenode refuses is told in its words, without Java's stack; what cannot be reached has a cure."""
    put(bucket, a=nquads(trades(3)))

    def problem(stream: str, *more: str) -> str:
        done = run("rise.spaseq", "--stream", f"S1={stream}", *more)
        assert done.exit_code in (1, 2)
        assert "\n\tat " not in done.stderr
        return " ".join(done.stderr.split())

    power = f"{bucket}/power"
    assert f"`{bucket}/none.nq` does not exist" in problem(f"{bucket}/none.nq")
    assert f"no file matches `{bucket}/*.trig`" in problem(f"{bucket}/*.trig")
    assert "(is not a directory)" in problem(power, "--output", f"{power}/a.nq/out.jsonl")
    assert "lies in a store, which cannot rename files" in problem(power, "--checkpoint", f"{bucket}/points")
    assert "name the namenode as `hdfs://HOST:PORT/…`" in problem("hdfs://127.0.0.1:9/power")
    assert "No fs.defaultFS setting found" in problem("hdfs:///power")


def test_a_followed_bucket_is_read_on_and_its_output_grows_by_objects(bucket: StorePath) -> None:
    """A run that is stopped and resumed sends every line once. Files of HDFS may grow; these are complete when they appear."""
    pieces = [nquads(trades(20, seed=number, first=20 * number)) for number in range(4)]
    lines = expected("".join(pieces))
    output = bucket / "out.jsonl"
    command = (
        "rise.spaseq", "--stream", f"S1={bucket}/power", "--follow", "--output", str(output),
        "--checkpoint", "points", "--checkpoint-every", "0s", "--settle", "0s",
    )  # fmt: skip
    for number, piece in enumerate(pieces):
        (bucket / f"power/{number}.nq").write_text(piece)
        if number % 2 == 0:
            process = start(*command)
        certain = len(settled("".join(pieces[: number + 1])))
        wait_for(partial(lambda least: len(sent(output)) >= least, certain), 60)
        if number % 2:
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0, process.communicate()[1]
    assert len({part.name for part in output.glob("*.jsonl")}) >= 2
    found = sent(output)
    assert found == lines[: len(found)]
    assert len(found) >= len(settled("".join(pieces)))


def settled(text: str) -> list[str]:
    """The lines that no event after the last one can come before."""
    lines = expected(text)
    return [line for line in lines if json.loads(line)["time"] < json.loads(lines[-1])["time"]]


def sent(output: StorePath) -> list[str]:
    """The lines of all parts of an output."""
    return "".join(part.read_text() for part in sorted(output.glob("*.jsonl"))).splitlines()


# --- on Spark -------------------------------------------------------------------------------------


@pytest.mark.spark
def test_spark_reads_parts_of_objects_and_keeps_bad_events_there(
    spark: SparkSession, bucket: StorePath, change_settings: Callable[..., None]
) -> None:
    """One object in several parts; the columns and the quarantine name it by its URI."""
    change_settings(part_bytes_least=2000)
    text = nquads(trades(60))
    put(bucket, a=text + "not a quad\n", b=nquads(trades(20, seed=2, first=60)))
    lines = expected(text + nquads(trades(20, seed=2, first=60)))
    events = sps.read_events(spark, f"{spelt_otherwise(bucket)}/power/*.nq")
    answers = sps.match(RISE, {"S1": events}, on_bad_input="quarantine", quarantine=f"{bucket}/bad")
    assert answers.count() == len(lines)
    (bad,) = quarantined(f"{bucket}/bad")
    if bucket.scheme == "hdfs":  # Spark brings no client of S3
        (row,) = sps.bad_records(spark, f"{bucket}/bad").collect()
        assert (row.source, row.position) == (bad["source"], bad["position"])
    assert bad["source"] == f"{bucket}/power/a.nq"
    assert bad["position"] == 121
    (bucket / "power/a.nq").write_text(text)
    sources = {row.source for row in sps.read_events(spark, f"{bucket}/power").select("source").collect()}
    assert sources == {f"{bucket}/power/a.nq", f"{bucket}/power/b.nq"}


@pytest.mark.spark
def test_a_stream_of_objects_goes_on_where_its_checkpoint_says(
    spark: SparkSession, bucket: StorePath, tmp_path: Path
) -> None:
    """Offsets name objects by their URIs, so s3a:// and s3:// are one."""
    pieces = [nquads(trades(20, seed=number, first=20 * number)) for number in range(2)]
    found: list[str] = []
    for number, piece in enumerate(pieces):
        (bucket / f"power/{number}.nq").write_text(piece)
        name = (str(bucket), spelt_otherwise(bucket))[number]
        events = sps.read_events(spark, f"{name}/power", streaming=True, settle=0)
        writer = sps.match(RISE, {"S1": events}, partitions=2).writeStream.option(
            "checkpointLocation", str(tmp_path / "points")
        )
        query = writer.foreachBatch(lambda rows, _: found.extend(map(str, rows.collect())))
        query.trigger(availableNow=True).start().awaitTermination()
    certain = len(settled("".join(pieces)))
    assert certain <= len(found) == len(set(found))


@pytest.mark.spark
@pytest.mark.parametrize("master", ["local[2]", "spark://elsewhere:7077"])
def test_spark_writes_its_output_to_a_bucket(
    spark: SparkSession, bucket: StorePath, tmp_path: Path, master: str
) -> None:
    """On a cluster workers leave their lines in the bucket as well, so that no folder need be shared."""
    text = nquads(trades(60))
    put(bucket, a=text + "not a quad\n")
    lines = expected(text)
    request = RunRequest(
        queries=(NamedQuery("query", spaseq.compile(RISE)),),
        streams=(("S1", f"{bucket}/power"),),
        output=bucket / "out/rises.jsonl",
        quarantine=bucket / "out/bad.jsonl",
    )
    report = SparkRun(request, master).run_in(spark, tmp_path / "work")
    assert report.status.matches == len(lines)
    assert sorted((bucket / "out/rises.jsonl").read_text().splitlines()) == sorted(lines)
    assert len((bucket / "out/bad.jsonl").read_text().splitlines()) == 1
    assert {path.name for path in (bucket / "out").rglob("*")} == {"rises.jsonl", "bad.jsonl"}
