"""`spaseq run --engine spark --follow`: files that grow, clocks that are wrong, streams that fall silent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyoxigraph import Literal, NamedNode, Triple

from spaseq.model.events import GraphEvent
from support.event_files import nquads
from support.processes import SPASEQ, Process

pytestmark = [pytest.mark.spark, pytest.mark.slow]

EX = "http://ex.org/"
QUERY = """PREFIX : <http://ex.org/>
SELECT ?v ?w WITHIN 1 MINUTE SLIDING FROM STREAM S <http://ex.org/s> FROM STREAM T <http://ex.org/t>
WHERE { SEQ (A ; B) DEFINE GPM A ON S { ?k :a ?v } DEFINE GPM B ON T { ?k :b ?w } }"""


def event(stream: str, second: int) -> GraphEvent:
    """An event that its query asks for."""
    name = {"s": "a", "t": "b"}[stream]
    triple = Triple(NamedNode(EX + "k"), NamedNode(EX + name), Literal(second))
    return GraphEvent(
        EX + stream, second * 1_000_000, frozenset({triple}), NamedNode(f"{EX}{stream}{second}")
    )


class Follow:
    """Two streams in two folders, and the command that follows them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "query.spaseq").write_text(QUERY)
        for stream in "st":
            (folder / stream).mkdir()

    def append(self, path: str, text: str) -> None:
        """More of a file, visible at once."""
        with (self.folder / path).open("a") as file:
            file.write(text)

    def start(self, *options: str) -> Process:
        """The command, with a checkpoint."""
        given = ["--stream", "S=s", "--stream", "T=t", "--follow", "--settle", "100ms", "--output", "found"]
        engine = ["--engine", "spark", "--master", "local[2]", "--checkpoint", "points"]
        return Process([*SPASEQ, "run", "query.spaseq", *given, *engine, *options], folder=self.folder)

    def lines(self) -> list[tuple[str, str]]:
        """Start and time of every match so far."""
        path = self.folder / "found"
        text = path.read_text() if path.exists() else ""
        return [(each["start"][14:19], each["time"][14:19]) for each in map(json.loads, text.splitlines())]

    def bad(self) -> list[str]:
        """The reasons in the quarantine."""
        path = self.folder / "quarantine.jsonl"
        return [json.loads(line)["reason"] for line in path.read_text().splitlines()] if path.exists() else []


def test_growing_files_are_read_on_and_time_goes_by_the_streams_that_speak(tmp_path: Path) -> None:
    """A pause in the middle of a line, a kill, a restart; a clock that is wrong; a stream that is waited for, then not."""
    follow = Follow(tmp_path)
    more = nquads([event("s", 40), event("s", 41)])
    far = GraphEvent(EX + "s", 250_000_000_000_000_000, event("s", 1).triples)
    follow.append("s/a.nq", nquads([event("s", 10), far, event("s", 30), event("s", 35)]) + more[:50])
    with follow.start("--idle-after", "1h") as process:
        process.wait_for(lambda: "ahead of the clock" in process.err)
        follow.append("t/a.nq", nquads([event("t", second) for second in (20, 50, 70)]))
        process.wait_for(lambda: follow.lines() == [("00:10", "00:20")])
        follow.append("s/a.nq", more[50:])
        process.wait_for(lambda: _taken(tmp_path) == [("a.nq", 6), ("a.nq", 3)])
    follow.append("s/a.nq", nquads([event("s", 45)]))
    with follow.start("--idle-after", "2s") as process:
        process.wait_for(lambda: len(follow.lines()) == 6)
        (tmp_path / "t" / "a.nq").write_text(nquads([event("t", 55)]))
        process.wait_for(lambda: "and now has" in process.err)
        process.interrupt()
        assert process.end() == 0, process.err
        assert "2 bad events quarantined" in process.err
    assert sorted(follow.lines()[1:]) == [(f"00:{second}", "00:50") for second in (30, 35, 40, 41, 45)]
    assert [reason.partition(":")[0] for reason in follow.bad()] == [
        "ahead of the clock",
        follow.bad()[1].partition(":")[0],
    ]
    assert "give new data a new name" in follow.bad()[1]


def test_a_run_ends_when_its_queries_have_all_their_answers(tmp_path: Path) -> None:
    """As many as LIMIT says."""
    (tmp_path / "query.epsparql").write_text(f"SELECT ?v {{ ?k <{EX}a> ?v }} LIMIT 2")
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "a.nq").write_text(nquads([event("s", second) for second in (10, 20, 30, 40)]))
    given = ["--stream", "S=s", "--follow", "--settle", "100ms", "--engine", "spark", "--master", "local[1]"]
    with Process([*SPASEQ, "run", "query.epsparql", *given], folder=tmp_path) as process:
        assert process.end() == 0, process.err
        lines = process.out.splitlines()
    assert [json.loads(line)["time"][14:19] for line in lines] == ["00:10", "00:20"]


def _taken(folder: Path) -> list[tuple[str, int]]:
    """How many events of every file the micro-batches that have ended took, by their lines."""
    from spaseq.spark.sources.offsets import FileLog, Offset

    commits = [int(file.name) for file in (folder / "points/spark/commits").glob("*") if file.name.isdigit()]
    if not commits:
        return []
    _, _, *offsets = (folder / "points/spark/offsets" / str(max(commits))).read_text().splitlines()
    found = []
    for number, line in enumerate(offsets):
        if line != "-":
            offset = Offset.from_dict(json.loads(line))
            assert offset.entry is not None
            log = FileLog.of(folder / f"points/files/{number}", offset)
            for mark in log.marks(offset.entry).values():
                text = Path(folder, mark.path).read_bytes()[: mark.cut.byte].decode()
                found.append((Path(mark.path).name, text.count("generatedAtTime")))
    return found
