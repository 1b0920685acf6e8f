"""The micro-batches of a finite input."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from spaseq.spark.sources.schedule import Batch, Part, Schedule, cut_into_batches
from spaseq.spark.sources.splits import Split


def part(number: int, size: int, first: int | None, stream: str = "s") -> Part:
    """The part of a file that begins at this byte."""
    return Part(stream, Split(Path("f.nq"), "nquads", number), size, first)


def starts(batches: list[Batch], stream: str = "s") -> list[list[int]]:
    """Which parts of a stream each micro-batch reads."""
    return [[split.start for split in batch.parts[stream]] for batch in batches]


def test_micro_batches_share_the_input_evenly() -> None:
    """Twelve parts of 70 with at most 768 in one: not eleven and one."""
    found = list(cut_into_batches([part(n, 70, n) for n in range(12)], ["s"], 768))
    assert starts(found) == [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]]


def test_a_file_that_cannot_be_cut_leaves_the_others_together() -> None:
    """A large part stands alone; what comes after it is shared out anew."""
    parts = [part(0, 10_000, 0), *(part(n, 10, n) for n in range(1, 9))]
    assert starts(list(cut_into_batches(parts, ["s"], 50))) == [[0], [1, 2, 3, 4], [5, 6, 7, 8]]


def test_each_stream_promises_the_least_time_that_is_still_to_come() -> None:
    """Whatever the order of the parts in their files; parts without events come last and promise nothing."""
    parts = [part(0, 10, 30), part(1, 10, 5), part(2, 10, None), part(3, 10, 20), part(4, 10, 7, "t")]
    found = list(cut_into_batches(parts, ["s", "t"], 10))
    assert starts(found) == [[1], [], [3], [0], [2]]
    assert [batch.promises for batch in found] == [
        {"s": 20, "t": 7},
        {"s": 20, "t": None},
        {"s": 30, "t": None},
        {"s": None, "t": None},
        {"s": None, "t": None},
    ]


def test_an_empty_input_is_one_micro_batch() -> None:
    """Somebody has to say that the streams have ended."""
    assert starts(list(cut_into_batches([part(0, 0, None), part(1, 0, None)], ["s"], 10))) == [[0, 1]]


def test_a_schedule_of_one_machine_is_good_for_a_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers have other working directories; messages name files as they were given."""
    monkeypatch.chdir(tmp_path)
    given = Split(Path("in/0.nq"), "nquads", 5, 9, "urn:at")
    Schedule((Batch({"s": (given,)}, {"s": None}),)).with_absolute_paths().save(Path("schedule"))
    (found,) = Schedule.load(Path("schedule"), "urn:at").batches[0].parts["s"]
    assert found == replace(given, path=tmp_path / "in" / "0.nq", shown="in/0.nq")
    assert found.file == given.file
    again = Schedule.load(Path("schedule"), "urn:at").with_absolute_paths()
    assert again.batches[0].parts["s"] == (found,)
