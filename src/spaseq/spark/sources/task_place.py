"""Where a task stands in its job: for labels, names and the order of arrival that other tasks cannot have."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from pyspark import TaskContext

import spaseq
from spaseq.errors import InvalidArgument
from spaseq.io.bad_input import BadInput, OnBad
from spaseq.spark.shared_folder import Owner
from spaseq.spark.sources.splits import Split

Longs = npt.NDArray[np.int64]


def check_unpacked(package: Path) -> None:
    """Kernels are compiled from their files, and the compiled ones are kept by what those say."""
    if not package.exists():
        raise InvalidArgument(
            "spaseq cannot work from inside a zip, as `--py-files` sends it; send it with `--archives`, which unpacks it "
            "(docs/how-to/run-on-a-cluster.md)"
        )


class TaskPlace:
    """Where a task stands: which part of the input it reads, in which micro-batch, and of which streaming query."""

    def __init__(self) -> None:
        check_unpacked(Path(spaseq.__file__))
        context = TaskContext.get()
        self.partition = context.partitionId() if context is not None else 0
        batch = context.getLocalProperty("streaming.sql.batchId") if context is not None else None
        self.batch = int(batch) if batch else 0
        query = context.getLocalProperty("sql.streaming.queryId") if context is not None else None
        self.query: str = query or ""
        """What Spark keeps in the checkpoint of a streaming query; empty if there is none."""

    def label(self, number: int) -> str:
        """What is appended to the labels of blank nodes in a batch of events, numbered within the task.

        Scopes of events are unique in a batch; the next one may have them again, since the dictionary was compacted.
        """
        return f"-t{self.batch}x{self.partition}x{number}"

    @property
    def name(self) -> str:
        """A name for files that a repeated task writes again, in a folder of its run."""
        return f"{self.batch:06d}-{self.partition:05d}"

    def owned(self, owner: Owner) -> str:
        """The beginning of such names in a folder that others use as well.

        A streaming query that is started again repeats a micro-batch under the same names, also within `foreachBatch`.
        """
        told = f"{self.query} {owner.content}" if self.query else owner.run
        return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    def arrivals(self, rows: Longs, part: int | None = None) -> Longs:
        """The order of arrival of the events in these rows of this task, or of this part of the whole input."""
        return (np.int64(self.partition if part is None else part) << np.int64(40)) + rows


def placed(bad: OnBad, split: Split) -> OnBad:
    """Bad input of a part of a file, with its line in the whole file."""
    if split.counted:
        return bad
    before: list[int] = []

    def report(found: BadInput) -> None:
        if found.unit == "line":
            before[:] = before or [split.line()]
            found = replace(found, source=split.file, position=found.position + before[0])
        bad(found)

    return report
