"""Files that a run writes and may go on with: how much is in them, and a digest of it."""

from __future__ import annotations

import hashlib
import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from spaseq.errors import IncompatibleCheckpoint
from spaseq.settings import settings


@dataclass(frozen=True, slots=True)
class Written:
    """How many bytes a run has written to a file, and their digest; empty for what cannot be read back, like a terminal."""

    size: int = 0
    digest: str = hashlib.sha256().hexdigest()


_AHEAD: Final = 4
"""Large pieces that may be digested while others are written."""


class Digest:
    """Counts and digests bytes: large pieces that cannot change on a thread of its own, while the caller writes them."""

    __slots__ = ("_aside", "_hash", "_left", "size")

    def __init__(self) -> None:
        self.size = 0
        self._hash = hashlib.sha256()
        self._aside: ThreadPoolExecutor | None = None
        self._left: deque[Future[None]] = deque()

    def update(self, data: bytes | memoryview) -> None:
        """Some more bytes."""
        self.size += len(data)
        view = memoryview(data)
        # A view of no object is of a buffer that is filled again.
        lasting = view.readonly and view.obj is not None
        if not lasting or len(data) < settings().digested_aside:
            self._wait(0)
            self._hash.update(data)
            return
        self._wait(_AHEAD)
        self._aside = self._aside or ThreadPoolExecutor(1)
        self._left.append(self._aside.submit(self._hash.update, data))

    def _wait(self, most: int) -> None:
        """Let no more than so many pieces be left."""
        while len(self._left) > most:
            self._left.popleft().result()

    @property
    def written(self) -> Written:
        """What there was so far."""
        self._wait(0)
        return Written(self.size, self._hash.hexdigest())


def check_written(path: Path, what: str, known: Written, *, whole: bool = False) -> Digest:
    """The digest of the beginning of a file, which must be what a run has written; ``whole`` if nothing may follow."""
    digest, more = Digest(), False
    if known.size and not path.is_file():
        raise _changed(path, what, "it is gone")
    if path.is_file():
        with path.open("rb") as file:
            while piece := file.read(min(settings().scanned_bytes, known.size - digest.size)):
                digest.update(piece)
            more = bool(file.read(1))
    if digest.size < known.size:
        raise _changed(path, what, f"it should have {known.size:,} bytes and has {digest.size:,}")
    if digest.written != known:
        raise _changed(path, what, f"its first {known.size:,} bytes were changed")
    if whole and more:
        raise _changed(path, what, f"it has more than the {known.size:,} bytes that were written")
    return digest


def cut_to_written(path: Path, what: str, known: Written) -> Digest:
    """Drop what an earlier part of a run wrote after its last checkpoint: it will come again."""
    if not known.digest:
        return Digest()
    digest = check_written(path, what, known)
    if path.is_file():
        os.truncate(path, known.size)
    return digest


def _changed(path: Path, what: str, how: str) -> IncompatibleCheckpoint:
    return IncompatibleCheckpoint(
        f"the {what} `{path}` is not what the checkpoint knows: {how}; bring it back, or remove the checkpoint to "
        "start again"
    )
