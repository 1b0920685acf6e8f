"""Standard input and other pipes: what can be read once only is kept in a file, so that it can be read again."""

from __future__ import annotations

import os
import select
from collections.abc import Callable
from pathlib import Path
from typing import Final

from spaseq.errors import InvalidArgument, SpaseqError
from spaseq.io.sources import PipeSource, Source, extension_of
from spaseq.settings import settings

_MOMENT: Final = 0.1
"""Seconds after which a reader that waits looks whether it is to stop."""
_PACKED: Final = {b"\x1f\x8b": ".gz", b"\x28\xb5\x2f\xfd": ".zst"}
"""How compressed data begins."""


class Pipe:
    """A pipe from which bytes can be read as they come."""

    def __init__(self, source: PipeSource) -> None:
        self._name = source.name
        try:
            # Do not block here until there is a writer: `select` does that, and can be interrupted.
            flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)
            self._descriptor = 0 if source.is_standard_input else os.open(str(source.path), flags)
            os.fstat(self._descriptor)
        except OSError as error:
            raise InvalidArgument(f"{self._name} cannot be read: {_why(error)}") from None

    def read(self, *, wait: bool) -> bytes | None:
        """What has come, nothing at the end; None if nothing has come yet, not even after waiting a moment."""
        if os.name != "nt" and not select.select([self._descriptor], [], [], _MOMENT if wait else 0)[0]:
            return None
        try:
            return os.read(self._descriptor, settings().piped_bytes)
        except BlockingIOError:
            return None
        except OSError as error:
            raise SpaseqError(f"{self._name} cannot be read any further: {_why(error)}") from None

    def close(self) -> None:
        """Close it, unless it is standard input."""
        if self._descriptor:
            os.close(self._descriptor)
            self._descriptor = 0


def kept_in(folder: Path, source: PipeSource, poll: Callable[[], None] = lambda: None) -> Source:
    """Read a pipe to its end into a file in a folder; the source of that file has the pipe's name.

    While nothing comes ``poll`` is called at intervals, which may raise.
    """
    pipe = Pipe(source)
    try:
        first = _next(pipe, poll)
        path = folder / spool_name(source, first, folder)
        with path.open("wb") as file:
            file.write(first)
            while block := _next(pipe, poll):
                file.write(block)
    finally:
        pipe.close()
    return Source(path, source.format, layout=source.layout, shown=source.name)


def _next(pipe: Pipe, poll: Callable[[], None]) -> bytes:
    while True:
        poll()
        if (block := pipe.read(wait=True)) is not None:
            return block


def spool_name(source: PipeSource, first: bytes, folder: Path) -> str:
    """The name of a new file in a folder for what comes out of a pipe, given how that begins."""
    packed = next((suffix for magic, suffix in _PACKED.items() if first.startswith(magic)), "")
    number = len(list(folder.glob("piped-*")))
    return f"piped-{number}{extension_of(source.format)}{packed}"


def _why(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
