"""What a program takes and gives, in words that belong to no language: its streams and the form of its results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Form: TypeAlias = Literal["select", "ask", "construct"]
"""Rows of values, one truth, or graphs."""


@dataclass(frozen=True, slots=True)
class Stream:
    """A stream of a query: its name in the text, and its IRI."""

    alias: str
    iri: str


@dataclass(frozen=True, slots=True)
class ResultForm:
    """The form of a query's results; the variables are those whose values they show."""

    kind: Form
    variables: tuple[str, ...] = ()
    distinct: bool = False

    @property
    def compares(self) -> bool:
        """True if equal results count once, so that all of them must be compared."""
        return self.kind == "ask" or self.distinct
