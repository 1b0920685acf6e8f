"""The lock of a checkpoint directory: one run at a time writes it and the output that belongs to it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Final

from spaseq.errors import InvalidArgument

FILE: Final = "lock"


class DirectoryInUse(InvalidArgument):
    """A checkpoint directory that another process is writing; says which, and what to do."""


class DirectoryLock:
    """Holds a directory until it is released; the operating system releases it when the process dies.

    The file stays and names the last holder; whether it is held is known to the operating system alone.
    """

    def __init__(self, directory: Path) -> None:
        self._descriptor: int | None = os.open(directory / FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        if not _locked(self._descriptor):
            holder = os.read(self._descriptor, 32).decode("ascii", "replace").strip()
            self.release()
            who = f"process {holder}" if holder else "another process"
            raise DirectoryInUse(
                f"the checkpoint directory `{directory}` is in use by {who}; wait until it ends or stop it"
                f"{f' (kill {holder})' if holder else ''}, or use another directory"
            )
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let others have it."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _locked(descriptor: int) -> bool:
    """Take the lock of an open file; false if another process has it."""
    if sys.platform == "win32":
        import msvcrt

        try:
            # The byte lies behind the holder's number, which others must be able to read.
            os.lseek(descriptor, 1 << 20, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(descriptor, 0, os.SEEK_SET)
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
