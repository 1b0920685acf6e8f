"""JSON-LD cut into values, each parsed by pyoxigraph on its own.

A file is one document after the other (JSON lines); a document is a node, an array of nodes, or an object whose
``@graph`` holds the nodes. Cutting keeps an unreadable node from taking its neighbours with it and bounds memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from pyoxigraph import DefaultGraph, Quad, RdfFormat

from spaseq.io.assemble import Damage, GraphAssembler, StartMark
from spaseq.io.bad_input import excerpt
from spaseq.io.labels import numbered
from spaseq.io.lines import (
    End,
    PieceResult,
    QuadTaker,
    check_length,
    message_of,
    parsed,
    step_of,
    tell_damage,
)
from spaseq.io.options import ReadOptions
from spaseq.settings import limit_reached, settings

_STRING: Final = rb'"(?:[^"\\\n\r]++|\\.)*+"'
_TOKEN = re.compile(_STRING + rb'|[\[\]{}"]', re.DOTALL)
_SPACE = re.compile(rb"[ \t\r\n]*+")
_SCALAR = re.compile(_STRING + rb'|[^ \t\r\n,\[\]{}"]++|"', re.DOTALL)
_COLON = re.compile(rb"\s*+:\s*+")
_HEAD = re.compile(rb'\{\s*"@(?:context|graph)"\s*:')
_NEXT_LINE = re.compile(rb"\n[ \t,]*\{")
_NEXT_VALUE = re.compile(rb"[,}\]]\s*+(?=\{)")
_LATER: Final = -1
_DEPTH: Final = {b"{": 1, b"[": 1, b"}": -1, b"]": -1}

_BETWEEN: Final = "`{text}` stands where a value or a comma should"
_COMMA: Final = "a comma is missing between two values"
_OPEN: Final = "the file ends in the middle of an array"


@dataclass(frozen=True, slots=True)
class _Place:
    """Where reading has come to: outside of arrays, in an array, or among the nodes of a document with a context.

    ``comma`` is True behind a value of an array, ``fresh`` before its first, ``broken`` behind something unreadable,
    of which more may follow; ``long`` if the end of the document was not seen.
    """

    array: bool = False
    context: bytes | None = None
    comma: bool = False
    fresh: bool = True
    broken: bool = False
    long: bool = False


class JsonLdReader:
    """Reads JSON-LD piece by piece; ``taker`` makes what collects the quads of a piece, by default into events."""

    __slots__ = ("_options", "_place", "_source", "_taker")

    def __init__(
        self, options: ReadOptions, source: str, taker: Callable[[], QuadTaker] | None = None
    ) -> None:
        predicate, unit = options.timestamp_predicate, options.time_unit
        events = partial(GraphAssembler, predicate, unit, source, ends=options.ends)
        self._taker: Callable[[], QuadTaker] = taker or events
        self._options = options
        self._source = source
        self._place = _Place()

    @property
    def inside(self) -> bool:
        """True where reading cannot begin: among the nodes of a document, or behind something unreadable."""
        return self._place.context is not None or self._place.broken

    @property
    def prologue(self) -> str:
        """A text that leads to the same place: a number in an array says nothing."""
        place = self._place
        if not place.array:
            return ""
        return "[" if place.fresh else "[0" if place.comma else "[0,"

    def step(self, data: bytes, first_line: int, end: End | None) -> PieceResult:
        """Events of a piece of JSON-LD; what is not settled waits for more, unless this is the end."""
        piece = _Piece(self._taker(), self._options, self._source, data, first_line, self._place)
        piece.read(final=end is not None)
        if end is not None and end.damage is None and not end.grows and piece.place.array:
            piece.end()
        tell_damage(piece.assembler, end, StartMark(piece.line, piece.reached))
        step = step_of(data, piece.assembler, piece.reached, end)
        self._place = next(place for at, place in reversed(piece.places) if at <= step.consumed)
        return PieceResult([numbered(event) for event in step.events], step.bad, step.consumed, step.lines)


class _Piece:
    """One piece of JSON-LD while it is read."""

    def __init__(
        self, assembler: QuadTaker, options: ReadOptions, source: str, data: bytes, line: int, place: _Place
    ) -> None:
        self.assembler = assembler
        self._stamps = options.stamps
        self._source = source
        self._data = data
        self._final = False
        self.at = self.reached = 0
        """Where reading is, and what was taken: white space belongs to what follows it, which may be indented."""
        self.line = line
        self.place = place
        self.places = [(0, place)]

    def read(self, *, final: bool) -> None:
        """Read as many values as are complete, at the end all."""
        self._final = final
        while True:
            self.reached = self.at
            self._move(_spaces(self._data, self.at))
            if self.at == len(self._data) or not self._take(self.at):
                return

    def end(self) -> None:
        """The input ends inside an array."""
        self._report(_OPEN, b"", cut=True)

    def _report(self, reason: str, text: bytes, *, cut: bool = False) -> None:
        """Report something unreadable; the rest of an unreadable value is not reported again."""
        if not self.place.broken or text[:1] == b"{":
            shown = text.decode("utf-8", "replace")
            at = StartMark(self.line, self.reached)
            self.assembler.damaged(Damage(reason, at, shown, cut=cut, apart=True))

    def _move(self, at: int) -> None:
        self.line += self._data.count(b"\n", self.at, at)
        self.at = at

    def _go(self, at: int, place: _Place) -> bool:
        """Go on behind something that was taken."""
        self._move(at)
        self.place = place
        self.places.append((at, place))
        return True

    def _take(self, start: int) -> bool:
        """Take what begins here; False if more must be read first."""
        place, byte = self.place, self._data[start : start + 1]
        if byte in (b"{", b"[") and (place.array or byte == b"{"):
            stop = _value_end(self._data, start, len(self._data), self._final)
            if stop is None and not self._final and not self._too_long(start):
                return False
            return self._value(start, stop)
        if byte == b"[" and not place.broken:
            return self._go(start + 1, _Place(array=True))
        if byte == b"," and place.comma:
            return self._go(start + 1, replace(place, comma=False, fresh=False))
        if byte == b"]" and place.array:
            return self._end_array(start)
        return self._between(start)

    def _too_long(self, start: int) -> bool:
        """Whether a value without end is to be taken as it is: a document with nodes, if they can be separated."""
        size = len(self._data) - start
        if size > settings().whole_document_bytes and not self.place.array:
            return nodes_of(self._data, start, len(self._data)) is not None
        return size >= settings().max_line_bytes

    def _end_array(self, start: int) -> bool:
        """The bracket that closes an array, or what an unreadable value has left of itself."""
        place, data = self.place, self._data
        following = _spaces(data, start + 1)
        closed = place.context is None
        if not closed and data[following : following + 1] == b"}":
            following, closed = _spaces(data, following + 1), True
        if following == len(data) and not self._final:
            return False
        if not closed and place.long:
            raise limit_reached(
                f"{self._source}:{self.line}: a long document, whose nodes were read one by one, has more than them",
                "whole_document_bytes",
            )
        if place.broken and following < len(data):
            return self._go(start + 1, place)
        if not closed or not (place.comma or place.fresh):
            self._report(_BETWEEN.format(text="]"), b"]")
        return self._go(following, _Place(broken=not closed))

    def _between(self, start: int) -> bool:
        """Something that is no object: a number or a text, which says nothing, or what should not be there."""
        found = _SCALAR.match(self._data, start)
        stop = found.end() if found is not None else start + 1
        open_string = self._data[start:stop] == b'"' and self._data.find(b"\n", start) < 0
        if not self._final and (open_string or (stop == len(self._data) and found is not None)):
            check_length(len(self._data) - start, self._source, self.line, "a value")
            return False
        text = self._data[start:stop]
        try:
            _quads(text, None)
        except SyntaxError:
            self._report(_BETWEEN.format(text=excerpt(text.decode("utf-8", "replace"))), text)
            return self._go(stop, replace(self.place, broken=True))
        if self.place.comma:
            self._report(_COMMA, text)
        return self._go(stop, replace(self.place, comma=self.place.array, fresh=False))

    # --- values ---------------------------------------------------------------------------------

    def _value(self, start: int, end: int | None) -> bool:
        """Take an object or an array or, if it cannot be read, as little of it as possible."""
        place, data = self.place, self._data
        stop, long = len(data) if end is None else end, end is None and not self._final
        after = replace(place, comma=place.array, fresh=False, broken=False)
        try:
            quads = _quads(data[start:stop], place.context)
        except SyntaxError as error:
            nodes = None if place.array else nodes_of(data, start, stop)
            if nodes is not None:
                self._check_head(data[start : nodes[0]])
                return self._go(nodes[0], _Place(array=True, context=nodes[1], long=long))
            resumed = self._resume(start, stop)
            if resumed == _LATER:
                return False
            self._expect_comma()
            if resumed is None and long:
                check_length(stop - start, self._source, self.line, "a value")
            rest = stop if resumed is None else resumed
            self._report(message_of(error), data[start:rest], cut=self._final and rest == len(data))
            return self._go(rest, replace(after, comma=after.comma and resumed is None, broken=True))
        self._expect_comma()
        if place.broken and not any(self._is_part_of_event(quad) for quad in quads):
            return self._go(stop, replace(after, broken=True))
        shown = data[start:stop].decode("utf-8", "replace")
        for quad in quads:
            self.assembler.quad(quad, StartMark(self.line, self.reached), shown)
        return self._go(stop, after)

    def _expect_comma(self) -> None:
        """Report it if there was none, once it is certain that the value is taken."""
        if self.place.comma:
            self._report(_COMMA, b"")

    def _check_head(self, text: bytes) -> None:
        """Report it if what precedes the nodes of a document cannot be read."""
        try:
            _quads(text + b"]}", None)
        except SyntaxError as error:
            self._report(message_of(error), text)

    def _is_part_of_event(self, quad: Quad) -> bool:
        return quad.predicate.value in self._stamps or not isinstance(quad.graph_name, DefaultGraph)

    def _resume(self, start: int, stop: int) -> int | None:
        """Where in an unreadable value another one begins: a bracket or a quote too many must not take it along.

        That is at a line that begins with a brace and is no deeper indented, or at the next graph that can be read;
        `_LATER` if more must be read to know.
        """
        data = self._data
        indent = _indent(data, start)
        for found in _NEXT_LINE.finditer(data, start, stop):
            if _indent(data, found.end() - 1) <= indent:
                return found.end() - 1
        left = 8 * (stop - start) + (1 << 16)  # how many bytes may be looked at
        for found in _NEXT_VALUE.finditer(data, start + 1, stop):
            begin = found.end()
            end = _value_end(data, begin, len(data), self._final)
            if end is None and not self._final and len(data) - start < settings().max_line_bytes:
                return _LATER
            left -= (end or len(data)) - begin
            if left <= 0:
                return None
            if end is not None and b'"@graph"' in data[begin:end]:
                try:
                    quads = _quads(data[begin:end], self.place.context)
                except SyntaxError:
                    continue
                if any(self._is_part_of_event(quad) for quad in quads):
                    return begin
        return None


def _quads(text: bytes, context: bytes | None) -> list[Quad]:
    if context is not None:
        text = b'{"@context":' + context + b',"@graph":[' + text + b"]}"
    return parsed(text, RdfFormat.JSON_LD)


def _spaces(data: bytes, at: int) -> int:
    """The end of the white space that begins here."""
    found = _SPACE.match(data, at)
    return at if found is None else found.end()


def _indent(data: bytes, at: int) -> int:
    """How many blanks stand directly before something; they are always in the same piece."""
    begin = at
    while begin and data[begin - 1] in b" \t":
        begin -= 1
    return at - begin


def _value_end(data: bytes, start: int, stop: int, final: bool = True) -> int | None:
    """The end of the object or array that begins here, None if it is not closed, or a string may go on."""
    depth = 0
    for found in _TOKEN.finditer(data, start, stop):
        text = found[0]
        if text in (b"{", b"["):
            depth += 1
        elif text in (b"}", b"]"):
            depth -= 1
            if depth == 0:
                return found.end()
        elif text == b'"' and not final and data.find(b"\n", found.end()) < 0:
            return None
    return None


def nodes_of(data: bytes, start: int, stop: int) -> tuple[int, bytes] | None:
    """Where the nodes of a document begin that has no keys but ``@context`` and ``@graph``, and its context."""
    if _HEAD.match(data, start) is None:
        return None
    context, nodes, depth = b"{}", None, 0
    for found in _TOKEN.finditer(data, start, stop):
        text = found[0]
        colon = _COLON.match(data, found.end()) if depth == 1 and text[:1] == b'"' else None
        if colon is not None:
            value = data[colon.end() : colon.end() + 1]
            if text == b'"@context"' and value in (b"{", b"["):
                end = _value_end(data, colon.end(), stop)
                context = data[colon.end() : end]
            elif text == b'"@context"' and (quoted := _TOKEN.match(data, colon.end(), stop)) is not None:
                context = quoted[0]
            elif text == b'"@graph"' and value == b"[":
                nodes = colon.end() + 1
            else:
                return None
        depth += _DEPTH.get(text, 0)
    return None if nodes is None else (nodes, context)
