"""The quarantine: bad input as JSON lines, one per piece, in a file that exists only if there is some."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import TextIO

from spaseq.io.bad_input import BadInput


class QuarantineFile:
    """Keeps bad input in a file: reason, source, position, its unit, and an excerpt of the text.

    The file is opened at the first write. ``resume`` appends to what an earlier part of the same run wrote.
    """

    __slots__ = ("_file", "count", "path", "resume")

    def __init__(self, path: str | Path, *, resume: bool = False) -> None:
        self.path = Path(path)
        self.resume = resume
        self.count = 0
        self._file: TextIO | None = None

    def write(self, bad: BadInput) -> None:
        """Keep one piece of bad input."""
        if self._file is None:
            self._file = self.path.open("a" if self.resume else "w", encoding="utf-8", errors="replace")
        self._file.write(bad.to_json() + "\n")
        self.count += 1

    def flush(self) -> None:
        """Hand everything to the operating system."""
        if self._file is not None:
            self._file.flush()

    def sync(self) -> int:
        """Hand everything to the disk; how many bytes this run, with its earlier parts, has kept."""
        if self._file is not None:
            self._file.flush()
            os.fsync(self._file.fileno())
        kept = self._file is not None or self.resume
        return self.path.stat().st_size if kept and self.path.exists() else 0

    def cut(self, length: int) -> None:
        """Drop what an earlier part of the run kept after its last checkpoint: it will come again."""
        if self.path.exists():
            if length:
                os.truncate(self.path, length)
            else:
                self.path.unlink()

    def close(self) -> None:
        """Close the file, if it was ever opened."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> QuarantineFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
