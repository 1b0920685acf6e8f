"""JSON-LD cut into its top-level values, each parsed by pyoxigraph on its own.

A file is an array of nodes, one document after the other (JSON lines), or a single document. A single
document that is larger than a piece of input is streamed through pyoxigraph instead, so memory stays
bounded.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import BinaryIO, Final, cast

from pyoxigraph import Quad, RdfFormat, parse

from spaseq.io.assemble import Damage, GraphAssembler, Mark
from spaseq.io.labels import numbered
from spaseq.io.lines import End, Step, message_of, step_of, tell_damage
from spaseq.io.options import ReadOptions
from spaseq.io.sources import ByteReader

_TOKEN = re.compile(rb'"(?:[^"\\\n\r]++|\\.)*+"|[\[\]{}]|,', re.DOTALL)
_LINE_START = re.compile(rb"\n[ \t,]*\{")
_MOST_ERRORS: Final = 100
_LONGEST_VALUE: Final = 1 << 26


class JsonLdReader:
    """Reads JSON-LD piece by piece."""

    __slots__ = ("_begun", "_options", "_source")

    def __init__(self, options: ReadOptions, source: str) -> None:
        self._options = options
        self._source = source
        self._begun = False

    def streams(self, data: bytes) -> bool:
        """Whether the input is one document that does not end within its first piece."""
        return data.lstrip()[:1] == b"{" and next_value(data, 0, False) is None

    def step(self, data: bytes, first_line: int, end: End | None) -> Step:
        """Events of a piece of JSON-LD; what is not settled waits for more, unless this is the end."""
        assembler = self._assembler()
        if not self._begun and data.lstrip()[:1] == b"[":  # what is inside the array stands side by side
            data = data.replace(b"[", b" ", 1)
        line, counted, reached = first_line, 0, 0
        while (span := next_value(data, reached, end is not None)) is not None:
            start, stop = span
            line += data.count(b"\n", counted, start)
            counted, at = start, Mark(line, start)
            text = data[start:stop].decode("utf-8", "replace")
            try:
                quads: list[Quad] = list(parse(data[start:stop], format=RdfFormat.JSON_LD))
            except SyntaxError as error:
                stop = _next_start(data, start, stop)
                cut = end is not None and stop == len(data)
                text = data[start:stop].decode("utf-8", "replace")
                assembler.damaged(Damage(message_of(error), at, text, cut=cut))
                quads = []
            for quad in quads:
                assembler.quad(quad, at, text)
            reached = stop
        tell_damage(assembler, end, Mark(line, reached))
        step = step_of(data, assembler, reached, end)
        self._begun = self._begun or step.consumed > 0
        return Step([numbered(event) for event in step.events], step.bad, step.consumed, step.lines)

    def _assembler(self) -> GraphAssembler:
        return GraphAssembler(self._options.timestamp_predicate, self._options.time_unit, self._source)

    def stream(self, head: bytes, reader: ByteReader) -> Iterator[Step]:
        """Events of one long document; positions count events, since nobody counts its lines."""
        assembler = GraphAssembler(
            self._options.timestamp_predicate, self._options.time_unit, self._source, "event"
        )
        quads = iter(parse(cast("BinaryIO", _Joined(head, reader)), format=RdfFormat.JSON_LD))
        count, errors = 0, 0
        while errors < _MOST_ERRORS:
            at = Mark(count + 1, count)
            try:
                quad = next(quads, None)
            except SyntaxError as error:
                errors += 1
                assembler.damaged(Damage(message_of(error), at, "", cut=True))
                continue
            if quad is None:
                break
            assembler.quad(quad, at)
            if assembler.events or assembler.bad:
                count += len(assembler.events)
                yield self._settled(assembler)
        if reader.damage is not None:
            assembler.damaged(Damage(reader.damage, Mark(count + 1, count), "", cut=True))
        assembler.end()
        yield self._settled(assembler)

    def _settled(self, assembler: GraphAssembler) -> Step:
        events = [numbered(event) for event in assembler.events]
        bad = [item for _, item in assembler.bad]
        assembler.events, assembler.bad = [], []
        return Step(events, bad, 0, 0)


def next_value(data: bytes, begin: int, final: bool) -> tuple[int, int] | None:
    """The span of the first object or array from an offset on; one that is not closed only at the end.

    Commas between values and the bracket that closes the array around them are passed over.
    """
    start, depth = -1, 0
    for found in _TOKEN.finditer(data, begin):
        text = found[0]
        if text in (b"{", b"["):
            if depth == 0:
                start = found.start()
            depth += 1
        elif text in (b"}", b"]") and depth > 0:
            depth -= 1
            if depth == 0:
                return start, found.end()
    if start >= 0 and (final or len(data) - start > _LONGEST_VALUE):
        return start, len(data)
    return None


def _next_start(data: bytes, start: int, stop: int) -> int:
    """Where an unreadable value really ends: at a line inside it that begins another, no deeper indented.

    A bracket too many or too few must not take the values behind it along.
    """
    column = start - (data.rfind(b"\n", 0, start) + 1)
    for found in _LINE_START.finditer(data, start, stop):
        if found.end() - 1 - (found.start() + 1) <= column:
            return found.end() - 1
    return stop


class _Joined(io.RawIOBase):
    """Bytes that were already read, then the rest of the reader."""

    def __init__(self, head: bytes, rest: ByteReader) -> None:
        self._head = io.BytesIO(head)
        self._rest = rest

    def readable(self) -> bool:
        """Always."""
        return True

    def read(self, size: int = -1) -> bytes:
        """The next bytes."""
        return self._head.read(size) or self._rest.read(size)
