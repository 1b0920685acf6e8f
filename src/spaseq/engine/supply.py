"""Where the portions of a run come from: a finite input, or directories that are followed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from spaseq.engine.checkpoint import RunProgress
from spaseq.engine.clocks import StreamClocks, wall_microseconds
from spaseq.engine.follow import INTERVAL, Watch
from spaseq.engine.held_back import HeldBack
from spaseq.engine.live import INTERVAL as LIVE_INTERVAL
from spaseq.engine.live import LivePipes
from spaseq.engine.live_sources import LiveSources
from spaseq.engine.opening import Opened, Opener, StreamFiles
from spaseq.engine.replay import Merge, Portion, after
from spaseq.engine.reports import Reports
from spaseq.errors import IncompatibleCheckpoint
from spaseq.io.sources import Source
from spaseq.model.batch import EventBatch
from spaseq.temporal.instants import BEFORE_ALL, FOREVER


class Supply(Protocol):
    """Gives portions, holds events, and can say how far it has come when a portion was handled."""

    @property
    def unfinished(self) -> tuple[str, ...]:
        """Files whose last event is not complete."""

    @property
    def sources(self) -> Sequence[Source]:
        """The files that there are."""

    def portions(self) -> Iterator[Portion]:
        """The portions that are left."""

    def noted(self, progress: RunProgress) -> RunProgress:
        """How far a run has come, with how far the input has."""

    @property
    def nbytes(self) -> int:
        """The size of the events that are held."""

    def held(self) -> list[EventBatch]:
        """Every event that is held."""

    def remap(self, mapping: npt.NDArray[np.int32]) -> None:
        """Follow a compaction of the dictionary."""


class FiniteSupply:
    """A finite input, merged by time; ``clock`` is the wall clock at its beginning, in microseconds."""

    unfinished: tuple[str, ...] = ()

    def __init__(
        self,
        opener: Opener,
        inputs: Sequence[Opened],
        *,
        whole_instants: bool,
        most: int,
        poll: Callable[[], None],
        clock: int,
        count: Callable[[EventBatch], None],
        reached: int | None = None,
    ) -> None:
        self._count = count
        self.sources = [source for item in inputs if isinstance(item, StreamFiles) for source in item.sources]
        self.reached = reached
        """The last instant that was handed out, None if none was."""
        self.clock = opener.clock = clock
        past = BEFORE_ALL if reached is None else reached
        feeds = opener.feeds(inputs, after=past)
        self._merge = Merge(feeds, whole_instants=whole_instants, most=most, poll=poll)
        self._portions = after(self._merge.portions(), past)

    def portions(self) -> Iterator[Portion]:
        """The portions that are left."""
        for portion in self._portions:
            self.reached = int(portion.batch.times[-1])
            self._count(portion.batch)
            yield portion

    def noted(self, progress: RunProgress) -> RunProgress:
        """How far a run has come, with how far the input has."""
        return replace(progress, reached=self.reached, clock=self.clock)

    @property
    def nbytes(self) -> int:
        """The size of the events that are held."""
        return self._merge.nbytes

    def held(self) -> list[EventBatch]:
        """Every event that is held."""
        return self._merge.held()

    def remap(self, mapping: npt.NDArray[np.int32]) -> None:
        """Follow a compaction of the dictionary."""
        self._merge.remap(mapping)


class FollowSupply:
    """Directories, pipes and other sources that are followed: what one look finds is one finite input; then comes the lateness.

    ``rest`` is called with a number of seconds when there is nothing to do.
    """

    def __init__(
        self,
        opener: Opener,
        watch: Watch,
        pipes: LivePipes,
        live: LiveSources,
        held_back: HeldBack,
        clocks: StreamClocks,
        reports: Reports,
        *,
        streams: tuple[str, ...],
        count: Callable[[EventBatch], None],
        most: int,
        poll: Callable[[], None],
        rest: Callable[[float], None],
        progress: RunProgress,
    ) -> None:
        self._opener = opener
        self._watch = watch
        self._pipes = pipes
        self._live = live
        self._held_back = held_back
        self._clocks = clocks
        self._reports = reports
        self._streams = streams
        self._count = count
        self._most = most
        self._poll = poll
        self._rest = rest
        self._finite: FiniteSupply | None = None
        self._reached, self._current, self._clock = progress.reached, progress.current, progress.clock

    def portions(self) -> Iterator[Portion]:
        """Portions for as long as the run lasts, or until all pipes and sources have ended and there is nothing else."""
        if self._current:
            yield from self._handled(self._resumed())
        while True:
            self._poll()
            look = self._watch.look()
            for mark in look.lost:
                self._reports.lost(mark.loss)
            for path in look.unfinished:
                self._reports.notices.tell(f"`{path}` ends in the middle of an event; the rest is waited for")
            files = [*look.files, *self._pipes.take()]
            heard = False
            for batch in self._live.take():
                heard, batch = True, self._opener.believed(batch)
                self._count(batch)
                yield from self._taken(batch)
            if files:
                self._reached, self._current, self._clock = None, look.marks, wall_microseconds()
                yield from self._handled(files)
            elif heard:
                continue
            elif (
                (self._pipes or self._live) and self._pipes.done and self._live.done and not self._watch.given
            ):
                yield from self._held_back.rest(FOREVER)
                return
            else:
                yield from self._held_back.passed(self._clocks)
                self._reports.notices.poll()
                self._rest(LIVE_INTERVAL if self._pipes or self._live else INTERVAL)

    def _handled(self, files: Sequence[StreamFiles]) -> Iterator[Portion]:
        assert self._clock is not None
        self._finite = FiniteSupply(
            self._opener, files, whole_instants=True, most=self._most, poll=self._poll, clock=self._clock,
            count=self._count, reached=self._reached,
        )  # fmt: skip
        for portion in self._finite.portions():
            self._reached = self._finite.reached
            yield from self._taken(portion.batch)
        self._watch.keep(self._current)
        self._pipes.keep()
        self._reports.settle()
        self._reached, self._current, self._finite = None, (), None

    def _taken(self, batch: EventBatch) -> Iterator[Portion]:
        """What may go on now that these events have come."""
        for late, watermark in self._held_back.hold(batch):
            self._reports.late_in_time(batch, late, watermark, self._streams)
        self._clocks.see(batch)
        yield from self._held_back.ready(self._clocks)

    def _resumed(self) -> list[StreamFiles]:
        """The files that were being read when the checkpoint was written."""
        files, gone = self._watch.again(self._current)
        if gone:
            raise IncompatibleCheckpoint(
                f"`{gone[0]}` was being read and is gone or changed; bring it back, or remove the checkpoint to "
                "start again"
            )
        return files

    @property
    def unfinished(self) -> tuple[str, ...]:
        """Files whose last event is not complete."""
        return self._watch.unfinished

    @property
    def sources(self) -> list[Source]:
        """The files that there are."""
        return self._watch.sources()

    def noted(self, progress: RunProgress) -> RunProgress:
        """How far a run has come, with how far the input has."""
        return replace(
            progress,
            reached=self._reached,
            clock=self._clock,
            taken=tuple(self._watch.marks.values()),
            current=self._current,
            latest=self._clocks.latest,
            positions=dict(self._live.positions),
        )

    @property
    def nbytes(self) -> int:
        """The size of the events that are held."""
        return self._held_back.nbytes + (self._finite.nbytes if self._finite is not None else 0)

    def held(self) -> list[EventBatch]:
        """Every event that is held."""
        return [*self._held_back.held(), *(self._finite.held() if self._finite is not None else [])]

    def remap(self, mapping: npt.NDArray[np.int32]) -> None:
        """Follow a compaction of the dictionary."""
        self._held_back.remap(mapping)
        if self._finite is not None:
            self._finite.remap(mapping)
