"""Where a fragment is built: between which states, over which streams."""

from __future__ import annotations

from dataclasses import dataclass

from spaseq.algebra.events import Gpm


@dataclass(frozen=True, slots=True)
class Place:
    """The states a step lies between, and how the query calls its streams."""

    source: int
    target: int
    aliases: dict[str, str]
    """Stream IRI to alias, in the order of declaration."""

    def streams(self, gpm: Gpm) -> tuple[str, ...]:
        return (self.aliases[gpm.stream],)
