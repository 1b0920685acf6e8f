"""Bad events on a worker: fail, skip, or keep them in a file of the task's own."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Final

from pyspark.sql import functions as F  # noqa: N812 - its usual name

from spaseq.errors import InvalidArgument
from spaseq.io.bad_input import BadInput, BadInputError
from spaseq.spark.shared_folder import BadPolicy
from spaseq.spark.spark_session import is_connected
from spaseq.stores import files_in, for_spark, place_of, write_whole

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class BadEvents:
    """Applies the policy; quarantined events go to ``<folder>/<name>.jsonl``.

    The file appears when the task is done and a repeated task writes the same one, so no bad event is
    counted twice.
    """

    def __init__(self, policy: BadPolicy, name: str) -> None:
        self._policy, self._folder, self._name = policy.policy, policy.folder, f"{name}.jsonl"
        self._option, self._cure = policy.option, policy.cure
        self._lines: list[str] = []
        self.count = 0

    def __call__(self, bad: BadInput) -> None:
        """Take one bad event."""
        if self._policy == "fail":
            raise BadInputError(bad, self._option, self._cure)
        self.count += 1
        if self._policy == "quarantine":
            self._lines.append(bad.to_json() + "\n")

    def __enter__(self) -> BadEvents:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None or self._folder is None or not self._lines:
            return
        write_whole(self._folder.checked() / self._name, "".join(self._lines))


BAD_RECORDS: Final = "reason string, source string, position bigint, unit string, text string, time timestamp_ltz, carried map<string,string>"


_WILD: Final = re.compile(r"[]\[{}*?\\]")


def bad_records(spark: SparkSession, directory: str | os.PathLike[str], streaming: bool = False) -> DataFrame:
    """What a quarantine directory holds: ``reason, source, position, unit, text, time, carried, late``, a row per bad or late event.

    ``text`` is the beginning of bad input, and the whole graph of a late event, whose ``time`` is its own; ``carried`` has the columns that
    ``carry`` of `match` names. A streaming DataFrame takes the records as they come.
    """
    place = place_of(directory)
    # A server of Spark Connect may have what is not here.
    if not is_connected(spark) and not place.exists():
        raise InvalidArgument(
            f"there is no directory `{place}`: give the one that `quarantine=` of `match` or `read_events` names, which is there "
            "as soon as they have been called"
        )
    reader = spark.readStream if streaming else spark.read
    # Spark takes every path that it reads for a pattern.
    path = _WILD.sub(r"\\\g<0>", for_spark(place))
    found = reader.schema(BAD_RECORDS).json(path)
    late = F.col("_metadata.file_name").startswith("late-")
    return found.withColumn("late", late)


def quarantined(directory: str | os.PathLike[str]) -> Iterator[dict[str, object]]:
    """What a quarantine directory holds: reason, source, position, unit and text of every bad event."""
    for file in files_in(place_of(directory), "*.jsonl"):
        for line in file.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)
