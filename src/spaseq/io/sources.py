"""Files, directories and globs as byte sources, decompressed on the way and never read whole."""

from __future__ import annotations

import glob
import io
import os
import stat
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeAlias, get_args

from spaseq.errors import InvalidArgument, described, did_you_mean
from spaseq.io.handles import opened
from spaseq.settings import settings
from spaseq.stores import Place, StoreFile, StorePath, one_name, place_of

Format: TypeAlias = Literal["nquads", "trig", "jsonld", "ntriples", "jelly"]
"""Event file formats (docs/reference/cli.md, ``--format``)."""

FORMATS: Final[tuple[Format, ...]] = get_args(Format)

Layout: TypeAlias = Literal["auto", "stream", "dataset"]
"""Where timestamps stand (docs/reference/event-formats.md, ``--layout``)."""

LAYOUTS: Final[tuple[Layout, ...]] = get_args(Layout)

GROUPED: Final[tuple[Format, ...]] = ("nquads", "trig", "jsonld")
"""Formats in which a named graph is an event."""

STANDARD_INPUT: Final = "standard input"
"""The name of standard input in messages and in the quarantine."""
_STDIN: Final = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
"""Paths that stand for standard input."""

PathLike: TypeAlias = str | os.PathLike[str]

EVENT_FORMATS: Final[dict[str, Format]] = {
    ".nq": "nquads",
    ".nquads": "nquads",
    ".trig": "trig",
    ".jsonld": "jsonld",
    ".json": "jsonld",
    ".nt": "ntriples",
    ".ntriples": "ntriples",
    ".jelly": "jelly",
    ".jly": "jelly",
}


@dataclass(frozen=True, slots=True)
class Source:
    """One file of events: where it is and how to read it."""

    path: Place
    format: Format
    layout: Layout | None = field(default=None, kw_only=True)
    """Its layout, if it is known; else the one that the options name."""
    shown: str = field(default="", kw_only=True)
    """The name for users, if it is not the path."""

    @property
    def name(self) -> str:
        """The name that error messages and the quarantine use."""
        return self.shown or str(self.path)

    def open(self) -> ByteReader:
        """The file's bytes, decompressed if its name ends in ``.gz`` or ``.zst``."""
        file = opened(self.path)
        match self.path.suffix.lower():
            case ".gz":
                return ByteReader(file, _inflate(file))
            case ".zst" | ".zstd":
                return ByteReader(file, _unzstd(file))
            case _:
                return ByteReader(file, None)


@dataclass(frozen=True, slots=True)
class PipeSource(Source):
    """Standard input or another pipe: it can be read once only, so it is kept in a file first (`spaseq.io.pipes`)."""

    @property
    def is_standard_input(self) -> bool:
        """True for ``-``."""
        return self.shown == STANDARD_INPUT


class DamagedFile(Exception):
    """A compressed file that cannot be read to its end."""


_CUT_SHORT: Final = ("the gzip file ", "the zstd file ", "the file cannot be read ")


def is_cut_short(reason: str) -> bool:
    """True if a reason for bad input says that the rest of a file cannot be read, whatever is in it."""
    return reason.startswith(_CUT_SHORT)


class ByteReader(io.RawIOBase):
    """A file's bytes in order. What can be read of a damaged file is read; ``damage`` says what was wrong.

    Without ``blocks`` they come from the file as it stands, ``most`` of them if only a part of it is wanted.
    """

    def __init__(
        self,
        file: io.RawIOBase,
        blocks: Iterator[bytes] | None,
        *,
        most: int | None = None,
        grows: bool = False,
    ) -> None:
        self._file = file
        self._most = 1 << 62 if most is None else most
        self.grows = grows
        """True if more may follow what is read here."""
        self._blocks = blocks
        self._rest = b""
        self.offset = 0
        """How many bytes have been handed out."""
        self.damage: str | None = None

    def readable(self) -> bool:
        """Always: this is a reader."""
        return True

    def read(self, size: int = -1) -> bytes:
        """At most ``size`` bytes, fewer only at the end."""
        wanted = self._allowed(size if size >= 0 else 1 << 62)
        parts: list[bytes] = []
        while wanted > 0:
            part = self._next(wanted)
            if not part:
                break
            parts.append(part)
            wanted -= len(part)
        data = b"".join(parts) if len(parts) != 1 else parts[0]
        self.offset += len(data)
        return data

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Fill a buffer; the number of bytes that were left."""
        return self.fill(memoryview(buffer))

    def fill(self, view: memoryview) -> int:
        """Fill a view; fewer bytes than it has room for only at the end."""
        filled = 0
        view = view[: self._allowed(len(view))]
        while filled < len(view):
            if self._blocks is None:
                try:
                    count = self._file.readinto(view[filled:]) or 0
                except OSError as error:
                    self.damage = f"the file cannot be read any further: {error.strerror or error}"
                    count = 0
            else:
                part = self._next(len(view) - filled)
                count = len(part)
                view[filled : filled + count] = part
            if count == 0:
                break
            filled += count
        self.offset += filled
        return filled

    @property
    def left(self) -> int | None:
        """How many bytes are left, None if that is unknown: then the input may be long."""
        if self._blocks is not None:
            return None
        if isinstance(self._file, StoreFile):
            return self._allowed(self._file.size - self._file.tell())
        try:
            return self._allowed(os.fstat(self._file.fileno()).st_size - self._file.tell())
        except OSError:  # a pipe has no size
            return None

    def _allowed(self, wanted: int) -> int:
        """How many of so many bytes may be handed out."""
        return max(min(wanted, self._most - self.offset), 0)

    def _next(self, wanted: int) -> bytes:
        if self._blocks is None:
            try:
                return self._file.read(min(wanted, 1 << 30)) or b""
            except OSError as error:
                self.damage = f"the file cannot be read any further: {error.strerror or error}"
                return b""
        if not self._rest and self.damage is None:
            try:
                self._rest = next(self._blocks, b"")
            except (DamagedFile, OSError) as error:
                self.damage = str(error)
        part, self._rest = self._rest[:wanted], self._rest[wanted:]
        return part

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()


def _inflate(file: io.RawIOBase) -> Iterator[bytes]:
    """Gzip members one after the other, never more than a block of output at a time."""
    machine = zlib.decompressobj(31)
    data = b""
    begun = False
    while True:
        data = data or file.read(settings().file_bytes) or b""
        if not data:
            if begun:
                raise DamagedFile("the gzip file ends too early")
            return
        try:
            if machine.eof:
                if not data.strip(b"\0"):
                    data = b""
                    continue
                machine, begun = zlib.decompressobj(31), False
            begun = True
            block = machine.decompress(data, settings().inflated_bytes)
        except zlib.error as error:
            raise DamagedFile(f"the gzip file is damaged: {error}") from None
        if machine.eof:
            data, begun = machine.unused_data, False
        else:
            data = machine.unconsumed_tail
        if block:
            yield block


def _unzstd(file: io.RawIOBase) -> Iterator[bytes]:
    """Zstandard frames one after the other."""
    from zstandard import ZstdDecompressor, ZstdError

    machine = ZstdDecompressor().decompressobj()
    data = b""
    begun = False
    while True:
        data = data or file.read(max(settings().file_bytes >> 4, 1)) or b""
        if not data:
            if begun:
                raise DamagedFile("the zstd file ends too early")
            return
        try:
            if not begun:
                machine = ZstdDecompressor().decompressobj()
            begun = True
            block = machine.decompress(data)
        except ZstdError as error:
            raise DamagedFile(f"the zstd file is damaged: {error}") from None
        data = machine.unused_data if machine.eof else b""
        begun = not machine.eof
        if block:
            yield block


def format_of(path: Place) -> Format | None:
    """The format by the name of a file, compression aside."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in (".gz", ".zst", ".zstd"):
        suffixes.pop()
    return EVENT_FORMATS.get(suffixes[-1]) if suffixes else None


def extension_of(known: Format) -> str:
    """The usual extension of a format."""
    return next(extension for extension, name in EVENT_FORMATS.items() if name == known)


def is_standard_input(path: PathLike) -> bool:
    """Whether a path stands for standard input."""
    return str(path) in _STDIN


def is_pipe(path: PathLike) -> bool:
    """Whether a path stands for standard input, or leads to what can be read once only."""
    place = place_of(path)
    if isinstance(place, StorePath):
        return False
    try:
        mode = place.stat().st_mode
    except (OSError, ValueError):
        return is_standard_input(path)
    return is_standard_input(path) or stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)


def checked_format(name: str | None) -> Format | None:
    """A format the user named; `InvalidArgument` shows a name that is none."""
    if name is None or name in FORMATS:
        return name
    if not isinstance(name, str):
        raise InvalidArgument(f"`format=` is one of {', '.join(FORMATS)}, not {described(name)}")
    raise InvalidArgument(
        f"`{name}` is not an event format; use one of {', '.join(FORMATS)}{did_you_mean(name, FORMATS)}"
    )


def find_sources(paths: PathLike | Iterable[PathLike], file_format: str | None = None) -> list[Source]:
    """The event files that paths, directories and globs name, sorted by name within each.

    In a directory hidden files and, unless a format is given, files of unknown extension are passed over. A pipe
    is N-Quads unless a format is given or its name has another extension; ``-`` is standard input. A file that
    several paths name, such as a directory and a glob in it, is one.
    """
    named = checked_format(file_format)
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not given:
        raise InvalidArgument("no event files were named")
    if len(given) == 1:
        return _sources_of(place_of(given[0]), named)
    found: dict[str, Source] = {}
    for source in (each for item in given for each in _sources_of(place_of(item), named)):
        found.setdefault(one_name(source.path), source)
    return list(found.values())


def source_of(path: str, file_format: str | None = None) -> Source:
    """One file that is known to be there; nothing is looked up."""
    place = place_of(path)
    return Source(place, _format_or_fail(place, checked_format(file_format)))


def _sources_of(path: Place, named: Format | None) -> list[Source]:
    if isinstance(path, Path) and is_pipe(path):
        standard = is_standard_input(path)
        place, shown = (Path(_STDIN[1]), STANDARD_INPUT) if standard else (path, "")
        return [PipeSource(place, named or format_of(path) or "nquads", shown=shown)]
    if path.is_dir():
        files = sorted(entry for entry in path.rglob("*") if entry.is_file() and not _hidden(entry, path))
        sources = [Source(file, known) for file in files if (known := named or format_of(file))]
        if not sources:
            what = "no files" if not files else "no file with the extension of an event format"
            raise InvalidArgument(f"the directory `{path}` has {what}")
        return sources
    if path.exists():
        return [Source(path, _format_or_fail(path, named))]
    if glob.has_magic(str(path)):
        files = _matching(path)
        if not files:
            raise InvalidArgument(f"no file matches `{path}`")
        return [Source(file, _format_or_fail(file, named)) for file in files]
    raise InvalidArgument(f"`{path}` does not exist{_no_bucket(path)}")


def _matching(path: Place) -> list[Place]:
    """The files that a glob names."""
    if isinstance(path, StorePath):
        return list(path.matching())
    files = sorted(Path(name) for name in glob.iglob(str(path), recursive=True))  # noqa: PTH207
    return [file for file in files if file.is_file()]


def _no_bucket(path: Place) -> str:
    """Why there is nothing in a store, if the reason is not the file itself."""
    missing = isinstance(path, StorePath) and path.scheme != "hdfs" and not StorePath(path.root, "").exists()
    return f": there is no bucket `{path.root}`" if missing and isinstance(path, StorePath) else ""


def _hidden(file: Place, root: Place) -> bool:
    """Hidden files and those that Hadoop writers leave beside their parts."""
    return passed_over(file.relative_to(root).parts)  # type: ignore[arg-type]


def passed_over(parts: Iterable[str]) -> bool:
    """True if in a directory these names lead to a file that is not read."""
    return any(part.startswith((".", "_")) for part in parts)


def _format_or_fail(path: Place, named: Format | None) -> Format:
    known = named or format_of(path)
    if known is None:
        raise InvalidArgument(
            f"the extension of `{path}` is not that of an event format; set `format=` to one of {', '.join(FORMATS)}"
        )
    return known
