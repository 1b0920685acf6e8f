"""What all builder methods share: the names declared so far, fresh labels, and the errors found."""

from __future__ import annotations

from enum import Enum

from spaseq.errors import QueryError, Span
from spaseq.syntax.errors import NumberTooLong
from spaseq.syntax.lexer import Token

MAX_DIGITS = 1000


class KeywordMark(Enum):
    """A keyword that changes the rule it stands in."""

    DISTINCT = "DISTINCT"
    SILENT = "SILENT"
    UNDEF = "UNDEF"


class Building:
    """The state of one build. ``base`` is None until a BASE line or the caller sets it."""

    def __init__(self, *, base: str | None = None, taken_labels: frozenset[str] = frozenset()) -> None:
        self.base = base
        self.prefixes: dict[str, str] = {}
        self.used_prefixes: set[str] = set()
        self.errors: list[QueryError] = []
        self._taken_labels = taken_labels
        self._labels = 0

    def report(self, error: QueryError) -> None:
        """Note an error that does not stop the build, so that all of them are found at once."""
        self.errors.append(error)

    def fresh_label(self) -> str:
        """A blank node label that the text does not use."""
        while True:
            label = f"b{self._labels}"
            self._labels += 1
            if label not in self._taken_labels:
                return label

    def integer(self, token: Token) -> int:
        """The value of an INTEGER token, of any reasonable size."""
        if len(token.text) > MAX_DIGITS:
            self.report(NumberTooLong(digits=len(token.text), limit=MAX_DIGITS, span=token.span))
            return 0
        return int(token.text)

    def distinct(self, _span: Span) -> KeywordMark:
        return KeywordMark.DISTINCT

    def silent(self, _span: Span) -> KeywordMark:
        return KeywordMark.SILENT

    def undef(self, _span: Span) -> KeywordMark:
        return KeywordMark.UNDEF
