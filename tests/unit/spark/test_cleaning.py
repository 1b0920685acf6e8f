"""Files that go once they were read: what comes under their names is new, and nothing is lost on the way."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from spaseq.errors import InvalidArgument
from spaseq.spark.sources.data_source import PartsPartition
from spaseq.spark.sources.event_files import Tick
from spaseq.spark.sources.offsets import Offset
from spaseq.spark.sources.source_options import SourceOptions
from support.event_files import nquads
from support.file_feed import FileFeed
from support.trades import trades

LOG = pytest.mark.parametrize("log", [False, True], ids=["offsets", "log"])


def logged(folder: Path, log: bool) -> dict[str, str]:
    """Options for a log, if there is one."""
    return {"fileLog": str(folder / "log")} if log else {}


@LOG
@pytest.mark.parametrize("seen", [False, True], ids=["at once", "after a look"])
@pytest.mark.parametrize("again", [(3,), (3, 4), (3, 4, 5)], ids=["smaller", "as large", "larger"])
def test_another_file_under_the_name_of_one_that_went_is_read_whole(
    tmp_path: Path, again: tuple[int, ...], seen: bool, log: bool
) -> None:
    """Whether or not anybody has seen that there was none in between."""
    feed = FileFeed(tmp_path, **logged(tmp_path, log))
    feed.put("x.nq", 1, 2)
    assert feed.step() == [1, 2]
    feed.reader.commit(feed.offset)
    assert feed.present == []
    if seen:
        assert feed.step() == []
    feed.put("x.nq", *again)
    assert feed.step() == list(again)
    feed.reader.commit(feed.offset)
    assert feed.present == []
    feed.put("y.nq", 6)
    assert feed.step() == [6]
    feed.restart()
    feed.put("z.nq", 7)
    assert feed.step() == [7]


@LOG
def test_a_repeated_micro_batch_reads_the_same_of_a_file_that_came_again(tmp_path: Path, log: bool) -> None:
    """Its offsets say that it is another one."""
    feed = FileFeed(tmp_path, **logged(tmp_path, log))
    feed.put("x.nq", 1, 2)
    feed.step()
    feed.reader.commit(feed.offset)
    start = feed.offset
    feed.put("x.nq", 3, 4)
    assert feed.step() == [3, 4]
    feed.restart()
    assert feed.read(start, feed.offset) == [3, 4]


@LOG
def test_a_file_that_comes_again_while_the_query_is_stopped_is_read_whole(tmp_path: Path, log: bool) -> None:
    """The checkpoint names the one that went, and nothing that tells that it did."""
    feed = FileFeed(tmp_path, **logged(tmp_path, log))
    feed.put("x.nq", 1, 2)
    feed.step()
    feed.reader.commit(feed.offset)
    feed.restart()
    feed.put("x.nq", 3, 4)
    assert feed.step() == [3, 4]
    feed.restart()
    feed.put("y.nq", 5)
    assert feed.step() == [5]
    assert feed.present == ["y.nq"]


def test_a_file_that_grew_after_it_was_read_stays_until_that_is_read_as_well(tmp_path: Path) -> None:
    """A commit comes after the next micro-batch was planned, and before it is read."""
    feed = FileFeed(tmp_path)
    feed.put("x.nq", 1, 2)
    assert feed.step() == [1, 2]
    with (tmp_path / "in/x.nq").open("a", encoding="utf-8") as file:
        file.write(nquads(trades(1, first=3)))
    assert feed.step() == [3]
    feed.put("y.nq", 4)
    assert feed.step() == [4]
    assert feed.present == ["y.nq"]


def test_what_waits_of_a_file_that_became_too_old_is_not_read_twice(tmp_path: Path) -> None:
    """It was read in pieces, and files that came meanwhile are much younger."""
    feed = FileFeed(tmp_path, cleanSource="off", maxFileAge="5000000", maxBytesPerTrigger="200")
    feed.put("a.nq", *range(1, 9))
    os.utime(tmp_path / "in/a.nq", (1000, 1000))
    found, late = list[int](), False
    while events := feed.step():
        found += events
        if not late:
            feed.put("b.nq", 10)
            late = True
    assert sorted(found) == [*range(1, 9), 10]


@LOG
def test_a_restart_cleans_what_the_last_run_left(
    tmp_path: Path, change_settings: Callable[..., None], log: bool
) -> None:
    """Also long after the first entries of a log have gone."""
    change_settings(compacted_entries=1)
    feed = FileFeed(tmp_path, **logged(tmp_path, log))
    for number in range(30):
        feed.put(f"{number:02d}.nq", number)
        assert feed.step() == [number]
    feed.restart()
    feed.put("new.nq", 31)
    assert feed.step() == [31]
    assert feed.present == ["new.nq"]


def test_archived_files_keep_their_places_and_no_name_is_used_twice(tmp_path: Path) -> None:
    """Folders of one name, files that come again, and sources of several folders."""
    feed = FileFeed(tmp_path, "in/*/*.nq", cleanSource="archive", sourceArchiveDir=str(tmp_path / "old"))
    feed.put("a/x.nq", 1)
    feed.put("b/x.nq", 2)
    assert sorted(feed.step()) == [1, 2]
    feed.reader.commit(feed.offset)
    feed.put("a/x.nq", 3)
    feed.step()
    feed.reader.commit(feed.offset)
    kept = {
        str(file.relative_to(tmp_path / "old")): file.read_text() for file in (tmp_path / "old").rglob("*.nq")
    }
    assert kept == {
        "a/x.nq": nquads(trades(1, first=1)),
        "b/x.nq": nquads(trades(1, first=2)),
        "a/x-2.nq": nquads(trades(1, first=3)),
    }
    shutil.rmtree(tmp_path / "old")
    several = f'["{tmp_path}/in/a", "{tmp_path}/in/b/x.nq"]'
    feed = FileFeed(tmp_path, cleanSource="archive", sourceArchiveDir=str(tmp_path / "old"), paths=several)
    feed.put("a/x.nq", 4)
    feed.put("b/x.nq", 5)
    feed.step()
    feed.reader.commit(feed.offset)
    assert sorted(str(file.relative_to(tmp_path / "old")) for file in (tmp_path / "old").rglob("*.nq")) == [
        "a/x.nq",
        "b/x.nq",
    ]


@pytest.mark.parametrize(
    ("source", "archive", "refused"),
    [
        ("in", "in/old", True),
        ("in", "in", True),
        ("in/new", "in", True),
        ("link", "in/old", True),
        ("in/*.nq", "in", True),
        ("in/*/*.nq", "in/old", True),
        ("in/**/*.nq", "in/old/files", True),
        ("in", "old", False),
        ("in", "in-old", False),
        ("in", "in/_old", False),
        ("in/*.nq", "in/old", False),
        ("in/new/*.nq", "in/old", False),
    ],
)
def test_an_archive_that_would_be_read_is_refused(
    tmp_path: Path, source: str, archive: str, refused: bool
) -> None:
    """Every event would come twice, and the second time its file would have no place to go."""
    (tmp_path / "in/new").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "in")
    given = {
        "path": str(tmp_path / source),
        "cleanSource": "archive",
        "sourceArchiveDir": str(tmp_path / archive),
    }
    if not refused:
        assert SourceOptions.of(given).archive == str(tmp_path / archive)
        return
    with pytest.raises(InvalidArgument, match="would be read again: name a folder beside the source"):
        SourceOptions.of(given)


@LOG
def test_an_offset_says_when_its_run_began(tmp_path: Path, log: bool) -> None:
    """So silence is not counted while the query is stopped, and a repeated micro-batch counts as it did."""
    feed = FileFeed(tmp_path, **logged(tmp_path, log))
    began = []
    for number in range(4):
        if number == 2:
            feed.restart()
        feed.put(f"{number}.nq", number)
        start = feed.offset
        feed.step()
        ticks = {task.tick for task in feed.reader.partitions(start, feed.offset)}  # type: ignore[attr-defined]
        assert ticks == {Tick(feed.offset["clock"], feed.offset["began"])}
        began.append(feed.offset["began"])
    assert began[0] == began[1] < began[2] == began[3]
    assert Offset.from_dict({**feed.offset, "began": began[0]}).began == began[0]
    earlier = {name: value for name, value in feed.offset.items() if name != "began"}
    assert Offset.from_dict(earlier).began == 0


def test_without_cleaning_a_file_that_was_replaced_is_told(tmp_path: Path) -> None:
    """It may be one that somebody has rewritten, so that reading it whole would give events twice."""
    feed = FileFeed(tmp_path, cleanSource="off")
    feed.put("x.nq", 1, 2)
    assert feed.step() == [1, 2]
    feed.put("x.nq", 3)
    end = feed.plan()
    (task,) = feed.reader.partitions(feed.offset, end)
    assert isinstance(task, PartsPartition)
    assert [bad.reason.partition(":")[2] for bad in task.lost] == [
        " it is not read any further; give new data a new name"
    ]
