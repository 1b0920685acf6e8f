"""The wall clock as a stream of Spark's: micro-batches come while all other streams are silent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow

from spaseq.engine.clocks import wall_microseconds

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

CLOCK: Final = "spaseq-clock"


class ClockSource(DataSource):
    """The wall clock as a stream, so that there are micro-batches while all other streams are silent."""

    @classmethod
    def name(cls) -> str:
        """The name after ``format``."""
        return CLOCK

    def schema(self) -> str:
        """The wall clock in microseconds, and when the run of the query began."""
        return "clock bigint, began bigint"

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802
        """A reader that gives a row now and then."""
        return ClockReader(int(self.options["every"]))


class ClockReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """An offset is the wall clock, now and when the run began, so a micro-batch that is repeated has the same."""

    def __init__(self, every: int) -> None:
        self._every = every
        self._last: int | None = None
        self._began: int | None = None

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802
        """Before the first tick."""
        return {"clock": 0}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """One tick is all there is."""
        self._last = wall_microseconds()

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: ARG002, N802
        """The clock now, if the last tick was long enough ago; the first micro-batch of a run has it always."""
        now = wall_microseconds() if self._last is None else self._last
        if self._began is not None and now - start["clock"] < self._every:
            return start
        self._began = self._began or now
        return {"clock": now, "began": self._began}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:  # noqa: ARG002
        """One row."""
        # A checkpoint of an earlier release does not know when its run began.
        return [InputPartition((end["clock"], end.get("began", 0)))]

    def read(self, partition: InputPartition) -> Iterator[tuple[int, int]]:
        """The clock."""
        yield partition.value

    def commit(self, end: dict[str, Any]) -> None:
        """Nothing is kept outside the offset."""
