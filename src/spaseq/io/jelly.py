"""Jelly: one frame is one event, in QUADS, GRAPHS and TRIPLES streams (docs/reference/event-formats.md)."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import BinaryIO, Final, TypeAlias, cast

from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad

from spaseq.io.assemble import (
    NO_GRAPH,
    QUOTED,
    STRAY,
    RawEvent,
    Stamp,
    StartMark,
    Untimely,
    roles_of,
    times_of,
)
from spaseq.io.bad_input import BadInput, excerpt
from spaseq.io.labels import numbered
from spaseq.io.lines import PieceResult
from spaseq.io.options import ReadOptions
from spaseq.io.sources import ByteReader
from spaseq.model.terms import Term
from spaseq.settings import settings

LONGEST_FRAME: Final = 1 << 30
_TAGGED: Final = (
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#dirLangString",
)
UNDECODABLE: Final = "the frame cannot be decoded"
"""How the reason for the last thing that is read of a damaged file begins."""


def read_jelly(reader: ByteReader, options: ReadOptions, source: str) -> Iterator[PieceResult]:
    """The events of a Jelly file, frame by frame; a frame that cannot be decoded ends the file.

    Frames share tables of names, so nothing behind an undecodable one can be trusted.
    """
    number = 0
    try:
        for number, statements in enumerate(_frames(reader), 1):
            event = _event(statements, number, options)
            if isinstance(event, RawEvent):
                yield PieceResult([numbered(event)], [], 0, 0)
            elif event is not None:
                yield PieceResult([], [BadInput(event[0], source, number, "frame", excerpt(event[1]))], 0, 0)
    except _Undecodable as error:
        yield PieceResult([], [BadInput(f"{UNDECODABLE}: {error}", source, number + 1, "frame")], 0, 0)
    else:
        if reader.damage is not None:
            yield PieceResult([], [BadInput(reader.damage, source, number + 1, "frame")], 0, 0)


def is_delimited(data: bytes) -> bool:
    """True if a Jelly file that begins so holds frames with their lengths, not one frame alone."""
    from pyjelly.parse.ioutils import delimited_jelly_hint

    return bool(delimited_jelly_hint(data[:3]))


Statement: TypeAlias = tuple[object, ...]
"""The terms of a triple or a quad, as pyjelly gives them."""


class _Undecodable(Exception):
    """A frame that is not Jelly."""


def _frames(reader: ByteReader) -> Iterator[list[Statement]]:
    """The statements of every frame."""
    from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
    from pyjelly.errors import JellyAssertionError, JellyConformanceError
    from pyjelly.integrations.generic.parse import parse_jelly_grouped

    wrong = (
        DecodeError, JellyConformanceError, JellyAssertionError, NotImplementedError, ValueError, KeyError,
        IndexError, TypeError, AssertionError, EOFError, RuntimeError,
    )  # fmt: skip
    source = _FrameInput(reader)
    if not source.read(1):
        return
    source.seek(-1, io.SEEK_CUR)
    try:
        frames = parse_jelly_grouped(cast("BinaryIO", source))
    except wrong as error:
        raise _Undecodable(str(error) or type(error).__name__) from None
    while True:
        try:
            frame = next(frames, None)
            statements = None if frame is None else [tuple(statement) for statement in frame]
        except wrong as error:
            raise _Undecodable(reader.damage or str(error) or type(error).__name__) from None
        if statements is None:
            return
        yield statements


class _FrameInput(io.RawIOBase):
    """A reader as pyjelly wants it: it looks at the first bytes and goes back, then reads whole frames."""

    def __init__(self, reader: ByteReader) -> None:
        self._buffered = io.BufferedReader(reader, settings().file_bytes)
        self._last = b""
        self._again = b""

    def seekable(self) -> bool:
        """By the few bytes that were read last."""
        return True

    def read(self, size: int = -1) -> bytes:
        """The next bytes; a length that no frame has is refused before memory is asked for."""
        if size > LONGEST_FRAME:
            raise ValueError(f"a frame of {size} bytes is too long")
        again = self._again if size < 0 else self._again[:size]
        self._again = self._again[len(again) :]
        self._last = again + (self._buffered.read(size if size < 0 else size - len(again)) or b"")
        return self._last

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go back into what was read last."""
        if whence != io.SEEK_CUR or not -len(self._last) <= offset <= 0:
            raise OSError("only what was read last can be read again")
        self._again = (self._last[len(self._last) + offset :] if offset else b"") + self._again
        return 0


def _quad(statement: Statement) -> Quad:
    """A statement as a quad, a triple as one of the default graph; a `ValueError` says what is wrong with it."""
    subject, predicate, obj = (_term(term) for term in statement[:3])
    graph = _term(statement[3]) if len(statement) > 3 else DefaultGraph()
    try:
        return Quad(subject, predicate, obj, graph)  # type: ignore[arg-type]
    except TypeError:
        raise ValueError("a literal or a blank node stands where none is allowed") from None


def _term(term: object) -> Term | DefaultGraph:
    """A term of pyjelly as a term of pyoxigraph; a `ValueError` says why it is none."""
    match type(term).__name__:
        case "IRI":
            return NamedNode(str(term)[1:-1])
        case "BlankNode":
            return BlankNode(str(term)[2:])
        case "Literal":
            lexical, language = getattr(term, "_lex", ""), getattr(term, "_langtag", None)
            datatype = getattr(term, "_datatype", None)
            if language:
                return Literal(lexical, language=language)
            if datatype in _TAGGED:
                raise ValueError(f"a literal without a language tag has the datatype <{datatype}>")
            return Literal(lexical, datatype=NamedNode(datatype)) if datatype else Literal(lexical)
        case "Triple":
            raise ValueError(QUOTED)
        case _:
            return DefaultGraph()


def _event(
    statements: list[Statement], number: int, options: ReadOptions
) -> RawEvent | tuple[str, str] | None:
    """The event of a frame, or why it is none and how it begins; None for a frame without statements."""
    quads: list[Quad] = []
    for statement in statements:
        try:
            quads.append(_quad(statement))
        except ValueError as error:
            return str(error), " ".join(map(str, statement))
    if not quads:
        return None
    text = str(quads[0])
    roles = roles_of(options.timestamp_predicate, options.ends)
    stamps = [q for q in quads if isinstance(q.graph_name, DefaultGraph) and q.predicate in roles]
    plain = [q for q in quads if isinstance(q.graph_name, DefaultGraph) and q.predicate not in roles]
    named = [q for q in quads if not isinstance(q.graph_name, DefaultGraph)]
    names = list(dict.fromkeys(q.graph_name for q in named))
    if len(names) > 1:
        return f"the frame has {len(names)} graphs; one frame is one event", text
    name = names[0] if names else None
    shown = "of the frame" if name is None else str(name)
    if name is not None:
        if plain:
            return STRAY, str(plain[0])
        stray = [q for q in stamps if q.subject != name]
        if stray:
            return NO_GRAPH.format(name=stray[0].subject), str(stray[0])
    elif not plain:
        return NO_GRAPH.format(name=stamps[0].subject), text
    stamps = stamps or [q for q in named if q.predicate in roles]
    read = [Stamp(q.object, StartMark(number), str(q), roles[q.predicate]) for q in stamps]
    try:
        start, time = times_of(read, shown, options.time_unit)
    except Untimely as why:
        return why.reason, text if why.stamp is None else why.stamp.text
    triples = [q.triple for q in (named or plain)]
    return RawEvent(time, None if isinstance(name, DefaultGraph) else name, triples, number, start=start)
