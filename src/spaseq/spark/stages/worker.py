"""What both stages share on a worker: the broadcast job, and processes that are reused with what they have loaded."""

from __future__ import annotations

import gc
from functools import cache
from typing import Protocol

from spaseq.spark.job import Job


class Shared(Protocol):
    """A broadcast job."""

    @property
    def value(self) -> Job: ...


@cache
def settle(stage: str) -> None:  # noqa: ARG001 - each stage loads kernels of its own, so each settles once
    """Take what a process has loaded by now out of the garbage collector's sight.

    Spark collects after every task, and looking through numba and its kernels takes longer than many a task.
    """
    gc.collect()
    gc.freeze()
