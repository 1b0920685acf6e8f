"""What a generator or converter produces, and how it is written: streams, background graphs, a manifest."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Final, TypedDict

from spaseq.workloads.terms import PREFIXES
from spaseq.workloads.timed_events import StreamEvent
from spaseq.workloads.turtle import Subject, write_turtle

_BUFFER: Final = 1 << 20
_GZIP_LEVEL: Final = 4


@dataclass(frozen=True, slots=True)
class ProducedStream:
    """A stream that is produced: its name (the file's and the suggested alias) and its IRI."""

    name: str
    iri: str
    about: str


@dataclass(frozen=True, slots=True)
class BackgroundGraph:
    """A background graph: the IRI to register it under, and its subjects. They are read once, as they are written."""

    name: str
    iri: str
    about: str
    subjects: Iterable[Subject]


@dataclass(frozen=True, slots=True)
class Hint:
    """A query to try on what was produced."""

    finds: str
    query: str


@dataclass(frozen=True, slots=True)
class Production:
    """Streams and background graphs in the making. ``events`` is read once, as it is written."""

    name: str
    about: str
    streams: tuple[ProducedStream, ...]
    events: Iterator[StreamEvent]
    background: tuple[BackgroundGraph, ...] = ()
    hints: tuple[Hint, ...] = ()
    sources: tuple[str, ...] = ()
    settings: dict[str, object] = field(default_factory=dict)


class WrittenStream(TypedDict):
    """A stream in the manifest."""

    name: str
    iri: str
    file: str
    about: str
    events: int
    quads: int


class WrittenBackground(TypedDict):
    """A background graph in the manifest."""

    name: str
    iri: str
    file: str
    about: str
    triples: int


class Manifest(TypedDict):
    """The manifest. An event's timestamp is a triple of the default graph and not counted as a quad."""

    name: str
    about: str
    sources: list[str]
    settings: dict[str, object]
    events: int
    quads: int
    streams: list[WrittenStream]
    background: list[WrittenBackground]
    queries: list[dict[str, str]]
    prefixes: dict[str, str]


@dataclass(slots=True)
class _Sheet:
    """A stream's file while it is written, and what went into it."""

    file: IO[bytes]
    path: Path
    held: list[str] = field(default_factory=list)
    size: int = 0
    events: int = 0
    lines: int = 0

    def add(self, text: str) -> None:
        self.held.append(text)
        self.events += 1
        self.size += len(text)
        if self.size >= _BUFFER:
            self.flush()

    def flush(self) -> None:
        block = "".join(self.held).encode()
        self.lines += block.count(b"\n")
        self.file.write(block)
        self.held.clear()
        self.size = 0


def write(production: Production, folder: Path, *, compress: bool = False) -> Manifest:
    """Write everything into a folder, in constant memory; gives the manifest, which is written too.

    The same production gives the same bytes, compressed or not.
    """
    folder.mkdir(parents=True, exist_ok=True)
    ending = ".nq.gz" if compress else ".nq"
    with ExitStack() as stack:
        sheets = {
            stream.name: _sheet(stack, folder / f"{stream.name}{ending}", compress)
            for stream in production.streams
        }
        head = "".join(f"# {line}\n" for line in _origin(production))
        for sheet in sheets.values():
            sheet.file.write(head.encode())
        for name, text in production.events:
            sheets[name].add(text)
        for sheet in sheets.values():
            sheet.flush()
    graphs = [_write_background(each, folder, production) for each in production.background]
    manifest = _manifest(production, sheets, graphs)
    (folder / "manifest.json").write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n", "utf-8")
    return manifest


def _sheet(stack: ExitStack, path: Path, compress: bool) -> _Sheet:
    raw = stack.enter_context(path.open("wb"))
    if not compress:
        return _Sheet(raw, path)
    # Without name and time in its head the archive depends on the events alone.
    packed: IO[bytes] = gzip.GzipFile("", "wb", _GZIP_LEVEL, raw, mtime=0)  # type: ignore[assignment]
    return _Sheet(stack.enter_context(packed), path)


def _origin(production: Production) -> list[str]:
    """The lines that say, in each file, where it comes from."""
    return [production.about, *(f"source: {source}" for source in production.sources)]


def _write_background(background: BackgroundGraph, folder: Path, production: Production) -> WrittenBackground:
    path = folder / f"{background.name}.ttl"
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"# {line}\n" for line in [background.about, *_origin(production)[1:]])
        triples = write_turtle(file, background.subjects)
    return {
        "name": background.name,
        "iri": background.iri,
        "file": path.name,
        "about": background.about,
        "triples": triples,
    }


def _manifest(production: Production, sheets: dict[str, _Sheet], graphs: list[WrittenBackground]) -> Manifest:
    streams: list[WrittenStream] = [
        {
            "name": stream.name,
            "iri": stream.iri,
            "file": sheet.path.name,
            "about": stream.about,
            "events": sheet.events,
            "quads": sheet.lines - sheet.events,
        }
        for stream, sheet in ((stream, sheets[stream.name]) for stream in production.streams)
    ]
    return {
        "name": production.name,
        "about": production.about,
        "sources": list(production.sources),
        "settings": production.settings,
        "events": sum(stream["events"] for stream in streams),
        "quads": sum(stream["quads"] for stream in streams),
        "streams": streams,
        "background": graphs,
        "queries": [{"finds": hint.finds, "query": hint.query} for hint in production.hints],
        "prefixes": PREFIXES,
    }
