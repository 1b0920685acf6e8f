"""Following directories: files are taken when they are complete, each once (CONTRACT section 2, ``--follow``).

A file is complete when its size and time of change stand still between two looks, or when they are old. So
is one that was written elsewhere and moved in. Files that are found in one look are one finite input: they
are merged by exact time before they go on. Between two looks order is what the lateness allows.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from spaseq.algebra.events import Stream
from spaseq.engine.inputs import StreamInput, as_paths
from spaseq.engine.opening import InputOptions, StreamFiles
from spaseq.errors import InvalidArgument
from spaseq.io.readers import check_source
from spaseq.io.sources import PathLike, Source, find_sources

INTERVAL: Final = 0.5
"""Seconds between two looks."""
_OLD: Final = 2.0
"""Seconds without change after which a file is complete at first sight."""


class Watch:
    """Looks for new files of some streams."""

    def __init__(
        self,
        given: Sequence[tuple[Stream, Sequence[PathLike]]],
        options: InputOptions,
        taken: Sequence[str] = (),
    ) -> None:
        self._given = list(given)
        self._options = options
        self._taken = set(taken)
        self._seen: dict[str, tuple[int, int]] = {}
        for _, paths in self._given:
            for path in paths:
                if not Path(path).exists() and not any(mark in str(path) for mark in "*?["):
                    raise InvalidArgument(f"`{path}` does not exist, so it cannot be followed")

    @property
    def taken(self) -> tuple[str, ...]:
        """The files that were taken, by path."""
        return tuple(sorted(self._taken))

    def look(self) -> list[StreamFiles]:
        """The files that are new and complete, by stream; they count as taken."""
        found: list[StreamFiles] = []
        for stream, paths in self._given:
            sources = [source for path in paths for source in self._present(path)]
            new = tuple(source for source in sources if self._complete(source))
            self._taken.update(source.name for source in new)
            if new:
                found.append(StreamFiles(stream, new))
        return found

    def named(self, paths: Sequence[str]) -> list[StreamFiles]:
        """These files again, by stream: what a resumed run was reading."""
        wanted = set(paths)
        found = []
        for stream, given in self._given:
            sources = [source for path in given for source in self._present(path)]
            again = tuple(source for source in sources if source.name in wanted)
            if again:
                found.append(StreamFiles(stream, again))
        return found

    def _present(self, path: PathLike) -> list[Source]:
        try:
            return find_sources(path, self._options.file_format)
        except InvalidArgument:
            if Path(path).is_file():
                raise
            return []  # an empty directory, or a pattern that nothing matches yet

    def _complete(self, source: Source) -> bool:
        if source.name in self._taken:
            return False
        check_source(source, self._options.read)
        try:
            status = source.path.stat()
        except OSError:  # gone again
            return False
        state = (status.st_size, status.st_mtime_ns)
        before, self._seen[source.name] = self._seen.get(source.name), state
        if before == state or time.time() - status.st_mtime > _OLD:
            del self._seen[source.name]
            return True
        return False


def watch(
    streams: Sequence[Stream],
    given: dict[str, list[StreamInput]],
    options: InputOptions,
    taken: Sequence[str] = (),
) -> Watch:
    """A watch over the paths of all streams."""
    watched = []
    for stream in streams:
        for value in given[stream.iri]:
            paths = as_paths(value)
            if paths is None:
                raise InvalidArgument(f"only files can be followed; `{stream.alias}` has events")
            watched.append((stream, paths))
    return Watch(watched, options, taken)
