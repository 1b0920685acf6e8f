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
from functools import cache
from pathlib import Path, PurePosixPath
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING, Any, Final, TypeAlias, cast
from urllib.parse import unquote

from spaseq.errors import InvalidArgument, SpaseqError
from spaseq.settings import settings

if TYPE_CHECKING:
    from types import TracebackType

_SCHEMES: Final = {"s3": "s3", "s3a": "s3", "s3n": "s3", "gs": "gs", "gcs": "gs", "abfss": "abfss", "abfs": "abfss", "hdfs": "hdfs"}  # fmt: skip
"""Schemes of stores, and the one under which all names of a file are the same."""
_URI: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(/+)(.*)", re.DOTALL)

_CURES: Final = {
    "s3": (
        "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile with AWS_PROFILE, for every process that reads "
        "or writes, on a cluster for the workers too; AWS_ENDPOINT_URL names another server than Amazon's"
    ),
    "gs": "set GOOGLE_APPLICATION_CREDENTIALS to the file of a service account, on a cluster for the workers too",
    "abfss": "log in with `az login`, or set AZURE_STORAGE_KEY to the key of the account, on a cluster for the workers too",
    "hdfs": "set HADOOP_HOME, JAVA_HOME and CLASSPATH (`hadoop classpath --glob`), on a cluster for the workers too",
}


class StoreError(SpaseqError, OSError):
    """A store that does not give or take what was asked; says which place, why, and what to do."""


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
        with _asking(self, "read"):
            status = _status(self._info(), self.is_immutable)
        if status is None:
            raise FileNotFoundError(2, "no such file", str(self))
        return status

    def exists(self) -> bool:
        """Whether there is a file or a directory."""
        from pyarrow.fs import FileType

        if self._known is not None:
            return True
        with _asking(self, "read"):
            return bool(self._info().type != FileType.NotFound)

    def is_file(self) -> bool:
        """Whether there is a file."""
        from pyarrow.fs import FileType

        if self._known is not None:
            return True
        with _asking(self, "read"):
            return bool(self._info().type == FileType.File)

    def is_dir(self) -> bool:
        """Whether there is a directory, or files whose names begin like that of one."""
        from pyarrow.fs import FileType

        if self._known is not None:
            return False
        with _asking(self, "read"):
            return bool(self._info().type == FileType.Directory)

    def rglob(self, pattern: str) -> Iterator[StorePath]:
        """The files below whose last parts match; what a listing says of them is kept."""
        from pyarrow.fs import FileSelector

        with _asking(self, "read"):
            found = _system(self.root).get_file_info(
                FileSelector(self._place, recursive=True, allow_not_found=True)
            )
        inner = _inner(self.root)
        for info in found:
            status = _status(info, self.is_immutable)
            key = info.path[len(inner) :].strip("/")
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
        with _asking(self, "written"):
            if not self.is_immutable:
                _system(self.root).create_dir(self.parent._place, recursive=True)
            with _system(self.root).open_output_stream(self._place) as file:
                file.write(data)

    def write_text(self, text: str, encoding: str = "utf-8", errors: str = "strict") -> None:
        """Write a file, which appears whole."""
        self.write_bytes(text.encode(encoding, errors))

    def upload(self, file: IO[bytes]) -> None:
        """Write what can be read from a file."""
        with _asking(self, "written"):
            if not self.is_immutable:
                _system(self.root).create_dir(self.parent._place, recursive=True)
            with _system(self.root).open_output_stream(self._place) as out:
                while block := file.read(settings().sent_bytes):
                    out.write(block)

    def unlink(self, missing_ok: bool = False) -> None:
        """Remove a file."""
        if missing_ok and not self.is_file():
            return
        with _asking(self, "removed"):
            _system(self.root).delete_file(self._place)

    def remove_tree(self) -> None:
        """Remove a directory with all that is in it."""
        with _asking(self, "removed"):
            _system(self.root).delete_dir_contents(self._place, missing_dir_ok=True)

    def check_writable(self) -> None:
        """Refuse a place in a bucket or container that does not exist."""
        if self.scheme == "hdfs":
            return
        if not StorePath(self.root, "").exists():
            raise InvalidArgument(f"`{self}` cannot be written: {_no_bucket(self)}")

    @property
    def _place(self) -> str:
        return f"{_inner(self.root)}/{self.key}".rstrip("/") or "/"

    def _info(self) -> Any:
        return _system(self.root).get_file_info(self._place)


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


def one_name(given: str | os.PathLike[str]) -> str:
    """The one name of a file: its absolute path or its URI, whatever the working directory and however it was spelt."""
    place = place_of(given)
    if isinstance(place, StorePath):
        return str(place)
    return os.path.abspath(place)  # noqa: PTH100 - a `Path` would keep `..`


def for_spark(place: Place) -> str:
    """The name by which Spark's own readers and writers know a place."""
    text = str(place)
    return f"s3a{text.removeprefix('s3')}" if isinstance(place, StorePath) else text


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
        with _asking(path, "read"):
            self._file = _system(path.root).open_input_file(path._place)
            self.size: int = self._file.size()

    def readable(self) -> bool:
        """Always: this is a reader."""
        return True

    def seekable(self) -> bool:
        """Always: any part can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer; the number of bytes that were left."""
        with _asking(self.path, "read"):
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


# --- access from other processes ------------------------------------------------------------------

_VARIABLES: Final = (
    "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_EC2_METADATA_DISABLED", "AZURE_STORAGE_KEY",
    "GOOGLE_APPLICATION_CREDENTIALS",
)  # fmt: skip
"""Variables of the environment that say how stores are reached."""
_adopted: set[str] = set()
"""Those that this process has from another."""


class StoreAccess:
    """How this process reaches stores; another one that unpickles it reaches them in the same way.

    What the environment of that process says itself has precedence.
    """

    def __reduce__(self) -> tuple[Any, tuple[dict[str, str]]]:
        return _unpickled, ({name: os.environ[name] for name in _VARIABLES if name in os.environ},)


def _unpickled(variables: dict[str, str]) -> StoreAccess:
    adopt(variables)
    return StoreAccess()


def adopt(variables: dict[str, str]) -> None:
    """Reach stores as these variables say, where the environment says nothing."""
    for name, value in variables.items():
        if name in _adopted or name not in os.environ:
            _adopted.add(name)
            os.environ[name] = value


def _endpoint() -> str | None:
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")


# --- pyarrow --------------------------------------------------------------------------------------


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
    changed = info.mtime_ns or 0
    # A file that was renamed into place is complete at once, and so is one that appears whole.
    return StoreStatus(info.size, changed, changed + 1 if immutable else changed)


def _inner(root: str) -> str:
    """How pyarrow calls the root of a store."""
    scheme, _, authority = root.partition("://")
    return {"hdfs": "", "abfss": authority.partition("@")[0]}.get(scheme, authority)


def _system(root: str) -> Any:
    return _connected(root, tuple(os.environ.get(name) for name in _VARIABLES))


@cache
def _connected(root: str, _access: tuple[str | None, ...]) -> Any:
    """The file system of a store, one in each process for as long as the credentials are the same."""
    from pyarrow import fs

    scheme, _, authority = root.partition("://")
    match scheme:
        case "s3":
            endpoint, region = (
                _endpoint(),
                os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"),
            )
            if endpoint is None:
                return fs.S3FileSystem(region=region or fs.resolve_s3_region(authority))
            kind, _, host = endpoint.rpartition("://")
            return fs.S3FileSystem(
                endpoint_override=host, scheme=kind or "https", region=region or "us-east-1"
            )
        case "gs":
            return fs.GcsFileSystem()
        case "abfss":
            account = authority.partition("@")[2].partition(".")[0]
            return fs.AzureFileSystem(account, account_key=os.environ.get("AZURE_STORAGE_KEY"))
        case _:
            host, _, port = authority.partition(":")
            return fs.HadoopFileSystem(host or "default", int(port or 0))


class _asking:  # noqa: N801 - used as a statement
    """Turn what a store answers to a question into a sentence."""

    def __init__(self, path: StorePath, done: str) -> None:
        self._path, self._done = path, done

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, FileNotFoundError):
            raise FileNotFoundError(2, "no such file", str(self._path)) from None
        if isinstance(error, OSError) and not isinstance(error, StoreError):
            raise StoreError(
                f"`{self._path}` cannot be {self._done}: {_reason(self._path, str(error))}"
            ) from None


_DENIED: Final = ("ACCESS_DENIED", "INVALID_ACCESS_KEY_ID", "SIGNATURE_DOES_NOT_MATCH", "HTTP response code 403",
                  "HTTP status 403", "MISSING_AUTHENTICATION_TOKEN", "PERMISSION_DENIED", "AuthorizationFailure", "Permission denied",
                  "UNAUTHENTICATED", "credential", "EXPIRED_TOKEN")  # fmt: skip
_UNREACHABLE: Final = (
    "NETWORK_CONNECTION",
    "Couldn't resolve",
    "Could not connect",
    "UNAVAILABLE",
    "Connection refused",
)


def _reason(path: StorePath, text: str) -> str:
    """Why, and what to do."""
    cure = _CURES[path.scheme]
    if (
        "NO_SUCH_BUCKET" in text
        or "ContainerNotFound" in text
        or ("Bucket '" in text and "not found" in text)
    ):
        return _no_bucket(path)
    if any(word in text for word in _DENIED):
        return f"the store did not accept the credentials, or found none; {cure}"
    if any(word in text for word in _UNREACHABLE):
        where = _endpoint()
        return f"the store{f' at {where}' if where and path.scheme == 's3' else ''} cannot be reached; {cure}"
    if "libhdfs" in text or "libjvm" in text or "CLASSPATH" in text:
        return f"the library of Hadoop was not found; {cure}"
    return " ".join(text.split())


def _no_bucket(path: StorePath) -> str:
    what = "container" if path.scheme == "abfss" else "bucket"
    return f"there is no {what} `{_inner(path.root)}`; make it, or name another"
