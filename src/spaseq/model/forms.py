"""What a program takes and gives, in words that belong to no language: its streams and the form of its results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Form: TypeAlias = Literal["select", "ask", "construct"]
"""Rows of values, one truth, or graphs."""


EVERY_STREAM: Final = "urn:spaseq:every-stream"
"""Instead of the IRI of a stream: a query without stream clause reads all streams of its input."""


@dataclass(frozen=True, slots=True)
class CountLimit:
    """What an operator counts at every instant, over all workers together: the most there may be, and what is said of more."""

    most: int
    error: str
    """With ``{instant}`` in it."""


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream of a query: its name in the text, its IRI, and how a user may call it besides."""

    alias: str
    iri: str
    also: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Everything that the stream may be called."""
        return (self.alias, self.iri, *self.also)


@dataclass(frozen=True, slots=True)
class ResultForm:
    """The form of a query's results; the variables are those whose values they show."""

    kind: Form
    variables: tuple[str, ...] = ()
    distinct: bool = False
    continuous: bool = False
    """True if it is answered again and again: then its operator alone decides what is reported, and when."""
    lasting: bool = False
    """True if its graphs hold for an interval: as events they have two ends, where others have a timestamp."""
    most: int | None = None
    """After so many rows the query ends; None if nothing counts all of them."""

    @property
    def compares(self) -> bool:
        """True if equal results count once, so that all of them must be compared."""
        return self.once or self.distinct

    @property
    def once(self) -> bool:
        """True if there is one answer, after which nothing more can come: an ASK that is not continuous."""
        return self.kind == "ask" and not self.continuous

    def complete(self, answers: int) -> bool:
        """True if nothing can come after so many answers."""
        return (self.once and answers > 0) or (self.most is not None and answers >= self.most)
