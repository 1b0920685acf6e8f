"""What is said of an input of which no event can be read: what was looked for, what is there, what to do."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from spaseq.io.options import ReadOptions
from spaseq.io.sources import find_sources
from spaseq.io.unreadable import unreadable_input

STAMP = "http://www.w3.org/ns/prov#generatedAtTime"
XSD = "http://www.w3.org/2001/XMLSchema#"
GRAPHS = "".join(
    f'<urn:o{n}> <urn:p> "x" <urn:g{n}> .\n'
    f'<urn:o{n}> <http://ex.org/resultTime> "2024-01-01T00:00:0{n}Z"^^<{XSD}dateTime> <urn:g{n}> .\n'
    f'<urn:o{n}> <http://ex.org/born> "2001-01-01"^^<{XSD}date> <urn:g{n}> .\n'
    if n
    else f'<urn:o{n}> <http://ex.org/resultTime> "2024-01-01T00:00:0{n}Z"^^<{XSD}dateTime> <urn:g{n}> .\n'
    for n in range(3)
)

CASES = {
    "another predicate": (
        "a.nq",
        GRAPHS,
        "date-times are values of <http://ex.org/resultTime> (3 times), <http://ex.org/born> (2 times)",
        '`timestamp_predicate="http://ex.org/resultTime"`',
    ),
    "times that are numbers": (
        "a.nq",
        f'<urn:o> <http://ex.org/timestamp> "5"^^<{XSD}integer> <urn:g> .\n',
        "1 named graph without that predicate; date-times are values of <http://ex.org/timestamp> (1 time)",
        '`timestamp_predicate="http://ex.org/timestamp"`',
    ),
    "no times": (
        "a.trig",
        "<urn:g> { <urn:a> <urn:p> 5 }",
        "1 named graph without timestamps, and no date-time in any of them",
        "give every graph a timestamp",
    ),
    "no graphs": (
        "a.nq",
        f'<urn:a> <{STAMP}> "5"^^<{XSD}integer> .\n<urn:a> <urn:p> "x" .\n',
        "2 triples, all in the default graph; there are no named graphs",
        "put the triples of each event into a named graph of its own",
    ),
    "unreadable times": (
        "a.nq",
        f'<urn:a> <{STAMP}> "soon" <urn:g> .\n',
        '1 named graph, but timestamps such as "soon"',
        "a timestamp is a date-time",
    ),
    "timestamps of other graphs": (
        "a.nq",
        f'<urn:a> <{STAMP}> "5"^^<{XSD}integer> .\n<urn:a> <urn:p> "x" <urn:g> .\n',
        "1 named graph and 1 timestamp, which do not belong together",
        '`layout="dataset"`',
    ),
    "JSON-LD under another name": (
        "a.nq",
        '{"@id": "urn:g",\n "@graph": []}',
        'text that begins with `{"@id": "urn:g",` and is not N-Quads',
        'it looks like JSON-LD: `format="jsonld"`',
    ),
    "TriG under another name": (
        "a.jsonld",
        "@prefix : <urn:> .\n:g { :a :p 5 }",
        "text that begins with `@prefix : <urn:> .` and is not JSON-LD",
        'it looks like TriG: `format="trig"`',
    ),
    "N-Quads under another name": (
        "a.jsonld",
        "<urn:a> <urn:p> <urn:b> <urn:g> .\n",
        "is not JSON-LD",
        'it looks like N-Quads: `format="nquads"`',
    ),
    "relative IRIs": (
        "a.trig",
        "<g> { <urn:a> <urn:p> 5 }",
        "TriG with relative IRIs (No scheme found in an absolute IRI)",
        "write IRIs with their scheme, or begin the file with `@base <http://…/> .`",
    ),
    "relative IRIs where no base can be": (
        "a.nq",
        '<a> <urn:p> "x" <urn:g> .\n',
        "N-Quads with relative IRIs",
        "write IRIs with their scheme",
    ),
    "something else": ("a.nq", "time,room,degrees\n", "begins with `time,room,degrees`", "`format=`"),
}


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
@pytest.mark.parametrize("case", CASES)
def test_what_was_found_is_told_with_a_cure(tmp_path: Path, case: str, packed: bool) -> None:
    """By looking at the file itself."""
    name, text, found, cure = CASES[case]
    path = tmp_path / (f"{name}.gz" if packed else name)
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    error = str(unreadable_input("power", find_sources(path), ReadOptions(), 3))
    lines = error.splitlines()
    assert lines[0] == (
        f"no event of the stream `power` can be read: `{path}` has 3 pieces of bad input and nothing else"
    )
    assert lines[1].startswith("looked for: ")
    assert f"<{STAMP}> in the default graph or inside the graph" in lines[1]
    assert found in lines[2]
    assert cure in lines[3]
    assert [line.split(":")[0] for line in lines[1:]] == ["looked for", "found", "help"]


def test_what_was_looked_for_names_format_and_options(tmp_path: Path) -> None:
    """N-Triples are counted, a layout that was insisted on is named."""
    (tmp_path / "a.nt").write_text("garbage\n")
    options = ReadOptions(triples_per_event=5, timestamp_predicate="urn:at")
    error = str(unreadable_input("S", find_sources(tmp_path / "a.nt"), options, 1))
    assert "looked for: N-Triples, 5 triples and a timestamp with <urn:at> per event" in error
    assert "has 1 piece of bad input" in error
    (tmp_path / "a.nq").write_text("garbage\n")
    (tmp_path / "b.nq").write_text("garbage\n")
    sources = find_sources([tmp_path / "a.nq", tmp_path / "b.nq"])
    error = str(unreadable_input("S", sources, ReadOptions(layout="stream"), 1_000))
    assert "a.nq` and 1 more has 1,000 pieces" in error
    assert "in the default graph, directly before or after the graph, or inside the graph" in error
