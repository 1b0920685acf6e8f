"""Parts of N-Quads files: no event is cut, none is read twice."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spaseq.io.bad_input import BadInput
from spaseq.io.options import TIMESTAMP_PREDICATE, ReadOptions
from spaseq.io.readers import read_sources
from spaseq.model.dictionary import TermDictionary
from spaseq.spark.sources.event_files import parts
from spaseq.spark.sources.splits import Split, ValueSource

STREAM = ReadOptions(layout="stream")
STAMP = "<http://www.w3.org/ns/prov#generatedAtTime>"


def read(splits: list[Split]) -> tuple[list[tuple[int, str, int]], list[str]]:
    """Time, graph and number of triples of every event in these parts, and what was bad."""
    dictionary, bad = TermDictionary(), list[BadInput]()
    events = []
    for split in splits:
        for batch in read_sources([split], "urn:s", 0, dictionary, STREAM, bad.append):
            for row in range(len(batch)):
                count = int(batch.offsets[row + 1] - batch.offsets[row])
                events.append((int(batch.times[row]), dictionary.ntriples(int(batch.names[row])), count))
    return events, [found.reason for found in bad]


def cut(path: Path, edges: list[int]) -> list[Split]:
    """The file cut near these bytes."""
    points = [0, *sorted(edges)]
    stops = [*points[1:], None]
    return [Split(path, "nquads", a, b, TIMESTAMP_PREDICATE) for a, b in zip(points, stops, strict=True)]


@st.composite
def files(draw: st.DrawFn) -> str:
    """Events whose stamp stands before or after, names that repeat, noise, and lines that mean nothing."""
    lines: list[str] = []
    for number in range(draw(st.integers(1, 12))):
        name = draw(st.sampled_from([f"<urn:g{number}>", "<urn:same>", f"_:b{number}", "_:b"]))
        triples = [
            f'<urn:s{i}> <urn:p> "{"x" * draw(st.integers(0, 30))}" {name} .'
            for i in range(draw(st.integers(1, 4)))
        ]
        stamp = [f'{name} {STAMP} "{draw(st.integers(0, 9))}"^^<http://www.w3.org/2001/XMLSchema#integer> .']
        lines += draw(st.sampled_from([triples + stamp, stamp + triples, triples, stamp]))
        lines += draw(
            st.sampled_from([[], [], ["# a comment"], [""], ["not a quad"], ["<urn:a> <urn:b> <urn:c> ."]])
        )
    return draw(st.sampled_from(["\n", "\r\n"])).join(lines) + draw(st.sampled_from(["", "\n"]))


@given(text=files(), edges=st.lists(st.integers(1, 2000), max_size=6))
def test_any_cut_gives_the_same_events(
    tmp_path_factory: pytest.TempPathFactory, text: str, edges: list[int]
) -> None:
    """Wherever a file is cut, its parts together hold its events and its bad input, each once and in order."""
    path = tmp_path_factory.mktemp("cut") / "events.nq"
    path.write_text(text, newline="")
    assert read(cut(path, edges)) == read(cut(path, []))


def test_a_part_says_where_in_the_whole_file_it_begins(tmp_path: Path) -> None:
    """Bad input is reported with its line in the file."""
    path = tmp_path / "events.nq"
    path.write_text(
        "".join(f'<urn:g{i}> {STAMP} "1" .\n<urn:s> <urn:p> <urn:o> <urn:g{i}> .\n' for i in range(9))
    )
    split = cut(path, [path.stat().st_size // 2])[1]
    lines = path.read_text().splitlines()
    assert lines[split.line()].startswith("<urn:g")
    assert 4 < split.line() < 16


def test_small_files_share_a_task_and_large_ones_have_many(tmp_path: Path) -> None:
    """Thousands of small files are not thousands of tasks."""
    small = [tmp_path / f"{i}.nq" for i in range(50)]
    for path in small:
        path.write_text(f'<urn:s> <urn:p> <urn:o> <urn:g> .\n<urn:g> {STAMP} "1" .\n')
    large = tmp_path / "large.nq"
    large.write_text("# nothing but comments\n" * 200_000)
    whole = [Split(path, "nquads", predicate=TIMESTAMP_PREDICATE) for path in (*small, large)]
    tasks = parts(whole, 1, None, STREAM)
    assert len(tasks[0]) >= 50
    assert sum(split.path == large for task in tasks for split in task) > 1


def test_a_value_is_read_like_a_file() -> None:
    """A record of a broker goes through the same reader."""
    data = f'<urn:s> <urn:p> <urn:o> <urn:g> .\n<urn:g> {STAMP} "5"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'.encode()
    found = list(
        read_sources(
            [ValueSource.of(data, "nquads", "record")],
            "urn:s",
            0,
            TermDictionary(),
            ReadOptions(),
            lambda _: None,
        )
    )
    assert [batch.times.tolist() for batch in found] == [[5000]]
