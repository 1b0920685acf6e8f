"""How far time had come: what the tasks of a micro-batch know of the one before."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from spaseq.spark.shared_folder import SharedFolder
from spaseq.spark.sources.bad_events import quarantined
from spaseq.spark.sources.passed_times import PassedTimes
from spaseq.temporal.instants import BEFORE_ALL, FOREVER


def test_any_event_may_be_late_until_it_is_known_how_far_time_has_come(tmp_path: Path) -> None:
    """None in the first micro-batch; another query of the same directory does not count."""
    folder = SharedFolder.made(tmp_path)
    mine, other = PassedTimes(folder, "mine"), PassedTimes(folder, "other")
    assert mine.read(0, 2).tolist() == [BEFORE_ALL] * 2
    assert mine.read(7, 2).tolist() == [FOREVER] * 2
    mine.write(np.array([5, 6]), changed=False)
    assert mine.read(8, 2).tolist() == [5, 6], "it is told if it was not, though it has not changed"
    mine.write(np.array([7, 8]), changed=True)
    assert mine.read(9, 2).tolist() == [7, 8]
    assert other.read(9, 1).tolist() == [FOREVER]
    assert list(quarantined(tmp_path)) == []
