"""Worker processes are reused from task to task, with what they have loaded."""

from __future__ import annotations

import gc
from functools import cache


@cache
def settle(stage: str) -> None:  # noqa: ARG001 - each stage loads kernels of its own, so each settles once
    """Take what a process has loaded by now out of the garbage collector's sight.

    Spark collects after every task, and looking through numba and its kernels takes longer than many a task.
    """
    gc.collect()
    gc.freeze()
