"""Bad and late input of a run: handed to the policy, counted by source, and never reported twice."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from spaseq.engine.notices import Notices, kind_of
from spaseq.io.bad_input import BadInput, BadInputHandler, Unit
from spaseq.io.sources import is_cut_short
from spaseq.model.batch import EventBatch
from spaseq.model.dictionary import TermDictionary
from spaseq.temporal.durations import format_duration
from spaseq.temporal.instants import format_instant

Rows = npt.NDArray[np.intp]


def late_reason(time: int, watermark: int) -> str:
    """Why an event is late."""
    return (
        f"late: its time is {format_instant(time)}, and the watermark has reached {format_instant(watermark)}"
    )


def ahead_reason(time: int, clock: int, max_lead: int) -> str:
    """Why an event is not accepted."""
    return (
        f"ahead of the clock: its time is {format_instant(time)}, the clock says {format_instant(clock)}, "
        f"and an event may lead by {format_duration(max_lead)}"
    )


class Reports:
    """Passes bad input on to a policy.

    A resumed run reads input again that it had begun; ``told`` says how much bad input of each source was reported
    before, so that it is counted but not reported again. ``bad`` counts that of parts of files that are done with
    (`settle`), ``late`` the late events of a run that follows its directories: neither comes twice.
    """

    def __init__(
        self,
        handler: BadInputHandler,
        dictionary: TermDictionary,
        told: Mapping[str, int] | None = None,
        *,
        bad: int = 0,
        late: int = 0,
        notices: Notices | None = None,
    ) -> None:
        self._handler = handler
        self._dictionary = dictionary
        self._told = dict(told or {})
        self._again: dict[str, int] = {}
        self._units: dict[str, Unit] = {}
        self._done = bad
        self.late = late
        self._cut: dict[str, str] = {}
        self.notices = notices or Notices()

    @property
    def told(self) -> dict[str, int]:
        """How much bad input was reported, by source, of input that is not done with."""
        return dict(self._told)

    @property
    def done(self) -> int:
        """How much bad input was reported of input that is done with."""
        return self._done

    @property
    def bad(self) -> int:
        """How much bad input was reported, late events aside."""
        return sum(self._told.values()) + self._done

    @property
    def count(self) -> int:
        """How much bad input was reported, late events included."""
        return self.bad + self.late

    @property
    def incomplete(self) -> tuple[str, ...]:
        """What is wrong with files whose rest cannot be read, unless bad input is to be skipped."""
        return () if self._handler.policy == "skip" else tuple(self._cut.values())

    def measure(self, source: str, unit: Unit) -> None:
        """Say what the positions of a source count."""
        self._units[source] = unit

    def settle(self) -> None:
        """The input so far is done with and will not be read again."""
        self._done += sum(self._told.values())
        self._told.clear()
        self._again.clear()

    def __call__(self, bad: BadInput) -> None:
        """Report one piece of bad input, unless an earlier part of the run did."""
        if is_cut_short(bad.reason):
            self._cut[bad.source] = str(bad)
        seen = self._again.get(bad.source, 0) + 1
        self._again[bad.source] = seen
        if seen > self._told.get(bad.source, 0):
            self._told[bad.source] = seen
            self._report(bad)

    def lost(self, bad: BadInput) -> None:
        """Report what is not reported again when the run is resumed: a file that cannot be read on, say."""
        self._done += 1
        self._report(bad)

    def ahead(self, batch: EventBatch, rows: Rows, clock: int, max_lead: int) -> None:
        """Report events whose time is too far in the future."""
        for row in rows.tolist():
            self(self._of(batch, row, ahead_reason(int(batch.times[row]), clock, max_lead)))

    def ahead_in_time(self, batch: EventBatch, rows: Rows, clock: int, max_lead: int) -> None:
        """The same for a source that is followed, whose events come once."""
        for row in rows.tolist():
            self.lost(self._of(batch, row, ahead_reason(int(batch.times[row]), clock, max_lead)))

    def late_in_file(self, batch: EventBatch, rows: Rows, watermark: int) -> None:
        """Report events of a finite input that came after time had passed them."""
        for row in rows.tolist():
            self(self._of(batch, row, late_reason(int(batch.times[row]), watermark)))

    def late_in_time(self, batch: EventBatch, rows: Rows, watermark: int, streams: tuple[str, ...]) -> None:
        """Report events of a followed input that came after time had passed them."""
        for row in rows.tolist():
            self.late += 1
            bad = self._of(batch, row, late_reason(int(batch.times[row]), watermark))
            self._report(bad, f"late events of <{streams[int(batch.streams[row])]}>")

    def _report(self, bad: BadInput, kind: str | None = None) -> None:
        self._handler(bad)
        self.notices.note(kind or kind_of(bad.reason), str(bad))

    def _of(self, batch: EventBatch, row: int, reason: str) -> BadInput:
        source, position = batch.origin_of(row)
        name = int(batch.names[row])
        text = self._dictionary.ntriples(name) if name else ""
        return BadInput(reason, source, position, self._units.get(source, "line"), text)
