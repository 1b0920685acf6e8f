"""DISTINCT and ASK over all buckets together (SEMANTICS 1.9, 1.10)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from spaseq.spark.job import Job


def first_of_equals(answers: DataFrame, job: Job, columns: StructType) -> DataFrame:
    """Of equal answers the one with the earliest start, of an ASK the first of all; others as they are."""
    together = answers.repartitionById(job.buckets, "spread")
    order = ["equal", "time", *(["start"] if "start" in columns.names else [])]
    return together.sortWithinPartitions(*order).mapInArrow(FirstOfEquals(), columns)


class FirstOfEquals:
    """Passes on the first of every run of rows that are equal; rows that say nothing about it, all."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        last: str | None = None
        for batch in batches:
            equal = batch.column("equal").to_pylist()
            keep = []
            for text in equal:
                keep.append(text is None or text != last)
                last = text
            yield batch.drop_columns(["spread", "equal"]).filter(pa.array(keep, pa.bool_()))
