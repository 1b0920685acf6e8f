"""The survey of a file: when its events are, before any of them is read for good.

A replay sorts its whole input by time but must not hold it in memory. What it needs to know of a file is,
for every place in it, the least time that is still to come. The reader itself finds that: told that no
query needs any triple, it only cuts lines and reads timestamps. (A byte search for the timestamp predicate
was measured and saved too little of that to be worth a second reader.) The same pass notices a data set that
is not in the layout of streams.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from spaseq.io.growing import read_source
from spaseq.io.layouts import Clues, judged
from spaseq.io.options import ReadOptions
from spaseq.io.readers import layout_of
from spaseq.io.sources import Layout, Source
from spaseq.model.dictionary import TermDictionary
from spaseq.settings import settings
from spaseq.temporal.instants import FOREVER

Longs = npt.NDArray[np.int64]

_STREAM: Final = "urn:spaseq:survey"


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """When the events of a file are.

    ``first`` and ``last`` are the least and the greatest time (`FOREVER` and its negation without events).
    ``floors[i]`` is the least time of all events from the one with the number ``starts[i]`` on, counted from 0.
    (Lines would not do: a file may have all its events on one.)
    """

    count: int
    first: int
    last: int
    starts: Longs
    floors: Longs
    layout: Layout = "stream"
    """``dataset`` if the file must be grouped before anything is known of its times: it may have any."""

    def floor(self, read: int) -> int:
        """A time before which no event lies that comes after so many."""
        if read >= self.count:
            return FOREVER
        index = int(np.searchsorted(self.starts, read, "right")) - 1
        return int(self.floors[index])


_ANY_TIME: Final = Survey(0, -FOREVER, FOREVER, np.zeros(0, np.int64), np.zeros(0, np.int64), "dataset")


def survey(source: Source, options: ReadOptions, *, poll: Callable[[], None] = lambda: None) -> Survey:
    """Find the times of a file; ``poll`` is called at intervals and may raise to end it."""
    layout = layout_of(source, options)
    if layout == "dataset":
        return _ANY_TIME
    bare = replace(options, needed_predicates=frozenset(), keep_names=False)
    clues = Clues()  # bad input is reported when events are read for good
    stream = replace(source, layout="stream")
    batches = read_source(stream, _STREAM, 0, TermDictionary(), bare, clues, clues)
    found = _Times()
    for batch in batches:
        poll()
        step = settings().survey_events
        for begin in range(0, len(batch), step):
            found.add(batch.times[begin : begin + step])
    if layout == "auto" and judged(source, options, clues) == "dataset":
        return _ANY_TIME
    return found.survey()


class _Times:
    """Collects the times of a file block by block."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._least: list[int] = []
        self._count = 0
        self._latest = -FOREVER

    def add(self, times: Longs) -> None:
        """The times of some events, in the order of the file."""
        self._starts.append(self._count)
        self._count += len(times)
        self._latest = max(self._latest, int(times.max()))
        self._least.append(int(times.min()))

    def survey(self) -> Survey:
        """What was found."""
        starts, least = np.array(self._starts, np.int64), np.array(self._least, np.int64)
        floors = np.minimum.accumulate(least[::-1])[::-1]
        first = int(least.min()) if len(least) else FOREVER
        return Survey(self._count, first, self._latest, starts, floors)
