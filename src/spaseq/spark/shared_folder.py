"""A folder that the driver and all workers see, proven by a file that the driver writes and workers read back.

A worker without the mount would otherwise make a folder of its own under the same path, and what it writes there
would be lost without an error.
"""

from __future__ import annotations

import os
import socket
import uuid
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from spaseq.errors import InvalidArgument, SpaseqError
from spaseq.io.bad_input import Policy, checked_policy
from spaseq.stores import Place, StoreAccess, StoreError, StorePath, place_of

MARK: Final = ".spaseq-shared"
"""The file by which a worker recognises the folder."""


class NotShared(SpaseqError):
    """A worker does not see the folder of the driver, or the driver does not see what workers have written."""


@dataclass(frozen=True, slots=True)
class SharedFolder:
    """A folder, or one in it that may come and go, and the token that its mark holds."""

    root: str
    token: str
    name: str = ""
    access: StoreAccess | None = field(default=None, compare=False)
    """How workers reach the store in which it lies."""

    @staticmethod
    def made(path: str | os.PathLike[str] | StorePath) -> SharedFolder:
        """The folder as the driver knows it, made and marked unless it is; workers stand in other working folders."""
        root = place_of(path).absolute()
        if isinstance(root, StorePath):
            return SharedFolder(str(root), _marked(root), access=StoreAccess())
        try:
            return SharedFolder(str(root), _marked_here(root))
        except OSError as error:
            raise InvalidArgument(
                f"`{path}` cannot be made a directory for the files of this run: {error.strerror}"
            ) from None

    @property
    def path(self) -> str:
        """The folder itself."""
        return str(place_of(self.root) / self.name)

    def inside(self, name: str) -> SharedFolder:
        """A folder in this one."""
        return replace(self, name=name)

    def checked(self) -> Place:
        """The folder, on a worker that is about to write; `NotShared` if it is not the driver's."""
        root = place_of(self.root)
        try:
            found = (root / MARK).read_text(encoding="ascii")
        except StoreError:  # it says itself what is wrong
            raise
        except (OSError, ValueError):
            found = ""
        if found != self.token:
            raise NotShared(
                f"the worker on `{socket.gethostname()}` does not see the driver's folder `{self.root}`: mount one shared folder "
                "under this path on the driver and on every worker (docs/how-to/run-on-a-cluster.md)"
            )
        folder = root / self.name
        if isinstance(folder, Path):
            folder.mkdir(parents=True, exist_ok=True)
        return folder


def _marked_here(root: Path) -> str:
    """The token of a folder of this machine, made and marked unless it is."""
    mark = root / MARK
    root.mkdir(parents=True, exist_ok=True)
    if not mark.exists():
        unfinished = root / f"{MARK}.{uuid.uuid4().hex}"
        unfinished.write_text(uuid.uuid4().hex, encoding="ascii")
        try:
            os.link(unfinished, mark)  # another driver may be first
        except FileExistsError:
            pass
        finally:
            unfinished.unlink()
    return mark.read_text(encoding="ascii")


def _marked(root: StorePath) -> str:
    """The token of a folder in a store, marked unless it is."""
    root.check_writable()
    try:
        return (root / MARK).read_text("ascii")
    except FileNotFoundError:
        (root / MARK).write_text(uuid.uuid4().hex, "ascii")
        return (root / MARK).read_text("ascii")


def check_arrived(what: str, written: int, found: int, folder: Place) -> None:
    """Compare how much workers have written with how much is there."""
    if written != found:
        raise NotShared(
            f"the workers have written {written:,} {what}, but {found:,} are in `{folder}`: mount one shared folder under "
            "this path on the driver and on every worker, and run again (docs/how-to/run-on-a-cluster.md)"
        )


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose files tasks write, so that others that write into the same folder have other names."""

    run: str
    """No other run has this."""
    content: str
    """What tells the parts of one streaming query apart; the same when that is started again."""


# --- bad events ---------------------------------------------------------------------------------

Directory = str | os.PathLike[str] | SharedFolder
"""Where bad events are kept: a directory that all workers see."""


@dataclass(frozen=True, slots=True)
class BadPolicy:
    """What becomes of bad events, and where they are kept."""

    policy: Policy = "fail"
    folder: SharedFolder | None = None
    option: str = "on_bad_input"
    """The argument that has chosen it."""
    cure: str = ""
    """What to say to a user whose query has failed of it; empty: to change that argument."""


def bad_policy(policy: str, quarantine: Directory | None, option: str = "on_bad_input") -> BadPolicy:
    """A policy the user named, on the driver; the directory it needs is made here."""
    found = checked_policy(policy)
    if found != "quarantine":
        return BadPolicy(found, option=option)
    if quarantine is None:
        raise InvalidArgument("the policy `quarantine` needs `quarantine=`, a directory that all workers see")
    kept = quarantine if isinstance(quarantine, SharedFolder) else SharedFolder.made(quarantine)
    return BadPolicy(found, kept, option)
