"""What workers write must be what the driver sees: a folder is recognised, and what is in it is counted."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from spaseq.io.bad_input import BadInput, BadInputError
from spaseq.spark.output.tallies import write_tally
from spaseq.spark.shared_folder import MARK, NotShared, SharedFolder, bad_policy, check_arrived
from spaseq.spark.sources.bad_events import BadEvents, quarantined


def test_a_worker_writes_only_into_the_folder_of_the_driver(tmp_path: Path) -> None:
    """Not where there is no such folder, and not into another one under the same path."""
    shared = SharedFolder.made(tmp_path / "run")
    assert SharedFolder.made(tmp_path / "run") == shared, "a driver that is started again finds its mark"
    assert shared.inside("counts").checked() == tmp_path / "run" / "counts"
    shutil.rmtree(tmp_path / "run")
    with pytest.raises(NotShared, match=r"does not see the driver's folder .*run`: mount one shared folder"):
        write_tally(shared, "read-0", {"events": 1})
    assert not (tmp_path / "run").exists()
    SharedFolder.made(tmp_path / "run")
    with pytest.raises(NotShared):
        shared.checked()


def test_bad_events_are_not_kept_where_the_driver_does_not_see_them(tmp_path: Path) -> None:
    """A worker without the quarantine fails instead of making one of its own."""
    policy = bad_policy("quarantine", tmp_path / "bad")
    with BadEvents(policy, "a") as bad:
        bad(BadInput("wrong", "file.nq", 1, "line"))
    assert [each["reason"] for each in quarantined(tmp_path / "bad")] == ["wrong"]
    (tmp_path / "bad" / MARK).unlink()
    with pytest.raises(NotShared), BadEvents(policy, "b") as bad:
        bad(BadInput("wrong", "file.nq", 2, "line"))


def test_less_than_was_written_is_an_error_that_says_how_much(tmp_path: Path) -> None:
    """The counts of the tasks against what is there."""
    check_arrived("answers", 7, 7, tmp_path)
    with pytest.raises(NotShared, match=r"have written 25,603 answers, but 11,841 are in"):
        check_arrived("answers", 25_603, 11_841, tmp_path)


@pytest.mark.parametrize("option", ["on_bad_input", "on_late"])
def test_an_event_that_ends_a_query_is_told_with_the_argument_that_chose_so(option: str) -> None:
    """Late events have an argument of their own."""
    events = BadEvents(bad_policy("fail", None, option), "a")
    with pytest.raises(BadInputError, match=f'help: `{option}="skip"` or "quarantine" goes on'):
        events(BadInput("it came late", "kafka", 7, "event"))
