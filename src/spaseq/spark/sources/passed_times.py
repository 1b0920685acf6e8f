"""How far time had come after the last micro-batch, where the tasks of the next one can see it.

Buckets decide which events are late, by times and places alone: the graphs of all events would double what is shuffled. Where
late events are kept, a bucket leaves in the quarantine how far time has come, so that the tasks that read events send with
those that may be late what they say. A file that is too new, since its micro-batch is repeated, only makes these more.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from spaseq.spark.shared_folder import SharedFolder
from spaseq.stores import write_whole
from spaseq.temporal.instants import BEFORE_ALL, FOREVER

Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PassedTimes:
    """The file of one streaming query, in a directory that others may use as well."""

    folder: SharedFolder
    owner: str

    def read(self, batch: int, streams: int) -> Longs:
        """By stream, the instant before which events of a micro-batch may be late; any may be if that is not known."""
        try:
            found = json.loads((self.folder.checked() / self._name).read_text("utf-8"))
        except FileNotFoundError:
            return np.full(streams, FOREVER if batch else BEFORE_ALL, np.int64)
        return np.array(found, np.int64)

    def write(self, bounds: Longs, *, changed: bool) -> None:
        """Tell the tasks of the next micro-batch."""
        file = self.folder.checked() / self._name
        if changed or not file.exists():
            write_whole(file, json.dumps(bounds.tolist()))

    @property
    def _name(self) -> str:
        return f".passed-{self.owner}.json"  # neither Spark nor `quarantined` reads it as a record
