"""Inputs of a run as feeds: small files are read whole, large ones surveyed, iterators waited for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt

from spaseq.engine.clocks import wall_microseconds
from spaseq.engine.feeds import Batches, Feed, LateFeed, SurveyedFile, WholeFeed, pushed_batches
from spaseq.engine.inputs import StreamInput, as_paths
from spaseq.engine.query_group import QueryGroup
from spaseq.engine.reports import Reports
from spaseq.io.bad_input import Unit
from spaseq.io.growing import FileSpan, is_packed, read_source
from spaseq.io.layouts import NOT_GROUPED, with_cure
from spaseq.io.options import ReadOptions
from spaseq.io.readers import check_source
from spaseq.io.sources import Source, find_sources
from spaseq.io.survey import Survey, survey
from spaseq.io.unreadable import unreadable_input
from spaseq.model.batch import EventBatch
from spaseq.model.budget import Budget
from spaseq.model.events import Events, as_events
from spaseq.model.forms import Stream
from spaseq.settings import settings
from spaseq.temporal.instants import BEFORE_ALL

_PACKED: Final = 10
"""Text shrinks about so much when it is compressed."""
_ROOM: Final = 16
"""How many times the memory budget must hold an input that is sorted in memory."""


@dataclass(frozen=True, slots=True)
class InputOptions:
    """How input is read.

    ``lateness``, in microseconds, is how long out-of-order events of iterators and of followed directories are
    waited for. Files and lists of a finite input are sorted as a whole, whatever it is. An event that is more than
    ``max_lead`` microseconds ahead of the wall clock is bad input; None: any time is accepted.
    """

    read: ReadOptions = field(default_factory=ReadOptions)
    file_format: str | None = None
    lateness: int | None = None
    max_lead: int | None = None


@dataclass(frozen=True, slots=True)
class StreamFiles:
    """The files of one stream."""

    stream: Stream
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class StreamEvents:
    """Events of one stream that a program hands over."""

    stream: Stream
    events: Events

    @property
    def is_sorted(self) -> bool:
        """True if all events are there, so that they can be sorted; an iterator may have no end."""
        return isinstance(self.events, Sequence)


Opened = StreamFiles | StreamEvents


def find_inputs(
    streams: Sequence[Stream], given: dict[str, list[StreamInput]], options: InputOptions
) -> list[Opened]:
    """The files and events of every stream; a file that is not there is an error now."""
    found: list[Opened] = []
    for stream in streams:
        for value in given[stream.iri]:
            paths = as_paths(value)
            if paths is None:
                found.append(
                    StreamEvents(
                        stream,
                        as_events(
                            value, f"the stream `{stream.alias}` takes a path, a list of paths or events"
                        ),
                    )
                )
                continue
            sources = find_sources(paths, options.file_format)
            for source in sources:
                check_source(source, options.read)
            found.append(StreamFiles(stream, tuple(sources)))
    return found


def sizes(inputs: Sequence[Opened]) -> int:
    """About how many bytes of text there are to read."""
    total = 0
    for item in inputs:
        if isinstance(item, StreamFiles):
            for source in item.sources:
                size = source.size if isinstance(source, FileSpan) else source.path.stat().st_size
                total += size * (_PACKED if is_packed(source.path) else 1)
    return total


def sorted_in_memory(inputs: Sequence[Opened], budget: Budget) -> bool:
    """Whether all events are held and sorted, so that files are read once; events take at most a few times the size of their text."""
    return sizes(inputs) <= min(settings().sorted_bytes, budget.most // _ROOM)


class Opener:
    """Makes feeds over the dictionary of a session."""

    def __init__(
        self,
        session: QueryGroup,
        reports: Reports,
        options: InputOptions,
        *,
        poll: Callable[[], None] = lambda: None,
        cure: str = "",
    ) -> None:
        self._session = session
        self._reports = reports
        self._options = options
        insisted = options.read.layout == "stream"
        self._on_bad = with_cure(reports, cure or (NOT_GROUPED if insisted else ""))
        self._poll = poll
        self.clock: int | None = None
        """The wall clock in microseconds against which events are judged that lead; None: it is read each time."""
        self.expected: int | None = None
        """How many events there are, if that is known."""
        self._readable: Counter[str] = Counter()
        """How many events were read, by the IRI of their stream."""

    def feeds(self, inputs: Sequence[Opened], *, after: int = BEFORE_ALL) -> list[Feed]:
        """One feed per file and iterator; files that have no event after the time ``after`` are left out."""
        files = self._files([item for item in inputs if isinstance(item, StreamFiles)], after)
        return files + [self._events(item) for item in inputs if isinstance(item, StreamEvents)]

    def check_readable(self, inputs: Sequence[Opened]) -> None:
        """Fail if everything in the files of a stream is bad input, once they have been read."""
        sources: dict[Stream, list[Source]] = {}
        for item in inputs:
            if isinstance(item, StreamFiles):
                sources.setdefault(item.stream, []).extend(item.sources)
        told = self._reports.told
        for stream, files in sources.items():
            wrong = [source for source in files if told.get(source.name)]
            if wrong and not self._readable[stream.iri]:
                bad = sum(told[source.name] for source in wrong)
                raise unreadable_input(stream.alias, wrong, self._options.read, bad)

    # --- files ----------------------------------------------------------------------------------

    def _files(self, inputs: Sequence[StreamFiles], after: int) -> list[Feed]:
        pairs = [(item.stream, source) for item in inputs for source in item.sources]
        if sorted_in_memory(inputs, self._session.budget):
            return [WholeFeed(self._batches(stream, source, self._read)) for stream, source in pairs]
        surveys = [survey(source, self._read, poll=self._poll) for _, source in pairs]
        if all(found.layout == "stream" for found in surveys):
            self.expected = sum(found.count for found in surveys)
        share = settings().open_bytes // _most_open(surveys)
        piece = max(settings().least_piece_bytes, min(self._read.chunk_bytes, share))
        read = replace(self._read, chunk_bytes=piece)
        for (stream, _), found in zip(pairs, surveys, strict=True):
            self._readable[stream.iri] += found.count
        return [
            self._surveyed(stream, replace(source, layout=found.layout), read, found)
            for (stream, source), found in zip(pairs, surveys, strict=True)
            if found.last > after
        ]

    def _surveyed(self, stream: Stream, source: Source, options: ReadOptions, found: Survey) -> Feed:
        batches = self._batches(stream, source, options)
        return WholeFeed(batches) if found.layout == "dataset" else SurveyedFile(source.name, batches, found)

    @property
    def _read(self) -> ReadOptions:
        session = self._session
        return replace(self._options.read, needed_predicates=session.needed, keep_names=session.keeps_names)

    def _batches(self, stream: Stream, source: Source, options: ReadOptions) -> Batches:
        self._reports.measure(source.name, _unit(source))
        session = self._session
        index = session.streams.index(stream.iri)
        batches = partial(read_source, source, stream.iri, index, session.dictionary, options, self._on_bad)
        return self._believed(partial(self._counted, stream.iri, batches))

    def _counted(self, stream: str, batches: Batches) -> Iterator[EventBatch]:
        for batch in batches():
            self._readable[stream] += len(batch)
            yield batch

    def _believed(self, batches: Batches) -> Batches:
        """The events that are not too far ahead of the clock; the others are reported."""
        lead = self._options.max_lead
        return batches if lead is None else partial(self._within, batches, lead)

    def _within(self, batches: Batches, lead: int) -> Iterator[EventBatch]:
        for batch in batches():
            clock = self.clock if self.clock is not None else wall_microseconds()
            yield _not_ahead(batch, clock, lead, self._reports.ahead)

    # --- events ---------------------------------------------------------------------------------

    def believed(self, batch: EventBatch) -> EventBatch:
        """The events of a source that is followed which are not too far ahead of the clock; the others are reported."""
        lead = self._options.max_lead
        if lead is None:
            return batch
        return _not_ahead(batch, wall_microseconds(), lead, self._reports.ahead_in_time)

    def _events(self, item: StreamEvents) -> Feed:
        batches = self._believed(
            partial(pushed_batches, item.events, item.stream, self._session.streams, self._session.dictionary)
        )
        if item.is_sorted:
            return WholeFeed(batches)
        self._reports.measure(f"events of {item.stream.alias}", "event")
        return LateFeed(batches, self._options.lateness or 0, self._reports.late_in_file)


def _not_ahead(
    batch: EventBatch,
    clock: int,
    lead: int,
    report: Callable[[EventBatch, npt.NDArray[np.intp], int, int], None],
) -> EventBatch:
    """The events that are at most ``lead`` ahead of the clock."""
    ahead = batch.times > clock + lead
    if not ahead.any():
        return batch
    report(batch, np.flatnonzero(ahead), clock, lead)
    return batch.take(np.flatnonzero(~ahead))


def _unit(source: Source) -> Unit:
    return "frame" if source.format == "jelly" else "line"


def _most_open(surveys: Sequence[Survey]) -> int:
    """How many files are open at the busiest time."""
    begins = np.sort([found.first for found in surveys if found.count])
    ends = np.sort([found.last for found in surveys if found.count])
    if not len(begins):
        return 1
    return int((np.arange(1, len(begins) + 1) - np.searchsorted(ends, begins, "left")).max())
