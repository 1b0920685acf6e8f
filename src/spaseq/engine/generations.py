"""Saved values in two generations: if the newest is damaged, there is the one before."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from spaseq.errors import IncompatibleCheckpoint
from spaseq.model.packing import Arrays, Damaged, OtherVersion, pack, unpack

AGAIN: Final = "remove the checkpoint to start again"


class Generations:
    """A header and arrays under a name in a directory, and what they were one time before."""

    def __init__(self, directory: Path, name: str, version: int) -> None:
        self._directory, self._version = directory, version
        self._newest, self._before = directory / name, directory / f"{name}.before"
        self.note: str | None = None
        """What was wrong with the newest generation, if the one before was taken."""

    @property
    def exists(self) -> bool:
        """True if something was saved."""
        return self._newest.exists() or self._before.exists()

    def save(self, header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Save a new generation; a crash at any moment leaves a whole one."""
        fresh = self._directory / f".{self._newest.name}.new"
        with fresh.open("wb") as file:
            file.write(pack(header, arrays, self._version))
            file.flush()
            os.fsync(file.fileno())
        if self._newest.exists():
            self._newest.replace(self._before)
        fresh.replace(self._newest)
        _sync_directory(self._directory)

    def load(self) -> tuple[dict[str, Any], Arrays] | None:
        """The newest generation that is whole, None if none was saved."""
        problems = []
        for path in (self._newest, self._before):
            try:
                found = unpack(path.read_bytes(), self._version)
            except FileNotFoundError:
                continue
            except OtherVersion as error:
                raise other_version(path, error.version, self._version) from None
            except (Damaged, OSError) as error:
                problems.append(f"`{path}` is damaged ({error})")
                continue
            if problems:
                self.note = f"{problems[0]}; the run goes on from the checkpoint before it"
                self._newest.replace(self._newest.with_name(f"{self._newest.name}.damaged"))
            return found
        if problems:
            raise IncompatibleCheckpoint(f"{' and '.join(problems)}; {AGAIN}")
        return None


def other_version(path: Path, version: object, own: int) -> IncompatibleCheckpoint:
    """What to say of a checkpoint of another release."""
    return IncompatibleCheckpoint(
        f"`{path}` has version {version}, this release reads version {own}; finish the run with the release that "
        f"wrote it, or {AGAIN}"
    )


def as_bytes(blob: bytes) -> npt.NDArray[np.uint8]:
    """Bytes as an array."""
    return np.frombuffer(blob, np.uint8)


def _sync_directory(directory: Path) -> None:
    if os.name == "nt":  # directories cannot be opened there
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
