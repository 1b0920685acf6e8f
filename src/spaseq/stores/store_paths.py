"""Object stores and Hadoop file systems: places named by a URI, used in the way paths of this machine are.

`place_of` makes a place of what a user names: a `Path`, or a `StorePath` for ``s3://`` (also ``s3a://``), ``gs://``, ``abfss://``
and ``hdfs://``. What a store is asked is asked by pyarrow, which finds credentials where the tools of each provider look for
them. A file that is written to a store appears whole, when it is closed.
"""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING, Any, Final, TypeAlias, cast
from urllib.parse import unquote
from uuid import uuid4

from spaseq.errors import InvalidArgument
from spaseq.settings import settings
from spaseq.stores.systems import asking, inner, no_bucket, system

if TYPE_CHECKING:
    from types import TracebackType

_SCHEMES: Final = {"s3": "s3", "s3a": "s3", "s3n": "s3", "gs": "gs", "gcs": "gs", "abfss": "abfss", "abfs": "abfss", "hdfs": "hdfs"}  # fmt: skip
"""Schemes of stores, and the one under which all names of a file are the same."""
_URI: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(/+)(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class StoreStatus:
    """What a listing says of a file, by the names that `os.stat_result` has."""

    st_size: int
    st_mtime_ns: int
    st_ctime_ns: int

    @property
    def st_mtime(self) -> float:
        """The time of the last change in seconds."""
        return self.st_mtime_ns / 1e9


@dataclass(frozen=True, slots=True, order=True)
class StorePath:
    """A file or a directory of a store, with the methods of `pathlib.Path` that are used of it."""

    root: str
    """Scheme and authority: ``s3://bucket``."""
    key: str
    """What follows, without slashes at its ends."""
    _known: StoreStatus | None = field(default=None, compare=False, repr=False)
    """What the listing that found it said."""

    def __str__(self) -> str:
        return f"{self.root}/{self.key}" if self.key else self.root

    def __truediv__(self, name: str) -> StorePath:
        return StorePath(self.root, f"{self.key}/{name}".strip("/"))

    @property
    def scheme(self) -> str:
        """``s3``, ``gs``, ``abfss`` or ``hdfs``."""
        return self.root.partition(":")[0]

    @property
    def is_immutable(self) -> bool:
        """True if files are written as a whole, and never grow."""
        return self.scheme != "hdfs"

    # --- names ----------------------------------------------------------------------------------

    @property
    def _pure(self) -> PurePosixPath:
        return PurePosixPath(self.key)

    @property
    def name(self) -> str:
        """The last part."""
        return self._pure.name

    @property
    def suffix(self) -> str:
        """The extension."""
        return self._pure.suffix

    @property
    def suffixes(self) -> list[str]:
        """All extensions."""
        return self._pure.suffixes

    @property
    def parent(self) -> StorePath:
        """The directory."""
        return StorePath(self.root, self.key.rpartition("/")[0])

    def with_name(self, name: str) -> StorePath:
        """Another file of the directory."""
        return self.parent / name

    def with_suffix(self, suffix: str) -> StorePath:
        """The same with another extension."""
        return StorePath(self.root, str(self._pure.with_suffix(suffix)))

    def absolute(self) -> StorePath:
        """Itself: a URI says everything."""
        return self

    def resolve(self) -> StorePath:
        """Itself: there are no links."""
        return self

    def is_relative_to(self, other: Place) -> bool:
        """Whether it lies in a directory."""
        return (
            isinstance(other, StorePath)
            and other.root == self.root
            and (not other.key or self.key == other.key or self.key.startswith(other.key + "/"))
        )

    def relative_to(self, other: Place) -> PurePosixPath:
        """Its name in a directory in which it lies."""
        assert isinstance(other, StorePath)
        return PurePosixPath(self.key[len(other.key) :].strip("/"))

    # --- what there is --------------------------------------------------------------------------

    def stat(self) -> StoreStatus:
        """Size and time of the last change; `FileNotFoundError` if there is no such file."""
        if self._known is not None:
            return self._known
        with asking(self.root, str(self), "read"):
            status = _status(self._info(), self.is_immutable)
        if status is None:
            raise FileNotFoundError(2, "no such file", str(self))
        return status

    def exists(self) -> bool:
        """Whether there is a file or a directory."""
        from pyarrow.fs import FileType

        if self._known is not None:
            return True
        with asking(self.root, str(self), "read"):
            return bool(self._info().type != FileType.NotFound)

    def is_file(self) -> bool:
        """Whether there is a file."""
        from pyarrow.fs import FileType

        if self._known is not None:
            return True
        with asking(self.root, str(self), "read"):
            return bool(self._info().type == FileType.File)

    def is_dir(self) -> bool:
        """Whether there is a directory, or files whose names begin like that of one."""
        from pyarrow.fs import FileType

        if self._known is not None:
            return False
        with asking(self.root, str(self), "read"):
            return bool(self._info().type == FileType.Directory)

    def rglob(self, pattern: str) -> Iterator[StorePath]:
        """The files below whose last parts match; what a listing says of them is kept."""
        from pyarrow.fs import FileSelector, FileType

        with asking(self.root, str(self), "read"):
            try:
                found = system(self.root).get_file_info(
                    FileSelector(self._place, recursive=True, allow_not_found=True)
                )
            except NotADirectoryError:
                # What the client of HDFS says of an empty directory may be left of an earlier question.
                if self._info().type != FileType.Directory:
                    raise
                found = []
        above = inner(self.root)
        for info in found:
            status = _status(info, self.is_immutable)
            key = info.path[len(above) :].strip("/")
            if status is not None and fnmatchcase(key.rpartition("/")[2], pattern):
                yield StorePath(self.root, key, status)

    def glob(self, pattern: str) -> Iterator[StorePath]:
        """The files of this directory whose names match."""
        deeper = self.key.count("/") + bool(self.key)
        return (path for path in self.rglob(pattern) if path.key.count("/") == deeper)

    def matching(self) -> list[StorePath]:
        """The files that this place, as a pattern, stands for."""
        parts = self._pure.parts
        fixed = next(number for number, part in enumerate(parts) if set(part) & set("*?["))
        below = StorePath(self.root, "/".join(parts[:fixed]))
        return sorted(path for path in below.rglob("*") if _matches(path._pure.parts, parts))

    # --- bytes ----------------------------------------------------------------------------------

    def open(self, mode: str = "rb", buffering: int = -1) -> IO[bytes]:  # noqa: ARG002 - as a `Path` is opened
        """A reader of any part of the file, or a writer of all of it."""
        if mode == "rb":
            return cast("IO[bytes]", StoreFile(self))
        assert mode == "wb", mode
        return cast("IO[bytes]", StoreWriter(self))

    def read_bytes(self) -> bytes:
        """All of it."""
        with self.open() as file:
            return file.read()

    def read_text(self, encoding: str = "utf-8") -> str:
        """All of it."""
        return self.read_bytes().decode(encoding)

    def write_bytes(self, data: bytes) -> None:
        """Write a file, which appears whole."""
        self.upload(io.BytesIO(data))

    def write_text(self, text: str, encoding: str = "utf-8", errors: str = "strict") -> None:
        """Write a file, which appears whole."""
        self.write_bytes(text.encode(encoding, errors))

    def upload(self, file: IO[bytes]) -> None:
        """Write what can be read from a file; it appears whole."""
        with asking(self.root, str(self), "written"):
            there = system(self.root)
            unfinished = self if self.is_immutable else self.with_name(f".{self.name}.{uuid4().hex}")
            if not self.is_immutable:
                there.create_dir(self.parent._place, recursive=True)
            with there.open_output_stream(unfinished._place) as out:
                while block := file.read(settings().sent_bytes):
                    out.write(block)
            if unfinished is not self:
                there.move(unfinished._place, self._place)

    def unlink(self, missing_ok: bool = False) -> None:
        """Remove a file."""
        if missing_ok and not self.is_file():
            return
        with asking(self.root, str(self), "removed"):
            system(self.root).delete_file(self._place)

    def remove_tree(self) -> None:
        """Remove a directory with all that is in it."""
        with asking(self.root, str(self), "removed"):
            system(self.root).delete_dir_contents(self._place, missing_dir_ok=True)

    def check_writable(self) -> None:
        """Refuse a place that is no file, or in a bucket or container that does not exist."""
        if not self.key:
            raise InvalidArgument(f"`{self}` names no file: write `{self}/…`")
        if self.scheme == "hdfs":
            return
        if not StorePath(self.root, "").exists():
            raise InvalidArgument(f"`{self}` cannot be written: {no_bucket(self.root)}")

    @property
    def _place(self) -> str:
        return f"{inner(self.root)}/{self.key}".rstrip("/") or "/"

    def _info(self) -> Any:
        return system(self.root).get_file_info(self._place)


Place: TypeAlias = Path | StorePath
"""Where a file or a directory is."""


def place_of(given: str | os.PathLike[str] | StorePath) -> Place:
    """The place that a user names: a path, or the URI of a store.

    >>> str(place_of("file:///data/power.nq")), str(place_of("s3a://bucket/power//a.nq/"))
    ('/data/power.nq', 's3://bucket/power/a.nq')
    """
    if isinstance(given, StorePath):
        return given
    text = os.fspath(given)
    found = _URI.fullmatch(text)
    if found is None or len(found[1]) == 1:  # one letter is a drive
        return Path(text)
    scheme, slashes, rest = found[1].lower(), found[2], found[3]
    if scheme == "file":
        return Path("/" + unquote(rest if len(slashes) != 2 else rest.partition("/")[2]))
    if scheme not in _SCHEMES:
        if slashes == "//":
            raise InvalidArgument(
                f"`{text}` has a scheme that files cannot be read from; use a path, or one of s3://, s3a://, gs://, abfss://, "
                "hdfs://, file://"
            )
        return Path(text)
    authority, _, key = rest.partition("/")
    if len(slashes) == 3 and scheme == "hdfs":
        authority, key = "", rest
    elif not authority:
        raise InvalidArgument(f"`{text}` names no bucket: write `{scheme}://BUCKET/…`")
    return StorePath(f"{_SCHEMES[scheme]}://{authority}", "/".join(part for part in key.split("/") if part))


def is_store(given: object) -> bool:
    """Whether a user names a place in a store."""
    return isinstance(given, StorePath) or (
        isinstance(given, (str, os.PathLike)) and isinstance(place_of(given), StorePath)
    )


def one_name(given: str | os.PathLike[str] | StorePath) -> str:
    """The one name of a file: its absolute path or its URI, whatever the working directory and however it was spelt."""
    place = place_of(given)
    if isinstance(place, StorePath):
        return str(place)
    return os.path.abspath(place)  # noqa: PTH100 - a `Path` would keep `..`


def for_spark(place: Place) -> str:
    """The name by which Spark's own readers and writers know a place."""
    text = str(place)
    is_s3 = isinstance(place, StorePath) and place.scheme == "s3"
    return f"s3a{text.removeprefix('s3')}" if is_s3 else text


def files_in(folder: Place, pattern: str) -> list[Place]:
    """The files of a folder whose names match, in order of their names; none if there is no such folder."""
    found: list[Place] = [*folder.glob(pattern)]
    return sorted(found, key=lambda file: file.name)


def write_whole(place: Place, text: str) -> None:
    """Write a file that appears whole, whoever else writes the same one."""
    data = text.encode("utf-8", "replace")
    if isinstance(place, StorePath):
        place.write_bytes(data)
        return
    unfinished = place.with_name(f".{place.name}.{os.getpid()}")
    unfinished.write_bytes(data)
    unfinished.replace(place)


# --- bytes ----------------------------------------------------------------------------------------


class StoreFile(io.RawIOBase):
    """A file of a store, read part by part: each read is one request."""

    def __init__(self, path: StorePath) -> None:
        self.path = path
        self.name = str(path)
        with asking(path.root, str(path), "read"):
            self._file = system(path.root).open_input_file(path._place)
            self.size: int = self._file.size()

    def readable(self) -> bool:
        """Always: this is a reader."""
        return True

    def seekable(self) -> bool:
        """Always: any part can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer; the number of bytes that were left."""
        with asking(self.path.root, self.name, "read"):
            return int(self._file.readinto(buffer))

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place."""
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        """Where reading has come to."""
        return int(self._file.tell())

    def close(self) -> None:
        """Let go of the file."""
        if not self.closed:
            self._file.close()
        super().close()


class StoreWriter(io.RawIOBase):
    """A file that is written to a store when it is closed; nothing if what wrote it failed."""

    def __init__(self, path: StorePath) -> None:
        self._path = path
        self._spool = SpooledTemporaryFile(settings().sent_bytes)  # noqa: SIM115 - closed with this file

    def writable(self) -> bool:
        """Always: this is a writer."""
        return True

    def write(self, data: Any) -> int:
        """Keep some bytes."""
        return self._spool.write(data)

    def close(self) -> None:
        """Write the file."""
        if not self.closed:
            self._spool.seek(0)
            self._path.upload(cast("IO[bytes]", self._spool))
            self._spool.close()
        super().close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
            return
        self._spool.close()
        super().close()


def _matches(parts: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return _matches(parts, pattern[1:]) or (bool(parts) and _matches(parts[1:], pattern))
    hidden = bool(parts) and parts[0].startswith(".") and not pattern[0].startswith(".")
    return (
        bool(parts) and not hidden and fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])
    )


def _status(info: Any, immutable: bool) -> StoreStatus | None:
    """What a listing says of a file; None of a directory."""
    if not info.is_file:
        return None
    # Whole seconds: that is all that some answers of a store have.
    changed = (info.mtime_ns or 0) // 10**9 * 10**9
    # A file that was renamed into place is complete at once, and so is one that appears whole.
    return StoreStatus(info.size, changed, changed + 1 if immutable else changed)
