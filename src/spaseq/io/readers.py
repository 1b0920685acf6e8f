"""Event files to events: batches of ids for the engine, plain objects for the reference.

Both read the same steps. Large N-Quads and N-Triples go through the byte kernel (`spaseq.io.nquads`), all
else through pyoxigraph. No more than a piece of input, or one event if it is larger, is held in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from pyoxigraph import Quad, RdfFormat, parse

from spaseq.errors import InvalidArgument, listed
from spaseq.io.assemble import RawEvent
from spaseq.io.bad_input import OnBad, fail
from spaseq.io.jelly import read_jelly
from spaseq.io.jsonld import JsonLdReader
from spaseq.io.lines import End, Step
from spaseq.io.options import ReadOptions
from spaseq.io.plain import LineReader, assemble
from spaseq.io.sources import ByteReader, PathLike, Source, find_sources
from spaseq.io.trig import TrigReader, trig_quads
from spaseq.model.dictionary import TermDictionary
from spaseq.model.events import GraphEvent, localised
from spaseq.model.terms import BlankScopes

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
                    stream, raw.time, frozenset(raw.triples), raw.name, source.name, raw.position
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
) -> Iterator[EventBatch]:
    """The events of sources that the caller has found, or made: a part of a file is one as well."""
    seen = 0
    for source in sources:
        check_source(source, options)
        with source.open() as reader:
            if source.format in ("nquads", "ntriples"):
                per_event = per_event_of(source, options)
                head = b"" if dictionary.promoted else reader.read(max(options.interpreted_bytes - seen, 0))
                seen += len(head)
                if dictionary.promoted or seen >= options.interpreted_bytes:
                    from spaseq.io.nquads import read_nquads

                    yield from read_nquads(
                        head, reader, source.name, stream, index, dictionary, options, on_bad, per_event
                    )
                    continue
                steps: Iterator[Step] = iter(
                    [assemble(head, 1, End(reader.damage), options, source.name, per_event)]
                )
            else:
                steps = _steps(source, reader, options)
            yield from _encoded(steps, source.name, stream, index, dictionary, options, on_bad)


def _encoded(
    steps: Iterator[Step],
    source: str,
    stream: str,
    index: int,
    dictionary: TermDictionary,
    options: ReadOptions,
    on_bad: OnBad,
) -> Iterator[EventBatch]:
    """Steps as batches of at most ``batch_events`` events."""
    from spaseq.io.encode import encode_events

    waiting: list[RawEvent] = []
    for step in steps:
        for bad in step.bad:
            on_bad(bad)
        waiting.extend(step.events)
        while len(waiting) >= options.batch_events:
            full, waiting = waiting[: options.batch_events], waiting[options.batch_events :]
            yield encode_events(full, source, stream, index, dictionary, options)
    if waiting:
        yield encode_events(waiting, source, stream, index, dictionary, options)


def check_source(source: Source, options: ReadOptions) -> None:
    """Refuse a file that cannot be read with these options."""
    if source.format == "ntriples" and options.triples_per_event is None:
        raise InvalidArgument(
            f"`{source.name}` is N-Triples, which has no graphs: say `--triples-per-event` how many make an event"
        )


def per_event_of(source: Source, options: ReadOptions) -> int:
    """How many triples make an event of a source, 0 where graphs do."""
    return (options.triples_per_event or 1) if source.format == "ntriples" else 0


def read_steps(source: Source, options: ReadOptions) -> Iterator[Step]:
    """The events and the bad input of one file, by pyoxigraph and pyjelly."""
    with source.open() as reader:
        yield from _steps(source, reader, options)


def _steps(source: Source, reader: ByteReader, options: ReadOptions) -> Iterator[Step]:
    match source.format:
        case "jelly":
            yield from read_jelly(reader, options, source.name)
        case "jsonld":
            yield from _pieces(JsonLdReader(options, source.name), reader, options.chunk_bytes)
        case "trig":
            yield from _pieces(TrigReader(options, source.name), reader, options.chunk_bytes)
        case "nquads" | "ntriples":
            lines = LineReader(options, source.name, per_event_of(source, options))
            yield from _pieces(lines, reader, options.chunk_bytes)


def _pieces(parser: LineReader | TrigReader | JsonLdReader, reader: ByteReader, size: int) -> Iterator[Step]:
    """Feed a reader piece by piece; what is not settled is read again with more behind it."""
    line, data, wanted = 1, b"", size
    while True:
        more = reader.read(wanted)
        data += more
        end = End(reader.damage) if len(more) < wanted else None
        step = parser.step(data, line, end)
        yield step
        if end is not None:
            return
        data = data[step.consumed :]
        line += step.lines
        wanted = size if step.consumed else max(2 * wanted, len(data))


def read_quads(
    data: bytes, file_format: str = "nquads", *, compiled: bool = False, base_iri: str | None = None
) -> Iterator[Quad]:
    """The quads of a text, without any thought of events; a `SyntaxError` has the line.

    ``compiled`` reads N-Quads and N-Triples with the byte kernel, as large inputs are.
    """
    if file_format == "trig":
        return trig_quads(data, base_iri)
    syntax = RdfFormat.N_QUADS if file_format == "nquads" else RdfFormat.N_TRIPLES
    if compiled:
        from spaseq.io.quads import lex_quads

        return iter(lex_quads(data, syntax))
    return iter(parse(data, format=syntax))
