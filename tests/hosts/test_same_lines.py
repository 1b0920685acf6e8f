"""`spaseq run` on both engines: the same lines, up to order within one instant (docs/reference/cli.md)."""

from __future__ import annotations

import gzip
import json
import random
import subprocess
import sys
from collections.abc import Iterable
from itertools import groupby
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import zstandard
from pyoxigraph import Literal, NamedNode, Quad, RdfFormat, serialize

pytestmark = pytest.mark.spark

COMMAND = (sys.executable, "-c", "import sys; sys.argv[0] = 'spaseq'; from spaseq.cli import main; main()")
EX = "http://ex.org/"
STAMP = NamedNode("http://www.w3.org/ns/prov#generatedAtTime")
HEAD = "PREFIX : <http://ex.org/>\n"
STREAMS = "FROM STREAM S <http://ex.org/s> FROM STREAM T <http://ex.org/t>"
GPMS = {
    "A": "DEFINE GPM A ON S { ?k :v ?a }",
    "B": "DEFINE GPM B ON T { ?k :v ?b . FILTER(?b > ?a) }",
    "C": "DEFINE GPM C ON T { ?k :v ?c }",
    "N": "DEFINE GPM N ON S { ?k :v ?n . FILTER(?n < ?a) }",
    "G": "DEFINE GPM G ON S { ?k :v ?a GRAPH <http://ex.org/kb> { ?k a :Thing ; :name ?name } }",
    "Z": "DEFINE GPM Z ON S { ?k :nothing ?a }",
}


def query(form: str, window: str, sequence: str, more: str = "") -> str:
    """A query with the GPMs that its sequence names."""
    gpms = " ".join(text for name, text in GPMS.items() if name in sequence)
    return f"{HEAD}{form} WITHIN {window} {STREAMS} {more} WHERE {{ SEQ ({sequence}) {gpms} }}"


QUERIES = {
    "next": query("SELECT ?k ?a ?b", "1 MINUTE SLIDING", "A ; B"),
    "any": query("SELECT ?k ?a ?b", "30 SECONDS", "A : B"),
    "strict": query("SELECT ?k", "1 MINUTE SLIDING", "A , B", "PARTITION BY ?k"),
    "never": query("SELECT ?k ?a", "20 SECONDS SLIDING", "A ; B!"),
    "between": query("SELECT ?k ?b", "1 MINUTE SLIDING", "A ; N! ; B"),
    "many": query("SELECT ?k (COUNT(C) AS ?n) (SUM(?c) AS ?sum)", "40 SECONDS", "A ; C+"),
    "both": query("SELECT DISTINCT ?k", "1 MINUTE", "A & C"),
    "known": query("SELECT ?k ?name", "1 MINUTE", "G"),
}
ASKS = {"yes": query("ASK", "1 MINUTE", "A ; B"), "no": query("ASK", "1 MINUTE", "Z")}
BUILD = query("CONSTRUCT { ?k :rose [ :to ?b ] }", "1 MINUTE SLIDING", "A ; B")
BACKGROUND = """@prefix : <http://ex.org/> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:Sensor rdfs:subClassOf :Thing . :k0 a :Sensor ; :name "zero"@en . :k1 a :Thing ; :name "one" . :k2 :name "two" ."""


def events(stream: str, count: int) -> list[list[Quad]]:
    """Random values of five keys, several at one instant now and then."""
    chance = random.Random(stream)
    found, second = [], 0
    for number in range(count):
        second += chance.choice((0, 1, 1, 2))
        name = NamedNode(f"{EX}{stream}{number}")
        thing = NamedNode(f"{EX}k{chance.randrange(5)}")
        value = Literal(chance.randrange(40))
        time = Literal(f"2024-05-01T10:{second // 60:02d}:{second % 60:02d}Z", datatype=XSD_TIME)
        found.append([Quad(thing, NamedNode(EX + "v"), value, name), Quad(name, STAMP, time)])
    return found


XSD_TIME = NamedNode("http://www.w3.org/2001/XMLSchema#dateTime")


def text(graphs: Iterable[list[Quad]], syntax: RdfFormat) -> bytes:
    """Events in a syntax, each right before its time."""
    made = serialize([quad for graph in graphs for quad in graph], format=syntax)
    assert made is not None
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Queries, a background graph, and two streams in four formats, out of order from file to file."""
    place = tmp_path_factory.mktemp("lines")
    for name, asked in {**QUERIES, **ASKS, "build": BUILD}.items():
        (place / f"{name}.spaseq").write_text(asked, encoding="utf-8")
    (place / "kb.ttl").write_text(BACKGROUND, encoding="utf-8")
    for stream in "st":
        (place / stream).mkdir()
        found = events(stream, 200)
        random.Random(7).shuffle(found)
        (place / stream / "a.nq").write_bytes(text(found[:50], RdfFormat.N_QUADS) + b"<urn:no> quad\n")
        (place / stream / "b.trig").write_bytes(text(found[50:100], RdfFormat.TRIG))
        packed = gzip.compress(text(found[100:150], RdfFormat.N_QUADS))
        (place / stream / "c.nq.gz").write_bytes(packed)
        squeezed = zstandard.compress(text(found[150:], RdfFormat.JSON_LD))
        (place / stream / "d.jsonld.zst").write_bytes(squeezed)
    return place


def run(folder: Path, engine: str, names: Iterable[str], *options: str) -> tuple[str, str, list[object]]:
    """What the command writes, what it says, and what it puts into quarantine."""
    kept = folder / f"{engine}.jsonl"
    queries = [f"{name}.spaseq" for name in names]
    inputs = ("--stream", "S=s", "--stream", f"{EX}t=t", "--quarantine", kept.name)
    done = subprocess.run(
        [*COMMAND, "run", "--engine", engine, *queries, *inputs, *options],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    bad = sorted(kept.read_text(encoding="utf-8").splitlines())
    return done.stdout, done.stderr.replace(kept.name, "Q"), [json.loads(line) for line in bad]


def instants(lines: list[str]) -> list[tuple[str, list[str]]]:
    """Lines of JSON by the instant of their match, the order within one left open."""
    grouped = groupby(lines, key=lambda line: str(json.loads(line).get("time")))
    return [(time, sorted(group)) for time, group in grouped]


def test_eight_queries_over_two_streams_in_four_formats_give_the_same_lines(folder: Path) -> None:
    """In order of time, with provenance and identity, the RDFS closure, and the same bad input set aside."""
    options = ("--provenance", "--rdfs", "--kb", f"{EX}kb=kb.ttl")
    spark, local = (run(folder, engine, QUERIES, *options) for engine in ("spark", "local"))
    lines = local[0].splitlines()
    assert {json.loads(line)["query"] for line in lines} == set(QUERIES)
    assert instants(spark[0].splitlines()) == instants(lines)
    hint = [line for line in spark[1].splitlines() if "`--engine local`" in line]
    assert len(hint) == 1  # the input is small
    said = [line for line in local[1].splitlines() if "at least" not in line]  # in process `A & C` is lazy
    assert [line for line in spark[1].splitlines() if line in said] == said
    assert "note: read 400 events (S 200, T 200), 2 bad, 0 late" in said
    assert "note: next: mappings A 200, B 200; " in "\n".join(said)
    assert spark[2] == local[2]
    assert len(local[2]) == 2


def test_ask_answers_once_on_both(folder: Path) -> None:
    """True at its first match, false at the end; the name of the output makes it a Parquet file."""
    for engine in ("spark", "local"):
        run(folder, engine, ASKS, "--output", f"{engine}.parquet")
    spark, local = (pq.read_table(folder / f"{engine}.parquet") for engine in ("spark", "local"))
    assert spark.sort_by("query").to_pylist() == local.sort_by("query").to_pylist()
    assert local.sort_by("query")["boolean"].to_pylist() == [False, True]


def test_graphs_that_a_query_makes_are_the_same(folder: Path) -> None:
    """CONSTRUCT as N-Quads: names, blank nodes and times; the name of the output compresses it."""
    for engine in ("spark", "local"):
        run(folder, engine, ["build"], "--output", f"{engine}.nq.gz")
    spark, local = (
        gzip.decompress((folder / f"{engine}.nq.gz").read_bytes()).splitlines()
        for engine in ("spark", "local")
    )
    assert sorted(spark) == sorted(local)
    assert len(local) > 10


def test_what_rules_produce_is_the_same_beside_the_answers(folder: Path) -> None:
    """One pass, two outputs; a checkpoint changes neither."""
    rule = "CONSTRUCT { ?k :next ?b } { { ?k :v ?a } SEQ { ?k :v ?b } FILTER(?b = ?a + 1) }"
    (folder / "rules.epsparql").write_text(f"{HEAD}{rule} SELECT ?k ?b {{ ?k :next ?b }}", encoding="utf-8")
    ends = ("--start-predicate", f"{EX}from", "--end-predicate", f"{EX}until")
    found = []
    for engine, name, more in (
        ("local", "one", ()),
        ("spark", "two", ()),
        ("spark", "three", ("--checkpoint", "points3")),
    ):
        command = [
            *COMMAND,
            "run",
            "rules.epsparql",
            "--engine",
            engine,
            "--stream",
            "S=s",
            "--stream",
            "T=t",
        ]
        outputs = ("--output", f"{name}.jsonl", "--rules-output", f"{name}.nq")
        subprocess.run(
            [*command, *outputs, *ends, *more, "--quiet"], cwd=folder, check=True, capture_output=True
        )
        found.append(
            [sorted((folder / f"{name}{end}").read_text().splitlines()) for end in (".jsonl", ".nq")]
        )
    assert found[0] == found[1] == found[2]
    assert all(found[0])
