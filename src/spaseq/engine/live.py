"""Pipes that are followed: events are read as they come, each when the next one begins or nothing came for a while.

What comes out of a pipe is kept in a file until it has been read, so that the same readers as for growing files find
out how far its events are complete; what was read of the file is dropped from time to time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from spaseq.engine.opening import StreamFiles
from spaseq.io.growing import START, UNKNOWN, Cut, FileSpan, complete_part, cut_at_end, is_packed
from spaseq.io.options import ReadOptions
from spaseq.io.pipes import Pipe, spool_name
from spaseq.io.sources import PipeSource, Source
from spaseq.model.forms import Stream
from spaseq.settings import settings

INTERVAL: Final = 0.05
"""Seconds between two looks at pipes in which there is nothing to read."""


class LivePipe:
    """One pipe: what is new in it, up to its last complete event.

    ``settle`` is the time in seconds after which the last event of an idle pipe is taken to be complete.
    """

    def __init__(
        self,
        stream: Stream,
        source: PipeSource,
        folder: Path,
        options: ReadOptions,
        settle: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream
        self._source = source
        self._folder = folder
        self._options = options
        self._settle = settle
        self._clock = clock
        self._pipe = Pipe(source)
        self._file: Source | None = None
        self._begin = START
        self._reached: Cut | None = None
        self._heard = clock()
        self._judged = True
        """True if what stands behind the last complete event was looked at since the pipe last had data."""
        self.ended = False

    def take(self) -> StreamFiles | None:
        """The part that is new and complete; `keep` says that it was read."""
        fresh = self._fill()
        file = self._file
        if file is None or self._reached is not None:
            return None
        silent = self._clock() - self._heard >= self._settle
        if self.ended:
            cut: Cut | None = Cut(UNKNOWN, UNKNOWN)
        elif silent and not self._judged:
            self._judged = True
            cut = cut_at_end(file, self._begin, self._options)
        else:
            cut = complete_part(file, self._begin, self._options) if fresh else None
        if cut is None or cut.byte == self._begin.byte:
            return None
        self._reached = cut
        end = None if cut.byte == UNKNOWN else cut.byte
        span = FileSpan(file.path, file.format, self._begin, end, shown=self._source.name)
        return StreamFiles(self._stream, (span,))

    def _fill(self) -> bool:
        """Move what can be read into the file; True if there was something."""
        if self.ended:
            return False
        blocks: list[bytes] = []
        while (
            sum(map(len, blocks)) < settings().chunk_bytes
            and (block := self._pipe.read(wait=False)) is not None
        ):
            if not block:
                self.ended = True
                break
            blocks.append(block)
        if not blocks:
            return False
        if self._file is None:
            path = self._folder / spool_name(self._source, blocks[0], self._folder)
            self._file = Source(path, self._source.format)
        with self._file.path.open("ab") as file:
            file.writelines(blocks)
        self._heard, self._judged = self._clock(), False
        return True

    def keep(self) -> None:
        """What was taken has been read."""
        if self._reached is None or self._file is None:
            return
        if self.ended:
            self._file = None
            return
        self._begin, self._reached = self._reached, None
        again = (
            is_packed(self._file.path) or self._file.format == "jelly"
        )  # these are read from their beginning
        if not again and self._begin.byte >= settings().spooled_bytes:
            with self._file.path.open("rb") as file:
                file.seek(self._begin.byte)
                rest = file.read()
            self._file.path.write_bytes(rest)
            self._begin = replace(self._begin, byte=0)

    @property
    def done(self) -> bool:
        """True if the pipe has ended and everything in it was read."""
        return self.ended and self._file is None


class LivePipes:
    """All pipes of a run that follows its input."""

    def __init__(
        self,
        given: Sequence[tuple[Stream, PipeSource]],
        options: ReadOptions,
        settle: int,
        stack: ExitStack,
    ) -> None:
        self._pipes: list[LivePipe] = []
        if given:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="spaseq-")))
            self._pipes = [
                LivePipe(stream, source, folder, options, settle / 1_000_000) for stream, source in given
            ]

    def __bool__(self) -> bool:
        return bool(self._pipes)

    @property
    def done(self) -> bool:
        """True if all pipes have ended and were read."""
        return all(pipe.done for pipe in self._pipes)

    def take(self) -> list[StreamFiles]:
        """What is new in all pipes."""
        return [found for pipe in self._pipes if (found := pipe.take()) is not None]

    def keep(self) -> None:
        """What was taken has been read."""
        for pipe in self._pipes:
            pipe.keep()
