"""Facts about the log of files that a stream has taken."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable

from spaseq.errors import InvalidArgument
from spaseq.operators.saved_state import IncompatibleState
from spaseq.spark.sources.data_source import PartsPartition, RdfStreamReader
from spaseq.spark.sources.offsets import Offset
from spaseq.spark.sources.source_options import SourceOptions
from support.event_files import nquads
from support.trades import trades


def add(folder: Path, number: int) -> None:
    """A file that is complete; each is a second younger than the one before."""
    folder.mkdir(exist_ok=True)
    file = folder / f"{number:04d}.nq"
    file.write_text(nquads(trades(1, first=number)), encoding="utf-8")
    os.utime(file, (1000 + number, 1000 + number))


def reader(folder: Path, **options: str) -> RdfStreamReader:
    """A reader as Spark makes it at every start."""
    found = RdfStreamReader(SourceOptions.of({"path": str(folder / "events"), "settle": "0", **options}))
    found.prepareForTriggerAvailableNow()
    return found


def step(source: RdfStreamReader, start: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """One micro-batch: its end, and the files it reads."""
    source._fixed = False
    end = source.latestOffset(start, ReadAllAvailable())
    tasks = source.partitions(start, end) if end != start else []
    return end, [s.path.name for t in tasks if isinstance(t, PartsPartition) for s in t.splits]


def test_offsets_do_not_grow_with_the_files_that_were_taken(
    tmp_path: Path, change_settings: Callable[..., None]
) -> None:
    """Every micro-batch reads its own files; a restart at any of them goes on there."""
    change_settings(compacted_entries=4)
    (tmp_path / "events").mkdir()
    source = reader(tmp_path, fileLog=str(tmp_path / "log"))
    offsets = [source.initialOffset()]
    for number in range(30):
        add(tmp_path / "events", number)
        end, files = step(source, offsets[-1])
        assert files == [f"{number:04d}.nq"]
        offsets.append(end)
    assert max(len(json.dumps(each)) for each in offsets) < 140
    for at in (0, 3, 4, 17, 29):
        log = tmp_path / f"log-{at}"
        shutil.copytree(tmp_path / "log", log)
        last, files = step(reader(tmp_path, fileLog=str(log)), offsets[at])
        assert files == [f"{number:04d}.nq" for number in range(at, 30)]
        assert last["entry"] == at + 1
        lists = {int(file.stem) for file in log.glob("*/*.all")}
        assert max(lists, default=0) <= at + 1, "lists of micro-batches that were undone"


def test_two_queries_may_name_one_directory_for_their_logs(tmp_path: Path) -> None:
    """Such as two over one DataFrame: each goes on where it was, whatever the other has read meanwhile."""
    log = str(tmp_path / "log")
    add(tmp_path / "events", 0)
    first = reader(tmp_path, fileLog=log)
    one, _ = step(first, first.initialOffset())
    add(tmp_path / "events", 1)
    second = reader(tmp_path, fileLog=log)
    other, files = step(second, second.initialOffset())
    assert files == ["0000.nq", "0001.nq"]
    add(tmp_path / "events", 2)
    for start, left in ((one, ["0001.nq", "0002.nq"]), (other, ["0002.nq"])):
        assert step(reader(tmp_path, fileLog=log), start)[1] == left


def test_a_log_of_an_earlier_release_is_read_where_it_is(tmp_path: Path) -> None:
    """Its offsets name no folder."""
    add(tmp_path / "events", 0)
    start = {"entry": 0, "ended": False, "clock": 0}
    end, files = step(reader(tmp_path, fileLog=str(tmp_path / "log")), start)
    assert files == ["0000.nq"]
    assert [file.name for file in (tmp_path / "log").iterdir()] == ["000000000001.json"]
    assert step(reader(tmp_path, fileLog=str(tmp_path / "log")), end) == (end, [])


@pytest.mark.parametrize("name", ["../x", 5, "a/b"])
def test_a_damaged_name_of_a_log_is_refused(name: object) -> None:
    """It would be a folder elsewhere."""
    with pytest.raises(IncompatibleState, match="not the name of a log"):
        Offset.from_dict({"entry": 1, "ended": False, "clock": 0, "log": name})


def test_a_checkpoint_with_a_log_needs_the_log(tmp_path: Path) -> None:
    """And says so."""
    add(tmp_path / "events", 1)
    source = reader(tmp_path, fileLog=str(tmp_path / "log"))
    end, _ = step(source, source.initialOffset())
    with pytest.raises(InvalidArgument, match="say `file_log=`"):
        step(reader(tmp_path), end)


@pytest.mark.parametrize("log", [True, False])
def test_files_that_are_too_old_are_passed_over_and_forgotten(tmp_path: Path, log: bool) -> None:
    """So what is known of files has a bound, with or without a log."""
    more = {"fileLog": str(tmp_path / "log")} if log else {}
    (tmp_path / "events").mkdir()
    source = reader(tmp_path, maxFileAge="5000000", **more)
    offset = source.initialOffset()
    for number in range(20):
        add(tmp_path / "events", number)
        offset, files = step(source, offset)
        assert files == [f"{number:04d}.nq"]
    assert source._watch is not None
    assert len(source._watch.marks) == 6
    assert len(source._known(offset).marks) <= 7
    assert step(reader(tmp_path, maxFileAge="5000000", **more), offset) == (offset, [])


def test_files_go_once_their_micro_batch_is_committed(tmp_path: Path) -> None:
    """Deleted, or moved to another directory."""
    add(tmp_path / "events", 1)
    source = reader(tmp_path, cleanSource="archive", sourceArchiveDir=str(tmp_path / "old"))
    end, _ = step(source, source.initialOffset())
    assert (tmp_path / "events/0001.nq").exists()
    source.commit(end)
    assert [file.name for file in (tmp_path / "old").iterdir()] == ["0001.nq"]
    add(tmp_path / "events", 2)
    source = reader(tmp_path, cleanSource="delete")
    last, files = step(source, end)
    assert files == ["0002.nq"]
    source.commit(last)
    assert list((tmp_path / "events").iterdir()) == []
    with pytest.raises(InvalidArgument, match="`cleanSource` is one of off, delete, archive, not `yes`"):
        reader(tmp_path, cleanSource="yes")
    with pytest.raises(InvalidArgument, match="if there is a `sourceArchiveDir`, and only then"):
        reader(tmp_path, cleanSource="archive")


def test_an_empty_folder_is_nothing_to_do_unless_the_input_is_finite(tmp_path: Path) -> None:
    """A job that comes round before the first file, or after the last was taken away, has not failed."""
    (tmp_path / "events").mkdir()
    source = reader(tmp_path)
    start = source.initialOffset()
    assert source.latestOffset(start, ReadAllAvailable()) == start
    finite = reader(tmp_path, finite="true")
    with pytest.raises(InvalidArgument, match="has no files"):
        finite.latestOffset(start, ReadAllAvailable())
    source = RdfStreamReader(SourceOptions.of({"path": str(tmp_path / "other")}))
    with pytest.raises(InvalidArgument, match="does not exist"):
        source.latestOffset(start, ReadAllAvailable())
