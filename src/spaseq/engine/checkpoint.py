"""Checkpoints: what a killed run needs to go on with nothing lost and nothing twice.

A checkpoint is one file that is replaced as a whole; the one before is kept in case it is damaged. It says what the run is,
how far the input was handled, how long the output was then, and what the machines knew (their snapshots). The input is cut
only between two instants, so "how far" is an instant: a resumed run reads its files again and passes over the events up to it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from spaseq.engine.bookmarks import Bookmark
from spaseq.engine.generations import AGAIN, Generations, as_bytes, other_version
from spaseq.engine.identity import check_identity
from spaseq.errors import IncompatibleCheckpoint, InvalidArgument
from spaseq.io.written import Written
from spaseq.model.packing import LARGEST, LONG, Damaged, reading, whole_number

VERSION: Final = 5
FILE: Final = "checkpoint"
SPARK_FILE: Final = "run.json"
"""What a checkpoint of a run on Spark has instead."""
_OLD_FILE: Final = "checkpoint.zip"
_LOCK: Final = "lock"


@dataclass(frozen=True, slots=True)
class RunProgress:
    """How far a run has come.

    ``counts`` is what the run has counted (`spaseq.engine.tally`), ``incomplete`` what is wrong with files whose rest
    could not be read.
    ``reached`` is the last instant that was handled, None at the beginning; ``told`` counts the bad input
    that was reported, by source; ``clock`` is the wall clock when the input was begun, in microseconds. Of a run
    that follows its directories ``taken`` says how far files were handled, ``current`` up to where it was reading,
    of which ``reached``, ``told`` and ``clock`` speak, ``bad`` how much was reported before, ``latest`` how far
    its streams have come, and ``positions`` how far sources that are no files were read.
    """

    reached: int | None = None
    events: int = 0
    matches: tuple[int, ...] = ()
    output: Written = field(default_factory=Written)
    rules: Written = field(default_factory=Written)
    quarantine: Written = field(default_factory=Written)
    counts: Mapping[str, int] = field(default_factory=dict)
    told: Mapping[str, int] = field(default_factory=dict)
    bad: int = 0
    late: int = 0
    finished: bool = False
    incomplete: tuple[str, ...] = ()
    clock: int | None = None
    taken: tuple[Bookmark, ...] = ()
    current: tuple[Bookmark, ...] = ()
    latest: Mapping[str, int] = field(default_factory=dict)
    positions: Mapping[str, Any] = field(default_factory=dict)

    @property
    def reported(self) -> int:
        """How much bad input was reported, late events aside."""
        return sum(self.told.values()) + self.bad


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A run at one moment: what it is, how far it has come, and what its machines know."""

    identity: Mapping[str, Any]
    progress: RunProgress
    machines: tuple[bytes, ...]


class CheckpointFile:
    """The checkpoint in a directory, in two generations."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._generations = Generations(directory, FILE, VERSION)

    @property
    def note(self) -> str | None:
        """What was wrong with the newest generation, if the one before was taken."""
        return self._generations.note

    def save(self, checkpoint: Checkpoint) -> None:
        """Replace the checkpoint; a crash leaves the old one or the new one, never a mixture."""
        header = {"identity": checkpoint.identity, "progress": asdict(checkpoint.progress)}
        blobs = {f"machine-{number}": as_bytes(blob) for number, blob in enumerate(checkpoint.machines)}
        self._generations.save(header, blobs)

    def load(self, identity: Mapping[str, Any]) -> Checkpoint | None:
        """The checkpoint, None if there is none; one of another run is an error."""
        if (self._directory / SPARK_FILE).exists():
            raise IncompatibleCheckpoint(
                f"`{self._directory}` is a checkpoint of `--engine spark`; resume it with that, or use another directory"
            )
        found = self._generations.load()
        if found is None and (self._directory / _OLD_FILE).exists():
            raise other_version(self._directory / _OLD_FILE, 2, VERSION)
        if found is None:
            return None
        header, arrays = found
        try:
            with reading():
                check_identity(self._directory, header["identity"], identity)
                blobs = [arrays[f"machine-{number}"].tobytes() for number in range(len(arrays))]
                if len(blobs) != len(header["progress"]["matches"]):
                    raise Damaged("it has too many queries or too few")
                return Checkpoint(header["identity"], _progress(header["progress"]), tuple(blobs))
        except Damaged as error:
            raise IncompatibleCheckpoint(
                f"the checkpoint in `{self._directory}` is damaged ({error}); {AGAIN}"
            ) from None


def is_local(directory: Path) -> bool:
    """True if a directory holds a checkpoint of a run in one process."""
    return Generations(directory, FILE, VERSION).exists or (directory / _OLD_FILE).exists()


def _progress(saved: dict[str, Any]) -> RunProgress:
    """How far a run has come, as a checkpoint says it, if it can be so."""
    counts = {**saved, **{f"matches of {number}": each for number, each in enumerate(saved["matches"])}}
    for name in ("events", "bad", "late", *(name for name in counts if name.startswith("matches of "))):
        whole_number(counts, name, 0, LARGEST)
    for known in (
        saved["told"],
        saved["counts"],
        saved["latest"],
        {name: saved[name] for name in ("reached", "clock")},
    ):
        for name, value in known.items():
            if value is not None:
                whole_number(known, name, LONG.min, LONG.max + 1)
    marks = {name: tuple(map(Bookmark.from_dict, saved[name])) for name in ("taken", "current")}
    files = written_files(saved)
    if not isinstance(saved["positions"], dict):
        raise Damaged("there are no positions of sources")
    lists = {"matches": tuple(saved["matches"]), "incomplete": tuple(map(str, saved["incomplete"]))}
    return RunProgress(**{**saved, **marks, **files, **lists})


def written_files(saved: Mapping[str, Any]) -> dict[str, Written]:
    """How much was written to the files of a run; checkpoints of earlier versions have no output of rules."""
    rules = {"rules": as_written(saved["rules"]) if "rules" in saved else Written()}
    return {**rules, **{name: as_written(saved[name]) for name in ("output", "quarantine")}}


def as_written(saved: Mapping[str, Any]) -> Written:
    """What a checkpoint says that was written to a file."""
    whole_number(saved, "size", 0, LARGEST)
    return Written(saved["size"], str(saved["digest"]))


def hold(directory: Path) -> DirectoryLock:
    """Make the directory of a checkpoint, and keep other runs out of it."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        return DirectoryLock(directory)
    except OSError as error:
        raise InvalidArgument(
            f"the checkpoint directory `{directory}` cannot be used: {error.strerror}"
        ) from None


class DirectoryInUse(InvalidArgument):
    """A checkpoint directory that another process is writing; says which, and what to do."""


class DirectoryLock:
    """Holds a directory until it is released; the operating system releases it when the process dies.

    The file stays and names the last holder; whether it is held is known to the operating system alone.
    """

    def __init__(self, directory: Path) -> None:
        self._descriptor: int | None = os.open(
            directory / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644
        )
        if not _locked(self._descriptor):
            holder = os.read(self._descriptor, 32).decode("ascii", "replace").strip()
            self.release()
            who = f"process {holder}" if holder else "another process"
            raise DirectoryInUse(
                f"the checkpoint directory `{directory}` is in use by {who}; wait until it ends or stop it"
                f"{f' (kill {holder})' if holder else ''}, or use another directory"
            )
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Let others have it."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _locked(descriptor: int) -> bool:
    """Take the lock of an open file; false if another process has it."""
    if sys.platform == "win32":
        import msvcrt

        try:
            # The byte lies behind the holder's number, which others must be able to read.
            os.lseek(descriptor, 1 << 20, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        finally:
            os.lseek(descriptor, 0, os.SEEK_SET)
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
