"""Where files go that a stream has read to their end: to the places they had, in another folder (`clean_source="archive"`)."""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import count, takewhile
from pathlib import Path, PurePosixPath

from spaseq.errors import InvalidArgument
from spaseq.io.growing import is_packed
from spaseq.io.sources import passed_over
from spaseq.stores import Place, StorePath, place_of

Parts = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Archive:
    """A folder for files, by their paths in the folder that all sources have in common: no two of them have the same."""

    folder: Place
    common: int
    """How many parts the path of that folder has."""

    @staticmethod
    def of(paths: Sequence[str], folder: str) -> Archive:
        folders = [_parts(_folder(place_of(path))) for path in paths]
        same = takewhile(lambda level: len(set(level)) == 1, zip(*folders, strict=False))
        return Archive(place_of(folder), len(list(same)))

    def take(self, file: Place) -> None:
        """Move a file here; another one that came under the same name stays."""
        target = self.folder
        for part in _parts(file)[self.common :]:
            target = target / part
        target = _free(target)
        if isinstance(file, Path) and isinstance(target, Path):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(file, target)
            return
        if isinstance(target, Path):
            target.parent.mkdir(parents=True, exist_ok=True)
        with file.open("rb") as source, target.open("wb") as copy:
            shutil.copyfileobj(source, copy)
        file.unlink()


def check_outside(paths: Iterable[str], archive: str) -> None:
    """Refuse an archive in which files would be found again."""
    for path in paths:
        if _meet(place_of(path), place_of(archive)):
            raise InvalidArgument(
                f"the archive `{archive}` and the source `{path}` lie one in the other, so files that were moved there would be "
                "read again: name a folder beside the source, or one in it whose name begins with `_`"
            )


def _meet(source: Place, archive: Place) -> bool:
    """True if the source may find files of the archive."""
    pattern, folder = _parts(_real(source)), _parts(_real(archive))
    if not _is_pattern(source):
        level = min(len(pattern), len(folder))
        return pattern[:level] == folder[:level] and not passed_over(folder[level:])
    if "**" not in pattern and len(pattern) <= len(folder):
        return False  # it names files so many levels deep, and those of the archive lie deeper
    levels = takewhile(lambda level: level[0] != "**", zip(pattern, folder, strict=False))
    return all(fnmatchcase(part, wanted) for wanted, part in levels)


def _is_pattern(place: Place) -> bool:
    return glob.has_magic(str(place)) and not place.exists()


def _folder(source: Place) -> Place:
    """The folder that a source stands for: itself, that of a file, or the one before the first wildcard."""
    if not _is_pattern(source):
        return source if source.is_dir() else source.parent
    while glob.has_magic(str(source)):
        source = source.parent
    return source


def _real(place: Place) -> Place:
    """The place without links; wildcards stay."""
    return place if isinstance(place, StorePath) else Path(os.path.realpath(place))


def _parts(place: Place) -> Parts:
    """The parts of a name; those of files of this machine and of stores are never the same."""
    if isinstance(place, StorePath):
        return (place.scheme, place.root.partition("://")[2], *PurePosixPath(place.key).parts)
    return ("file", *place.absolute().parts[1:])


def _free(target: Place) -> Place:
    """A name that no file has yet: this one, or with a number."""
    extension = "".join(target.suffixes[-2 if is_packed(target) else -1 :])
    stem = target.name.removesuffix(extension)
    names = (
        target if number == 1 else target.with_name(f"{stem}-{number}{extension}") for number in count(1)
    )
    return next(name for name in names if not name.exists())
