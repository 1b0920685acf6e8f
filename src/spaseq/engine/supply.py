"""Where the portions of a run come from: a finite input, or directories that are followed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from spaseq.engine.checkpoint import FileState, IncompatibleCheckpoint, Progress
from spaseq.engine.follow import INTERVAL, Watch
from spaseq.engine.opening import Opened, Opener, StreamFiles
from spaseq.engine.reorder import BEFORE_ALL, ReorderBuffer
from spaseq.engine.replay import Merge, Portion, after
from spaseq.engine.reports import Reports
from spaseq.model.batch import EventBatch


class Supply(Protocol):
    """Gives portions, holds events, and can say how far it has come when a portion was handled."""

    reached: int | None
    """The last instant that was handed out, None if none was."""
    taken: tuple[str, ...]
    current: tuple[FileState, ...]

    def portions(self) -> Iterator[Portion]:
        """The portions that are left."""

    def held(self) -> list[EventBatch]:
        """Every event that is held."""

    def remap(self, mapping: npt.NDArray[np.int32]) -> None:
        """Follow a compaction of the dictionary."""


class FiniteSupply:
    """A finite input, merged by time."""

    taken: tuple[str, ...] = ()
    current: tuple[FileState, ...] = ()

    def __init__(
        self,
        opener: Opener,
        inputs: Sequence[Opened],
        *,
        whole_instants: bool,
        most: int,
        poll: Callable[[], None],
        reached: int | None = None,
    ) -> None:
        self.reached = reached
        past = BEFORE_ALL if reached is None else reached
        feeds = opener.feeds(inputs, after=past)
        self._merge = Merge(feeds, whole_instants=whole_instants, most=most, poll=poll)
        self._portions = after(self._merge.portions(), past)

    def portions(self) -> Iterator[Portion]:
        """The portions that are left."""
        for portion in self._portions:
            self.reached = int(portion.batch.times[-1])
            yield portion

    def held(self) -> list[EventBatch]:
        """Every event that is held."""
        return self._merge.held()

    def remap(self, mapping: npt.NDArray[np.int32]) -> None:
        """Follow a compaction of the dictionary."""
        self._merge.remap(mapping)


class FollowSupply:
    """Directories that are followed: what is found in one look is one finite input; then comes the lateness.

    ``rest`` is called with a number of seconds when there is nothing to do.
    """

    def __init__(
        self,
        opener: Opener,
        watch: Watch,
        buffer: ReorderBuffer,
        reports: Reports,
        *,
        most: int,
        poll: Callable[[], None],
        rest: Callable[[float], None],
        progress: Progress,
    ) -> None:
        self._opener = opener
        self._watch = watch
        self._buffer = buffer
        self._reports = reports
        self._most = most
        self._poll = poll
        self._rest = rest
        self._finite: FiniteSupply | None = None
        self.reached = progress.reached
        self.current = progress.current
        self.taken = progress.taken

    def portions(self) -> Iterator[Portion]:
        """Portions for as long as the run lasts."""
        if self.current:
            yield from self._handled(self._resumed(), self.reached)
        while True:
            self._poll()
            new = self._watch.look()
            if new:
                self.current = tuple(FileState.of(source) for item in new for source in item.sources)
                yield from self._handled(new, None)
            else:
                self._rest(INTERVAL)

    def _handled(self, files: Sequence[StreamFiles], reached: int | None) -> Iterator[Portion]:
        self.reached = reached
        self._finite = FiniteSupply(
            self._opener, files, whole_instants=True, most=self._most, poll=self._poll, reached=reached
        )
        for portion in self._finite.portions():
            self.reached = self._finite.reached
            ready, late = self._buffer.push(portion.batch)
            if len(late):
                self._reports.late_in_time(portion.batch, late, self._buffer.watermark)
            yield Portion(ready, self._buffer.watermark)
        self.taken, self.current, self.reached = self._watch.taken, (), None
        self._finite = None

    def _resumed(self) -> list[StreamFiles]:
        """The files that were being read when the checkpoint was written."""
        files = self._watch.named([state.path for state in self.current])
        present = {FileState.of(source) for item in files for source in item.sources}
        for state in self.current:
            if state not in present:
                raise IncompatibleCheckpoint(
                    f"`{state.path}` was being read and is gone or changed; bring it back, or remove the "
                    "checkpoint to start again"
                )
        return files

    def held(self) -> list[EventBatch]:
        """Every event that is held."""
        return [self._buffer.held, *(self._finite.held() if self._finite is not None else [])]

    def remap(self, mapping: npt.NDArray[np.int32]) -> None:
        """Follow a compaction of the dictionary."""
        self._buffer.remap(mapping)
        if self._finite is not None:
            self._finite.remap(mapping)
