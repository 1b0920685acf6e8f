"""Cuts: places in an N-Quads file between two events, which every reader finds alike.

All lines of an event name its graph: its quads as their fourth term, its timestamp as its subject. So where the
name changes from one line to the next, an event ends. A cut lies there, between two lines that are both
readable and name different graphs. A file that is read in parts is cut there, and so is one that still grows.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import IO

from pyoxigraph import DefaultGraph

from spaseq.io.lines import parse_line
from spaseq.settings import limit_reached, settings


def cut_after(file: IO[bytes] | io.FileIO, offset: int, *predicates: str) -> int:
    """The first cut at a line that follows the one in which ``offset`` lies; the file's size if there is none."""
    if offset <= 0:
        return 0
    file.seek(offset)
    at = offset
    lines = _lines(file)
    at += len(next(lines, b""))
    before: str | None = None
    for line in lines:
        name = _graph_of(line, predicates)
        if name is not None:
            if before is not None and name and before and name != before:
                return at
            before = name
        at += len(line)
    return at


def last_cut(file: IO[bytes] | io.FileIO, start: int, stop: int, *predicates: str) -> int:
    """The last cut between two places, ``start`` if there is none; a last line without its end does not count."""
    size = settings().file_bytes
    while True:
        begin = max(start, stop - size)
        file.seek(begin)
        *lines, unfinished = _exactly(file, stop - begin).split(b"\n")
        at = stop - len(unfinished)
        after: tuple[int, str] | None = None
        # What stands before the first line feed may be the end of a line.
        for line in reversed(lines if begin == start else lines[1:]):
            at -= len(line) + 1
            name = _graph_of(line, predicates)
            if name is not None:
                if after is not None and name and after[1] and name != after[1]:
                    return after[0]
                after = at, name
        if begin == start:
            return start
        size *= 2


def _lines(file: IO[bytes] | io.FileIO) -> Iterator[bytes]:
    begun: list[bytes] = []
    size = 0
    while block := file.read(settings().file_bytes):
        *whole, rest = block.split(b"\n")
        for line in whole:
            yield b"".join([*begun, line, b"\n"])
            begun, size = [], 0
        begun.append(rest)
        size += len(rest)
        if size >= settings().max_line_bytes:
            raise limit_reached(f"{file.name}: a line has no end after {size:,} bytes", "max_line_bytes")
    if size:
        yield b"".join(begun)


def _exactly(file: IO[bytes] | io.FileIO, size: int) -> bytes:
    parts = []
    while size > 0 and (part := file.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _graph_of(line: bytes, stamps: tuple[str, ...]) -> str | None:
    """The graph that a line belongs to: "" if that is unknown, None if there is nothing in the line."""
    text = line.strip(b" \t\r\n")
    if not text or (text.startswith(b"#") and b"\r" not in text):
        return None
    try:
        quads = parse_line(text)
    except SyntaxError:
        return ""
    if len(quads) != 1:
        return ""
    quad = quads[0]
    if not isinstance(quad.graph_name, DefaultGraph):
        return str(quad.graph_name)
    return str(quad.subject) if quad.predicate.value in stamps else ""
