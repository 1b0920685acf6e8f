"""Windows: which events a match may take together (semantics 1.8)."""

from __future__ import annotations

from dataclasses import dataclass

from spaseq.algebra.events import EventWindow, TimeWindow, Window
from spaseq.reference.runs import Numbered


@dataclass(frozen=True)
class WindowFrame:
    """The events of one window; ``end`` for tumbling time windows."""

    events: tuple[Numbered, ...]
    end: int | None = None


def frames(window: Window | None, events: tuple[Numbered, ...]) -> list[WindowFrame]:
    """All windows that hold an event. A sliding window is one frame; its matches are measured."""
    match window:
        case TimeWindow(size, sliding=False, start=start):
            origin = start or 0
            numbers = sorted({k for e in events for k in _holding(e.time - origin, size)})
            return [
                WindowFrame(
                    tuple(e for e in events if k in _holding(e.time - origin, size)),
                    origin + (k + 1) * size,
                )
                for k in numbers
                if start is None or k >= 0
            ]
        case EventWindow(size, sliding=False):
            numbers = sorted({e.position // size for e in events})
            return [WindowFrame(tuple(e for e in events if e.position // size == k)) for k in numbers]
        case _:
            return [WindowFrame(events)]


def _holding(offset: int, size: int) -> set[int]:
    """The windows ``[kω, (k+1)ω]`` that hold an instant: two on a boundary, for they are closed."""
    return {offset // size, (offset - 1) // size}
