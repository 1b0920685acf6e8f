"""The watermark of several sources: the instant before which no event is waited for. No clock is read here.

A source is a stream, or a part of one that keeps its own order, such as a partition of Kafka. Each has a front of its own: its
latest event less the lateness, or what it has promised. The watermark is the least of them, so that a slow source is
waited for. A source that has been silent for some time of the wall clock is idle and is not waited for until it speaks
again; if all are idle, the furthest of them counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from spaseq.temporal.instants import BEFORE_ALL


@dataclass(frozen=True, slots=True)
class Front:
    """How far one source has come (`BEFORE_ALL` if it has not spoken), and for how many microseconds of the wall clock it has been silent."""

    time: int
    silent: int = 0


def watermark(
    fronts: Sequence[Front],
    *,
    idle_after: int | None = None,
    lag: int | None = None,
    close_after: int | None = None,
) -> int | None:
    """The instant before which no event of these sources is waited for; None if there are none: all have ended.

    ``lag`` bounds, in event time, how far behind the furthest one a source may be before it is no longer waited for.
    If all have been silent for ``close_after`` of the wall clock, event time passes as the wall clock does, so that windows end.

    >>> watermark([Front(100), Front(40)])
    40
    >>> watermark([Front(100), Front(40, silent=7)], idle_after=5)
    100
    >>> watermark([Front(100, silent=9), Front(40, silent=7)], close_after=5)
    107
    """
    if not fronts:
        return None
    furthest = max(front.time for front in fronts)
    waited = [front.time for front in fronts if idle_after is None or front.silent < idle_after]
    found = min(waited, default=furthest)
    if lag is not None:
        found = max(found, furthest - lag)
    silence = min(front.silent for front in fronts)
    if close_after is not None and silence >= close_after and furthest > BEFORE_ALL:
        found = max(found, furthest + silence)
    return found
