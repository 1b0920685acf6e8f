"""Collects what a query's checks find, so that its author sees all of it at once."""

from __future__ import annotations

from spaseq.errors import QueryError, QueryWarning


class Report:
    """Errors and warnings of one query, in the order of their places."""

    def __init__(self) -> None:
        self._errors: list[QueryError] = []
        self._warnings: list[QueryWarning] = []

    def error(self, error: QueryError) -> None:
        """Note an error; an equal one at the same place is noted once."""
        if all((e.code, e.span, e.message) != (error.code, error.span, error.message) for e in self._errors):
            self._errors.append(error)

    def warn(self, warning: QueryWarning) -> None:
        self._warnings.append(warning)

    @property
    def warnings(self) -> tuple[QueryWarning, ...]:
        return tuple(self._warnings)

    def raise_errors(self) -> None:
        """Raise the first error by place, with the others behind it, if there is any."""
        if self._errors:
            first, *others = sorted(self._errors, key=lambda error: (error.span.start, error.code))
            first.also = tuple(others)
            raise first
