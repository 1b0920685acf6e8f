"""Work beside the main thread."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest

from spaseq.spark.command.background import aside


def test_signals_are_handled_while_something_is_done_aside() -> None:
    """What starts Spark sets handlers of its own only in the main thread."""
    told: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: told.append(number))
    try:

        def work() -> tuple[bool, list[int]]:
            os.kill(os.getpid(), signal.SIGINT)
            while not told:
                time.sleep(0.001)
            return threading.current_thread() is threading.main_thread(), list(told)

        assert aside(work) == (False, [signal.SIGINT])
    finally:
        signal.signal(signal.SIGINT, before)


def test_what_fails_aside_fails_here() -> None:
    """With its own error."""

    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        aside(fail)
