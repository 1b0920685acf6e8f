"""Where one item of SELECT ends and the next begins: items need no parentheses (semantics 2.1), so what comes later decides.

Two tokens of which one ends an expression and the other begins one stand in two items. A sign may do both, begin an item or go on
with one, and so may `(` after an IRI: they go on, unless an expression would then stand between two AS. `( … AS ?name )` is an item
wherever it stands.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from enum import Enum, auto
from itertools import pairwise
from typing import Final, NamedTuple

from spaseq.errors import QueryError
from spaseq.syntax.lexer import BETWEEN, END, Lexer, Token

_IRI: Final = frozenset(("IRIREF", "PNAME_LN", "PNAME_NS"))
_LITERALS: Final = frozenset(("STRING", "INTEGER", "NUMBER", "BOOLEAN"))
_HEADS: Final = frozenset(
    ("FUNCTION", "TIME_FUNCTION", "AGGREGATE", "COUNT", "GROUP_CONCAT", "EXISTS", "NOT", "!")
)
_OPERATORS: Final = frozenset(
    ("||", "&&", "=", "!=", "<", ">", "<=", ">=", "*", "/", "IN", "^^", "DISTINCT", "REDUCED")
)
_CLOSING: Final = {"(": ")", "{": "}"}


class _Kind(Enum):
    """What a part of SELECT is to its neighbours."""

    AS = auto()
    OPERATOR = auto()
    """An operand comes next."""
    HEAD = auto()
    """Begins an operand that goes on."""
    REST = auto()
    """Ends an operand that has begun: arguments, a group, a language."""
    VARIABLE = auto()
    IRI = auto()
    OPERAND = auto()
    NAMED = auto()
    """`( … AS ?name )`"""
    LIST = auto()
    """What follows IN: no sign goes on with it."""
    SIGN = auto()
    SIGNED = auto()
    """A number with its sign."""
    BRACKET = auto()
    """`( … )` after an IRI."""


_ENDS: Final = frozenset(
    (
        _Kind.REST,
        _Kind.VARIABLE,
        _Kind.IRI,
        _Kind.OPERAND,
        _Kind.NAMED,
        _Kind.LIST,
        _Kind.SIGNED,
        _Kind.BRACKET,
    )
)
_BEGINS: Final = frozenset((_Kind.HEAD, _Kind.VARIABLE, _Kind.IRI, _Kind.OPERAND, _Kind.NAMED))
_OPEN: Final = frozenset((_Kind.SIGN, _Kind.SIGNED, _Kind.BRACKET))
"""Begin an item or go on with one."""


class _Part(NamedTuple):
    kind: _Kind
    start: int


class ItemLexer(Lexer):
    """The tokens of a text, with one of no length between two items of SELECT."""

    def __iter__(self) -> Iterator[Token]:
        places: frozenset[int] = frozenset()
        for token in super().__iter__():
            if token.start in places:
                yield Token(BETWEEN, "", token.start, token.start)
            yield token
            if token.type == "SELECT":
                places = item_starts(copy(self))


def item_starts(ahead: Lexer) -> frozenset[int]:
    """The places where the items of a SELECT begin, but the first; ``ahead`` has read that word."""
    parts = list(_parts(ahead))
    starts: list[int] = []
    run: list[_Part] = []
    for part in parts:
        if run and _apart(run[-1].kind, part.kind):
            starts += (*_divided(run), part.start)
            run = []
        run.append(part)
    return frozenset((*starts, *_divided(run)))


def _apart(before: _Kind, after: _Kind) -> bool:
    """True if two neighbours are certainly in two items."""
    return before in _ENDS and (after in _BEGINS or (before in (_Kind.NAMED, _Kind.LIST) and after in _OPEN))


def _divided(run: list[_Part]) -> Iterator[int]:
    """Where a run with several AS is divided: once between two of them, if only one place will do."""
    words = [at for at, part in enumerate(run) if part.kind is _Kind.AS]
    begin = 0
    for word, following in pairwise(words):
        names = begin == word - 1 and run[begin].kind is _Kind.VARIABLE
        # Without a variable before AS one comes after it, and no more.
        last = following if names else word + 3
        places = [
            at
            for at in range(word + 2, min(last, following))
            if run[at].kind in _OPEN
            and run[at - 1].kind in _ENDS
            and not run[at].kind is run[at + 1].kind is _Kind.SIGN
        ]
        if len(places) == 1:
            begin = places[0]
            yield run[begin].start
        else:
            begin = following  # the second AS is an error


# --- the parts of a SELECT ----------------------------------------------------------------------------


def _parts(ahead: Lexer) -> Iterator[_Part]:
    """What stands between SELECT and its WHERE, brackets and groups as one part each."""
    tokens = _Ahead(ahead)
    before = ""
    kind = _Kind.OPERATOR
    while True:
        token = tokens.read()
        if token.type in _CLOSING:
            if token.type == "{" and before != "EXISTS":
                return
            named = tokens.skip(token.type)
            kind = _bracket(before, kind, named=named)
        else:
            found = _Kind.OPERATOR if _comparison(token, kind, tokens) else _kind(token.type, before, tokens)
            if found is None:
                return
            kind = found
        before = token.type
        yield _Part(kind, token.start)


def _bracket(before: str, kind: _Kind, *, named: bool) -> _Kind:
    if before == "IN":
        return _Kind.LIST
    if kind is _Kind.HEAD and before != "!":
        return _Kind.REST
    if named:
        return _Kind.NAMED
    return _Kind.BRACKET if kind is _Kind.IRI else _Kind.OPERAND


def _comparison(token: Token, before: _Kind, tokens: _Ahead) -> bool:
    """True for `<?b&&?c>` in `?a<?b&&?c>?d`: no item is an IRI without AS, so the parser will read `<`."""
    return (
        token.type == "IRIREF"
        and ":" not in token.text
        and before in _ENDS
        and tokens.next in _LITERALS | {"VAR", "SIGNED"}
    )


def _kind(token: str, before: str, tokens: _Ahead) -> _Kind | None:
    """What a token is; None where SELECT has no place for it."""
    if token in ("+", "-"):
        return _Kind.SIGN
    if token in _IRI:
        return _Kind.REST if before == "^^" else _Kind.IRI
    if token in _LITERALS:
        return _Kind.OPERAND
    if token in ("NIL", "LANGTAG"):
        return _Kind.LIST if before == "IN" else _Kind.REST
    if token in _OPERATORS or (token == "NOT" and tokens.next == "IN"):
        return _Kind.OPERATOR
    if token in _HEADS:
        return _Kind.HEAD
    return {"AS": _Kind.AS, "VAR": _Kind.VARIABLE, "SIGNED": _Kind.SIGNED}.get(token)


class _Ahead:
    """Tokens with one more in view; what cannot be read is the end, and an error once the parser reads it."""

    def __init__(self, lexer: Lexer) -> None:
        self._lexer = lexer
        self._next = self._token()

    @property
    def next(self) -> str:
        """The type of the token that `read` gives."""
        return self._next.type

    def read(self) -> Token:
        token = self._next
        if token.type != END:
            self._next = self._token()
        return token

    def skip(self, opening: str) -> bool:
        """Read to the end of what has been opened; true if an AS stands directly in it."""
        closing = [_CLOSING[opening]]
        named = False
        while closing and self.next != END:
            token = self.read()
            if token.type in _CLOSING:
                closing.append(_CLOSING[token.type])
            elif token.type == closing[-1]:
                closing.pop()
            named = named or (token.type == "AS" and len(closing) == 1)
        return named

    def _token(self) -> Token:
        try:
            return self._lexer.read()
        except QueryError:
            return Token(END, "", 0, 0)
