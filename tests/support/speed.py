"""How fast this machine is, so that bounds on processor time hold on slow and on shared machines."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Final

_WORK: Final = (
    "import asyncio, concurrent.futures, ctypes, decimal, email.mime.multipart, http.server, "
    "multiprocessing.pool, sqlite3, unittest.mock, xml.dom.minidom"
)


def spent(
    command: Sequence[str], folder: Path | None = None, given: Mapping[str, str] | None = None
) -> float:
    """The processor time of a command, in seconds."""
    before = os.times()
    subprocess.run(command, cwd=folder, env={**os.environ, **(given or {})}, capture_output=True, check=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


@cache
def yardstick() -> float:
    """The processor time of a process that imports a part of Python's own library: about 0.1 s on a fast machine."""
    return min(spent([sys.executable, "-c", _WORK]) for _ in range(5))
