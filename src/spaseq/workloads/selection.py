"""Which part of a data set is wanted, for small extracts."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Selection:
    """Rows from ``start`` to before ``end`` (milliseconds since the epoch, as written), of the keys in ``only``.

    Keys are what the streams are about: card, vessel, symbol or segment; nothing in ``only`` means all of them.
    """

    start: int | None = None
    end: int | None = None
    only: frozenset[str] = frozenset()

    def takes(self, instant: int, key: str) -> bool:
        """Whether a row is wanted."""
        if self.only and key not in self.only:
            return False
        return (self.start is None or instant >= self.start) and (self.end is None or instant < self.end)

    def names(self, key: str) -> bool:
        """Whether something is wanted, whenever."""
        return not self.only or key in self.only

    def settings(self) -> dict[str, object]:
        """The selection as the manifest has it."""
        return {"start_ms": self.start, "end_ms": self.end, "only": sorted(self.only)}
