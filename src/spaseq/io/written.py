"""Files that a run writes and may go on with: how much is in them, and a digest of it."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from spaseq.errors import IncompatibleCheckpoint
from spaseq.settings import settings


@dataclass(frozen=True, slots=True)
class Written:
    """How many bytes a run has written to a file, and their digest; empty for what cannot be read back, like a terminal."""

    size: int = 0
    digest: str = hashlib.sha256().hexdigest()


class Digest:
    """Counts and digests bytes."""

    __slots__ = ("_hash", "size")

    def __init__(self) -> None:
        self.size = 0
        self._hash = hashlib.sha256()

    def update(self, data: bytes | memoryview) -> None:
        """Some more bytes."""
        self.size += len(data)
        self._hash.update(data)

    @property
    def written(self) -> Written:
        """What there was so far."""
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
