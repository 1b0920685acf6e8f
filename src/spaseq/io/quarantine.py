"""The quarantine: bad input as JSON lines, one per piece, in a file that exists only if there is some."""

from __future__ import annotations

import os
from pathlib import Path
from types import TracebackType
from typing import IO

from spaseq.io.bad_input import BadInput
from spaseq.io.written import Digest, Written, cut_to_written
from spaseq.stores import Place


class QuarantineFile:
    """Keeps bad input in a file: reason, source, position, its unit, and an excerpt of the text.

    The file is opened at the first write. With ``resumed`` it goes on after what an earlier part of the same run wrote.
    """

    __slots__ = ("_digest", "_file", "_resumed", "count", "path")

    def __init__(self, path: Place, *, resumed: Written | None = None) -> None:
        self.path = path
        self.count = 0
        self._file: IO[bytes] | None = None
        self._resumed = resumed is not None and resumed.size > 0
        self._digest = Digest()
        if resumed is not None:
            assert isinstance(path, Path), "a store cannot go on with a file"
            self._digest = cut_to_written(path, "quarantine", resumed)
            if not self._resumed and self.path.is_file():
                self.path.unlink()

    def write(self, bad: BadInput) -> None:
        """Keep one piece of bad input."""
        if self._file is None:
            self._file = self.path.open("ab" if self._resumed else "wb")
        line = (bad.to_json() + "\n").encode("utf-8", "replace")
        self._digest.update(line)
        self._file.write(line)
        self.count += 1

    def flush(self) -> None:
        """Hand everything to the operating system."""
        if self._file is not None:
            self._file.flush()

    def sync(self) -> Written:
        """Hand everything to the disk; what this run, with its earlier parts, has kept."""
        if self._file is not None:
            self._file.flush()
            if not self.path.is_file():
                return Written(0, "")
            os.fsync(self._file.fileno())
        return self._digest.written

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
