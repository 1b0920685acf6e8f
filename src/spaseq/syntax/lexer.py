"""The lexer: query text to tokens, with one compiled pattern for SPARQL and one for sequence expressions.

The token's type is the grammar's own spelling for words and signs (``SELECT``, ``{``) and a class name for
the rest (``VAR``, ``STRING`` …). Words are looked up without regard to case; only SPARQL's ``a`` is exact. A
word that is no keyword is a ``NAME``: stream aliases and GPM names are such words, and where a name must
stand (after ``GPM``, ``ON``, ``STREAM``, in ``SEQ ( … )``) even a keyword is one.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from spaseq.errors import Span
from spaseq.syntax.errors import BadCharacter, BadEscape, UnterminatedString
from spaseq.syntax.terminals import SPACE, terminals

END = "$END"
BETWEEN = "_BETWEEN"
"""A token of no length between two parts that need nothing between them; messages name what may follow it."""


class Token(NamedTuple):
    """A token with its place in the text as the author wrote it."""

    type: str
    text: str
    start: int
    end: int

    @property
    def span(self) -> Span:
        return Span(self.start, self.end)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What the lexer must know of a dialect.

    ``words`` maps a keyword (upper case, but ``a``) to its token type, and ``words_after`` the same for
    words directly after a token type (``30 MINUTES`` against ``MINUTES(?t)``). After a type in
    ``names_after`` a word is a name, whatever it spells, but for the keywords given there. A type in ``islands`` and the ``(`` after it open
    an island of sequence tokens that ends with the matching ``)``. There words are names, but those in
    ``soft_words`` have another type where no name can stand, and those in ``called_words`` are keywords before
    ``(``. After a type in ``counts_names`` and ``(`` a lone word before ``)`` is a name. ``island_hint`` is the cure for
    an arrow in an island.
    """

    words: Mapping[str, str]
    words_after: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    names_after: Mapping[str, frozenset[str]] = field(default_factory=dict)
    islands: frozenset[str] = frozenset()
    soft_words: Mapping[str, str] = field(default_factory=dict)
    called_words: frozenset[str] = frozenset()
    counts_names: frozenset[str] = frozenset()
    island_hint: str = ""


_SKIP = re.compile(SPACE)
_BEFORE_CLOSE = re.compile(SPACE + r"\)")
_BEFORE_OPEN = re.compile(SPACE + r"\(")
_LINE_END = re.compile(r"[\r\n]|\Z")

# A pair of backslashes is matched first: what follows it is no escape.
_CODEPOINT = re.compile(r"\\\\|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPE = re.compile(r"\\([\s\S])")
_ESCAPES = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}


def blank_node_labels(text: str) -> frozenset[str]:
    """Every label that may be a blank node's in the text; fresh labels keep clear of these."""
    if "_:" not in text:
        return frozenset()
    return frozenset(found[2:] for found in terminals(ascii_only=text.isascii()).label.findall(text))


# --- codepoint escapes ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SourceText:
    r"""The text with its ``\uXXXX`` escapes replaced, and the way back to the places in the original.

    ``cuts`` are offsets just after a replacement in ``text``; ``shifts`` how much longer the original is
    up to there.
    """

    text: str
    cuts: tuple[int, ...] = ()
    shifts: tuple[int, ...] = ()

    def origin(self, offset: int) -> int:
        """The offset in the original of an offset in ``text``."""
        if not self.cuts:
            return offset
        index = bisect_right(self.cuts, offset)
        return offset + (self.shifts[index - 1] if index else 0)


def without_surrogates(text: str) -> str:
    """The text in a form that can be printed; every character keeps its place."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def read_source(text: str) -> SourceText:
    """Replace codepoint escapes (SPARQL 1.1, 19.2); a surrogate stays and is refused where it stands."""
    stray = None if text.isascii() else _SURROGATE.search(text)
    if stray:
        raise BadCharacter(
            character=f"U+{ord(stray[0]):04X}",
            where="alone: it is half of a surrogate pair",
            hint="save the query as UTF-8",
            span=Span(stray.start(), stray.end()),
        )
    if "\\" not in text:
        return SourceText(text)
    parts: list[str] = []
    cuts: list[int] = []
    shifts: list[int] = []
    at = length = 0
    for found in _CODEPOINT.finditer(text):
        digits = found[0][2:]
        code = int(digits, 16) if digits else -1
        if code < 0 or 0xD800 <= code <= 0xDFFF or code > 0x10FFFF:
            continue
        parts += text[at : found.start()], chr(code)
        length += found.start() - at + 1
        at = found.end()
        cuts.append(length)
        shifts.append(at - length)
    parts.append(text[at:])
    return SourceText("".join(parts), tuple(cuts), tuple(shifts))


# --- tokens ---------------------------------------------------------------------------------------


class Lexer:
    """The tokens of a text one by one, with an ``$END`` token last."""

    def __init__(self, source: SourceText, vocabulary: Vocabulary) -> None:
        self._source = source
        self._vocabulary = vocabulary
        self._terminals = terminals(ascii_only=source.text.isascii())
        self._start = self._next = 0
        self._depth = 0
        self._island = ""
        self._before = self._last = ""

    def __iter__(self) -> Iterator[Token]:
        while True:
            token = self.read()
            yield token
            if token.type == END:
                return

    def read(self) -> Token:
        """The next token."""
        source, words = self._source, self._vocabulary
        text = source.text
        at = _SKIP.match(text, self._next).end()  # type: ignore[union-attr]
        if at == len(text):
            return Token(END, "", source.origin(at), source.origin(at))
        pattern = self._terminals.sequence if self._depth else self._terminals.sparql
        found = pattern.match(text, at)
        if found is None:
            raise _bad_character(source, at, self._island if self._depth else "", words.island_hint)
        kind, word, end = found.lastgroup or "", found[0], found.end()
        if kind == "SIGN":
            kind = word
        elif kind == "WORD":
            kind = self._word_type(word, end)
        elif kind == "PNAME":
            kind = "PNAME_NS" if word.find(":") == len(word) - 1 else "PNAME_LN"
        elif kind == "NIL" and self._last in words.islands:
            kind, word, end = "(", "(", at + 1
        elif kind == "NAME" and word.upper() in words.called_words and _BEFORE_OPEN.match(text, end):
            kind = word.upper()
        if kind == "(" and not self._depth and self._last in words.islands:
            self._depth, self._island = 1, self._last
        elif self._depth:
            self._depth += (kind == "(") - (kind == ")")
        self._before, self._last, self._start, self._next = self._last, kind, at, end
        return Token(kind, word, source.origin(at), source.origin(end))

    def soft_type(self, token: Token) -> str | None:
        """The keyword that a name is where no name can stand."""
        return self._vocabulary.soft_words.get(token.text.upper()) if self._depth else None

    def read_again_as_less_than(self) -> Token:
        """The ``<`` that begins the IRI read last, for the parser to take instead.

        The longest match makes one IRI of ``<?b&&?c>`` in ``FILTER(?a<?b&&?c>?d)``; only the parser knows
        that no IRI can stand there.
        """
        self._last, self._next = "<", self._start + 1
        return Token("<", "<", self._source.origin(self._start), self._source.origin(self._next))

    def _word_type(self, word: str, end: int) -> str:
        words = self._vocabulary
        keywords = words.names_after.get(self._last)
        if keywords is not None and word.upper() not in keywords:
            return "NAME"
        if (
            self._last == "("
            and self._before in words.counts_names
            and _counted(self._source.text, end, word)
        ):
            return "NAME"
        return _keyword(word, self._last, words)


def _keyword(word: str, last: str, vocabulary: Vocabulary) -> str:
    if word == "a":
        return "a"
    upper = word.upper()
    special = vocabulary.words_after.get(last)
    if special and upper in special:
        return special[upper]
    return vocabulary.words.get(upper, "NAME")


def _counted(text: str, end: int, word: str) -> bool:
    """True if the word in ``COUNT(word`` is a GPM's name: nothing but ``)`` follows it."""
    return _BEFORE_CLOSE.match(text, end) is not None and word.upper() not in ("TRUE", "FALSE")


def _bad_character(
    source: SourceText, at: int, island: str, island_hint: str
) -> UnterminatedString | BadCharacter:
    text = source.text
    span = Span(source.origin(at), source.origin(at + 1))
    if text[at] in "\"'" and not island:
        quote = text[at] * 3 if text.startswith(text[at] * 3, at) else text[at]
        line_end = _LINE_END.search(text, at).start()  # type: ignore[union-attr]
        return UnterminatedString(quote=quote, span=Span(span.start, source.origin(line_end)))
    hint = ""
    if text[at] == "&":
        hint = "the logical and is written &&"
    elif text[at] == "@":
        hint = 'a language tag is written directly after a string: "chat"@fr'
    elif island and (text.startswith(("->", "=>", ">"), at) or text[at] == "→"):
        hint = island_hint
    elif text[at] == "\\":
        hint = "escapes stand inside strings and prefixed names only"
    where = f"in {island} ( … )" if island else "here"
    return BadCharacter(character=_shown(text[at]), where=where, hint=hint, span=span)


def _shown(character: str) -> str:
    return f"`{character}`" if character.isprintable() else f"U+{ord(character):04X}"


def string_value(token: Token) -> str:
    """The text that a STRING token stands for; raises `BadEscape` at the escape itself."""
    size = 3 if token.text[:3] in ('"""', "'''") else 1
    inner = token.text[size:-size]
    if "\\" not in inner:
        return inner

    def replace(found: re.Match[str]) -> str:
        value = _ESCAPES.get(found[1])
        if value is None:
            start = token.start + size + found.start()
            width = {"u": 6, "U": 10}.get(found[1], 2)
            shown = inner[found.start() : found.start() + width]
            raise BadEscape(escape=shown, span=Span(start, min(start + len(shown), token.end)))
        return value

    return _ESCAPE.sub(replace, inner)
