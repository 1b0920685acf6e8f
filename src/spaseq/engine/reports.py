"""Bad and late input of a run: handed to the policy, counted by source, and never reported twice."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from spaseq.io.bad_input import BadInput, BadInputHandler, Unit
from spaseq.model.batch import EventBatch
from spaseq.model.dictionary import TermDictionary
from spaseq.temporal.instants import format_instant


class Reports:
    """Passes bad input on to a policy.

    A resumed run reads files again that it had begun; ``told`` says how much bad input of each source was
    reported before, so that it is counted but not reported again. ``late`` counts the late events of a run
    that follows its directories, where nothing comes twice.
    """

    def __init__(
        self,
        handler: BadInputHandler,
        dictionary: TermDictionary,
        told: Mapping[str, int] | None = None,
        late: int = 0,
    ) -> None:
        self._handler = handler
        self._dictionary = dictionary
        self._told = dict(told or {})
        self._again: dict[str, int] = {}
        self._units: dict[str, Unit] = {}
        self.late = late

    @property
    def told(self) -> dict[str, int]:
        """How much bad input was reported, by source."""
        return dict(self._told)

    @property
    def count(self) -> int:
        """How much bad input was reported, late events included."""
        return sum(self._told.values()) + self.late

    def measure(self, source: str, unit: Unit) -> None:
        """Say what the positions of a source count."""
        self._units[source] = unit

    def __call__(self, bad: BadInput) -> None:
        """Report one piece of bad input, unless an earlier part of the run did."""
        seen = self._again.get(bad.source, 0) + 1
        self._again[bad.source] = seen
        if seen > self._told.get(bad.source, 0):
            self._told[bad.source] = seen
            self._handler(bad)

    def late_in_file(self, batch: EventBatch, rows: npt.NDArray[np.intp], watermark: int) -> None:
        """Report events of a finite input that came after time had passed them."""
        for row in rows.tolist():
            self(self._late(batch, row, watermark))

    def late_in_time(self, batch: EventBatch, rows: npt.NDArray[np.intp], watermark: int) -> None:
        """Report events of a followed input that came after time had passed them."""
        for row in rows.tolist():
            self.late += 1
            self._handler(self._late(batch, row, watermark))

    def _late(self, batch: EventBatch, row: int, watermark: int) -> BadInput:
        source, position = batch.origin_of(row)
        time, passed = format_instant(int(batch.times[row])), format_instant(watermark)
        name = int(batch.names[row])
        return BadInput(
            f"late: its time is {time}, and the watermark has reached {passed}",
            source,
            position,
            self._units.get(source, "line"),
            self._dictionary.ntriples(name) if name else "",
        )
