"""Facts about how far followed files were read, as Spark's log keeps it."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from spaseq.engine.bookmarks import Bookmark
from spaseq.errors import IncompatibleCheckpoint, InvalidArgument
from spaseq.io.growing import Cut
from spaseq.operators.saved_state import IncompatibleState
from spaseq.spark.sources.data_source import RdfReader, RdfStreamReader
from spaseq.spark.sources.offsets import Offset
from spaseq.spark.sources.source_options import SourceOptions
from spaseq.spark.sources.splits import MissingInput
from support.event_files import nquads
from support.trades import trades

MARK = Bookmark("", "/in/0.nq", Cut(70, 2), 90, "tail")


def packed(value: Any) -> str:
    """Marks as an offset has them."""
    return base64.b64encode(zlib.compress(json.dumps(value).encode())).decode()


def test_an_offset_is_read_as_it_was_written() -> None:
    """Marks, end and clock."""
    offset = Offset({MARK.path: MARK}, ended=True, clock=5)
    assert Offset.from_dict(json.loads(json.dumps(offset.to_dict()))) == offset


@pytest.mark.parametrize(
    "change",
    [
        {"marks": "!"},
        {"marks": "AAAA"},
        {"marks": packed({})[:-6]},
        {"marks": packed([{}])},
        {"marks": packed([{**MARK.to_dict(), "size": "x"}])},
        {"marks": packed([{**MARK.to_dict(), "cut": {"byte": None}}])},
        {"clock": -1},
        {"clock": "x"},
    ],
)
def test_a_damaged_offset_is_refused_with_advice(change: dict[str, object]) -> None:
    """No error of a decoder comes out."""
    with pytest.raises(IncompatibleState, match="start again with a new checkpoint"):
        Offset.from_dict({**Offset({MARK.path: MARK}).to_dict(), **change})


def test_no_rows_are_made_of_events_outside_a_range_of_times(tmp_path: Path) -> None:
    """From the one instant on, up to but not at the other."""
    (tmp_path / "events.nq").write_text(nquads(trades(20)), encoding="utf-8")
    bounds = {"since": "1970-01-01T00:00:05Z", "until": "1970-01-01T00:00:10Z"}
    reader = RdfReader(SourceOptions.of({"path": str(tmp_path), **bounds}))
    rows = [row for task in reader.partitions() for batch in reader.read(task) for row in batch.to_pylist()]
    assert [row["time"].timestamp() for row in rows] == list(range(5, 10))
    assert reader.options.files.settings().items() >= bounds.items()


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"since": "soon"}, "`since` is a datetime, a text such as 2024-06-01 .* not `soon`"),
        ({"since": "1970-01-01T00:00:05Z", "until": "1970-01-01T00:00:05Z"}, "must be before `until`"),
    ],
)
def test_a_wrong_range_of_times_is_refused(given: dict[str, str], error: str) -> None:
    """Before anything is read."""
    with pytest.raises(InvalidArgument, match=error):
        SourceOptions.of({"path": "events", **given})


def test_what_is_neither_true_nor_false_is_refused() -> None:
    """It was taken for false, and the last answers of a stream that ends did not come."""
    assert SourceOptions.of({"path": "x", "finite": "TRUE"}).finite
    with pytest.raises(InvalidArgument, match="`finite` is true or false, not `yes`"):
        SourceOptions.of({"path": "x", "finite": "yes"})


@pytest.mark.parametrize("log", [False, True], ids=["offsets", "log"])
@pytest.mark.parametrize("change", ["gone", "shorter", "other", "longer"])
def test_a_micro_batch_is_repeated_only_over_the_files_it_was_planned_with(
    tmp_path: Path, change: str, log: bool
) -> None:
    """A file that was changed before a restart would give fewer events than were promised, or others."""
    file = tmp_path / "in" / "events.nq"
    file.parent.mkdir()
    file.write_text(nquads(trades(20)), encoding="utf-8")
    logged = {"fileLog": str(tmp_path / "log")} if log else {}
    given = SourceOptions.of({"path": str(file.parent), **logged})
    reader = RdfStreamReader(given)
    reader.prepareForTriggerAvailableNow()
    begin = reader.initialOffset()
    end = reader.latestOffset(begin, reader.getDefaultReadLimit())
    size = file.stat().st_size
    match change:
        case "gone":
            file.unlink()
        case "shorter":
            file.write_text(nquads(trades(9)), encoding="utf-8")
        case "other":
            file.write_text(nquads(trades(20, first=100)), encoding="utf-8")
        case _:
            file.write_text(nquads(trades(30)), encoding="utf-8")
    again = RdfStreamReader(given)
    if change == "longer":
        (partition,) = again.partitions(begin, end)
        assert [split.end for split in partition.splits] == [size]  # type: ignore[attr-defined]
        return
    kind = MissingInput if change == "gone" else IncompatibleCheckpoint
    reason = "was there when the query was planned" if change == "gone" else "was changed since then"
    with pytest.raises(kind, match=f"`{file}` .*{reason}"):
        again.partitions(begin, end)


def test_a_file_that_vanishes_in_a_micro_batch_is_told_as_such(tmp_path: Path) -> None:
    """No event is passed over in silence."""
    file = tmp_path / "events.nq"
    file.write_text(nquads(trades(20)), encoding="utf-8")
    reader = RdfStreamReader(SourceOptions.of({"path": str(tmp_path)}))
    reader.prepareForTriggerAvailableNow()
    begin = reader.initialOffset()
    (partition,) = reader.partitions(begin, reader.latestOffset(begin, reader.getDefaultReadLimit()))
    file.unlink()
    with pytest.raises(MissingInput, match=f"`{file}` was there when the query was planned"):
        list(reader.read(partition))


def test_an_unknown_option_is_answered_with_those_a_user_may_give() -> None:
    """What `match` tells a source of its own is no advice, and the nearest name helps most."""
    with pytest.raises(InvalidArgument) as caught:
        SourceOptions.of({"path": "events", "timstampPredicate": "http://ex.org/at"})
    assert str(caught.value).endswith("did you mean `timestampPredicate`?")
    assert "schedule" not in str(caught.value)
