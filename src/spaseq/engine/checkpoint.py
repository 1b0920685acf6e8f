"""Checkpoints: what a killed run needs to go on with nothing lost and nothing twice.

A checkpoint is one file that is replaced as a whole. It says how far the input was handled, how long the
output was then, and what the machines knew (their snapshots). The input is cut only between two instants,
so "how far" is an instant: a resumed run reads its files again and passes over the events up to it.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from spaseq.engine.bookmarks import Bookmark
from spaseq.engine.lock import DirectoryLock
from spaseq.errors import InvalidArgument, SpaseqError
from spaseq.io.sources import Source

VERSION: Final = 2
FILE: Final = "checkpoint.zip"
_HEADER: Final = "run.json"


class IncompatibleCheckpoint(SpaseqError):
    """A checkpoint that this run cannot take up; says which part differs, and what to do."""


@dataclass(frozen=True, slots=True)
class FileState:
    """A file as it was: what tells whether it is still the same."""

    path: str
    size: int
    changed: int

    @staticmethod
    def of(source: Source) -> FileState:
        """The present state of a file."""
        status = source.path.stat()
        return FileState(str(source.path), status.st_size, status.st_mtime_ns)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run has come.

    ``counts`` is what the run has counted (`spaseq.engine.tally`).
    ``reached`` is the last instant that was handled, None at the beginning; ``told`` counts the bad input
    that was reported, by source; ``clock`` is the wall clock when the input was begun, in microseconds. Of a run
    that follows its directories ``taken`` says how far files were handled, ``current`` up to where it was reading,
    of which ``reached``, ``told`` and ``clock`` speak, ``bad`` how much was reported before, and ``latest`` how far
    its streams have come.
    """

    reached: int | None = None
    events: int = 0
    matches: tuple[int, ...] = ()
    output: int = 0
    quarantine: int = 0
    counts: Mapping[str, int] = field(default_factory=dict)
    told: Mapping[str, int] = field(default_factory=dict)
    bad: int = 0
    late: int = 0
    finished: bool = False
    clock: int | None = None
    taken: tuple[Bookmark, ...] = ()
    current: tuple[Bookmark, ...] = ()
    latest: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A run at one moment: what it is, how far it has come, and what its machines know."""

    identity: Mapping[str, Any]
    progress: Progress
    machines: tuple[bytes, ...]


def save(directory: Path, checkpoint: Checkpoint) -> None:
    """Replace the checkpoint in a directory; a crash leaves the old one or the new one, never a mixture."""
    fresh = directory / f".{FILE}.new"
    header = {
        "version": VERSION,
        "identity": checkpoint.identity,
        "progress": asdict(checkpoint.progress),
        "machines": len(checkpoint.machines),
    }
    with fresh.open("wb") as file:
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr(_HEADER, json.dumps(header))
            for number, blob in enumerate(checkpoint.machines):
                archive.writestr(f"machine-{number}", blob)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(directory / FILE)
    _sync_directory(directory)


def _sync_directory(directory: Path) -> None:
    if os.name == "nt":  # directories cannot be opened there
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def hold(directory: Path) -> DirectoryLock:
    """Make the directory of a checkpoint, and keep other runs out of it."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        return DirectoryLock(directory)
    except OSError as error:
        raise InvalidArgument(
            f"the checkpoint directory `{directory}` cannot be used: {error.strerror}"
        ) from None


def load(directory: Path, identity: Mapping[str, Any]) -> Checkpoint | None:
    """The checkpoint in a directory, None if there is none; one of another run is an error."""
    path = directory / FILE
    if not path.exists():
        return None
    try:
        with zipfile.ZipFile(path) as archive:
            header = json.loads(archive.read(_HEADER))
            machines = tuple(archive.read(f"machine-{number}") for number in range(header["machines"]))
        version, known = header["version"], header["identity"]
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise IncompatibleCheckpoint(f"`{path}` is not a checkpoint, or it is damaged: {error}") from None
    if version != VERSION:
        raise IncompatibleCheckpoint(
            f"`{path}` has version {version}, this release reads version {VERSION}; finish the run with the "
            "release that wrote it, or remove the checkpoint to start again"
        )
    check_identity(directory, known, identity)
    progress = header["progress"]
    marks = {name: tuple(map(Bookmark.from_dict, progress[name])) for name in ("taken", "current")}
    fields = {**progress, "matches": tuple(progress["matches"]), **marks}
    return Checkpoint(known, Progress(**fields), machines)


def check_identity(directory: Path, known: Mapping[str, Any], identity: Mapping[str, Any]) -> None:
    """Say what differs between the run of a checkpoint and this one."""
    present = json.loads(json.dumps(identity))  # tuples are lists there
    for part in present:
        if known.get(part) != present[part]:
            raise IncompatibleCheckpoint(
                f"the checkpoint in `{directory}` belongs to another run: {_difference(part, known.get(part), present[part])}; "
                "use another directory, or remove the checkpoint to start again"
            )


def _difference(part: str, known: object, present: object) -> str:
    if part == "inputs" and isinstance(known, list) and isinstance(present, list):
        before, now = {str(item) for item in known}, {str(item) for item in present}
        files = [item[1] for item in [*known, *present] if str(item) in before ^ now]
        return f"the input `{files[0]}` is new, gone or changed" if files else "the inputs have another order"
    if part == "queries":
        return "the queries differ"
    return f"{part} was `{known}` and is `{present}`"


def inputs_identity(files: Sequence[tuple[str, Source]]) -> list[list[object]]:
    """The input files of a run: stream, path, size, time of change."""
    found: list[list[object]] = []
    for iri, source in files:
        state = FileState.of(source)
        found.append([iri, state.path, state.size, state.changed])
    return found
