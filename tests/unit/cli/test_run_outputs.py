"""`--output x.csv`, `x.jsonl.gz` and `x.parquet` do what they say."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import zstandard
from click.testing import CliRunner, Result
from pyoxigraph import Literal, NamedNode, Triple

import spaseq
from spaseq.cli import main
from spaseq.model.events import GraphEvent
from support.event_files import nquads
from support.processes import Process

EX = "http://ex.org/"
QUERY = f"""PREFIX : <{EX}> {{form}} WITHIN 1 MINUTE SLIDING FROM STREAM S <{EX}s>
WHERE {{{{ SEQ (A ; B) DEFINE GPM A ON S {{{{ ?c :price ?p }}}} DEFINE GPM B ON S {{{{ ?c :price ?q FILTER(?q > ?p) }}}} }}}}"""
FORMS = {
    "rise": "SELECT ?c ?p ?q",
    "build": "CONSTRUCT { ?c :rose ?q }",
    "ask": "ASK",
    "clash": "SELECT (?p AS ?time) ?q",
}
XSD = "http://www.w3.org/2001/XMLSchema#"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with queries and events that rise and fall."""
    monkeypatch.chdir(tmp_path)
    for name, form in FORMS.items():
        Path(f"{name}.spaseq").write_text(QUERY.format(form=form))
    events = [
        GraphEvent(
            f"{EX}s",
            second * 1_000_000,
            frozenset(
                {Triple(NamedNode(f"{EX}c{second % 3}"), NamedNode(f"{EX}price"), Literal(second % 7))}
            ),
            NamedNode(f"{EX}e{second}"),
        )
        for second in range(60)
    ]
    Path("in.nq").write_text(nquads(events))
    return tmp_path


def run(*arguments: str) -> Result:
    """The command in this process."""
    return CliRunner().invoke(
        main, ["run", *arguments, "--engine", "local", "--stream", "S=in.nq", "--quiet"]
    )


def unpacked(path: str) -> bytes:
    """A file without its compression."""
    data = Path(path).read_bytes()
    if path.endswith(".gz"):
        return gzip.decompress(data)
    return (
        zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data)).read() if path.endswith(".zst") else data
    )


@pytest.mark.parametrize(
    ("query", "name", "like"),
    [
        ("rise", "x.csv", "csv"),
        ("rise", "x.CSV", "csv"),
        ("rise", "x.jsonl", "jsonl"),
        ("rise", "x.ndjson", "jsonl"),
        ("rise", "x.srj", "sparql-json"),
        ("rise", "x.txt", "jsonl"),
        ("rise", "x", "jsonl"),
        ("rise", "x.jsonl.gz", "jsonl"),
        ("rise", "x.csv.zst", "csv"),
        ("rise", "x.gz", "jsonl"),
        ("build", "x.trig", "trig"),
        ("build", "x.nq.gz", "nquads"),
        ("build", "x.csv", "csv"),
        ("build", "x", "nquads"),
        ("ask", "x.csv", "csv"),
    ],
)
def test_the_name_of_the_output_says_what_it_is(query: str, name: str, like: str) -> None:
    """The format by extension, the compression by .gz or .zst; the content as on standard output."""
    done = run(f"{query}.spaseq", "--output", name)
    assert done.exit_code == 0, done.output
    wanted = run(f"{query}.spaseq", "--output-format", like).stdout_bytes
    assert unpacked(name) == wanted
    assert len(wanted) > 20


def test_what_is_asked_for_comes_before_the_extension() -> None:
    """For names that mean something else to their owner."""
    run("rise.spaseq", "--output", "x.csv", "--output-format", "jsonl")
    assert Path("x.csv").read_text().startswith('{"time"')


@pytest.mark.parametrize(
    ("query", "name", "problem"),
    [
        ("build", "x.nt", "is ntriples by its name, which is not written: use .nq or .trig"),
        ("build", "x.jelly", "is jelly by its name, which is not written: use .nq or .trig"),
        ("build", "x.ttl.gz", "is turtle by its name, which is not written: use .nq or .trig"),
        (
            "rise",
            "x.tsv",
            "is tsv by its name, which is not written: use .jsonl, .csv",
        ),
    ],
)
def test_a_name_that_claims_what_is_not_written_is_refused(query: str, name: str, problem: str) -> None:
    """Whoever reads the file would take it for that; an option says that the name means something else."""
    refused = run(f"{query}.spaseq", "--output", name)
    assert refused.exit_code == 2
    assert problem in refused.output
    assert not Path(name).exists()
    assert run(f"{query}.spaseq", "--output", name, "--output-format", "jsonl").exit_code == 0


def test_several_portions_make_one_compressed_file(change_settings: Callable[..., None]) -> None:
    """What is written is handed on portion by portion, so that it can be read while it grows."""
    change_settings(portion_events=7, batch_events=7)
    run("rise.spaseq", "--output", "x.jsonl.gz")
    assert unpacked("x.jsonl.gz") == run("rise.spaseq").stdout_bytes


# --- Parquet ------------------------------------------------------------------------------------


def test_a_parquet_file_has_instants_and_terms() -> None:
    """Columns as `spaseq.spark.match` gives them, rows in the order of the lines."""
    run("rise.spaseq", "--output", "x.parquet")
    table = pq.read_table("x.parquet")
    assert [f"{field.name} {field.type}" for field in table.schema] == [
        "time timestamp[us, tz=UTC]",
        "start timestamp[us, tz=UTC]",
        "c string",
        "p string",
        "q string",
    ]
    lines = [json.loads(line) for line in run("rise.spaseq").stdout.splitlines()]
    rows = table.to_pylist()
    assert [row["c"] for row in rows] == [f"<{line['bindings']['c']['value']}>" for line in lines]
    assert rows[0]["p"] == f'"{lines[0]["bindings"]["p"]["value"]}"^^<{XSD}integer>'
    assert [f"{row['time']:%FT%TZ}" for row in rows] == [line["time"] for line in lines]


def test_a_parquet_file_is_written_in_row_groups(change_settings: Callable[..., None]) -> None:
    """So that no more than some rows are held in memory."""
    change_settings(parquet_rows=5)
    run("rise.spaseq", "--output", "x.parquet")
    file = pq.ParquetFile("x.parquet")
    assert file.num_row_groups == -(-file.metadata.num_rows // 5) > 2


def test_a_parquet_file_has_the_other_forms_and_provenance_too() -> None:
    """Graphs as lists of triples, answers as truth values, events as lists."""
    run("build.spaseq", "--output", "x.parquet", "--provenance")
    (first, *_) = pq.read_table("x.parquet").to_pylist()
    assert list(first) == ["match", "time", "start", "triples", "events"]
    assert [sorted(triple) for triple in first["triples"]] == [["o", "p", "s"]]
    assert [event["step"] for event in first["events"]] == ["A", "B"]
    assert first["events"][0]["graph"].startswith(f"<{EX}e")
    run("ask.spaseq", "--output", "x.parquet")
    assert pq.read_table("x.parquet")["boolean"].to_pylist() == [True]
    Path("in.nq").write_text("")
    run("ask.spaseq", "--output", "x.parquet")
    assert pq.read_table("x.parquet").to_pylist() in ([{"time": None, "start": None, "boolean": False}], [])


def test_a_parquet_file_of_several_queries_names_them() -> None:
    """All variables are columns; a variable called like a column keeps its question mark."""
    run("rise.spaseq", "clash.spaseq", "--output", "x.parquet")
    table = pq.read_table("x.parquet")
    assert table.column_names == ["query", "time", "start", "c", "p", "q", "?time"]
    assert set(table["query"].to_pylist()) == {"rise", "clash"}
    assert pq.read_table("x.parquet", columns=["q"])["q"].null_count == 0


def test_a_frame_of_pandas_reads_it() -> None:
    """And has the instants that Python gives."""
    run("rise.spaseq", "--output", "x.parquet")
    frame = pq.read_table("x.parquet").to_pandas()
    found = spaseq.to_pandas(spaseq.run(Path("rise.spaseq").read_text(), {"S": "in.nq"}))
    assert frame["time"].tolist() == found["time"].tolist()


# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            ["--output", "x.jsonl.gz", "--checkpoint", "c"],
            "`x.jsonl.gz` cannot be resumed: with --checkpoint",
        ),
        (["--output", "x.zst", "--checkpoint", "c"], "`x.zst` cannot be resumed: with --checkpoint"),
        (["--output", "x.parquet", "--checkpoint", "c"], "`x.parquet` cannot be resumed: with --checkpoint"),
        (["--output", "x.parquet", "--follow"], "`x.parquet` can be read only when it is complete"),
        (["--output-format", "parquet"], "a Parquet file needs a name: give --output PATH"),
        (
            ["--output", "x.parquet.gz"],
            "Parquet is compressed by itself: write `x.parquet`, not `x.parquet.gz`",
        ),
        (["--output", "x.nq"], "the output format `nquads` needs a CONSTRUCT query"),
    ],
)
def test_an_output_that_could_not_be_read_is_refused(options: list[str], sentence: str) -> None:
    """One sentence, status 2, before anything is written."""
    done = run("rise.spaseq", *options)
    assert (done.exit_code, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert not [path for path in Path().iterdir() if path.name.startswith("x")]


@pytest.mark.parametrize("name", ["x.jsonl.gz", "x.csv.zst"])
def test_a_run_that_is_interrupted_leaves_a_file_that_can_be_read(name: str, folder: Path) -> None:
    """The end of the compressed file is written with Ctrl-C too."""
    (folder / "in").mkdir()
    (folder / "in.nq").rename(folder / "in" / "0.nq")
    command = "import sys; sys.argv[0] = 'spaseq'; from spaseq.cli import main; main()"
    arguments = ["run", "rise.spaseq", "--stream", "S=in", "--follow", "--engine", "local", "--output", name]
    with Process([sys.executable, "-c", command, *arguments], folder=folder) as process:
        process.wait_for(lambda: (folder / name).exists() and len(_beginning(folder / name)) > 100)
        process.interrupt()
        assert process.end() == 0, process.err
    rows = unpacked(name).decode().splitlines()
    assert len(rows) > 10
    assert list(csv.reader(rows)) if "csv" in name else [json.loads(row) for row in rows]


def _beginning(path: Path) -> bytes:
    """What can be read of a compressed file that grows."""
    data = path.read_bytes()
    if path.suffix == ".gz":
        import zlib

        return zlib.decompressobj(31).decompress(data) if data else b""
    return zstandard.ZstdDecompressor().decompressobj().decompress(data) if data else b""
