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
_MOST_ERRORS: Final = 100


class JsonLdReader:
    """Reads JSON-LD piece by piece."""

    __slots__ = ("_begun", "_options", "_source")

    def __init__(self, options: ReadOptions, source: str) -> None:
        self._options = options
        self._source = source
        self._begun = False

    def streams(self, data: bytes) -> bool:
        """Whether the input is one document that does not end within its first piece."""
        return data.lstrip()[:1] == b"{" and next(values(data, False), None) is None

    def step(self, data: bytes, first_line: int, end: End | None) -> Step:
        """Events of a piece of JSON-LD; what is not settled waits for more, unless this is the end."""
        assembler = self._assembler()
        if not self._begun and data.lstrip()[:1] == b"[":  # what is inside the array stands side by side
            data = data.replace(b"[", b" ", 1)
        line, counted, reached = first_line, 0, 0
        for start, stop in values(data, end is not None):
            text = data[start:stop]
            line += data.count(b"\n", counted, start)
            counted, reached = start, stop
            at = Mark(line, start)
            try:
                quads: list[Quad] = list(parse(text, format=RdfFormat.JSON_LD))
            except SyntaxError as error:
                cut = end is not None and stop == len(data)
                assembler.damaged(Damage(message_of(error), at, text.decode("utf-8", "replace"), cut=cut))
                continue
            for quad in quads:
                assembler.quad(quad, at)
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


def values(data: bytes, final: bool) -> Iterator[tuple[int, int]]:
    """The spans of the values that stand side by side in a piece of JSON; the last only if it is closed.

    Commas between them and the bracket that closes the array around them are passed over.
    """
    start, depth = -1, 0
    for found in _TOKEN.finditer(data):
        text = found[0]
        if text in (b"{", b"["):
            if depth == 0:
                start = found.start()
            depth += 1
        elif text in (b"}", b"]") and depth > 0:
            depth -= 1
            if depth == 0:
                yield start, found.end()
                start = -1
    if final and start >= 0:
        yield start, len(data)


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
