"""`kill -9` at any moment: what a run has committed is what it would have written undisturbed."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import pytest
from pyoxigraph import Literal, NamedNode, Triple

from spaseq.model.events import GraphEvent
from spaseq.model.packing import unpack
from spaseq.spark.command.run_folder import VERSION, RunFolder
from support.event_files import nquads
from support.processes import SPASEQ, Process

pytestmark = [pytest.mark.spark, pytest.mark.slow]

EX = "http://ex.org/"
QUERY = """PREFIX : <http://ex.org/>
SELECT ?k ?v ?w WITHIN 6 SECONDS SLIDING FROM STREAM S <http://ex.org/s> WHERE {
  SEQ (A ; B ; C!)
  DEFINE GPM A ON S { ?k :a ?v } DEFINE GPM B ON S { ?k :b ?w } DEFINE GPM C ON S { ?k :c ?x }
}"""
"""Needs runs that live over several files, and answers only when time has passed."""
BAD = f"<{EX}k1> <{EX}a> 1 <urn:bad> .\n"


class Feed:
    """Files that follow each other in time, two seconds each."""

    def __init__(self, folder: Path, *more: str) -> None:
        self.folder, self.count, self._more = folder / "in", 0, more
        self.events = self.bad = 0
        self.folder.mkdir()
        (folder / "query.spaseq").write_text(QUERY)

    def add(self, *, last: bool = False) -> None:
        """One more file, at once; the last one says that a minute has passed."""
        chance, at = random.Random(self.count), 2_000_000 * self.count
        times = sorted(at + chance.randrange(2_000_000) for _ in range(60))
        events = [_event(time, chance.choice("aaabbc"), chance.randrange(40), time) for time in times]
        if last:
            events.append(_event(at + 60_000_000, "nothing", 0, 0))
        text = nquads(events, first=1000 * self.count) + (BAD if self.count % 4 == 1 else "")
        self.events, self.bad = self.events + len(events), self.bad + text.count(BAD)
        hidden = self.folder.parent / "unfinished"
        hidden.write_text(text)
        hidden.rename(self.folder / f"{self.count:04d}.nq")
        self.count += 1

    def run(self, engine: str, output: str, *options: str, command: Sequence[str] = SPASEQ) -> Process:
        """The command over all files."""
        where = ["--engine", engine, "--stream", "S=in", "--output", output, *self._more]
        kept = ["--quarantine", f"{output}.bad"]
        return Process([*command, "run", "query.spaseq", *where, *kept, *options], folder=self.folder.parent)

    def undisturbed(self) -> None:
        """What the other engine writes in one go."""
        with self.run("local", "expected") as process:
            assert process.end() == 0, process.err

    def same(self) -> None:
        """Both have written the same matches, each once, and the same bad input."""
        folder = self.folder.parent
        expected = (folder / "expected").read_text().splitlines()
        assert len(expected) > 100
        assert sorted((folder / "found").read_text().splitlines()) == sorted(expected)
        kept = [_bad(folder / "found.bad"), _bad(folder / "expected.bad")]
        assert kept[0] == kept[1] != []


def _event(time: int, name: str, key: int, value: int) -> GraphEvent:
    triple = Triple(NamedNode(f"{EX}k{key}"), NamedNode(EX + name), Literal(value))
    return GraphEvent(EX + "s", time, frozenset({triple}))


def _bad(file: Path) -> list[tuple[str, int, str]]:
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    return sorted((Path(each["source"]).name, each["position"], each["reason"]) for each in lines)


def _batches(folder: Path, kind: str) -> int:
    """How many micro-batches Spark has begun (``offsets``) or ended (``commits``)."""
    return len([file for file in (folder / kind).glob("*") if file.name.isdigit()])


def _changes(folder: Path, count: int) -> Callable[[], bool]:
    """True when so many files below a folder have come, gone or changed since now: a moment that no clock tells."""
    before = _files(folder)
    return lambda: len(before.items() ^ _files(folder).items()) >= count


def _files(folder: Path) -> dict[str, int]:
    found: dict[str, int] = {}
    for file in folder.rglob("*"):
        with suppress(OSError):
            found[str(file)] = file.stat().st_mtime_ns
    return found


def _kept(folder: Path) -> tuple[int, int]:
    """Events and bad events that the last micro-batch which was kept has counted."""
    for name in ("output", "output.before"):
        with suppress(OSError):  # the run is replacing them
            record, _ = unpack((folder / name).read_bytes(), VERSION)
            return record["events"], record["bad"]
    return 0, 0


def test_a_followed_run_killed_six_times_loses_nothing_and_repeats_nothing(tmp_path: Path) -> None:
    """Sometimes it has not begun, sometimes it is in the middle of a micro-batch, sometimes between two."""
    feed, chance, spark = Feed(tmp_path, "--provenance"), random.Random(4), tmp_path / "points" / "spark"
    # A file that is renamed within a tick of the clock of its last write may still grow, as far as anybody can tell.
    options = ("--master", "local[2]", "--follow", "--settle", "0s", "--checkpoint", "points")
    for number in range(6):
        feed.add()
        with feed.run("spark", "found", *options) as process:
            if number % 4 == 3:
                process.wait_for(_changes(tmp_path, chance.randrange(8)))
            else:
                begun = _batches(spark, "offsets")
                process.wait_for(lambda: _batches(spark, "offsets") > begun)  # noqa: B023
                for _ in range(chance.randrange(4)):
                    feed.add()
                    process.wait_for(_changes(spark, chance.randrange(1, 12)))
            assert process.running, process.err
    feed.add(last=True)
    with feed.run("spark", "found", *options) as process:
        # A file with a bad end may still grow, so that its end is taken a little later than the file.
        process.wait_for(lambda: _kept(spark.parent) == (feed.events, feed.bad))
        process.interrupt()
        assert process.end() == 0, process.err
        assert f"{feed.bad:,} bad events quarantined" in process.err
        assert f"{feed.events:,} events read" in process.err
    feed.undisturbed()
    feed.same()


def test_a_finite_run_killed_and_resumed_with_fewer_cores_writes_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The output is cut back to the last micro-batch that was noted, and the rest is done again."""
    monkeypatch.setenv("SPASEQ_SETTINGS", "micro_batch_bytes=10000")
    feed, chance, spark = Feed(tmp_path), random.Random(2), tmp_path / "points" / "spark"
    for number in range(12):
        feed.add(last=number == 11)
    options = ("--checkpoint", "points", "--master")
    # As if a first one was killed while Spark wrote the plan of its first micro-batch.
    (spark / "offsets").mkdir(parents=True)
    (spark / "offsets" / ".0.8fa0.tmp").write_text("v1")
    for kill in range(2):
        with feed.run("spark", "found", *options, f"local[{2 - kill % 2}]") as process:
            begun = _batches(spark, "offsets")
            process.wait_for(lambda: _batches(spark, "offsets") > begun)  # noqa: B023
            process.wait_for(_changes(spark, chance.randrange(1, 12)))
            if kill:
                process.wait_for((tmp_path / "points" / "output.before").exists)
    ended = _batches(spark, "commits")
    (tmp_path / "points" / "output").write_bytes(b"damaged")  # the record before it is taken
    for words in ("", "this run had ended"):  # started once more, it tells the same
        with feed.run("spark", "found", *options, "local[2]") as process:
            assert process.end() == 0, process.err
            assert f"{feed.bad:,} bad events quarantined" in process.err
            assert words in process.err
            assert ("the run goes on from the checkpoint before it" in process.err) == (not words)
    record = RunFolder(tmp_path / "points", {}).record
    assert record is not None
    assert record.events == feed.events
    assert 0 < ended < _batches(spark, "commits") > 5
    feed.undisturbed()
    feed.same()


SCRIPT = """
import sys
from spaseq import spark as sps
from spaseq.spark.spark_session import new_session

spark = new_session("local[2]", {"spark.sql.shuffle.partitions": "2"})
events = sps.read_events(spark, "in", streaming=True, finite=True, max_files_per_trigger=1, on_bad_input="skip")
answers = sps.match(open("query.spaseq").read(), {"S": events}, provenance=True, on_bad_input="skip")
writer = answers.writeStream.format("parquet").option("checkpointLocation", "points").option("path", "found")
writer.trigger(availableNow=True).start().awaitTermination()
spark.read.schema(answers.schema).parquet("found").select("match").toPandas().to_csv("matches", header=False)
"""


def test_a_table_of_a_killed_query_has_every_match_once(tmp_path: Path) -> None:
    """`match` into Spark's own file sink, killed twice."""
    feed, chance = Feed(tmp_path, "--provenance"), random.Random(3)
    for number in range(10):
        feed.add(last=number == 9)
    command = [sys.executable, "-c", SCRIPT]
    for _ in range(2):
        with Process(command, folder=tmp_path) as process:
            begun = _batches(tmp_path / "points", "offsets")
            process.wait_for(lambda: _batches(tmp_path / "points", "offsets") > begun)  # noqa: B023
            process.wait_for(_changes(tmp_path / "points", chance.randrange(1, 12)))
    with Process(command, folder=tmp_path) as process:
        assert process.end() == 0, process.err
    feed.undisturbed()
    expected = [json.loads(line)["match"] for line in (tmp_path / "expected").read_text().splitlines()]
    found = [line.split(",")[1] for line in (tmp_path / "matches").read_text().splitlines()]
    assert sorted(found) == sorted(expected) != []
