"""The state of a machine in pieces, so that a micro-batch writes what it added and not everything.

An operator says what came since a mark, or gives its whole state. Segment 0 is the base, segment 1 what came after it,
merged now and then, and segments 2, 3, … what single micro-batches added. Ids count through each segment's own terms.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from spaseq.operators.machine import Machine, MachineMark
from spaseq.operators.saved_state import STATE_VERSION
from spaseq.operators.state import State, pack_state, unpack_state
from spaseq.settings import settings


@dataclass(slots=True)
class Segments:
    """What the state store holds of one machine."""

    sizes: dict[int, int] = field(default_factory=dict)
    """The segments that exist, and how large each is."""
    _base: MachineMark | None = None
    _last: MachineMark | None = None

    def save(self, machine: Machine, now: int) -> dict[int, bytes | None]:
        """The segments to write, or to remove (None), so that the store holds the machine's state."""
        if machine.idle(now):
            return self._removed(set(self.sizes))
        tails = [number for number in self.sizes if number > 0]
        merged = len(tails) >= settings().segment_tails
        since = self._base if merged else self._last
        large = sum(self.sizes[number] for number in tails) > max(
            self.sizes.get(0, 0), settings().segment_bytes
        )
        state = machine.dump(None if large or not self.sizes else since, now)
        if state is None:
            return {}
        blob = pack_state(state, machine.dictionary, {}, STATE_VERSION)
        self._last = machine.mark()
        if state.whole:
            self._base = self._last
            removed, number = self._removed(set(self.sizes) - {0}), 0
        elif merged:
            removed, number = self._removed({number for number in tails if number > 1}), 1
        else:
            removed, number = {}, max(1, *self.sizes) + 1
        self.sizes[number] = len(blob)
        return {**removed, number: blob}

    def _removed(self, numbers: set[int]) -> dict[int, bytes | None]:
        for number in numbers:
            del self.sizes[number]
        return dict.fromkeys(numbers)

    def load(self, machine: Machine, blobs: dict[int, bytes]) -> None:
        """Fill a new machine."""
        parts: list[State] = []
        for number in sorted(blobs):
            parts.append(unpack_state(blobs[number], machine.dictionary, STATE_VERSION)[1])
            self.sizes[number] = len(blobs[number])
        self._base, self._last = machine.load(parts), machine.mark()
