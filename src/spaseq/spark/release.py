"""Which code of the project a process has: workers must have that of the driver.

What is sent to workers begins with a `Release`, so a worker with other code says so before it unpickles anything else.
"""

from __future__ import annotations

import hashlib
import os
import socket
from functools import cache
from pathlib import Path
from typing import Final

import spaseq
from spaseq.errors import SpaseqError

_PACKAGE: Final = Path(spaseq.__file__).parent


class OtherCode(SpaseqError):
    """A worker has other code of the project than the driver."""


class Release:
    """The code of the process that has pickled it; it cannot be unpickled where that is another."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return _checked, (code_digest(_PACKAGE),)


def _checked(told: str) -> Release:
    # A package inside a zip has no folder: `TaskPlace` refuses that in words of its own.
    if _PACKAGE.exists() and told != code_digest(_PACKAGE):
        raise OtherCode(
            f"the worker on `{socket.gethostname()}` has another spaseq in `{_PACKAGE}` than the driver: install the same one "
            "on the driver and on every worker, or send it along (docs/how-to/run-on-a-cluster.md)"
        )
    return Release()


@cache
def code_digest(package: Path) -> str:
    """A digest of the names and sizes of the modules of a package: to read all of them would take longer than many a task."""
    found = hashlib.sha256()
    for folder, inner, files in os.walk(package):
        inner.sort()
        for name in sorted(files):
            if name.endswith(".py"):
                path = Path(folder) / name
                found.update(f"{path.relative_to(package).as_posix()} {path.stat().st_size}\n".encode())
    return found.hexdigest()
