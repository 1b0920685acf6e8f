"""TriG cut into statements, each parsed by pyoxigraph on its own.

Cutting first gives every event its line, keeps an unreadable block from taking its neighbours with it
and needs no more memory than the longest block. The cutter knows strings, IRIs, comments and braces; what
is in them is checked by pyoxigraph.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

from pyoxigraph import DefaultGraph, RdfFormat

from spaseq.io.assemble import Damage, GraphAssembler, StartMark
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
from spaseq.settings import settings

_TOKEN = re.compile(
    rb"(?P<skip>[ \t\r\n]++|\#[^\n\r]*+)"
    rb'|(?P<string>"""(?:[^"\\]++|\\.|"(?!""))*+"""|\'\'\'(?:[^\'\\]++|\\.|\'(?!\'\'))*+\'\'\''
    rb'|"(?:[^"\\\n\r]++|\\.)*+"|\'(?:[^\'\\\n\r]++|\\.)*+\')'
    rb'|(?P<iri><[^<>"{}|^`\x00-\x20]*+>)'
    rb"|(?P<brace>[{}])"
    rb"|(?P<keyword>@(?:prefix|base|version)(?![\w-]))"
    rb"|(?P<dot>\.(?![0-9]))"
    rb"|(?P<part>[+-]?[0-9]++(?=\.(?![0-9eE.]))|@[a-zA-Z]++(?:-[a-zA-Z0-9]++)*+)"
    rb"|(?P<word>(?:\\.|[^\s<>\"'{}\[\]();,#\\])++)"
    rb"|(?P<mark>.)",
    re.DOTALL,
)
_BLOCK = re.compile(
    rb'(?:[^"\'#<{}\\]++|<[^<>"{}|^`\x00-\x20]*+>|\\.|\#[^\n\r]*+'
    rb'|"""(?:[^"\\]++|\\.|"(?!""))*+"""|\'\'\'(?:[^\'\\]++|\\.|\'(?!\'\'))*+\'\'\''
    rb'|"(?!"")(?:[^"\\\n\r]++|\\.)*+"|\'(?!\'\')(?:[^\'\\\n\r]++|\\.)*+\')*+\}',
    re.DOTALL,
)
"""What is inside the braces of a graph, up to the closing one, if nothing in it is unusual."""
_UNCLOSED = re.compile(
    rb'"(?:[^"\\\n\r]++|\\.)*+\\?\Z|\'(?:[^\'\\\n\r]++|\\.)*+\\?\Z|<[^<>"{}|^`\x00-\x20]*+\Z', re.DOTALL
)
"""A string on one line, or an IRI, whose end is not there yet."""
_COMMENT = re.compile(rb"#[^\n\r]*")
_DOTTED: Final = (b"@PREFIX", b"@BASE", b"@VERSION")
_UNDOTTED: Final = (b"PREFIX", b"BASE")
_NOTHING: Final = b" { <urn:x> <urn:x> <urn:x> }"


@dataclass(frozen=True, slots=True)
class Statement:
    """The text from ``start`` to ``end``; ``declares`` if it is a prefix, a base or a version."""

    start: int
    end: int
    declares: bool = False


class Declarations:
    """The prefixes and the base in force, with absolute IRIs, so that a later base does not change them."""

    __slots__ = ("_base", "_written", "_resolved", "text")

    def __init__(self, base_iri: str | None = None) -> None:
        self._base = base_iri
        self._written: dict[bytes, bytes] = {}
        self._resolved: dict[bytes, bytes] = {}
        self.text = b"\n"

    def copy(self) -> Declarations:
        """The same declarations, to add others to."""
        twin = Declarations(self._base)
        twin._written, twin._resolved, twin.text = dict(self._written), dict(self._resolved), self.text
        return twin

    def add(self, text: bytes) -> None:
        """Take a declaration that pyoxigraph accepts; a later one of the same name takes its place."""
        kind, _, name = _key(text).partition(b" ")
        if kind == b"version" or self._written.get(kind + b" " + name) == text:
            return
        term = name if kind == b"prefix" else b"<>"
        probe = self.text + text + b" <urn:x> <urn:x> " + term + b" ."
        iri = parsed(probe, RdfFormat.TRIG, self._base)[0].object
        if kind == b"base":  # what was written may mean something else now
            self._written.clear()
        self._written[kind + b" " + name] = text
        self._resolved[kind + b" " + name] = f"@{kind.decode()} {name.decode()} {iri} .".encode()
        self.text = b"\n".join(self._resolved.values()) + b"\n"


class TrigReader:
    """Reads TriG piece by piece; keeps the declarations that are settled.

    ``taker`` makes what collects the quads of a piece, by default into events.
    """

    __slots__ = ("_declared", "_source", "_taker")

    def __init__(
        self, options: ReadOptions, source: str, taker: Callable[[], QuadTaker] | None = None
    ) -> None:
        predicate, unit = options.timestamp_predicate, options.time_unit
        events = partial(GraphAssembler, predicate, unit, source, ends=options.ends)
        self._taker: Callable[[], QuadTaker] = taker or events
        self._source = source
        self._declared = Declarations()

    @property
    def prologue(self) -> str:
        """The declarations in force where reading has come to."""
        return self._declared.text.decode()

    def step(self, data: bytes, first_line: int, end: End | None) -> PieceResult:
        """Events of a piece of TriG; what is not settled waits for more, unless this is the end."""
        assembler = self._taker()
        declared = self._declared.copy()
        news: list[tuple[int, bytes]] = []
        line, counted, reached = first_line, 0, 0
        for statement in statements(data, end is not None):
            text = data[statement.start : statement.end]
            line += data.count(b"\n", counted, statement.start)
            counted, reached = statement.start, statement.end
            at = StartMark(line, statement.start)
            prologue, shown = declared.text, text.decode("utf-8", "replace")
            try:
                quads = parsed(prologue + text, RdfFormat.TRIG)
            except SyntaxError as error:
                cut = end is not None and statement.end == len(data)
                names = _names(prologue, text)
                assembler.damaged(Damage(message_of(error), at, shown, names, cut, apart=True))
                continue
            if statement.declares:
                declared.add(text)
                news.append((statement.start, text))
            for quad in quads:
                assembler.quad(quad, at, shown)
        if end is None:
            check_length(len(data) - reached, self._source, line, "a statement")
        tell_damage(assembler, end, StartMark(line, reached))
        step = step_of(data, assembler, reached, end)
        for start, text in news:
            if start < step.consumed:
                self._declared.add(text)
        return PieceResult([numbered(event) for event in step.events], step.bad, step.consumed, step.lines)


def _key(text: bytes) -> bytes:
    """What a declaration declares: a later one of the same takes its place."""
    head = text.partition(b"<")[0].lstrip(b"@")
    kind = re.match(rb"[a-zA-Z]+", head)
    word = kind[0] if kind is not None else b""
    return word.lower() + b" " + b"".join(_COMMENT.sub(b"", head[len(word) :]).split())


def _names(prologue: bytes, text: bytes) -> frozenset[str]:
    """The graph that an unreadable block, or the subject that an unreadable triple, is about."""
    head, brace, _ = text.partition(b"{")
    label = head if brace else b" ".join(text.split(None, 1)[:1])
    try:
        quads = parsed(prologue + label + _NOTHING, RdfFormat.TRIG)
    except SyntaxError:
        return frozenset()
    return frozenset(str(q.graph_name) for q in quads if not isinstance(q.graph_name, DefaultGraph))


def statements(data: bytes, final: bool) -> Iterator[Statement]:
    """The statements of a piece of TriG, in order; the last one only if its end is there."""
    start, depth, at = -1, 0, 0
    words: list[tuple[int, bytes]] = []
    while (found := _TOKEN.match(data, at)) is not None:
        kind, text = found.lastgroup, found[0]
        begin, at = at, found.end()
        if kind == "skip":
            continue
        if not final and ((at == len(data) and kind != "brace") or _is_unclosed(data, text, begin)):
            return  # more of it may follow
        if start < 0:
            start, depth, words = begin, 0, []
        if text == b"{":
            label = _label_start(words)
            if label is not None and label > start:  # something without end before the block
                yield Statement(start, label)
                start = label
            depth, words = 1, []
            block = _BLOCK.match(data, at)
            if block is not None:  # nothing unusual up to its end
                at = block.end()
                yield Statement(start, at)
                start = -1
                continue
        elif text == b"}":
            yield Statement(start, at)
            start = -1
            continue
        words.append((begin, text))
        if depth == 0 and _ends(words, kind):
            yield Statement(start, at, words[0][1].upper() in _DOTTED + _UNDOTTED)
            start = -1
    if final and start >= 0:
        yield Statement(start, len(data))


def _ends(words: list[tuple[int, bytes]], kind: str | None) -> bool:
    """Whether the last token ends a statement outside braces: a dot, or the IRI of a SPARQL-style prefix."""
    if kind in ("dot", "word"):
        return words[-1][1].endswith(b".")
    return kind == "iri" and words[0][1].upper() in _UNDOTTED


def _label_start(words: list[tuple[int, bytes]]) -> int | None:
    """Where the name of a graph block begins, given the tokens before its brace."""
    if not words or words[-1][1] in (b".", b"{", b";", b","):
        return None
    begin = len(words) - 1
    if words[begin][1] == b"]" and begin > 0 and words[begin - 1][1] == b"[":
        begin -= 1
    if begin > 0 and words[begin - 1][1].upper() == b"GRAPH":
        begin -= 1
    return words[begin][0]


def _is_unclosed(data: bytes, text: bytes, at: int) -> bool:
    """Whether a string or an IRI may go on behind the end of the data, because nothing closes it."""
    quote = text[:1]
    if quote not in (b'"', b"'", b"<") or len(data) - at >= settings().max_line_bytes:
        return False
    if text == quote:
        return _UNCLOSED.match(data, at) is not None
    return text == quote * 2 and data[at + 2 : at + 3] in (quote, b"")
