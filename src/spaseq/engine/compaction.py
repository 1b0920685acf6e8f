"""Keeping the dictionary small: an endless stream keeps bringing new terms, of which the state needs few."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from spaseq.model.batch import EventBatch
from spaseq.model.dictionary import TermDictionary
from spaseq.operators.machine import Machine
from spaseq.settings import settings


class Compaction:
    """Decides when a dictionary is compacted, and does it.

    ``pinned`` are the first ids of the dictionary, which readers hold on to: they keep their numbers.
    """

    def __init__(self, dictionary: TermDictionary, pinned: Sequence[int] = ()) -> None:
        assert list(pinned) == list(range(1, len(pinned) + 1)), "only the first ids keep their numbers"
        self._dictionary = dictionary
        self._pinned = np.array(pinned, np.int64)
        self._size: int | None = 0

    def due(self) -> bool:
        """True if the dictionary has doubled since it was last compacted."""
        if self._size is None:
            # What is read again after a compaction (background graphs) counts as needed.
            self._size = len(self._dictionary)
        return len(self._dictionary) >= max(settings().compacted_terms, 2 * self._size)

    def run(self, machines: Iterable[Machine], held: Iterable[EventBatch]) -> npt.NDArray[np.int32]:
        """Drop the terms that neither machines nor waiting events mention; machines follow at once.

        The result maps old ids to new ones; callers must apply it to events that they hold.
        """
        known = list(machines)
        parts: list[npt.NDArray[np.integer]] = [self._pinned, *(machine.live_ids() for machine in known)]
        for batch in held:
            parts += [batch.subjects, batch.predicates, batch.objects, batch.names]
        mapping = self._dictionary.compact(np.concatenate(parts))
        for machine in known:
            machine.remap(mapping)
        self._size = None
        return mapping
