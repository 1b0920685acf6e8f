"""Event files to events: batches of ids for the engine, plain objects for the reference.

Both read the same steps. Large N-Quads and N-Triples go through the byte kernel (`spaseq.io.nquads`), all
else through pyoxigraph. No more than a piece of input, or one event if it is larger, is held in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Literal

from spaseq.errors import InvalidArgument, listed
from spaseq.io.assemble import RawEvent
from spaseq.io.bad_input import BadInput, OnBad, fail
from spaseq.io.jelly import read_jelly
from spaseq.io.layouts import Clues, judged
from spaseq.io.line_reader import LineReader, assemble
from spaseq.io.lines import End, PieceResult
from spaseq.io.options import ReadOptions
from spaseq.io.pieces import in_pieces, parser_of, per_event_of
from spaseq.io.sources import GROUPED, ByteReader, Layout, PathLike, Source, find_sources
from spaseq.model.dictionary import ScopesClosed, TermDictionary
from spaseq.model.events import GraphEvent, localised
from spaseq.model.terms import BlankScopes
from spaseq.settings import settings

if TYPE_CHECKING:
    from spaseq.model.batch import EventBatch


def read_graph_events(
    paths: PathLike | Iterable[PathLike],
    *,
    stream: str,
    file_format: str | None = None,
    options: ReadOptions | None = None,
    on_bad: OnBad = fail,
    scopes: BlankScopes | None = None,
) -> Iterator[GraphEvent]:
    """The events of some files as plain objects, in the order of the files; needs neither numpy nor numba."""
    known = scopes if scopes is not None else BlankScopes()
    options = options or ReadOptions()
    for source in find_sources(paths, file_format):
        check_source(source, options)
        for step in read_steps(source, options):
            for bad in step.bad:
                on_bad(bad)
            for raw in step.events:
                event = GraphEvent(
                    stream, raw.time, frozenset(raw.triples), raw.name, source.name, raw.position, raw.start
                )
                yield localised(event, known)


def read_events(
    paths: PathLike | Iterable[PathLike],
    *,
    stream: str,
    dictionary: TermDictionary,
    streams: Sequence[str],
    file_format: str | None = None,
    options: ReadOptions | None = None,
    on_bad: OnBad = fail,
) -> Iterator[EventBatch]:
    """The events of some files as batches over a dictionary, in the order of the files.

    ``streams`` are the IRIs that the batches' stream indexes point into; ``stream`` is one of them.
    """
    if stream not in streams:
        raise InvalidArgument(f"`{stream}` is not one of the streams: {listed(streams)}")
    return read_sources(
        find_sources(paths, file_format),
        stream,
        streams.index(stream),
        dictionary,
        options or ReadOptions(),
        on_bad,
    )


def read_sources(
    sources: list[Source],
    stream: str,
    index: int,
    dictionary: TermDictionary,
    options: ReadOptions,
    on_bad: OnBad,
    clues: Clues | None = None,
) -> Iterator[EventBatch]:
    """The events of sources that the caller has found, or made: a part of a file is one as well.

    ``clues`` receive what shows the layout of a source that is read as a stream.
    """
    batches = _Batches(stream, index, dictionary, options, on_bad, clues)
    for source in sources:
        check_source(source, options)
        yield from batches.of(source)


class _Batches:
    """Reads sources one after the other into batches over one dictionary."""

    def __init__(
        self,
        stream: str,
        index: int,
        dictionary: TermDictionary,
        options: ReadOptions,
        on_bad: OnBad,
        clues: Clues | None,
    ) -> None:
        self._stream, self._index, self._dictionary = stream, index, dictionary
        self._options, self._on_bad, self._clues = options, on_bad, clues
        self._seen = 0

    def of(self, source: Source) -> Iterator[EventBatch]:
        """The events of one source, in whichever layout it is."""
        options = self._options
        layout = layout_of(source, options)
        sampled = options.judged_bytes is not None
        if layout == "auto" and source.format == "nquads" and (sampled or self._compiled(source)):
            if not sampled:
                layout, bad, batch = self._read_once(source)
                if layout == "stream":
                    for each in bad:
                        self._on_bad(each)
                    if len(batch):
                        yield batch
                    return
            if layout == "auto":
                layout = found_layout(source, options)
        if layout == "dataset":
            yield from self._grouped(source)
            return
        with source.open() as reader:
            if source.format in ("nquads", "ntriples") and layout == "stream":
                yield from self._lines(source, reader, self._on_bad)
                return
            steps = _steps(source, reader, options)
            if layout == "auto":
                held, clues = _held(steps, whole=not sampled)
                if judged(source, options, clues) == "dataset":
                    yield from self._grouped(source)
                    return
                self._seen += reader.offset
                steps = chain(held, steps)
            yield from self._encoded(steps, source.name, self._on_bad)

    def _compiled(self, source: Source) -> bool:
        """Whether kernels read a source of N-Quads: so much has been read before, or it is so large; not intervals."""
        if self._options.ends is not None:
            return False
        if self._dictionary.promoted:
            return True
        with source.open() as reader:
            left = self._options.interpreted_bytes - self._seen
            size = reader.left
            return left <= 0 or (len(reader.read(left)) if size is None else size) >= left

    def _read_once(self, source: Source) -> tuple[Layout, list[BadInput], EventBatch]:
        """Read a small file as a stream and see from that whether it is one; `auto` if that is not certain.

        Its events are one batch: nobody else knows of ids that wait here while the dictionary is compacted. Blank
        nodes belong to their events, and events depend on the layout: with any of them the layout comes first.
        """
        from spaseq.model.batch import EMPTY, concat

        layout: Layout = "auto"
        bad: list[BadInput] = []
        batches: list[EventBatch] = []
        clues, most = Clues(), settings().sorted_bytes

        def note(each: BadInput) -> None:
            bad.append(each)
            clues(each)

        with source.open() as reader, suppress(ScopesClosed), self._dictionary.closed_scopes():
            if (reader.left or 0) <= most:
                for batch in self._lines(source, reader, note, clues):
                    batches.append(batch)
                    if reader.offset > most:
                        break
                else:
                    layout = judged(source, self._options, clues)
        return layout, bad, concat(batches) if layout == "stream" else EMPTY

    def _grouped(self, source: Source) -> Iterator[EventBatch]:
        from spaseq.io.regroup import regroup

        grouped = regroup(source, self._options)
        for bad in grouped.bad:
            self._on_bad(bad)
        with grouped.open() as reader:
            for batch in self._lines(source, reader, grouped.placed(self._on_bad)):
                assert batch.positions is not None
                yield replace(batch, positions=grouped.positions[batch.positions - 1])

    def _lines(
        self, source: Source, reader: ByteReader, on_bad: OnBad, clues: Clues | None = None
    ) -> Iterator[EventBatch]:
        """Lines of N-Quads or N-Triples in the layout of streams."""
        options, per_event = self._options, per_event_of(source, self._options)
        if options.ends is not None:
            steps = in_pieces(LineReader(options, source.name, per_event), reader, options.chunk_bytes)
            yield from self._encoded(steps, source.name, on_bad)
            return
        promoted = self._dictionary.promoted
        head = b"" if promoted else reader.read(max(options.interpreted_bytes - self._seen, 0))
        self._seen += len(head)
        if promoted or self._seen >= options.interpreted_bytes:
            from spaseq.io.nquads import read_nquads

            yield from read_nquads(
                head, reader, source.name, self._stream, self._index, self._dictionary, options, on_bad,
                per_event, self._clues if clues is None else clues,
            )  # fmt: skip
            return
        step = assemble(head, 1, End(reader.damage), options, source.name, per_event)
        yield from self._encoded([step], source.name, on_bad)

    def _encoded(self, steps: Iterable[PieceResult], source: str, on_bad: OnBad) -> Iterator[EventBatch]:
        """Steps as batches of at most ``batch_events`` events."""
        from spaseq.io.encode import encode_events

        known = (source, self._stream, self._index, self._dictionary, self._options)
        most, waiting = self._options.batch_events, list[RawEvent]()
        for step in steps:
            for bad in step.bad:
                on_bad(bad)
            if self._clues is not None:
                self._clues.see(step.events)
            waiting.extend(step.events)
            while len(waiting) >= most:
                full, waiting = waiting[:most], waiting[most:]
                yield encode_events(full, *known)
        if waiting:
            yield encode_events(waiting, *known)


# --- layouts --------------------------------------------------------------------------------------


def layout_of(source: Source, options: ReadOptions) -> Layout:
    """The layout of a source as far as it is known; without graphs there is only one."""
    return source.layout or options.layout if source.format in GROUPED else "stream"


def found_layout(source: Source, options: ReadOptions) -> Literal["stream", "dataset"]:
    """The layout that an N-Quads file has."""
    return judged(source, options, _noticed(source, options))


def _noticed(source: Source, options: ReadOptions) -> Clues:
    """What of an N-Quads file, or of its beginning, does not fit a stream."""
    clues = Clues()
    if options.judged_bytes is not None:
        with source.open() as reader:
            return _held(_steps(source, reader, options), whole=False)[1]
    bare = replace(options, needed_predicates=frozenset(), keep_names=False)
    known = replace(source, layout="stream")
    for _ in read_sources([known], "", 0, TermDictionary(), bare, clues, clues):
        pass
    return clues


def _held(steps: Iterator[PieceResult], *, whole: bool) -> tuple[list[PieceResult], Clues]:
    """All steps, or the first in which something is settled; and what in them does not fit a stream."""
    held, clues = list[PieceResult](), Clues()
    for step in steps:
        held.append(step)
        clues.take(step)
        if step.consumed and not whole:
            break
    return held, clues


def check_source(source: Source, options: ReadOptions) -> None:
    """Refuse a file that cannot be read with these options."""
    if source.format == "ntriples" and options.triples_per_event is None:
        raise InvalidArgument(
            f"`{source.name}` is N-Triples, which has no graphs: say `triples_per_event=` how many make an event"
        )


def read_steps(source: Source, options: ReadOptions) -> Iterator[PieceResult]:
    """The events and the bad input of one file, by pyoxigraph and pyjelly."""
    layout = layout_of(source, options)
    if layout != "dataset":
        with source.open() as reader:
            steps = _steps(source, reader, options)
            held, clues = list[PieceResult](), Clues()
            if layout == "auto":
                held, clues = _held(steps, whole=options.judged_bytes is None)
            if judged(source, options, clues) == "stream":
                yield from held
                yield from steps
                return
    from spaseq.io.regroup import regroup

    grouped = regroup(source, options)
    yield PieceResult([], grouped.bad, 0, 0)
    with grouped.open() as reader:
        for step in in_pieces(LineReader(options, source.name), reader, options.chunk_bytes):
            bad: list[BadInput] = []
            for item in step.bad:
                grouped.placed(bad.append)(item)
            events = [replace(event, position=grouped.place(event.position)) for event in step.events]
            yield replace(step, events=events, bad=bad)


def _steps(source: Source, reader: ByteReader, options: ReadOptions) -> Iterator[PieceResult]:
    """The same of a file in the layout of streams; the first is what the layout is decided by, if that is a part."""
    if source.format == "jelly":
        return read_jelly(reader, options, source.name)
    return in_pieces(parser_of(source, options), reader, options.chunk_bytes, options.judged_bytes)
