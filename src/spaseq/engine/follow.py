"""Following directories: new files are read, and files that grow are read on (docs/reference/cli.md, ``--follow``).

Everything up to the last complete event of a file is taken as soon as it is seen. The last event may still go
on, so it waits until the file has stood still for a time (``settle``); a file that was renamed into place is
complete at once. What is not complete even then, half a line or a graph without its timestamp, waits for the
rest. A file that was read may only grow: one that is found shorter, replaced or rewritten is reported once, and
nothing more of it is read.

What is found in one look is one finite input: it is merged by exact time before it goes on. Between two looks
order is what the lateness allows.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from spaseq.engine.bookmarks import Bookmark, tail_of
from spaseq.engine.inputs import StreamInput, as_paths
from spaseq.engine.opening import InputOptions, StreamFiles
from spaseq.errors import InvalidArgument
from spaseq.io.growing import START, UNKNOWN, Cut, FileSpan, complete_part, cut_at_end, is_packed, recounted
from spaseq.io.readers import check_source
from spaseq.io.sources import PathLike, Source, find_sources, is_pipe
from spaseq.model.forms import Stream
from spaseq.stores import Place, StoreStatus, place_of

INTERVAL: Final = 0.5
"""Seconds between two looks."""


@dataclass(frozen=True, slots=True)
class Look:
    """What was found in one look: parts of files by stream, and the bookmarks of these files once they are read."""

    files: tuple[StreamFiles, ...] = ()
    marks: tuple[Bookmark, ...] = ()
    lost: tuple[Bookmark, ...] = ()
    """Files that were read and are not what they were."""
    unfinished: tuple[str, ...] = ()
    """Files that have come to stand still in the middle of an event."""
    forgotten: frozenset[tuple[str, str]] = frozenset()
    """Files that were read and are gone, or so old that they are passed over, or others under the same name."""


@dataclass(slots=True)
class _Seen:
    """A file as it was at the last look, since when it has been so, and what there is still to do with it."""

    size: int
    changed: int
    since: float
    waits: bool = True
    """True if something of it was not read."""
    judged: bool = False
    """True if it stood still and was found to end in the middle of an event."""


@dataclass(slots=True)
class _Found:
    """What one look collects."""

    files: list[StreamFiles] = field(default_factory=list)
    marks: list[Bookmark] = field(default_factory=list)
    lost: list[Bookmark] = field(default_factory=list)
    unfinished: list[str] = field(default_factory=list)
    forgotten: set[tuple[str, str]] = field(default_factory=set)


class Watch:
    """Looks for news in the files of some streams.

    ``settle`` is the time in microseconds after which a file that stands still is taken to be complete; None: every
    file is complete as it is found. Files that are more than ``max_age`` microseconds older than the latest are passed over. With
    ``forget`` the bookmarks of those, and of files that are gone, are dropped. With ``renew``, where files are removed once they
    were read to their end, another file under the name of such a one is new, and no damage.
    """

    def __init__(
        self,
        given: Sequence[tuple[Stream, Sequence[PathLike]]],
        options: InputOptions,
        settle: int | None,
        marks: Iterable[Bookmark] = (),
        max_age: int | None = None,
        clock: Callable[[], float] = time.time,
        *,
        forget: bool = False,
        renew: bool = False,
    ) -> None:
        self.given = [(stream, [path for path in paths if not is_pipe(path)]) for stream, paths in given]
        self.given = [(stream, paths) for stream, paths in self.given if paths]
        """Files, directories and globs by stream; pipes are followed in another way (`spaseq.engine.live`)."""
        self._options = options
        self._settle = None if settle is None else settle / 1_000_000
        self._max_age, self._forget, self._renew = max_age, forget, renew
        self._clock = clock
        self._seen: dict[tuple[str, str], _Seen] = {}
        self.marks = {mark.key: mark for mark in marks}
        """How far every file of a stream was read."""
        for _, paths in self.given:
            for path in paths:
                if not place_of(path).exists() and not any(mark in str(path) for mark in "*?["):
                    raise InvalidArgument(f"`{path}` does not exist, so it cannot be followed")

    def look(self) -> Look:
        """What is new; the bookmarks stay where they are until `keep`."""
        found = _Found()
        for stream, paths in self.given:
            sources = self._young(dict.fromkeys(source for path in paths for source in self._present(path)))
            if self._forget:
                names = {source.name for source in sources}
                gone = {key for key in self.marks if key[0] == stream.iri and key[1] not in names}
                self.forget(gone)
                found.forgotten |= gone
            spans = [
                span for source in sources if (span := self._news(stream.iri, source, found)) is not None
            ]
            if spans:
                found.files.append(StreamFiles(stream, tuple(spans)))
        return Look(
            tuple(found.files),
            tuple(found.marks),
            tuple(found.lost),
            tuple(found.unfinished),
            frozenset(found.forgotten),
        )

    def forget(self, keys: Iterable[tuple[str, str]]) -> None:
        """Know nothing of files that were read: what comes under their names is new."""
        for key in keys:
            self.marks.pop(key, None)
            self._seen.pop(key, None)

    def _young(self, sources: Iterable[Source]) -> list[Source]:
        """The files that are not too old."""
        if self._max_age is None:
            return list(sources)
        known = []
        for source in sources:
            with suppress(FileNotFoundError):  # gone again
                known.append((source, source.path.stat().st_mtime_ns))
        latest = max((changed for _, changed in known), default=0)
        return [source for source, changed in known if changed >= latest - self._max_age * 1000]

    def sources(self) -> list[Source]:
        """The files that there are."""
        return [source for _, paths in self.given for path in paths for source in self._present(path)]

    def keep(self, marks: Iterable[Bookmark]) -> None:
        """Note that files were read up to these bookmarks."""
        self.marks.update((mark.key, mark) for mark in marks)

    def again(self, marks: Sequence[Bookmark]) -> tuple[list[StreamFiles], list[str]]:
        """The parts before these bookmarks once more, and the files that are gone or not what they were."""
        wanted = {mark.key: mark for mark in marks}
        files: list[StreamFiles] = []
        for stream, paths in self.given:
            sources = dict.fromkeys(source for path in paths for source in self._present(path))
            here = [(source, wanted.pop((stream.iri, source.name), None)) for source in sources]
            spans = []
            for source, mark in here:
                if mark is not None and mark.changed(source.path) is None:
                    spans.append(self._span(source, mark))
                elif mark is not None:
                    wanted[mark.key] = mark
            if spans:
                files.append(StreamFiles(stream, tuple(spans)))
        return files, [path for _, path in wanted]

    @property
    def unfinished(self) -> tuple[str, ...]:
        """The files of which something was seen and not read, because it may go on."""
        names = [path for (_, path), seen in self._seen.items() if seen.waits and seen.size]
        return tuple(path for path in dict.fromkeys(names) if place_of(path).exists())

    # --- one file -------------------------------------------------------------------------------

    def _present(self, path: PathLike) -> list[Source]:
        try:
            return find_sources(path, self._options.file_format)
        except InvalidArgument:
            if place_of(path).is_file():
                raise
            return []  # an empty directory, or a pattern that nothing matches yet

    def _news(self, stream: str, source: Source, found: _Found) -> FileSpan | None:
        """The part of a file that is new and complete."""
        key = stream, source.name
        mark = self.marks.get(key)
        if mark is not None and mark.lost:
            return None
        check_source(source, self._options.read)
        try:
            status = source.path.stat()
            cut = self._reached(key, source, status, found)
            if cut is None:
                return None
            size = status.st_size
            after = Bookmark(*key, cut, size, tail_of(source.path, size), not self._seen[key].waits)
        except FileNotFoundError:  # gone again
            return None
        span = self._span(source, after)
        if span.end == span.begin.byte:
            if key in self.marks:
                self.keep([after])
            return None
        found.marks.append(after)
        return span

    def _span(self, source: Source, after: Bookmark) -> FileSpan:
        mark = self.marks.get(after.key)
        begin = mark.cut if mark is not None else START
        return FileSpan(
            source.path, source.format, begin, None if after.cut.byte == UNKNOWN else after.cut.byte
        )

    def _reached(
        self, key: tuple[str, str], source: Source, status: os.stat_result | StoreStatus, found: _Found
    ) -> Cut | None:
        """How far a file can be read now; None if that has not changed."""
        seen, mark, now = self._seen.get(key), self.marks.get(key), self._clock()
        fresh = seen is None or (seen.size, seen.changed) != (status.st_size, status.st_mtime_ns)
        if seen is None or fresh:
            if mark is not None and self._renew and mark.whole and mark.changed(source.path) is not None:
                self.forget([key])
                found.forgotten.add(key)
                seen = mark = None
            first = seen is None and mark is None
            seen = self._seen[key] = _Seen(status.st_size, status.st_mtime_ns, now)
            if mark is not None and (reason := _spoiled(mark, source.path)) is not None:
                found.lost.append(replace(mark, lost=reason))
                self.keep(found.lost[-1:])
                seen.waits = False
                return None
            if mark is not None and mark.whole and mark.size == status.st_size:
                seen.waits = False
                return None
            renamed = first and status.st_ctime_ns > status.st_mtime_ns
            if renamed or self._settle is None:
                seen.waits = False
                return Cut(UNKNOWN if is_packed(source.path) else status.st_size, UNKNOWN)
        elif not seen.waits or seen.judged:
            return None
        begin = START
        if mark is not None:
            begin = recounted(source, mark.cut, self._options.read)
            self.marks[key] = replace(mark, cut=begin)
        if now - min(status.st_mtime, seen.since) >= (self._settle or 0):
            end = cut_at_end(source, begin, self._options.read)
            if end is not None:
                seen.waits = False
                return end
            seen.judged = True
            found.unfinished.append(source.name)
        return complete_part(source, begin, self._options.read) if fresh else None


def _spoiled(mark: Bookmark, path: Place) -> str | None:
    """Why a file cannot be read on; None if it can."""
    size = path.stat().st_size
    if mark.cut.byte == UNKNOWN and size > mark.size:
        return (
            f"the compressed file had {mark.size:,} bytes, which were read as all of it, and has grown since: what is "
            "new is not read; write it to a new file"
        )
    return mark.changed(path)


def watch(
    streams: Sequence[Stream],
    given: dict[str, list[StreamInput]],
    options: InputOptions,
    settle: int,
    marks: Iterable[Bookmark] = (),
) -> Watch:
    """A watch over the paths of all streams."""
    watched = []
    for stream in streams:
        for value in given[stream.iri]:
            paths = as_paths(value)
            if paths is None:
                raise InvalidArgument(f"only files can be followed; `{stream.alias}` has events")
            watched.append((stream, paths))
    return Watch(watched, options, settle, marks)
