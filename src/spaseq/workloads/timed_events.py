"""Events and background triples as text: one graph per event, its timestamp directly before it (docs/reference/event-formats.md)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple, TypeAlias

from spaseq.errors import InvalidArgument
from spaseq.workloads.terms import DATE_TIME, GENERATED_AT

EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

Described: TypeAlias = Iterable[tuple[str, str]]
"""What is said of one subject: predicates with objects."""


class StreamEvent(NamedTuple):
    """One event of a named stream, as lines of N-Quads."""

    stream: str
    text: str


def event_text(graph: str, stamp: str, described: Described) -> str:
    """A graph with one subject, which bears the graph's name, after its timestamp.

    >>> print(event_text("<urn:e1>", "2024-01-01T00:00:00Z", [("<urn:p>", "<urn:o>")]), end="")
    <urn:e1> <http://www.w3.org/ns/prov#generatedAtTime> "2024-01-01T00:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .
    <urn:e1> <urn:p> <urn:o> <urn:e1> .
    """
    end = f" {graph} .\n"
    head = f'{graph} {GENERATED_AT} "{stamp}"{DATE_TIME} .\n'
    return head + "".join([f"{graph} {predicate} {obj}{end}" for predicate, obj in described])


class Clock:
    """Writes instants, given in milliseconds since the epoch, as `xsd:dateTime` in UTC.

    >>> Clock().stamp(1_000)
    '1970-01-01T00:00:01Z'
    >>> Clock().stamp(1_250)
    '1970-01-01T00:00:01.250Z'
    """

    def __init__(self) -> None:
        self._second = -1
        self._text = ""

    def stamp(self, milliseconds: int) -> str:
        """The text; the part up to the second is kept, as most neighbours share it."""
        second, rest = divmod(milliseconds, 1000)
        if second != self._second:
            self._second = second
            self._text = (EPOCH + timedelta(seconds=second)).strftime("%Y-%m-%dT%H:%M:%S")
        return f"{self._text}.{rest:03d}Z" if rest else f"{self._text}Z"


def instant_ms(text: str) -> int:
    """Milliseconds since the epoch of a date-time as users type it; no zone means UTC.

    >>> instant_ms("1970-01-02")
    86400000
    """
    try:
        read = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidArgument(f"`{text}` is not a date-time; write 2024-01-01T00:00:00Z") from None
    zoned = read if read.tzinfo else read.replace(tzinfo=UTC)
    return (zoned - EPOCH) // timedelta(milliseconds=1)
