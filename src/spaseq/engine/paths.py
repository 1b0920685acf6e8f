"""What a run writes must not be what it reads: checked before any file is opened for writing."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from glob import has_magic
from pathlib import Path
from typing import TypeAlias

from spaseq.errors import InvalidArgument
from spaseq.io.sources import PathLike, find_sources, format_of
from spaseq.stores import Place, StorePath, place_of

FileId: TypeAlias = tuple[int, int] | str
"""Device and inode, the same for all links to one file; of a file in a store its URI."""


@dataclass(frozen=True, slots=True)
class Reads:
    """What a run reads; ``events`` are files, directories and globs, the others are files."""

    events: Sequence[PathLike] = ()
    file_format: str | None = None
    others: Mapping[str, Sequence[PathLike]] = field(default_factory=dict)
    """Other files by what they are, for example ``query``."""

    def files(self) -> Iterator[tuple[str, Place]]:
        """Every file that is there now, and what it is."""
        for what, paths in self.others.items():
            yield from ((what, place_of(path)) for path in paths)
        for given in self.events:
            yield from (("input", path) for path in _present(given, self.file_format))

    def would_find(self, file: Place) -> PathLike | None:
        """The directory or glob among the inputs that finds this file, now or once it is there."""
        if self.file_format is None and format_of(file) is None:
            return None
        if isinstance(file, StorePath):
            return next((given for given in self.events if _finds_there(place_of(given), file)), None)
        places = {Path(os.path.abspath(file)), file.resolve()}  # noqa: PTH100 - links are kept here on purpose
        for given in self.events:
            where = place_of(given)
            if isinstance(where, Path) and any(_finds(where, place) for place in places):
                return given
        return None


def check_paths(written: Mapping[str, Place | None], reads: Reads, checkpoint: Path | None = None) -> None:
    """Refuse files to be written that are also read, or that are one file under two names.

    ``written`` gives each file by what it is, None for standard output. Links count as what they lead to.
    """
    ids = {found: (what, path) for what, path in reads.files() if (found := _id(path)) is not None}
    seen: dict[object, str] = {}
    for what, path in written.items():
        name = "standard output" if path is None else f"the {what} `{path}`"
        found = _standard_output() if path is None else _id(path)
        if found in ids:
            kind, other = ids[found]
            raise InvalidArgument(
                f"{name} is also read, as the {kind} `{other}`, and would be destroyed; write to another file"
            )
        given = None if path is None else reads.would_find(path)
        if given is not None:
            raise InvalidArgument(
                f"{name} lies where `{given}` is read and would become its own input; write to another directory"
            )
        place = found or (None if path is None or _special(path) else path.resolve())
        if place in seen:
            raise InvalidArgument(f"{name} is also the {seen[place]}; give them two files")
        if place is not None:
            seen[place] = what
    if checkpoint is not None:
        _check_directory(checkpoint, written, reads)


def _check_directory(checkpoint: Path, written: Mapping[str, Place | None], reads: Reads) -> None:
    """The directory of a checkpoint must be its own: what is in it is replaced and removed."""
    own = checkpoint.resolve()
    used = [*reads.files(), *((what, path) for what, path in written.items() if path is not None)]
    for what, path in used:
        if isinstance(path, Path) and path.resolve().is_relative_to(own):
            raise InvalidArgument(
                f"the checkpoint directory `{checkpoint}` holds the {what} `{path}`; use a directory of its own"
            )
    given = reads.would_find(checkpoint / "run.json")
    if given is not None:
        raise InvalidArgument(
            f"the checkpoint directory `{checkpoint}` lies where `{given}` is read; use a directory elsewhere"
        )


def _present(given: PathLike, file_format: str | None) -> Iterable[Place]:
    if str(given) == "-":
        return [Path("/dev/stdin")]
    try:
        return [source.path for source in find_sources(given, file_format)]
    except InvalidArgument:  # nothing there yet, or a file of unknown format: reported elsewhere
        return [place] if (place := place_of(given)).is_file() else []


def _finds_there(given: Place, file: StorePath) -> bool:
    """The same in a store."""
    if not isinstance(given, StorePath) or given.root != file.root:
        return False
    if has_magic(given.key):
        return _matches(tuple(file.key.split("/")), tuple(given.key.split("/")))
    inside = given != file and file.is_relative_to(given)
    return inside and not any(part.startswith((".", "_")) for part in file.relative_to(given).parts)


def _finds(given: Path, file: Path) -> bool:
    """True if a directory or glob would find this file; as `find_sources` looks."""
    if given.is_dir():
        for root in (Path(os.path.abspath(given)), given.resolve()):  # noqa: PTH100
            if file.is_relative_to(root):
                return not any(part.startswith((".", "_")) for part in file.relative_to(root).parts)
        return False
    if given.exists() or not has_magic(str(given)):
        return False
    parts = Path(os.path.abspath(given)).parts  # noqa: PTH100
    fixed = next(number for number, part in enumerate(parts) if has_magic(part))
    patterns = {parts, (*Path(*parts[:fixed]).resolve().parts, *parts[fixed:])}
    return any(_matches(file.parts, pattern) for pattern in patterns)


def _matches(parts: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    """Whether a path matches a glob, both in parts."""
    if not pattern:
        return not parts
    if pattern[0] == "**" and _matches(parts, pattern[1:]):
        return True
    if not parts or (parts[0].startswith(".") and not pattern[0].startswith(".")):
        return False
    if pattern[0] == "**":
        return _matches(parts[1:], pattern)
    return fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])


def _id(path: Place) -> FileId | None:
    """Which file a path leads to; None if there is none yet, or if it is a device or a pipe."""
    if isinstance(path, StorePath):
        return str(path)
    try:
        return _regular(path.stat())
    except OSError:
        return None


def _special(path: Place) -> bool:
    """True for devices and pipes, which hold nothing that could be lost."""
    return path.exists() and not path.is_file()


def _standard_output() -> FileId | None:
    """The file that standard output was redirected to, if it is one."""
    try:
        return _regular(os.fstat(sys.stdout.fileno()))
    except (OSError, ValueError, AttributeError):  # closed, or replaced by something without a number
        return None


def _regular(status: os.stat_result) -> FileId | None:
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None
