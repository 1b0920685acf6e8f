"""The one error family, source spans, and the code frame that shows a place in a query.

Two kinds of wrong: a wrong query, option or snapshot raises one of these, early; a wrong datum never
does, it is quarantined with a reason and counted.

Every `QueryError` subclass is one row of the error catalogue: a stable ``code``, a ``message``, a
``label`` for the caret and a ``cure``. Fields come first; the text is derived from them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, ClassVar


@dataclass(frozen=True, slots=True)
class Span:
    """A half-open range of characters, ``text[start:end]``, in a query."""

    start: int
    end: int

    def to(self, other: Span) -> Span:
        """The span from the start of this one to the end of the other."""
        return Span(self.start, max(self.end, other.end))


NOWHERE = Span(0, 0)
"""The span of a node that no source text produced."""


@dataclass(frozen=True, slots=True)
class Place:
    """A position for users: line and column start at 1."""

    line: int
    column: int


def place(text: str, offset: int) -> Place:
    """The line and column of a character offset."""
    offset = min(max(offset, 0), len(text))
    line = text.count("\n", 0, offset) + 1
    return Place(line, offset - (text.rfind("\n", 0, offset) + 1) + 1)


def code_frame(text: str, span: Span, label: str, name: str = "query") -> str:
    """The source line of a span with a caret under it, as compilers print it.

    >>> print(code_frame("SEQ (A; B)", Span(8, 9), "defined here: A", "q.spaseq"))
      --> q.spaseq:1:9
     1 | SEQ (A; B)
       |         ^ defined here: A
    """
    where = place(text, span.start)
    # Lines end with "\n" alone, as `place` counts them; other separators may stand inside strings.
    source = text.split("\n")[where.line - 1].rstrip("\r")
    width = max(1, min(span.end - span.start, len(source) - where.column + 1))
    # A tab is wider than a caret; copying tabs keeps the caret under its character.
    lead = "".join("\t" if c == "\t" else " " for c in source[: where.column - 1])
    number = str(where.line)
    bar = " " * (len(number) + 2) + "|"
    caret = f"{bar} {lead}{'^' * width} {label}".rstrip()
    return f"  --> {name}:{where.line}:{where.column}\n {number} | {source}\n{caret}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint with the nearest known name, or nothing.

    >>> did_you_mean("pirce", ["price", "volume"])
    '; did you mean `price`?'
    """
    near = get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean `{near[0]}`?" if near else ""


def listed(names: Iterable[str], empty: str = "none") -> str:
    """Names as a readable list."""
    return ", ".join(names) or empty


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number of things.

    >>> counted(1, "event"), counted(2_000, "match", "matches")
    ('1 event', '2,000 matches')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def described(value: object) -> str:
    """What was given where something else belongs: short values as they are, others by their kind.

    >>> described({"time": 1}), described("power.nq"), described(None)
    ('a dict', '`power.nq`', 'None')
    """
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    if isinstance(value, str):
        return f"`{value if len(value) <= 40 else value[:37] + '...'}`"
    if isinstance(value, (bytes, bytearray)):
        return "bytes"
    kind = type(value)
    library = {"pandas": "pandas ", "pyspark": "PySpark ", "polars": "polars "}.get(
        kind.__module__.split(".")[0], ""
    )
    return f"a {library}{kind.__name__}"


class SpaseqError(Exception):
    """Base of every error this package raises on purpose."""


class InvalidArgument(SpaseqError, ValueError):
    """A wrong option or argument; the message shows the value and what is accepted."""


class LimitReached(SpaseqError):
    """Work that would take the machine was ended; the message names the limit and how to change it."""


class IncompatibleCheckpoint(SpaseqError):
    """A checkpoint that this run cannot take up; says which part differs, and what to do."""


class MissingPackage(InvalidArgument, ImportError):
    """An optional package that is not installed; the message says how to install it."""


class Diagnostic:
    """What errors and warnings share: a code, a place and a sentence, all derived from fields."""

    code: ClassVar[str]
    message_template: ClassVar[str]
    label_template: ClassVar[str] = ""
    cure_template: ClassVar[str] = ""
    severity: ClassVar[str] = "error"

    def __init__(self, *, span: Span = NOWHERE, **fields: Any) -> None:
        self.span = span
        self.fields = fields
        self.text = ""
        self.name = "query"

    def located(self, text: str, name: str = "query") -> Diagnostic:
        """This diagnostic with the text and the file that it refers to."""
        self.text, self.name = text, name
        return self

    @property
    def message(self) -> str:
        return self.message_template.format(**self.fields)

    @property
    def label(self) -> str:
        return self.label_template.format(**self.fields)

    @property
    def cure(self) -> str:
        return self.cure_template.format(**self.fields)

    @property
    def line(self) -> int:
        return place(self.text, self.span.start).line

    @property
    def column(self) -> int:
        return place(self.text, self.span.start).column

    def render(self) -> str:
        """The whole diagnostic: headline, code frame, cure."""
        parts = [f"{self.severity}[{self.code}]: {self.message}"]
        if self.text:
            parts.append(code_frame(self.text, self.span, self.label, self.name))
        if self.cure:
            parts.append(f"help: {self.cure}")
        return "\n".join(parts)

    def to_json(self) -> dict[str, Any]:
        """The diagnostic as plain data, for tools."""
        return {
            "severity": self.severity,
            "code": self.code,
            "message": self.message,
            "line": self.line,
            "column": self.column,
            "label": self.label,
            "help": self.cure,
        }


class QueryError(Diagnostic, SpaseqError):
    """A query that means nothing; carries ``code``, ``line``, ``column`` and ``cure``.

    Checks find all errors of a query at once: ``also`` holds the ones after the first.
    """

    also: tuple[QueryError, ...] = ()

    def __str__(self) -> str:
        return self.render()


class QueryWarning(Diagnostic):
    """A query that works but may not do what its author hopes; never raised."""

    severity: ClassVar[str] = "warning"

    def __str__(self) -> str:
        return self.render()
