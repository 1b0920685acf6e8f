"""Files of which only so many are open at a time: the others are opened again where reading has come to."""

from __future__ import annotations

import io
import os
from pathlib import Path
from threading import RLock
from weakref import WeakKeyDictionary

from spaseq.settings import settings
from spaseq.stores import Place, StoreFile, StorePath


def opened(path: Place) -> io.RawIOBase:
    """A file, here or in a store, to be read."""
    return StoreFile(path) if isinstance(path, StorePath) else SharedFile(path)


class SharedFile(io.RawIOBase):
    """A regular file; it may be closed while others are read (setting ``open_files``)."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._at = 0
        self._file: io.FileIO | None = None
        self._identity: tuple[int, int] | None = None
        with _lock:
            self._opened()

    def readable(self) -> bool:
        """Always: this is a reader."""
        return True

    def read(self, size: int = -1) -> bytes | None:
        """At most so many bytes."""
        with _lock:
            return self._opened().read(size)

    def readinto(self, buffer: memoryview) -> int | None:  # type: ignore[override]
        """Fill a buffer; the number of bytes that were left."""
        with _lock:
            return self._opened().readinto(buffer)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place."""
        with _lock:
            return self._opened().seek(offset, whence)

    def tell(self) -> int:
        """Where reading has come to."""
        with _lock:
            return self._opened().tell()

    def fileno(self) -> int:
        """The number of the open file, for as long as no other is read."""
        with _lock:
            return self._opened().fileno()

    def close(self) -> None:
        """Close the file for good."""
        with _lock:
            _open.pop(self, None)
            self._put_aside()
        super().close()

    def _opened(self) -> io.FileIO:
        """The file, now the last one to be closed for another."""
        if self.closed:
            raise ValueError("the file is closed")
        _open.pop(self, None)
        file = self._file
        if file is None:
            while len(_open) >= max(settings().open_files, 1):
                oldest = next(iter(_open))
                del _open[oldest]
                oldest._put_aside()
            file = self._path.open("rb", buffering=0)
            status = os.fstat(file.fileno())
            identity = status.st_dev, status.st_ino
            if self._identity not in (None, identity):
                file.close()
                raise OSError("it was replaced while it was read")
            file.seek(self._at)
            self._file, self._identity = file, identity
        _open[self] = None
        return file

    def _put_aside(self) -> None:
        if self._file is not None:
            self._at = self._file.tell()
            self._file.close()
            self._file = None


_open: WeakKeyDictionary[SharedFile, None] = WeakKeyDictionary()
"""The files that are open, the one that was read last at the end."""
_lock = RLock()
