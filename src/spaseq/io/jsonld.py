"""JSON-LD cut into values, each parsed by pyoxigraph on its own.

A file is an array of nodes, one document after the other (JSON lines), or one document whose ``@graph`` holds
the nodes. Cutting keeps an unreadable node from taking its neighbours with it and bounds memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from pyoxigraph import Quad, RdfFormat, parse

from spaseq.io.assemble import Damage, GraphAssembler, Mark
from spaseq.io.labels import numbered
from spaseq.io.lines import End, QuadTaker, Step, message_of, step_of, tell_damage
from spaseq.io.options import ReadOptions

_TOKEN = re.compile(rb'"(?:[^"\\\n\r]++|\\.)*+"|[\[\]{}]|,', re.DOTALL)
_LINE_START = re.compile(rb"\n[ \t,]*\{")
_HEAD = re.compile(rb'\{\s*"@(?:context|graph)"\s*:')
_COLON = re.compile(rb"\s*:\s*")
_LONGEST_VALUE: Final = 1 << 26
"""A document longer than this is taken apart before its end has been seen."""


@dataclass(frozen=True, slots=True)
class _Container:
    """A document that is nothing but a context and nodes: the context's text, and where the nodes begin."""

    context: bytes
    nodes: int


class JsonLdReader:
    """Reads JSON-LD piece by piece; ``taker`` makes what collects the quads of a piece, by default into events."""

    __slots__ = ("_begun", "_context", "_taker")

    def __init__(
        self, options: ReadOptions, source: str, taker: Callable[[], QuadTaker] | None = None
    ) -> None:
        events = partial(GraphAssembler, options.timestamp_predicate, options.time_unit, source)
        self._taker: Callable[[], QuadTaker] = taker or events
        self._begun = False
        self._context: bytes | None = None

    @property
    def inside(self) -> bool:
        """True in the middle of a document that is taken apart: what follows needs its context."""
        return self._context is not None

    def step(self, data: bytes, first_line: int, end: End | None) -> Step:
        """Events of a piece of JSON-LD; what is not settled waits for more, unless this is the end."""
        assembler = self._taker()
        if not self._begun and data.lstrip()[:1] == b"[":  # what is inside the array stands side by side
            data = data.replace(b"[", b" ", 1)
        final = end is not None
        line, counted, reached = first_line, 0, 0
        while (span := next_value(data, reached, final)) is not None:
            start, stop = span
            line += data.count(b"\n", counted, start)
            counted = start
            reached = self._take(data, start, stop, Mark(line, start), final, assembler)
        tell_damage(assembler, end, Mark(line, reached))
        step = step_of(data, assembler, reached, end)
        self._begun = self._begun or step.consumed > 0
        return Step([numbered(event) for event in step.events], step.bad, step.consumed, step.lines)

    def _take(self, data: bytes, start: int, stop: int, at: Mark, final: bool, assembler: QuadTaker) -> int:
        """Take one value; the offset behind what was taken."""
        try:
            quads = self._quads(data[start:stop], self._context)
        except SyntaxError as error:
            container = container_of(data, start, stop)
            if container is not None:
                return self._take_nodes(data, container, stop, at, final, assembler)
            stop = _next_start(data, start, stop)
            text = data[start:stop].decode("utf-8", "replace")
            assembler.damaged(Damage(message_of(error), at, text, cut=final and stop == len(data)))
            return stop
        text = data[start:stop].decode("utf-8", "replace")
        for quad in quads:
            assembler.quad(quad, at, text)
        return stop

    def _take_nodes(
        self, data: bytes, container: _Container, stop: int, at: Mark, final: bool, assembler: QuadTaker
    ) -> int:
        """Take the nodes of a document one by one; of one without end only those that have theirs."""
        unclosed = stop == len(data)
        reached, line, counted = container.nodes, at.position, at.offset
        for start, end in _nodes(data, container.nodes, stop, final or not unclosed):
            line += data.count(b"\n", counted, start)
            counted, reached = start, end
            text = data[start:end]
            shown = text.decode("utf-8", "replace")
            try:
                quads = self._quads(text, container.context)
            except SyntaxError as error:
                cut = final and end == len(data)
                assembler.damaged(Damage(message_of(error), Mark(line, start), shown, cut=cut))
                continue
            for quad in quads:
                assembler.quad(quad, Mark(line, start), shown)
        if unclosed and not final:
            self._context = container.context
            return reached
        return stop

    @staticmethod
    def _quads(text: bytes, context: bytes | None) -> list[Quad]:
        if context is not None:
            text = b'{"@context":' + context + b',"@graph":[' + text + b"]}"
        return list(parse(text, format=RdfFormat.JSON_LD))


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


def container_of(data: bytes, start: int, stop: int) -> _Container | None:
    """What a document holds, if it has no keys of its own but ``@context`` and ``@graph``."""
    context, nodes, depth = b"{}", -1, 0
    if _HEAD.match(data, start) is None:
        return None
    for found in _TOKEN.finditer(data, start, stop):
        text = found[0]
        colon = _COLON.match(data, found.end()) if text[:1] == b'"' else None
        if depth == 1 and colon is not None:
            if text == b'"@context"':
                quoted = _TOKEN.match(data, colon.end())
                simple = quoted is not None and quoted[0][:1] == b'"'
                span = (
                    quoted.span() if quoted is not None and simple else next_value(data, colon.end(), False)
                )
                if span is None:
                    return None
                context = data[span[0] : span[1]]
            elif text == b'"@graph"' and data[colon.end() : colon.end() + 1] == b"[":
                nodes = colon.end() + 1
            else:
                return None
        depth += {b"{": 1, b"[": 1, b"}": -1, b"]": -1}.get(text, 0)
    return _Container(context, nodes) if nodes >= 0 else None


def _nodes(data: bytes, begin: int, stop: int, final: bool) -> Iterator[tuple[int, int]]:
    """The spans of the nodes of an array that begins before ``begin``; the last only if it is closed or final."""
    depth, start = 0, -1
    for found in _TOKEN.finditer(data, begin, stop):
        text = found[0]
        if text in (b"{", b"["):
            if depth == 0:
                start = found.start()
            depth += 1
        elif text in (b"}", b"]"):
            depth -= 1
            if depth < 0:
                return
            if depth == 0:
                yield start, found.end()
                start = -1
    if final and start >= 0:
        yield start, stop


def _next_start(data: bytes, start: int, stop: int) -> int:
    """Where an unreadable value really ends: at a line inside it that begins another, no deeper indented.

    A bracket too many or too few must not take the values behind it along.
    """
    column = start - (data.rfind(b"\n", 0, start) + 1)
    for found in _LINE_START.finditer(data, start, stop):
        if found.end() - 1 - (found.start() + 1) <= column:
            return found.end() - 1
    return stop
