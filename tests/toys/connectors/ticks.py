"""``ticks:N``: N events, one for every second, a few at a time; its position is how many were given."""

from __future__ import annotations

from typing import Any

from spaseq.errors import InvalidArgument
from spaseq.model.events import Event

STREAM = "http://ex.org/s"


class Ticks:
    """Counts up to a number."""

    def __init__(self, address: str) -> None:
        if not address.isdigit():
            raise InvalidArgument(f"`ticks:` is followed by how many, not `{address}`")
        self._most, self._next = int(address), 0

    @property
    def position(self) -> Any:
        """How many were given, in a form that only this class knows."""
        return {"given": self._next}

    def seek(self, position: Any) -> None:
        """Go on behind a position."""
        if not isinstance(position, dict) or not 0 <= position.get("given", -1) <= self._most:
            raise ValueError(f"{position!r} is not a position of it")
        self._next = position["given"]

    def poll(self) -> list[Event]:
        """The next three."""
        first, self._next = self._next, min(self._next + 3, self._most)
        graphs = [(n, f"<http://ex.org/k{n % 2}> <http://ex.org/v> {n} .") for n in range(first, self._next)]
        return [Event(STREAM, n * 1_000_000, graph, format="turtle") for n, graph in graphs]

    @property
    def ended(self) -> bool:
        """True when all were given."""
        return self._next == self._most

    def close(self) -> None:
        """Nothing is open."""


SOURCE = Ticks
